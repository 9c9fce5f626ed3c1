from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from spark_bridge.luggage import luggage, packed, travel

#: Imports every module of the rooms that play a scenario, from the archive alone and pyarrow.
IMPORTS_ALL = """
import importlib, pkgutil, sys
sys.path[:0] = sys.argv[1:]
for room in ("client", "coordinator", "simulation"):
    package = importlib.import_module(room)
    assert package.__file__.startswith(sys.argv[1]), package.__file__
    for module in pkgutil.walk_packages(package.__path__, f"{room}."):
        importlib.import_module(module.name)
"""


def test_the_same_files_are_packed_in_the_same_bytes_whenever_they_were_written(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "a_package_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "settings.yaml").write_text("a: 1")
    before = packed(package.name)

    os.utime(package / "settings.yaml", (0, 0))
    (package / "__init__.py").unlink()
    (package / "__init__.py").write_text("")

    assert packed(package.name) == before


def test_nothing_compiled_travels():
    with ZipFile(luggage()) as packed:
        endings = {Path(name).suffix for name in packed.namelist()}

    assert endings == {".json", ".py", ".yaml"}


def test_what_plays_a_scenario_needs_only_the_archive_and_pyarrow(tmp_path):
    pyarrow = find_spec("pyarrow")
    assert pyarrow is not None
    assert pyarrow.submodule_search_locations is not None
    (tmp_path / "pyarrow").symlink_to(pyarrow.submodule_search_locations[0])
    # Without site-packages, and with nothing from the environment.
    python = [sys.executable, "-I", "-S", "-c", IMPORTS_ALL]

    ended = subprocess.run(
        [*python, luggage(), tmp_path], capture_output=True, check=False, text=True
    )

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.spark
def test_nothing_travels_to_a_local_master(spark):
    travel(spark)

    assert spark.sparkContext.listFiles == []
