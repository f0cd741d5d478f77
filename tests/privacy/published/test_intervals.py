"""Numbers over intervals of ε, pairs that are alike, and certificates by cells."""

import json
import math
from fractions import Fraction
from fractions import Fraction as F
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Enclosure, IntervalVerdict, LimitReached, Limits, Options, Program
from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.extended import Extended
from dipapprox.arithmetic.precision import to_ball
from dipapprox.cli.app import main
from dipapprox.language import core
from dipapprox.language.load import load
from dipapprox.numerics.simplest import shortest, simplest
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.maxima import Maxima
from dipapprox.pairs.maximum import FactorAt, Maximum
from dipapprox.pairs.published.divergences import PublishedDivergences
from dipapprox.pairs.published.normal_form import MeasureSides, normal_form
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.details import LeastFactor, PairDetails, PairsBounds
from dipapprox.privacy.intervals import published
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds
from dipapprox.privacy.intervals.published import SpreadEnd, highest
from dipapprox.privacy.intervals.verdict import Minorant
from dipapprox.privacy.notation import NumberSet
from dipapprox.privacy.profiles.least_eps_prv import least_eps_prv
from dipapprox.privacy.sources import open_published
from dipapprox.replays.result import digest
from dipapprox.semantics.execution import execute
from tests.cases import cases
from tests.moved_noise import gaussian, laplace
from tests.texts import texts_in
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
def test_no_divergence_is_higher_than_the_bound(noise, delta, low, width, budget, narrow) -> None:
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


def test_couplings_tell_of_what_is_claimed_and_no_hair_less(monkeypatch) -> None:
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
def test_the_least_delta_of_an_interval_from_both_sides(name, truth) -> None:
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
TEXTS += [text for name, text in texts_in("intervals").items() if name not in ("spike", "sums")]


@given(
    st.sampled_from(TEXTS),
    st.sampled_from(["eps", "2*eps", "eps/2", "eps^2 + 1/4", "sqrt(eps)", "3/4"]),
    st.sampled_from(["0", "1/100", "eps/20", "1/4", "1 - exp(-eps/8)"]),
    st.fractions(Fraction(1, 10), Fraction(2), max_denominator=10),
    st.fractions(Fraction(1, 20), Fraction(1), max_denominator=20),
    st.lists(st.fractions(0, 1, max_denominator=30), min_size=2, max_size=2),
)
@examples(7)
def test_intervals_agree_with_their_points(text, eps_prv, delta, low, width, places) -> None:
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


@cases(
    "body, reason",
    ("c <- DLap(q[2], 1 / eps) > 0\ny <- Lap(q[1], 1 / eps)", "integer noise"),
    ("b <- choose {0 : exp(-eps), 1 : 1 - exp(-eps)}\ny <- Lap(q[1] + b, 1)", "weights"),
    ("b <- Lap(0, 1 / eps)\ny <- b + Lap(q[1], 1 / eps)\nz <- b + Lap(0, 1)", "one another"),
)
def test_what_has_no_bounds_is_unknown_everywhere(body, reason) -> None:
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


# --- Pairs that differ by shifts have one normal form ---------------------------------------------

ALIKE = [
    "y <- {0}(q, 2 / eps)\nz <- {1}({2} * q + t, 1)",
    "a <- {0}({2} * q, 2)\ny <- 5 - 2 * a\nb <- {1}(t, 1)\nif t = 1 then z <- q else z <- b end",
    "y <- 0\nz <- {0}(3 * t - q, 1 / eps)\na <- {1}(q, 1)\nif a >= {2} then y <- a end",
    "z <- 1\nif q = 0 then y <- {0}(t, 1) else y <- {1}({2} - t, 2) end",
    "a <- choose {{ 0 : 1/3, 1 : 2/3 }}\nz <- 0\n"
    "if a = 1 then y <- {0}(q, 1) else y <- {1}(0, 1) end",
]


def opened(text: str) -> tuple[core.Program, PublishedDivergences]:
    program = dipapprox.parse(text)
    options = Options()
    states = execute(program, True, options.limits, real_outputs=True)
    return program, open_published(states, Fraction(1, 2), options)


