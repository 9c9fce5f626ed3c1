"""Fixtures for every test: the one Spark session that all tests marked `spark` share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session, started by the first test that asks: it costs seconds, and Java."""
    from spark_bridge.session import local_session  # noqa: PLC0415 - other tests need no Spark

    session = local_session("groupsim-tests")
    yield session
    session.stop()
