"""Budgets that are asked often, and what ends a run early: told by a reason."""

from collections.abc import Callable
from fractions import Fraction
from threading import Thread

import pytest

from dipapprox import limits
from dipapprox.errors import INTERRUPTED, NO_MEMORY, EarlyEnd, LimitReached, UserError
from dipapprox.exponentials import ExponentialPolynomial, power
from dipapprox.limits import Limits, ask, asking, limited


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


def test_long_loops_ask_the_limits_of_the_run(work_clock: Callable[[], float]) -> None:
    """Every look at the clock is a thousandth of a second."""
    assert len(list(asking(range(10**5)))) == 10**5, "outside of a run there is nothing to ask"
    with limited(Limits(seconds=0.01, started=0)), pytest.raises(LimitReached, match="time limit"):
        for _ in asking(range(10**5)):
            pass
    assert work_clock() < 0.02
    with limited(Limits(seconds=0.01, started=0)), limited(Limits()):
        assert len(list(asking(range(10**5)))) == 10**5
    ask()


def test_steps_of_work_count_inside_and_around() -> None:
    around = Limits().within(10)
    inside = around.within(4)
    for _ in range(4):
        inside.check()
    with pytest.raises(LimitReached, match="work limit: more than 4 steps"):
        inside.check()
    for _ in range(5):
        around.check()
    for each in (around, around.within(4)):
        with pytest.raises(LimitReached, match="work limit: more than 10 steps"):
            each.check()


def test_limits_are_those_of_the_thread() -> None:
    found: list[bool] = []

    def elsewhere() -> None:
        ask()
        found.append(True)

    with limited(Limits(seconds=0)):
        thread = Thread(target=elsewhere)
        thread.start()
        thread.join()
        with pytest.raises(LimitReached):
            ask()
    assert found == [True]


def test_exact_numbers_are_bounded_before_they_are_made() -> None:
    third = Fraction(1, 3)
    assert power(third, 1000) == third**1000
    with pytest.raises(LimitReached, match="digit limit"):
        power(third, 10**9)
    assert power(Fraction(1), 10**9) == 1
    function = ExponentialPolynomial.of({(10_000, Fraction(0)): Fraction(1)})
    with pytest.raises(LimitReached, match="digit limit"):
        function.at(Fraction(1, 10**15_000))
    long = ExponentialPolynomial.constant(Fraction(1, 3**100_000))
    with pytest.raises(LimitReached, match="digit limit"):
        long * long


def test_products_of_long_sums_ask(work_clock: Callable[[], float]) -> None:
    terms = {(n, Fraction(0)): Fraction(1) for n in range(2000)}
    function = ExponentialPolynomial.of(terms)
    with limited(Limits(seconds=0.01, started=0)), pytest.raises(LimitReached, match="time limit"):
        function * function
    assert work_clock() < 0.02


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
