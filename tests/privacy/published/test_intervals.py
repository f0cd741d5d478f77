"""Numbers over an interval of epsilons: against closed forms, single epsilons and laws."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Options
from dipapprox.arithmetic.precision import to_ball
from dipapprox.language.core import Program
from dipapprox.language.load import load
from dipapprox.limits import Limits
from dipapprox.privacy.intervals import published
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds
from dipapprox.privacy.intervals.formula_claim import Minorant
from dipapprox.privacy.intervals.published import SpreadEnd, highest
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.semantics.execution import execute
from tests.moved_noise import gaussian, laplace
from tests.privacy import interval_programs as events
from tests.thorough import examples

PROGRAMS = Path(__file__).parents[3] / "programs" / "numbers"
HEAD = "input q[2] in {0, 1}\nadjacent linf 1\noutput y in real\noutput c in {0, 1}\nc <- 0\n"

BODIES = {
    "compared": "r <- Lap(q[1], 2 / eps)\ny <- 0\nif r >= 1/2 then\ny <- r\nc <- 1\nend",
    "fresh": "r <- Gauss(q[1], 2 / eps)\nc <- r >= 0\ny <- Lap(q[2], 3 / eps)",
    "between": "r <- Gauss(q[1], 2 / eps)\ns <- Lap(q[2], 1 / eps)\ny <- 0\n"
    "if r < s then\nc <- 1\ny <- s\nend",
    "powers": "r <- Gauss(q[1], 2)\ns <- Lap(q[2], 1 / eps)\nc <- r < s\ny <- s",
    "gap": "r <- Lap(q[1], 2 / eps)\ns <- Lap(q[2], 2 / eps)\nc <- r < s\n"
    "if c = 1 then y <- s - r else y <- r - s end",
    "one-sided": "r <- LapPlus(q[1], 2 / eps)\ny <- r",
    "inputs": "y <- Gauss(2 * q[1] - q[2], 1 / eps)",
    "mixture": "b <- choose {0 : 1/3, 1 : 2/3}\ny <- Lap(q[1] + b, 1 / eps)",
}


def decide(program: Program, low: str, high: str, eps_prv: str, delta: str) -> IntervalVerdict:
    found = dipapprox.verify(program, eps=f"{low}..{high}", eps_prv=eps_prv, delta=delta)
    assert isinstance(found, IntervalVerdict)
    return found


@pytest.mark.parametrize(("noise", "delta"), [("Gauss", gaussian), ("Lap", laplace)])
@given(
    st.fractions(Fraction(1, 4), Fraction(4), max_denominator=8),
    st.fractions(Fraction(1, 100), Fraction(1), max_denominator=100),
    st.fractions(0, 3, max_denominator=4),
    st.booleans(),
)
@examples(2)
def test_no_divergence_is_higher_than_the_bound(
    noise: str,
    delta: Callable[[float, float], float],
    low: Fraction,
    width: Fraction,
    budget: Fraction,
    narrow: bool,
) -> None:
    program = dipapprox.parse(
        f"input q in 0..1\noutput y in real\nadjacent linf 1\ny <- {noise}(q, 1 / eps)"
    )
    states = execute(program, True, Limits(), real_outputs=True)
    pair = (Fraction(0),), (Fraction(1),)
    growth = math.exp(budget)
    ends = []
    for eps in (low, low + width):
        alpha = max(growth * 3 / 4, 1.0)
        lesser = Fraction(alpha), Fraction(delta(float(eps), math.log(alpha)) + 1e-12)
        value = Fraction(delta(float(eps), float(budget)) + 1e-12)
        ends.append(SpreadEnd(Fraction(growth), value, lesser if narrow else None))
    factor = Minorant(Fraction(growth), Fraction(growth))
    for rates in DerivativeBounds(states, pair).families(low):
        bounds = highest(ends[0], ends[1], factor, width, rates)
        for k in range(11):
            t = k / 10
            bound = (1 - t) * float(bounds[0]) + t * float(bounds[1])
            assert delta(float(low + width * k / 10), float(budget)) <= bound + 1e-12


def test_couplings_tell_of_what_is_claimed_and_no_hair_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where all that is claimed is lost, less than e^eps_prv is not enough."""
    seen = list[SpreadEnd]()

    def watched(lower: SpreadEnd, *more: Any) -> tuple[Fraction, Fraction]:
        seen.append(lower)
        return highest(lower, *more)

    monkeypatch.setattr(published, "highest", watched)
    program = load(PROGRAMS / "laplace_mechanism.dpg", {})
    assert decide(program, "1", "2", "eps + (eps - 1)^2", "1e-3").answer is Answer.DP
    with ctx.workprec(400):
        growths = [to_ball(end.growth) for end in seen if not end.divergence]
        assert growths and all(growth >= arb(1).exp() for growth in growths)


