from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark_bridge import Timeline
from spark_bridge.errors import UnknownTable
from spark_bridge.tables import TABLES

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"^([^\n]+\?)\n```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def timeline(spark, recorded):
    found = Timeline.read(spark, recorded.path)
    found.create_views()
    return found


@pytest.mark.parametrize("name", TABLES)
def test_there_is_a_method_and_a_view_for_the_table(spark, timeline, name):
    assert spark.table(name).schema == getattr(timeline, name)().schema


def test_a_table_that_is_not_there_is_refused_with_those_that_are(timeline):
    with pytest.raises(UnknownTable, match="no table 'rebalance', only runs, events"):
        timeline.table("rebalance")


def test_the_page_has_a_line_for_every_table():
    shown = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE))

    assert {
        name: re.sub(r"\[(.*?)\]\(.*?\)", r"docs/\1", text) for name, text in shown.items()
    } == TABLES


def test_the_page_asks_ten_questions():
    assert len(QUERIES) == 10


@pytest.mark.parametrize(("question", "query"), QUERIES, ids=[question for question, _ in QUERIES])
@pytest.mark.usefixtures("timeline")
def test_the_question_has_an_answer(spark, question, query):
    assert spark.sql(query).count() > 0, question
