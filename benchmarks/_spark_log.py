"""A large log for the benchmark of Spark: busy runs, really played, and copied under other names.

Twelve runs are played (four variants of a shop that never comes to rest, three seeds each), cut
into copies that differ in nothing but the name of the run, and written as run directories. Every
analysis goes run by run, so copies cost what other runs would.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from groupsim.commands.shipped import shipped
from simulation.events import SCHEMA_VERSION
from simulation.parquet_sink import FILE_OPTIONS, SCHEMA
from simulation.recording import record
from simulation.run_directory import EVENTS_FOLDER, RUN_FILE
from simulation.scenarios import Scenario

SEEDS = (1, 2, 3)
#: Shipped runs that show what the shop does not: what is lost, voided, deleted, or there twice.
ODD = (
    ("leader_dies", "leader_dies"),
    ("commit_race", "auto"),
    ("delivery_guarantees", "at_most_once"),
    ("ghost_member", "abandons_the_id"),
    ("partition_added", "latest"),
    ("static_restart_vs_scale_down", "one_id_twice"),
    ("coordinator_failover", "commits_in_flight"),
)

SHOP = """
name: busy_shop
title: A shop that never comes to rest
cluster:
  topics:
    orders: {partitions: 24, burst: {records: 20, every: 4s}}
    returns: {partitions: 6, records: 6/s}
groups:
  checkout:
    members: 12
    subscribe: orders
    settings: {session.timeout.ms: 10s, max.poll.records: 50}
    app: {process: 20ms per record, commit: sync after each poll}
  refunds:
    members: 3
    subscribe: returns
    settings: {session.timeout.ms: 10s, auto.commit.interval.ms: 1s}
    app: {process: 10ms per record, commit: auto}
script:
  - {every: about 50s, from: 30s, crash: any of checkout, for: 15s}
  - {every: about 70s, from: 45s, pause: any of checkout, for: 14s}
  - {every: about 90s, from: 1m, crash: any of refunds, for: 5s}
  - {at: 3m, crash_broker: {broker: coordinator of checkout, load: 1s}, for: 20s}
  - {at: 4m, add_partitions: {topic: orders, to: 30}}
  - {at: 5m, rolling_restart: {group: checkout, stop: graceful, down: 5s, pause: 2s}}
run_for: 7m
never_settles: somebody is always coming or going
variants:
  eager: {}
  cooperative:
    groups.checkout.settings.partition.assignment.strategy: cooperative-sticky
  static:
    groups.checkout.static: true
  careless:
    groups.checkout.app.commit: sync before processing
    groups.refunds.settings.auto.offset.reset: latest
"""

_WHAT = f"{zlib.crc32(SHOP.encode()):08x}-v{SCHEMA_VERSION}"
CACHE = Path(tempfile.gettempdir()) / f"groupsim-bench-spark-{_WHAT}"


def large_log(runs: int) -> Path:
    """A folder with so many runs of the shop, copies of those that were played."""
    folder = CACHE / f"shop-{runs}"
    if not folder.exists():
        making = CACHE / f"making-{runs}"
        shutil.rmtree(making, ignore_errors=True)
        for number, played in enumerate(islice(cycle(_played()), runs)):
            _copy(played, making / f"shop-{number:04}")
        making.rename(folder)
    return folder


def small_log() -> Path:
    """A folder with a run of each variant of the shop, and a few shipped ones."""
    folder = CACHE / "small"
    played = {path.name: path for path in _played() if path.name.endswith(f"-{SEEDS[0]}")}
    for name, path in played.items():
        if not (folder / name).exists():
            shutil.copytree(path, folder / name)
    for name, variant in ODD:
        if not (folder / name).exists():
            record(Scenario.from_file(shipped()[name]), folder / name, variant=variant)
    return folder


def events_of(folder: Path) -> int:
    """How many events the runs in a folder have."""
    files = folder.glob(f"*/{EVENTS_FOLDER}/*.parquet")
    return sum(parquet.read_metadata(file).num_rows for file in files)


def _played() -> Iterator[Path]:
    """The runs of the shop, each played when it is first asked for."""
    shop = Scenario.from_yaml(SHOP)
    for variant in shop.variants:
        for seed in SEEDS:
            path = CACHE / "played" / f"{variant}-{seed}"
            if not path.exists():
                record(shop, path, variant=variant, seed=seed)
            yield path


def _copy(played: Path, path: Path) -> None:
    """The same run under another name."""
    (path / EVENTS_FOLDER).mkdir(parents=True)
    run = json.loads((played / RUN_FILE).read_text(encoding="utf-8"))
    (path / RUN_FILE).write_text(json.dumps(run | {"run": path.name}), encoding="utf-8")
    for file in (played / EVENTS_FOLDER).glob("*.parquet"):
        events = parquet.read_table(file, schema=SCHEMA)
        place = events.schema.get_field_index("run")
        named = pa.array([path.name]).dictionary_encode().take(pa.array([0] * events.num_rows))
        copied = events.set_column(place, SCHEMA.field("run"), named.cast(pa.string()))
        parquet.write_table(copied, path / EVENTS_FOLDER / file.name, **FILE_OPTIONS)
