"""How far a run has come, told to a person."""

from __future__ import annotations

from groupsim.commands.progress import Reporter, told_progress, told_runs
from groupsim.commands.voice import Voice


def test_progress_has_a_rate_and_an_estimate():
    assert told_progress(60_000, 300_000, 2.0) == (
        "60.0 s of 300.0 s, 30 times as fast as life, about 8 s left"
    )


def test_an_estimate_of_hours_is_told_in_hours():
    assert told_progress(60_000, 3_600_000 * 90, 60.0).endswith("about 3d17h59m left")


def test_a_short_run_has_no_progress_in_a_file(capsys):
    clock = iter([0.0, 0.5, 1.9]).__next__
    with Reporter(Voice().talk, "eager", clock=clock) as progress:
        progress(1_000, 9_000)
        progress(2_000, 9_000)

    assert capsys.readouterr().err == ""


def test_a_long_run_says_now_and_then_how_far_it_is(capsys):
    clock = iter([0.0, 2.5, 3.0, 13.0]).__next__
    with Reporter(Voice().talk, "eager", clock=clock) as progress:
        for now_ms in (1_000, 2_000, 3_000):
            progress(now_ms, 9_000)

    assert [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()] == [
        "eager: 1.0 s of 9.0 s",
        "eager: 3.0 s of 9.0 s",
    ]


def test_the_time_of_getting_ready_says_nothing_of_the_pace(capsys):
    clock = iter([0.0, 10.0, 20.5]).__next__
    with Reporter(Voice().talk, "eager", clock=clock) as progress:
        progress(0, 42_000)
        progress(21_000, 42_000)

    assert capsys.readouterr().err.splitlines() == [
        "eager: 0 ms of 42.0 s",
        "eager: 21.0 s of 42.0 s, 2 times as fast as life, about 10 s left",
    ]


def test_the_time_until_the_first_runs_are_done_belongs_to_their_pace(capsys):
    clock = iter([0.0, 10.0, 60.0, 110.0]).__next__
    with Reporter(Voice().talk, "sweep", told=told_runs, clock=clock) as progress:
        for done in (0, 0, 256):
            progress(done, 512)

    assert capsys.readouterr().err.splitlines()[-1] == (
        "sweep: 256 of 512 runs, 2.6 a second, about 100 s left"
    )
