from __future__ import annotations

import pytest
from pyspark.sql.types import StructType

from simulation.events import COLUMNS
from simulation.measures import MEASURES
from spark_bridge import columns as c
from spark_bridge import schemas

SCHEMAS = {name: each for name, each in vars(schemas).items() if isinstance(each, StructType)}


def names_in(module: object) -> set[str]:
    return {value for name, value in vars(module).items() if name.isupper()}


def test_every_column_of_an_event_has_its_name():
    assert {column.name for column in COLUMNS} - names_in(c) == set()


@pytest.mark.parametrize("schema", SCHEMAS)
def test_only_known_names_are_used_in(schema):
    # A figure of a run is called as its measure is.
    assert set(SCHEMAS[schema].names) - names_in(c) - set(MEASURES) == set()
