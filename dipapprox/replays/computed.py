"""What stands last in files of proofs: what computed them, for people, and their digest."""

from __future__ import annotations

import sys

from dipapprox.privacy.certificate import Certificate
from dipapprox.replays.digest import digest
from dipapprox.version import VERSION


def recorded(fields: dict[str, object], engine: str = "exact") -> Certificate:
    """Return a certificate of all else that it says, and the engine that found the answer."""
    python = ".".join(map(str, sys.version_info[:3]))
    computed = {"engine": engine, "python": python, "dipapprox": VERSION}
    fields = {**fields, "computed": computed}
    return Certificate({**fields, "digest": digest(fields)})
