"""What a task of ours needs beyond pyspark and pyarrow, as one archive that travels with the job.

The workers of a cluster need nothing of groupsim installed: all that it imports to play a scenario
is pure Python. Analyses run no Python on the workers, and take no luggage.
"""

from __future__ import annotations

import atexit
import io
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pyspark.sql import SparkSession

OURS = ("client", "coordinator", "groupsim", "simulation", "spark_bridge")
#: What these import in a task. PyYAML does without its compiled half.
OTHERS = ("attr", "attrs", "cattrs", "typing_extensions", "yaml")

_KINDS_OF_FILE = (".json", ".py", ".yaml")


def travel(spark: SparkSession) -> None:
    """Let every task of this session import our packages, wherever it runs; twice does no harm."""
    if _works_here(spark):
        return
    path = list(sys.path)
    spark.addArtifacts(str(luggage()), pyfile=True)
    # Spark puts the archive before the driver's own packages, whose files can be opened by path.
    sys.path[:] = path


@cache
def luggage() -> Path:
    """The archive of all that travels, named by its content."""
    content = packed(*OURS, *OTHERS)
    # Executors may ask the driver for it as long as there is a session.
    folder = Path(mkdtemp(prefix="groupsim-luggage-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / f"groupsim-{sha256(content).hexdigest()[:16]}.zip"
    path.write_bytes(content)
    return path


def packed(*packages: str) -> bytes:
    """The files of some packages as an archive; the same files give the same bytes."""
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        for package in sorted(packages):
            for name, file in _files_of(package):
                archive.writestr(ZipInfo(name), file.read_bytes(), ZIP_DEFLATED)
    return content.getvalue()


def _works_here(spark: SparkSession) -> bool:
    """Whether tasks run in this very Python, which has everything already."""
    # A session of a Connect server is of another class, and its "local" is where the server is.
    is_classic = isinstance(spark, SparkSession)
    return is_classic and (spark.conf.get("spark.master") or "").startswith("local")


def _files_of(package: str) -> Iterator[tuple[str, Path]]:
    """Every file of a package or module, under its name in the archive, in a fixed order."""
    spec = find_spec(package)
    assert spec is not None, f"{package} is not installed"
    if spec.submodule_search_locations is None:
        yield f"{package}.py", Path(str(spec.origin))
        return
    folder = Path(spec.submodule_search_locations[0])
    for file in sorted(folder.rglob("*")):
        if file.suffix in _KINDS_OF_FILE:
            yield f"{package}/{file.relative_to(folder).as_posix()}", file
