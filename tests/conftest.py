"""What all tests share: one Spark session, and how Hypothesis chooses its examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A test run is repeatable like everything else here; a deadline would judge the machine, not us.
settings.register_profile("repeatable", derandomize=True, deadline=None)
# Fresh examples, and more of them: pytest --hypothesis-profile=explore
settings.register_profile("explore", deadline=None, max_examples=1_000, print_blob=True)
settings.load_profile("repeatable")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Keep the tests on Spark together where tests run side by side: they share one session."""
    from tests.support.schedule import SparkTogether  # noqa: PLC0415 (needs xdist, which is asked)

    return SparkTogether(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session, started by the first test that asks: it costs seconds, and Java."""
    from spark_bridge.session import local_session  # noqa: PLC0415 (other tests need no Spark)

    session = local_session("groupsim-tests")
    # The frames of a test are small: to compile and to re-plan a query would take most of its time.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    yield session
    session.stop()
