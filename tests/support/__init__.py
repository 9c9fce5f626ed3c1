"""Builders, verbs and strategies that tests share."""
