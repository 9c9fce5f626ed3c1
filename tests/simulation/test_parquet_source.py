from __future__ import annotations

import json
import shutil

import pytest

from simulation.errors import RunDirectoryError
from simulation.parquet_sink import ParquetSink
from simulation.parquet_source import read_recording
from simulation.run_directory import RUN_FILE, RunFile
from tests.support.rows import a_death_and_its_rebalance

ROWS = a_death_and_its_rebalance()


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "a-run"
    with ParquetSink(path, rows_per_group=7) as sink:
        for row in ROWS:
            sink.take(row)
        sink.finish(
            RunFile(run="a-run", scenario={}, seed=0, versions={}, outcome={"events": len(ROWS)})
        )
    return path


def test_what_was_written_is_read_back(run):
    assert list(read_recording(run)) == ROWS


def test_a_row_is_found_by_its_place(run):
    recording = read_recording(run)

    assert (recording[0], recording[-1], recording[3:12]) == (ROWS[0], ROWS[-1], ROWS[3:12])


def test_there_is_no_row_beyond_the_last(run):
    recording = read_recording(run)

    with pytest.raises(IndexError, match=f"no row {len(ROWS) + 1} in a run of {len(ROWS)}"):
        recording[len(ROWS)]


def test_a_directory_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RunDirectoryError, match="there is no run directory"):
        read_recording(tmp_path / "nowhere")


def test_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(RunDirectoryError, match="is a file, and a run is a folder"):
        read_recording(tmp_path / "file")


def test_a_folder_of_runs_is_answered_with_its_runs(run):
    with pytest.raises(RunDirectoryError, match=r"holds several runs: .* \(there: a-run\)"):
        read_recording(run.parent)


def test_a_run_without_events_is_not_complete(run):
    shutil.rmtree(run / "events")

    with pytest.raises(RunDirectoryError, match="is not complete: no events"):
        read_recording(run)


def test_a_run_whose_events_are_cut_short_is_refused(run):
    file = next((run / "events").iterdir())
    file.write_bytes(file.read_bytes()[:-100])

    with pytest.raises(RunDirectoryError, match="cannot be read"):
        read_recording(run)


def test_a_run_that_lacks_events_it_counts_is_damaged(run):
    said = json.loads((run / RUN_FILE).read_text())
    said["outcome"]["events"] += 1
    (run / RUN_FILE).write_text(json.dumps(said))

    with pytest.raises(RunDirectoryError, match="is damaged"):
        read_recording(run)


@pytest.mark.parametrize(
    ("version", "cure"), [(4, "install a newer groupsim to read it"), (0, "play the run again")]
)
def test_a_run_of_another_version_is_refused_with_what_to_do(run, version, cure):
    said = json.loads((run / RUN_FILE).read_text())
    said |= {"schema_version": version, "something": "new"} if version else {"schema_version": 0}
    (run / RUN_FILE).write_text(json.dumps(said))

    with pytest.raises(RunDirectoryError, match=cure):
        read_recording(run)
