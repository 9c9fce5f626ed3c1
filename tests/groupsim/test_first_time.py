"""The path of somebody who has just installed groupsim, in a folder of their own."""

from __future__ import annotations

from tests.groupsim.command import groupsim_process


def test_a_newcomer_lists_runs_breaks_a_file_mends_it_by_the_message_and_asks_why(tmp_path):
    def groupsim(*words: str, status: int = 0):
        result = groupsim_process(*words, cwd=tmp_path)
        assert result.returncode == status, result.stderr
        return result

    assert "rolling_deploy" in groupsim("list").stdout
    groupsim("init", "mine.yaml")
    assert "A pod dies" in groupsim("show", "mine.yaml").stdout

    file = tmp_path / "mine.yaml"
    file.write_text(file.read_text().replace("heartbeat_interval_ms", "hearbeat_interval_ms"))
    told = groupsim("run", "mine.yaml", status=2).stderr
    place, wanted = told.splitlines()[0].split(": ", 1)
    assert "hearbeat_interval_ms" in file.read_text().splitlines()[int(place.split(":")[1]) - 1]
    assert wanted.endswith("did you mean `heartbeat_interval_ms`?")

    file.write_text(file.read_text().replace("hearbeat_interval_ms", "heartbeat_interval_ms"))
    summary = groupsim("run", "mine.yaml", "--out", "runs").stdout
    assert "session of checkout-2 expired" in summary
    assert (
        "checkout-2 had crashed at 60.0 s" in groupsim("why", "runs/as_it_is", "rebalance:2").stdout
    )
