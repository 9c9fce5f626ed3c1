from __future__ import annotations

import pytest
import typer
from pyspark.sql import Row

from groupsim import demo
from simulation.recording import record
from simulation.run_directory import read_run_file
from spark_bridge import columns as c
from tests.support.stories import the_leader_dies

DEATH = {c.CLIENT: "ada", c.GROUP: "checkout", c.CRASHED_MS: 20_000}
NOTICED = Row(**DEATH, **{c.REMOVED_MS: 63_090, c.REASON: "its session expired"})
UNNOTICED = Row(**DEATH, **{c.REMOVED_MS: None, c.REASON: None})


def a_gap(partition: int, until_ms: int | None, next_owner: str | None) -> Row:
    return Row(
        **{
            c.TOPIC: "orders",
            c.PARTITION: partition,
            c.UNOWNED_FROM_MS: 20_000,
            c.UNOWNED_UNTIL_MS: until_ms,
            c.LAST_OWNER: "ada",
            c.NEXT_OWNER: next_owner,
        }
    )


def answers(death: Row, *gaps: Row) -> demo.Answers:
    return demo.Answers(states=(), intervals=(), gaps=gaps, deaths=(death,))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_demo_compares_deploys_tells_a_story_and_leaves_a_page(tmp_path, capsys):
    demo.main(out=tmp_path)

    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines()]
    rebalances = next(line[1:] for line in lines if line[:1] == ["rebalances"])
    assert rebalances == ["103", "118", "3", "1"]
    assert ["Stable", "1", "6.008", "63.009", "57.001", "the", "leader's"] in [
        line[:7] for line in lines
    ]
    assert ["orders-0", "ada", "6.012", "20.000", "13.988", "crashed"] in lines
    assert ["nobody", "20.000", "63.019", "43.019"] in lines
    *_, sentence, _, _, last = printed.out.splitlines()
    assert sentence == (
        "ada, the leader of checkout, died at 20.000 s without a word; the coordinator noticed"
        " 43.009 s later (its session expired): orders-0 had no owner for 43.019 s until bea took"
        " it over, orders-1 had no owner for 43.019 s until bea took it over."
    )
    assert last.startswith(f"{tmp_path / 'demo.html'} (")
    assert "Rolling deploy of 50 pods" in (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert "Starting Spark" in printed.err
    played = read_run_file(tmp_path / "leader_dies").scenario
    assert played["title"] == the_leader_dies().title


def test_a_recording_that_is_there_already_is_kept_and_said_so(tmp_path, capsys):
    record(the_leader_dies(), tmp_path / "leader_dies")

    with pytest.raises(typer.Exit) as stop:
        demo.main(out=tmp_path)

    assert stop.value.exit_code == 2
    assert "exists already" in capsys.readouterr().err


def test_partitions_are_listed_in_the_order_of_their_numbers():
    death = answers(NOTICED, a_gap(10, 21_000, "bea"), a_gap(9, 22_000, "cat"))

    sentence = demo.in_a_sentence(death)

    assert sentence.endswith(
        "orders-9 had no owner for 2.000 s until cat took it over,"
        " orders-10 had no owner for 1.000 s until bea took it over."
    )


def test_a_partition_that_nobody_takes_over_is_mentioned():
    sentence = demo.in_a_sentence(answers(NOTICED, a_gap(0, None, None)))

    assert sentence.endswith("(its session expired): orders-0 never had an owner again.")


def test_a_death_that_nobody_notices_is_told_as_one():
    sentence = demo.in_a_sentence(answers(UNNOTICED))

    assert sentence == (
        "ada, the leader of checkout, died at 20.000 s without a word, and nobody noticed."
    )
