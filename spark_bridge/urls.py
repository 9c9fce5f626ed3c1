"""Paths of this machine, as Spark is told them."""

from __future__ import annotations

from pathlib import Path


def url_of(path: Path) -> str:
    """A file or folder that everybody has under this path.

    Spark may have another working directory, and a cluster another file system where a path without
    more leads to, such as HDFS. Spark decodes no percent signs, so this is not `as_uri`.
    """
    return f"file://{path.resolve()}"
