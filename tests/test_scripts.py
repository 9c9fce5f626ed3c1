"""How `scripts/java.sh` chooses a Java; each stands here as a small program that names its home."""

from __future__ import annotations

import os
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
