"""How scripts choose a Java and a Chromium; each stands here as a small program."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_java_of_java_home_comes_before_the_one_on_the_path(tmp_path):
    named = a_java(tmp_path / "named", version="21")
    on_path = a_java(tmp_path / "on_path", version="17")

    assert chosen_java(java_home=named, path=on_path) == str(named)


def test_a_java_home_that_is_too_old_is_passed_over(tmp_path):
    named = a_java(tmp_path / "named", version="11")
    on_path = a_java(tmp_path / "on_path", version="17")

    assert chosen_java(java_home=named, path=on_path) == str(on_path)


def test_a_java_of_the_old_numbering_is_too_old(tmp_path):
    named = a_java(tmp_path / "named", version="1.8")
    on_path = a_java(tmp_path / "on_path", version="25")

    assert chosen_java(java_home=named, path=on_path) == str(on_path)


def test_a_java_home_that_does_not_exist_is_passed_over(tmp_path):
    on_path = a_java(tmp_path / "on_path", version="17")

    assert chosen_java(java_home=tmp_path / "nowhere", path=on_path) == str(on_path)


def test_a_command_runs_under_the_chosen_java(tmp_path):
    named = a_java(tmp_path / "with a space", version="17")

    printed = java_script("printenv", "JAVA_HOME", java_home=named, path=named)

    assert printed == str(named)


def test_a_chromium_that_is_named_comes_before_the_one_on_the_path(tmp_path):
    named = a_program(tmp_path / "named")

    assert chromium_script(CHROMIUM=str(named)) == str(named)


def test_a_chromium_that_does_not_run_is_passed_over(tmp_path):
    broken = a_program(tmp_path / "broken", status=1)
    on_path = a_program(tmp_path / "bin" / "chromium")

    path = f"{on_path.parent}:{os.environ['PATH']}"
    assert chromium_script(CHROMIUM=str(broken), PATH=path) == str(on_path)


def test_a_command_runs_with_the_chosen_chromium(tmp_path):
    named = a_program(tmp_path / "with a space")

    assert chromium_script("printenv", "CHROMIUM", CHROMIUM=str(named)) == str(named)


def test_a_command_runs_without_a_chromium_too_and_it_is_said(tmp_path):
    for tool in ("bash", "dirname", "uname", "true"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)

    command = [str(ROOT / "scripts" / "chromium.sh"), "true"]
    done = subprocess.run(
        command, env={"PATH": str(tmp_path)}, check=True, capture_output=True, text=True
    )

    assert "The tests of pages are skipped" in done.stderr


def a_program(path: Path, status: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {status}\n")
    path.chmod(0o755)
    return path


def chromium_script(*arguments: str, **environment: str) -> str:
    command = [str(ROOT / "scripts" / "chromium.sh"), *arguments]
    variables = {**os.environ, "DRY_RUN": "1", **environment}
    return subprocess.check_output(command, env=variables, text=True).strip()


def a_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f"echo '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
    )
    program.chmod(0o755)
    return home


def chosen_java(java_home: Path, path: Path) -> str:
    return java_script(java_home=java_home, path=path)


def java_script(*arguments: str, java_home: Path, path: Path) -> str:
    environment = {
        **os.environ,
        "DRY_RUN": "1",
        "JAVA_HOME": str(java_home),
        "PATH": f"{path / 'bin'}:{os.environ['PATH']}",
    }
    command = [str(ROOT / "scripts" / "java.sh"), *arguments]
    return subprocess.check_output(command, env=environment, text=True).strip()
