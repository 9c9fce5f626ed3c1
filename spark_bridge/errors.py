"""What can go wrong between a recording and an answer; one root, one sentence each."""

from __future__ import annotations

__all__ = [
    "NoRuns",
    "NoSparkSession",
    "SchemaVersionRefused",
    "SparkBridgeError",
    "SweepRefused",
    "TwoRunsOfOneName",
    "UnknownTable",
    "UnsuitableJava",
]


class SparkBridgeError(Exception):
    """Spark cannot be used, or not on this recording; the message says what to do."""


class UnsuitableJava(SparkBridgeError):
    """There is no Java that Spark can run on; whoever set the machine up installs one."""


class NoSparkSession(SparkBridgeError):
    """Spark's own process ended before it was ready; its last words are in the message."""


class SchemaVersionRefused(SparkBridgeError):
    """A run was recorded in another version of the event schema; record it again."""


class NoRuns(SparkBridgeError):
    """There is nothing to read where runs were looked for; the message says what was found."""


class TwoRunsOfOneName(SparkBridgeError):
    """Two runs would be taken for one: every table tells runs apart by their names."""


class UnknownTable(SparkBridgeError):
    """There is no table of that name; the message says which there are."""


class SweepRefused(SparkBridgeError):
    """A folder cannot be this sweep's: it holds another one, or somebody is at work in it."""
