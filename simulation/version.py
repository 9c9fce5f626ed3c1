"""What this is and whose behaviour it plays; pyproject.toml reads the version from here."""

from __future__ import annotations

VERSION = "0.1.0"
#: Whose behaviour is played.
KAFKA_VERSION = "4.3.1"
