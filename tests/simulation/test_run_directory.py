from __future__ import annotations

import pytest

from simulation.errors import RunDirectoryError
from simulation.run_directory import RUN_FILE, RunDirectory, RunFile, read_run_file, sweep

A_RUN = RunFile(
    run="a-run",
    scenario={"title": "Grüße"},
    seed=7,
    versions={"groupsim": "0.1.0"},
    outcome={"events": 2},
)


def test_a_directory_is_absent_until_it_is_complete(tmp_path):
    directory = RunDirectory(tmp_path / "a-run")

    before = (tmp_path / "a-run").exists()
    directory.complete(A_RUN)

    assert (before, [path.name for path in tmp_path.iterdir()]) == (False, ["a-run"])


def test_an_abandoned_directory_leaves_nothing_behind(tmp_path):
    directory = RunDirectory(tmp_path / "a-run")

    directory.abandon()

    assert list(tmp_path.iterdir()) == []


def test_what_this_process_left_in_the_making_can_be_swept_away(tmp_path):
    RunDirectory(tmp_path / "a-run")
    (tmp_path / ".a-run-of-others").mkdir()

    sweep(tmp_path / "a-run")

    assert [path.name for path in tmp_path.iterdir()] == [".a-run-of-others"]


def test_two_writers_of_one_directory_do_not_mix(tmp_path):
    first, second = RunDirectory(tmp_path / "a-run"), RunDirectory(tmp_path / "a-run")

    first.complete(A_RUN)

    with pytest.raises(OSError, match="a-run"):
        second.complete(A_RUN)


def test_what_a_run_says_of_itself_can_be_read_back(tmp_path):
    RunDirectory(tmp_path / "a-run").complete(A_RUN)

    assert read_run_file(tmp_path / "a-run") == A_RUN


def test_a_complete_directory_is_never_written_over(tmp_path):
    RunDirectory(tmp_path / "a-run").complete(A_RUN)

    with pytest.raises(RunDirectoryError, match="exists already"):
        RunDirectory(tmp_path / "a-run")


def test_a_place_that_is_no_folder_is_refused_in_words(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(RunDirectoryError, match="cannot write in"):
        RunDirectory(tmp_path / "file" / "a-run")


def test_a_folder_without_a_run_file_is_no_run_directory(tmp_path):
    with pytest.raises(RunDirectoryError, match=r"is no run directory: no run\.json"):
        read_run_file(tmp_path)


@pytest.mark.parametrize("text", ["", "[1]", "7", '{"run": "a-run"}', '{"name": "a package"}'])
def test_a_foreign_run_file_is_refused_in_words(tmp_path, text):
    (tmp_path / RUN_FILE).write_text(text)

    with pytest.raises(RunDirectoryError, match=r"is not the run\.json of a run"):
        read_run_file(tmp_path)