@pytest.mark.parametrize("body", ALIKE)
@pytest.mark.parametrize("seed", range(2))
def test_remembered_forms_are_those_of_the_measures(body, seed) -> None:
    random = Random(seed)
    noise = [random.choice(["Lap", "Gauss"]) for _ in range(2)]
    head = "input q in 0..2\ninput t in {0, 1}\noutput y, z in real\nadjacent all\n"
    program, found = opened(head + body.format(*noise, random.choice([-1, 1, 2])) + "\n")
    pairs = list(select_pairs(program, AllPairs()))
    random.shuffle(pairs)
    for u, v in pairs:
        first, second, known = found.measures(u), found.measures(v), found.sides((u, v))
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            assert isinstance(known, NotEnclosed)
            continue
        assert not isinstance(known, NotEnclosed)
        assert [outcome for outcome, _ in known] == list(first)
        for outcome, form in known:
            assert form == normal_form(MeasureSides(first[outcome], second.get(outcome, ())))


PAIR = ((0,), (1,))


@given(st.fractions(max_denominator=10**12), st.integers(0, 40))
def test_the_shortest_number_is_inside_and_short(place, bits) -> None:
    upper = place + F(1, 2**bits)
    found = shortest(place, upper)
    assert place <= found <= upper
    text = NumberSet(((found, None),)).text("y")
    assert F(text.removeprefix("y >= ")) == found
    assert len(text) <= max(len(str(simplest(place, upper))), len(str(int(place))) + 17) + 6


@given(st.fractions())
def test_shown_ends_are_the_ends(end) -> None:
    assert F(NumberSet(((None, end),)).text("y").removeprefix("y <= ")) == end


class _Interrupted:
    """All pairs, of which one bound is known before the time is up."""

    ladder = (40,)
    pairs = 2
    ended: str | None = None
    out_of_time = True

    def __init__(self, calls: int) -> None:
        self._calls = calls

    def sharpened(self, factor_at: FactorAt, enough: object) -> Maximum:
        if not self._calls:
            raise LimitReached("time limit: 1 s")
        self._calls -= 1
        return Maximum(Enclosure(F(1, 4), F(1, 2)), PAIR, 40)


class _Demanding:
    def least_factor(self, pair: object, delta: F, bits: int) -> LeastFactor:
        return LeastFactor(F(2), F(2) + F(1, 2**40), None)


def interrupted(calls: int) -> tuple[PairsBounds, _Interrupted]:
    maxima, details = _Interrupted(calls), _Demanding()
    found = least_eps_prv(cast(Maxima, maxima), cast(PairDetails, details), F(1, 10), F(1, 100))
    return found, maxima


def test_what_was_demanded_before_a_limit_stays() -> None:
    found, maxima = interrupted(1)
    assert 0.693 < found.told.lower < 0.694
    assert found.told.upper is None and found.pair == PAIR
    assert maxima.ended == "time limit: 1 s"
    found, maxima = interrupted(0)
    assert found.told == Extended(F(0), None) and maxima.ended == "time limit: 1 s"


# --- Certificates of violations that a number shows -----------------------------------------------


def certified(folder: Path, name: str, *claim: str) -> Path:
    found = folder / "found.json"
    program = str(PROGRAMS / f"{name}.dpg")
    assert main(["verify", program, "--eps", "1", *claim, "--certificate", str(found)]) == 1
    return found


def test_a_violation_of_more_is_refuted(tmp_path, capsys) -> None:
    found = certified(tmp_path, "gaussian_mechanism", "--eps-prv", "1/2", "--delta", "0.2")
    text = found.read_text(encoding="utf-8")
    fields = json.loads(text)
    fields["claim"]["delta"] = fields["steps"][0]["delta"] = "39/100"
    fields["digest"] = digest(fields)
    found.write_text(json.dumps(fields), encoding="utf-8")
    assert main(["check", str(found)]) != 0
    capsys.readouterr()


def test_decisions_are_refused_with_what_to_ask_instead(capsys) -> None:
    assert main(["decide", str(PROGRAMS / "gaussian_mechanism.dpg")]) == 2
    assert "ask verify, also about an interval of eps" in capsys.readouterr().err
