"""From recordings to answers: tables of a group's life, computed on Spark."""
