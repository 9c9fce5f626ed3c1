from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spark_bridge.errors import UnsuitableJava
from spark_bridge.session import local_session, require_java


def a_java(home: Path, script: str) -> Path:
    """A program that says what it is told to say when it is asked for its version."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return home


@pytest.mark.spark
def test_a_process_has_one_session(spark):
    assert local_session() is spark


@pytest.mark.spark
def test_workers_run_the_python_of_the_driver(spark):
    executables = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable)

    assert executables.collect() == [sys.executable]


@pytest.mark.spark
def test_times_are_shown_in_utc(spark):
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_machine_without_java_is_told_what_to_install(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UnsuitableJava, match="install Java 17 or newer"):
        require_java()


@pytest.mark.parametrize(("version", "named"), [("1.8", "8"), ("11", "11"), ("16", "16")])
def test_a_java_that_is_too_old_is_named(monkeypatch, tmp_path, version, named):
    home = a_java(tmp_path, f"echo '    java.specification.version = {version}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))

    with pytest.raises(UnsuitableJava, match=rf"cannot run on Java {named} \(.*: install Java 17"):
        require_java()


@pytest.mark.parametrize("version", ["17", "21", "25"])
def test_a_java_that_is_new_enough_will_do(monkeypatch, tmp_path, version):
    home = a_java(tmp_path, f"echo '    java.specification.version = {version}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))

    require_java()


@pytest.mark.parametrize("script", ["exit 1", "echo nothing"])
def test_a_java_that_is_none_is_refused(monkeypatch, tmp_path, script):
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path, script)))

    with pytest.raises(UnsuitableJava, match="is none that works"):
        require_java()


def test_a_java_home_that_is_empty_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(UnsuitableJava, match="is none that works"):
        require_java()
