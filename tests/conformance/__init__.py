"""Plays recorded cases with Kafka's own answers: `python -m tests.conformance FILE...`."""
