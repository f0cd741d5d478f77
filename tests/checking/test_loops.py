"""Loops that end by chance in the check: closed forms, an independent solver, loops that do not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dipapprox
from dipapprox.checking.decisions.forms import Forms
from dipapprox.checking.values import Stuck
from dipapprox.limits import Limits
from tests.checking.test_discrete import derived

Q = Fraction
ONE = Q(1)
HEAD = "input q in {0, 1}\noutput out in 0..9\nadjacent all\n"

RACE = (
    HEAD
    + """
out <- 0
x <- 0
while out = 0 do
    x <- choose {0 : 1/2, 1 : 1/3, 2 : 1/6}
    if x = 1 then out <- 1 end
    if x = 2 then
        out <- 2
        exit
    end
end
out <- out + 4
"""
)


def test_a_race_has_a_closed_form() -> None:
    found = derived(RACE, ONE, [ONE])
    assert set(found) == {Q(5), Q(2)}
    assert Q(2, 3) in found[Q(5)] and Q(1, 3) in found[Q(2)]
    assert found[Q(5)].width < Q(1, 2**50)


def test_a_loop_in_a_loop() -> None:
    """The inner loop stops at even or odd rounds: 2/3 and 1/3; the outer one wants even twice."""
    text = (
        HEAD
        + """
out <- 0
while out < 2 do
    odd <- 0
    more <- choose {true : 1/2, false : 1/2}
    while more do
        odd <- 1 - odd
        more <- choose {true : 1/2, false : 1/2}
    end
    more <- false
    if odd = 1 then
        out <- choose {out : 1/2, 9 : 1/2}
    else
        out <- out + 1
    end
end
"""
    )
    found = derived(text, ONE, [ONE])
    step = Q(2, 3) / (1 - Q(1, 6))  # up before 9
    assert step**2 in found[Q(2)] and 1 - step**2 in found[Q(9)]


rows = st.lists(
    st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(any), min_size=3, max_size=3
)


@settings(deadline=None, max_examples=18)
@given(rows)
def test_random_chains_are_solved(weights: list[list[int]]) -> None:
    """States 0, 1, 2 go on, 3 and 4 end: against powers of the matrix, in fractions."""
    steps = [[Q(w, sum(row)) for w in row] for row in weights]
    text = HEAD + "out <- 0\nwhile out < 3 do\n"
    for state, row in enumerate(steps):
        options = ", ".join(f"{target} : {p}" for target, p in enumerate(row))
        text += f"{'if' if not state else 'elif'} out = {state} then out <- choose {{{options}}}\n"
    text += "end\nend\n"
    now = [ONE, Q(0), Q(0), Q(0), Q(0)]
    reached = {0}
    for _ in range(5):
        reached |= {t for s in reached if s < 3 for t in range(5) if steps[s][t]}
    can_end = {3, 4}
    for _ in range(5):
        can_end |= {s for s in range(3) if any(steps[s][t] for t in can_end)}
    if not reached <= can_end:
        with pytest.raises(Stuck, match="end"):
            derived(text, ONE, [ONE])
        return
    found = derived(text, ONE, [ONE])
    for _ in range(40):
        now = [
            sum((now[s] * steps[s][t] for s in range(3)), now[t] if t > 2 else Q(0))
            for t in range(5)
        ]
        now = [Q(round(p * 2**80), 2**80) for p in now]
    left = sum(now[:3]) + Q(1, 2**70)
    for end in (3, 4):
        enclosure = found.get(Q(end))
        lower, upper = (0, 0) if enclosure is None else (enclosure.lower, enclosure.upper)
        assert lower <= now[end] + left and now[end] - Q(1, 2**70) <= upper
        assert enclosure is None or enclosure.width < Q(1, 2**50)


NEVER = """
out <- 0
more <- true
while more do more <- choose {true : STAY, false : GO} end
"""


@pytest.mark.parametrize(
    ("stay", "go"),
    [("1", "0"), ("1 - (eps - 1)", "eps - 1"), ("1", "eps - eps"), ("2 - eps", "eps - 1")],
)
def test_a_loop_that_may_not_end_is_refused(stay: str, go: str) -> None:
    text = HEAD + NEVER.replace("STAY", stay).replace("GO", go)
    with pytest.raises(Stuck, match="end"):
        derived(text, ONE, [ONE])
    if "eps - 1" in go:
        assert ONE in derived(text, Q(3, 2), [ONE])[Q(0)]


def test_trapped_at_one_epsilon_only() -> None:
    """The forms are 1 for almost every ε: that does not hide where a loop never ends."""
    text = HEAD + NEVER.replace("STAY", "1 - (eps - 1)^2/9").replace("GO", "(eps - 1)^2/9")
    program = dipapprox.parse(text)
    rows = [(Q(0),), (ONE,)]
    assert len(Forms(program, rows, Limits()).chains) == 1
    with pytest.raises(Stuck, match="end"):
        derived(text, ONE, [ONE])


def test_loops_without_chance() -> None:
    count = HEAD + "out <- 0\nwhile out < 7 do out <- out + 1 end\n"
    assert derived(count, ONE, [ONE])[Q(7)].lower == 1
    with pytest.raises(Stuck, match="never ends"):
        derived(count.replace("out + 1", "5"), ONE, [ONE])


def test_loops_about_samples_are_followed() -> None:
    text = (
        HEAD
        + """
x <- Lap(q, 1)
out <- 0
while out < 3 do
    if x > out then out <- out + 1 else out <- 9 end
end
"""
    )
    found = derived(text, ONE, [ONE])
    assert set(found) == {Q(3), Q(9)} and all(e.width < Q(1, 2**50) for e in found.values())
