"""What ends a run early is told by a reason; everything else goes on as an exception."""

from __future__ import annotations

import pytest

from dipapprox.errors import INTERRUPTED, NO_MEMORY, EarlyEnd, LimitReached, UserError


def interrupt_in_an_extension() -> SystemError:
    """What an extension module makes of Ctrl-C."""
    error = SystemError("returned a result with an exception set")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (LimitReached("time limit: 5 s"), "time limit: 5 s"),
        (MemoryError(), NO_MEMORY),
        (KeyboardInterrupt(), INTERRUPTED),
        (interrupt_in_an_extension(), INTERRUPTED),
    ],
)
def test_an_early_end_has_a_reason(error: BaseException, reason: str) -> None:
    done = []
    with EarlyEnd() as end:
        done.append("before")
        raise error
    assert end.reason == reason
    assert end.interrupted == (reason == INTERRUPTED)
    assert done == ["before"]


@pytest.mark.parametrize("error", [UserError("no file"), SystemError("a bug"), ValueError()])
def test_errors_are_no_early_end(error: Exception) -> None:
    end = EarlyEnd()
    with pytest.raises(type(error)), end:
        raise error
    assert end.reason is None


def test_an_ordinary_end_has_none() -> None:
    with EarlyEnd() as end:
        pass
    assert end.reason is None and not end.interrupted
