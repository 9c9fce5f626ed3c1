"""Recorded runs to frames."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from simulation.events import SCHEMA_VERSION
from simulation.run_directory import EVENTS_FOLDER, read_run_file
from spark_bridge import schemas
from spark_bridge.errors import SchemaVersionRefused


def read_events(spark: SparkSession, *run_directories: Path) -> DataFrame:
    """One row per event of these runs, in the columns of docs/events.md."""
    for directory in run_directories:
        refuse_other_versions(directory)
    return spark.read.schema(schemas.EVENTS).parquet(
        *(str(directory / EVENTS_FOLDER) for directory in run_directories)
    )


def refuse_other_versions(run_directory: Path) -> None:
    """Raise unless this run was recorded in the version of the schema that is read here."""
    version = read_run_file(run_directory).schema_version
    if version != SCHEMA_VERSION:
        raise SchemaVersionRefused(
            f"{run_directory} was recorded in version {version} of the event schema, and this"
            f" groupsim reads version {SCHEMA_VERSION}: record the run again"
        )
