"""What is learnt from a run's rows, each part by a small fold of its own.

A fold is shown the rows of its kinds in the order of `seq` and keeps what groups, partitions and
members need, never the rows. `simulation.measures` puts the folds together; the checkers of
`simulation.checkers` share `rosters`.
"""
