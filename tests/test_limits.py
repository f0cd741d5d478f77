"""Budgets that are asked often."""

from __future__ import annotations

import pytest

from dipapprox import limits
from dipapprox.errors import LimitReached


def test_the_memory_is_looked_at_as_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking the system takes longer than most of what is done between two questions."""
    looks = []
    now = 5.0
    monkeypatch.setattr(limits.time, "monotonic", lambda: now)
    monkeypatch.setattr(limits, "peak_memory", lambda: looks.append(now) or 100 * len(looks))
    asked = limits.Limits(memory=150)
    for _ in range(100):
        asked.check()
    assert looks == [5.0]
    now = 5.002
    for _ in range(3):
        with pytest.raises(LimitReached, match="memory limit"):
            asked.check()
    assert looks == [5.0, 5.002, 5.002, 5.002]
