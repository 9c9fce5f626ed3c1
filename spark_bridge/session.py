"""Spark sessions: on this machine, on a cluster, or of a Connect server; no web page, no noise.

Analyses never start one; they are given frames. This is the one place that sets PYSPARK_PYTHON.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from spark_bridge.errors import NoSparkSession, UnsuitableJava

OLDEST_JAVA = 17
MASTERS = ("local", "spark://", "yarn", "k8s://")

_PARTITIONS = "spark.sql.shuffle.partitions"

SETTINGS: Mapping[str, str] = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    # A recording is small beside what Spark is made for; 200 partitions would be mostly empty.
    _PARTITIONS: "2",
    # A laptop's own name may lead nowhere when it is off the network.
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}

_LAST_WORDS = 2_000


def local_session(app_name: str = "groupsim") -> SparkSession:
    """The session of this process; started here if there is none yet, which takes seconds."""
    return cluster_session(SETTINGS["spark.master"], app_name)


def cluster_session(master: str, app_name: str = "groupsim") -> SparkSession:
    """A session with its driver here and its work at a master, such as spark://host:7077."""
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    if not master.startswith(MASTERS):
        raise NoSparkSession(
            f"{master!r} names no master: write local[4], spark://host:7077, yarn or k8s://..."
        )
    require_java()
    settings = {**SETTINGS, "spark.master": master}
    if master.startswith("local"):
        # Workers must run the Python that the driver runs, not the first one on the path.
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        # The cluster must find its way back to the driver, and has its own idea of partitions.
        for name in ("spark.driver.host", "spark.driver.bindAddress", _PARTITIONS):
            del settings[name]
    conf = SparkConf(loadDefaults=False).setAppName(app_name).setAll(list(settings.items()))
    # What the JVM says while it starts would drown ours; it is kept for the case that it fails.
    with tempfile.TemporaryFile() as words:
        try:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                conf, popen_kwargs={"stdout": words, "stderr": words}
            )
        except PySparkRuntimeError as error:
            words.seek(0)
            said = words.read().decode(errors="replace")[-_LAST_WORDS:].strip()
            raise NoSparkSession(f"Spark did not start. Its last words:\n{said}") from error
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


def remote_session(url: str) -> SparkSession:
    """A session of a Spark Connect server, such as sc://host:15002; it needs no Java here."""
    try:
        return SparkSession.builder.remote(url).getOrCreate()
    except ImportError as error:
        raise NoSparkSession(
            f"Spark Connect needs more than pyspark alone ({error}): pip install 'pyspark[connect]'"
        ) from error
    except PySparkException as error:
        first_line = str(error).splitlines()[0]
        raise NoSparkSession(f"there is no Spark Connect server at {url}: {first_line}") from error


def require_java() -> None:
    """Refuse, in words, to start Spark on a Java that it cannot run on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    what_to_do = f"install Java {OLDEST_JAVA} or newer, or point JAVA_HOME at one"
    if java is None:
        raise UnsuitableJava(f"Spark needs Java, and there is none on the path: {what_to_do}")
    version = _version_of(java)
    if version is None:
        raise UnsuitableJava(f"Spark needs Java, and {java} is none that works: {what_to_do}")
    if version < OLDEST_JAVA:
        raise UnsuitableJava(f"Spark cannot run on Java {version} ({java}): {what_to_do}")


def _version_of(java: str) -> int | None:
    """The major version that this program reports; None if it is no Java."""
    try:
        answer = subprocess.run(  # noqa: S603 - the Java that Spark itself would run
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", answer.stderr)
    return None if found is None else int(found[1])
