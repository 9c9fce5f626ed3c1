"""Sweeps: a scenario in many settings with many seeds, played on Spark, and what to make of it.

Read sweep.py for what a sweep is and folder.py for what is kept of it. running.py plays what is
missing, playing.py is what a task of that does. From the results, statistics.py tells tables,
pareto.py the settings worth a thought, advice.py which one to take.
"""
