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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from spark_bridge.errors import NoSparkSession, UnsuitableJava
from spark_bridge.reach import await_an_executor, refuse_a_dead_master, refuse_a_dead_server

OLDEST_JAVA = 17
MASTERS = re.compile(r"local(\[.+\])?|local-cluster\[.+\]|spark://.+:\d+|yarn|k8s://.+")

#: What is a session's own, also where others share the server.
ITS_OWN: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    # Rows that lie by run (layout.py) are joined where they lie, also on more than the run.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # A longer list of kinds would no longer be held against what a batch of rows has.
    "spark.sql.optimizer.inSetConversionThreshold": "100",
    # Lists are gathered by hash, for more groups than the 128 after which Spark sorts instead.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "65536",
}

#: What every session has, wherever it works.
EVERYWHERE: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Rows that are never moved make long chains of sorts and windows in one task. By itself Spark
    # gives each of them up to 64 MiB to begin with, and may run out of memory over a few rows.
    "spark.buffer.pageSize": "2m",
    # All tables together are made of some hundreds of generated classes. By itself Spark remembers
    # a hundred, and compiles what it has forgotten anew, time and again.
    "spark.sql.codegen.cache.maxEntries": "2000",
    **ITS_OWN,
}

_CORES = os.cpu_count() or 2
_NOTHING: Mapping[str, str] = {}


def _memory_mb() -> int:
    """A sixth of this machine's memory, within bounds; Spark by itself takes 1 GiB of any."""
    try:
        all_of_it = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (AttributeError, OSError, ValueError):  # no such question on Windows
        return 1_024
    return min(max(all_of_it // 6, 1_024), 16_384)


#: What a session on this machine has besides. A cluster has its own idea of these.
SETTINGS: Mapping[str, str] = {
    "spark.master": f"local[{_CORES}]",
    "spark.driver.memory": f"{_memory_mb()}m",
    # A recording is small beside what Spark is made for; 200 partitions would be mostly empty.
    "spark.sql.shuffle.partitions": str(_CORES),
    # The collector that takes the least time in all: nobody waits for a single answer.
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    # A laptop's own name may lead nowhere when it is off the network.
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
}

#: What a session on this machine has instead that plays simulations, which Python does: its own
#: code is hardly ever run often enough to be worth compiling again, by the slow compiler.
FOR_PLAYING: Mapping[str, str] = {
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}

#: How long a master may take to give us an executor.
EXECUTOR_WITHIN_S = 60

_BY_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
_WORKERS_PYTHON = "PYSPARK_PYTHON"


def local_session(
    app_name: str = "groupsim", *, instead: Mapping[str, str] = _NOTHING
) -> SparkSession:
    """The session of this process; started here if there is none yet, which takes seconds.

    It works on this machine, unless spark-submit has started this process: it has chosen a master.
    `instead` has settings that take the place of the usual ones on this machine.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    if _BY_SPARK_SUBMIT in os.environ:
        return _started(EVERYWHERE, app_name)
    return cluster_session(SETTINGS["spark.master"], app_name, instead=instead)


def cluster_session(
    master: str,
    app_name: str = "groupsim",
    *,
    instead: Mapping[str, str] = _NOTHING,
    executor_within_s: float = EXECUTOR_WITHIN_S,
) -> SparkSession:
    """A session with its driver here and its work at a master, such as spark://host:7077.

    Workers run the Python that PYSPARK_PYTHON names, unless they are threads of this machine.
    `instead` has settings that take the place of the usual ones on this machine.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        _refuse_another_master(running, master)
        return running
    if not MASTERS.fullmatch(master):
        raise NoSparkSession(
            f"{master!r} names no master: write local[4], spark://host:7077, yarn or k8s://..."
        )
    if master.startswith("spark://"):
        refuse_a_dead_master(master)
    require_java()
    if master.startswith("local"):
        with _this_python_on_the_workers():
            settings = {**EVERYWHERE, **SETTINGS, **instead, "spark.master": master}
            return _started(settings, app_name)
    spark = _started({**EVERYWHERE, "spark.master": master}, app_name)
    if master.startswith("spark://"):
        # Elsewhere it is usual to wait in a queue, or for an image to be loaded.
        await_an_executor(spark, master, executor_within_s)
    return spark


def remote_session(url: str) -> SparkSession:
    """A session of a Spark Connect server, such as sc://host:15002; it needs no Java here."""
    _hush()
    try:
        refuse_a_dead_server(url)
        remote = SparkSession.builder.remote(url)
        # A server has one log and one web page for everybody; only what is a session's own is set.
        for name, value in ITS_OWN.items():
            remote = remote.config(name, value)
        return remote.getOrCreate()
    except ImportError as error:
        raise NoSparkSession(
            f"Spark Connect needs more than pyspark ({error}): pip install 'groupsim[connect]'"
        ) from error
    except PySparkException as error:
        first_line = str(error).splitlines()[0]
        raise NoSparkSession(f"there is no Spark Connect server at {url}: {first_line}") from error


def _hush() -> None:
    """Keep pyspark from writing what it raises to stderr as well, as JSON with its whole stack."""
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _refuse_another_master(running: SparkSession, master: str) -> None:
    if (its_own := running.conf.get("spark.master")) != master:
        raise NoSparkSession(
            f"this process has a session at {its_own} already: stop it, and ask for {master} then"
        )


def _started(settings: Mapping[str, str], app_name: str) -> SparkSession:
    _hush()
    conf = SparkConf(loadDefaults=False).setAppName(app_name).setAll(list(settings.items()))
    # What the JVM says while it starts would drown ours; it is kept for the case that it fails.
    with tempfile.TemporaryFile() as words:
        try:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                conf, popen_kwargs={"stdout": words, "stderr": words}
            )
        except PySparkRuntimeError as error:
            words.seek(0)
            said = _gist(words.read().decode(errors="replace"))
            raise NoSparkSession(f"Spark did not start: {said}") from error
    try:
        return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Py4JError as error:
        where = settings.get("spark.master", "the master that spark-submit names")
        raise NoSparkSession(f"Spark did not start at {where}: {_gist(str(error))}") from error


def _gist(words: str) -> str:
    """What went wrong, out of a JVM's many words: its first complaint, and what was behind it."""
    lines = [line.strip(" :") for line in words.splitlines() if not line.startswith("\t")]
    told = [line for line in lines if re.search(r"(Exception|Error)\b.*: ", line)]
    first = (told or [line for line in lines if line] or ["it said nothing"])[0]
    causes = [line for line in told if line.startswith("Caused by: ")]
    behind = f" ({causes[-1]})" if causes else ""
    return first.removeprefix('Exception in thread "main" ') + behind


@contextmanager
def _this_python_on_the_workers() -> Iterator[None]:
    """Workers run the Python that the driver runs, not the first one on the path.

    Spark reads this once, when a session starts. What the user has set is for clusters, and stays.
    """
    before = os.environ.get(_WORKERS_PYTHON)
    os.environ[_WORKERS_PYTHON] = sys.executable
    try:
        yield
    finally:
        if before is None:
            del os.environ[_WORKERS_PYTHON]
        else:
            os.environ[_WORKERS_PYTHON] = before


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