@pytest.mark.parametrize(("name", "truth"), [("gaussian", gaussian), ("laplace", laplace)])
def test_the_least_delta_of_an_interval_from_both_sides(
    name: str, truth: Callable[[float, float], float]
) -> None:
    program = load(PROGRAMS / f"{name}_mechanism.dpg", {})
    peak = max(truth(k / 2000, (k / 2000) ** 2) for k in range(500, 2001))
    holds = decide(program, "1/4", "1", "eps^2", str(Fraction(peak + 1e-4)))
    assert holds.answer is Answer.DP
    assert holds.delta_enclosure.upper >= Fraction(peak - 1e-6)
    assert holds.delta_enclosure.lower <= Fraction(peak + 1e-6)
    assert holds.points < 60
    fails = decide(program, "1/4", "1", "eps^2", str(Fraction(peak - 1e-4)))
    assert fails.answer is Answer.NOT_DP
    assert fails.witness is not None


def test_small_deltas_take_few_points() -> None:
    # 5 eps at every eps: 5.7e-7 and less (Balle and Wang 2018).
    program = load(PROGRAMS / "gaussian_mechanism.dpg", {})
    found = decide(program, "1/4", "1", "5*eps", "1e-6")
    assert found.answer is Answer.DP
    assert found.points < 40


TEXTS = [HEAD + body for body in BODIES.values()]
TEXTS += [
    events.HEAD + events.BODIES[name] for name in events.BODIES if name not in ("spike", "sums")
]


@given(
    st.sampled_from(TEXTS),
    st.sampled_from(["eps", "2*eps", "eps/2", "eps^2 + 1/4", "sqrt(eps)", "3/4"]),
    st.sampled_from(["0", "1/100", "eps/20", "1/4", "1 - exp(-eps/8)"]),
    st.fractions(Fraction(1, 10), Fraction(2), max_denominator=10),
    st.fractions(Fraction(1, 20), Fraction(1), max_denominator=20),
    st.lists(st.fractions(0, 1, max_denominator=30), min_size=2, max_size=2),
)
@examples(7)
def test_intervals_agree_with_their_points(
    text: str, eps_prv: str, delta: str, low: Fraction, width: Fraction, places: list[Fraction]
) -> None:
    def answer(eps: str | Fraction, **limits: Any) -> Any:
        asked = {"eps_prv": eps_prv, "delta": delta, "options": Options(**limits)}
        return dipapprox.verify(dipapprox.parse(text), eps=eps, **asked)

    found = answer(f"{low}..{low + width}", limits=Limits(seconds=1), max_precision=40)
    points = [low + place * width for place in places]
    if found.answer is Answer.NOT_DP:
        assert low <= found.violation.claim.eps <= low + width
        assert answer(found.violation.claim.eps).answer is Answer.NOT_DP
    else:
        assert (
            not found.remaining if found.answer is Answer.DP else found.remaining and found.reason
        )
        proved = [e for e in points if not any(a <= e <= b for a, b in found.remaining)]
        assert all(answer(eps).answer is not Answer.NOT_DP for eps in proved)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("c <- DLap(q[2], 1 / eps) > 0\ny <- Lap(q[1], 1 / eps)", "integer noise"),
        ("b <- choose {0 : exp(-eps), 1 : 1 - exp(-eps)}\ny <- Lap(q[1] + b, 1)", "weights"),
        ("b <- Lap(0, 1 / eps)\ny <- b + Lap(q[1], 1 / eps)\nz <- b + Lap(0, 1)", "one another"),
    ],
)
def test_what_has_no_bounds_is_unknown_everywhere(body: str, reason: str) -> None:
    if "z" not in body:
        body += "\nz <- 0"
    program = dipapprox.parse(f"output z in real\n{HEAD}{body}")
    found = decide(program, "1/2", "1", "eps/2", "1/2")
    assert found.answer is Answer.UNKNOWN
    assert found.remaining == ((Fraction(1, 2), Fraction(1)),)
    assert reason in found.reason


def test_what_is_left_of_an_interval_is_named() -> None:
    # At eps/2 it is 1 - exp(-eps/4): what is claimed at the upper end.
    program = load(PROGRAMS / "laplace_mechanism.dpg", {})
    options = Options(max_precision=40)
    found = dipapprox.verify(
        program, eps="1/2..1", eps_prv="eps/2", delta="1 - exp(-1/4)", options=options
    )
    assert found.answer is Answer.UNKNOWN
    assert found.reason.startswith("critical: at eps = 1 ")
    ((low, high),) = found.remaining
    assert high == 1
    assert low > Fraction(9, 10)
