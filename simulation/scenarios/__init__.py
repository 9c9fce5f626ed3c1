"""Scenarios: who is there, what happens to them, how long, and what is expected of it.

Read scenario.py, then parts.py, actions.py and script.py for what a file can say. documents.py and
structuring.py read it, checking.py holds it against itself, playing.py lets it happen.
"""
