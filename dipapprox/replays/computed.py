"""What computed a proof, as its file says it to people: nothing is made of it."""

from __future__ import annotations

import sys

from dipapprox.version import VERSION


def computed(engine: str) -> dict[str, str]:
    """Return the engine that found an answer, and the versions of Python and of this package."""
    python = ".".join(map(str, sys.version_info[:3]))
    return {"engine": engine, "python": python, "dipapprox": VERSION}
