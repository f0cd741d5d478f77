"""Claims that are attained, and noise with integers: `verify` asks what `decide` knows."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

import dipapprox
from dipapprox import Answer

_HALF = """input q in {0, 1}
output o in {0, 1}
adjacent all
o <- 0
r <- Lap(q, 1/eps)
if r > 1/2 then o <- 1 end"""

_PUBLISHED = """input q in 0..2
output o in real
adjacent linf 1
o <- Lap(q, 1/eps)"""


_INTEGERS = """input q in 0..2
output o in 0..2
adjacent linf 1
x <- {}(q, 1/eps)
o <- clamp(x, 0, 2)"""


def verify(text: str, eps: str, eps_prv: str, delta: str):  # type: ignore[no-untyped-def]
    program = dipapprox.parse(text)
    return dipapprox.verify(program, eps=eps, eps_prv=eps_prv, delta=delta)


@pytest.mark.parametrize("eps", ["1", "3/4..1"])
@pytest.mark.parametrize(
    ("delta", "answer"), [("1-exp(-eps/2)", Answer.DP), ("1-exp(-eps/2)-10^-9", Answer.NOT_DP)]
)
def test_a_delta_that_is_attained(eps: str, delta: str, answer: Answer) -> None:
    """Pr[r > 1/2] = 1 - Pr[r <= 1/2] is e^(-ε/2) / 2 and 1 less that."""
    found = verify(_HALF, eps, "0", delta)
    assert found.answer is answer
    if answer is Answer.DP:
        assert found.run.pairs == 2 and found.delta_enclosure.lower > F(1, 5)


@pytest.mark.parametrize(
    ("eps", "eps_prv", "delta", "answer"),
    [
        ("1", "0", "1-exp(-eps/2)", Answer.DP),
        ("1", "0", "1-exp(-1/2)", Answer.DP),
        ("2", "1/2", "1-exp(-3/4)", Answer.DP),
        ("2", "eps/4", "1-exp(-3*eps/8)", Answer.DP),
        ("1", "0", "1-exp(-1/2)-10^-9", Answer.NOT_DP),
        ("1", "0", "1-exp(-1/2)+10^-60", Answer.DP),
        ("1/2..1", "0", "1-exp(-eps/2)+10^-3", Answer.DP),
        ("1/2..1", "eps/3", "1-exp(-eps/3)", Answer.DP),
        ("1/2..1", "eps/3", "1-exp(-eps/3)-10^-6", Answer.NOT_DP),
    ],
)
def test_a_delta_that_a_published_number_attains(
    eps: str, eps_prv: str, delta: str, answer: Answer
) -> None:
    """One Laplace number moved by t scales has δ = 1 - e^((L - t)/2)."""
    found = verify(_PUBLISHED, eps, eps_prv, delta)
    assert found.answer is answer
    if answer is Answer.DP:
        assert found.run.pairs == 4 and found.delta_enclosure.lower > F(1, 5)


@pytest.mark.parametrize("delta", ["1-exp(-1/2)", "1 - 1/exp(1/2)"])
def test_a_constant_that_is_attained(delta: str) -> None:
    found = verify(_HALF, "1", "0", delta)
    assert found.answer is Answer.DP and "exact" in found.run.engine


@pytest.mark.parametrize(
    ("noise", "eps_prv", "delta", "answer"),
    [
        ("DLap", "eps", "0", Answer.DP),
        ("DLap", "eps", "1/10", Answer.DP),
        ("DLap", "eps/2", "1/100", Answer.NOT_DP),
        ("DLap", "eps/1.001", "0", Answer.NOT_DP),
        ("DGauss", "eps", "1/10", Answer.NOT_DP),
        ("DGauss", "eps", "1/2", Answer.UNKNOWN),
    ],
)
def test_integer_noise_on_an_interval(noise: str, eps_prv: str, delta: str, answer: Answer) -> None:
    found = verify(_INTEGERS.format(noise), "1/2..1", eps_prv, delta)
    assert found.answer is answer
    if answer is Answer.NOT_DP:
        assert F(1, 2) <= found.violation.claim.eps <= 1
        assert found.witness is not None


_THIRD = """input q in {{0, 1}}
output o in 0..2
adjacent all
a <- {0}(0, 1/eps)
b <- {0}(0, 1/eps)
c <- {0}(0, 1/eps)
d <- {0}(q, 1/eps)
o <- 0
if a >= b and a >= c then
    if q = 1 then o <- 1 end
else
    if d >= {1} then o <- 2 end
end"""


def test_the_least_budget_of_a_delta_that_is_attained_for_ever() -> None:
    """One output has probability 1/3, and none for the other input: δ is 1/3 from ε_prv 1 on."""
    program = dipapprox.parse(_THIRD.format("Lap", 0))
    found = dipapprox.profile(program, eps=1, delta="1/3").eps_prv_enclosure
    assert found.lower <= 1 <= found.upper
    assert found.upper - found.lower < F(1, 10**9)


_GAPS = """input q[4] in {{0, 1}}
output out in 1..3
adjacent linf 1
for i in 1..4 do
    r[i] <- {}(q[i], 1/eps)
end
first <- r[2] - r[1]
second <- r[3] - r[2]
third <- r[4] - r[3]
out <- 3
if first >= second and first >= third then
    out <- 1
elif second >= third then
    out <- 2
end"""


def test_sums_that_take_values_in_turn_come_after_closed_forms() -> None:
    """The largest gap of four integers: tens of thousands of parts of one sum."""
    program = dipapprox.parse(_GAPS.format("DLap"))
    pair = ((0, 0, 0, 0), (0, 1, 0, 0))
    found = dipapprox.verify(program, eps="1/4", eps_prv="1/2", delta="1/100", pairs=[pair])
    assert found.run.engine == "exact"
