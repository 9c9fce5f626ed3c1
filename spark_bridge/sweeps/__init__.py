"""Sweeps: a scenario in many settings with many seeds, played on Spark, and what to make of it.

Read plan.py and sweep.py for what is played and folder.py for what is kept of it; worlds.py is a
campaign of random worlds, spread in the same way. running.py plays what is
missing, playing.py is what a task of that does. From the results, statistics.py tells tables,
pareto.py the settings worth a thought, advice.py which one to take.
"""
