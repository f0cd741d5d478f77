"""How far a search has come, told while it goes on."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int | None], None]
"""Called after every pair with the pairs done and their total, None if that is unknown."""


def silent(_done: int, _total: int | None) -> None:
    """Report no progress."""
