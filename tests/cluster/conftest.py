"""A real Spark cluster on this machine: a master, two workers, and a Connect server on top of it.

Tests reach it from programs of their own, since this process may have a local session already.
"""

from __future__ import annotations

import os
import subprocess
import venv
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from attrs import evolve, frozen

from tests.cluster.daemons import DEADLINE_S, running

#: All that the workers' Python has. py4j is what pyspark itself requires.
ON_THE_WORKERS = ("py4j", "pyarrow", "pyspark")

#: What makes a JVM start soon; ours do not live long enough to be worth more.
_IN_A_HURRY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

#: What an administrator would set. An application takes one core of each worker, so that there is
#: room for the Connect server and another one. To compile and re-plan queries on so few rows would
#: take most of the time.
DEFAULTS = f"""\
spark.cores.max                  2
spark.executor.memory            600m
spark.driver.memory              600m
spark.driver.extraJavaOptions    {_IN_A_HURRY}
spark.executor.extraJavaOptions  {_IN_A_HURRY}
spark.sql.adaptive.enabled       false
spark.sql.codegen.wholeStage     false
spark.sql.codegen.factoryMode    NO_CODEGEN
spark.sql.shuffle.partitions     2
"""
_CORES, _MEMORY = "2", "2g"


@frozen(kw_only=True)
class Cluster:
    """Where Spark is, and what a program must have in its environment to reach it."""

    master: str
    environment: Mapping[str, str]
    remote: str = ""

    def call(self, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a program that can reach it."""
        return subprocess.run(
            [*map(str, words)],
            capture_output=True,
            check=False,
            env={**self.environment, **more},
            text=True,
            timeout=DEADLINE_S,
        )


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a second virtual environment that has pyspark and pyarrow, and nothing else.

    pyspark alone is 450 MB, so it is not installed twice: the environment's own site-packages holds
    links to the folders of these packages, and so nothing that lies beside them can be imported.
    """
    folder = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    for name in ON_THE_WORKERS:
        spec = find_spec(name)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        (site_packages / name).symlink_to(spec.submodule_search_locations[0])
    return folder / "bin" / "python"


@pytest.fixture(scope="session")
def cluster(bare_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone master with two workers, all on loopback."""
    folder = tmp_path_factory.mktemp("cluster")
    environment = environment_of(folder)
    words = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    the_master = ["org.apache.spark.deploy.master.Master", *words]
    with running(folder / "master.log", "spark-class", the_master, environment) as master:
        (url,) = master.says(r"Starting Spark master at (spark://\S+)")
        room = ["--cores", _CORES, "--memory", _MEMORY, "--work-dir", str(folder / "work")]
        a_worker = ["org.apache.spark.deploy.worker.Worker", *words, *room, url]
        with (
            running(folder / "worker1.log", "spark-class", a_worker, environment),
            running(folder / "worker2.log", "spark-class", a_worker, environment),
        ):
            master.says("Registering worker", times=2)
            yield Cluster(
                master=url,
                environment={**environment, "PYSPARK_PYTHON": str(bare_python)},
            )


@pytest.fixture(scope="session")
def connect(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The same cluster behind a Connect server, which is one of its applications."""
    log = tmp_path_factory.mktemp("connect") / "server.log"
    words = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    words += ["--master", cluster.master, "--name", "connect"]
    words += ["--conf", "spark.connect.grpc.binding.address=127.0.0.1"]
    words += ["--conf", "spark.connect.grpc.binding.port=0", "--conf", "spark.ui.enabled=false"]
    words += ["spark-internal"]
    with running(log, "spark-submit", words, cluster.environment) as server:
        (port,) = server.says(r"Spark Connect server started at: \S+:(\d+)")
        # What only the server and its workers need is not given to the client.
        ours = {**cluster.environment}
        del ours["PYSPARK_PYTHON"]
        yield evolve(cluster, remote=f"sc://127.0.0.1:{port}", environment=ours)


def environment_of(folder: Path) -> Mapping[str, str]:
    """What every program of the cluster has in its environment, and every program that uses it."""
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(DEFAULTS)
    # What another test has started in this process is no business of the cluster's.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYSPARK_", "PYTHONPATH", "SPARK_"))
    }
    return {
        **inherited,
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        # The Connect server counts as a daemon, too, and Spark wants no less for a driver.
        "SPARK_DAEMON_MEMORY": "600m",
        "SPARK_DAEMON_JAVA_OPTS": _IN_A_HURRY,
    }
