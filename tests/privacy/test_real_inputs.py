"""(ε, δ) for all real inputs: against finite grids, closed forms, and claims a hair off."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.special import ndtr

from dipapprox import Answer, Options, SourceError, calibrate, parse, profile, verify
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.profiles.profile import profile as profile_of_pairs
from dipapprox.privacy.profiles.profile_result import AtDelta
from dipapprox.privacy.run import Setting
from dipapprox.proofs.budget_verdict import most_of
from tests.cases import cases, examples, part, template_of

_SVT = template_of("real_inputs-svt")


_ONE = template_of("real_inputs-one")

_HALF = Fraction(1, 2)


def _delta(text: str, eps_prv: str, eps: Fraction = _HALF):  # type: ignore[no-untyped-def]
    return profile(parse(text), eps=eps, eps_prv=eps_prv).delta_enclosure


@pytest.mark.parametrize(
    "adjacency", part(["l1 1/2", "linf 1/4", "l0 1", "all", "increasing 1/2"], 2)
)
def test_adjacency_is_that_of_grids(adjacency) -> None:
    """The maxima lie on this grid."""
    grid = _delta(_SVT.format(domain="{0, 1/4, 1/2, 3/4, 1}", adjacency=adjacency), "1/20")
    program = parse(_SVT.format(domain="real 0..1", adjacency=adjacency))
    hair = Fraction(1, 10**4)
    for delta, answer in ((grid.upper + hair, Answer.DP), (grid.lower - hair, Answer.NOT_DP)):
        assert verify(program, eps=_HALF, eps_prv="1/20", delta=delta).answer is answer


@examples(3)
@given(st.lists(st.fractions(0, 1, max_denominator=7), min_size=4, max_size=4))
def test_no_pair_exceeds_the_largest_delta(values) -> None:
    program = parse(_SVT.format(domain="real 0..1", adjacency="linf 1"))
    pair = (tuple(values[:2]), tuple(values[2:]))
    own = profile(program, eps=_HALF, eps_prv="1/10", pairs=[pair]).delta_enclosure
    assert own.lower <= _delta(_SVT.format(domain="real 0..1", adjacency="linf 1"), "1/10").upper


def test_finite_inputs_stand_beside_real_ones() -> None:
    text = "input k in {0, 1, 5}\ninput q in real 0..1\noutput o in {0, 1}\nadjacent {rule}\n"
    text += "r <- Gauss(q + k, 2)\no <- 0\nif r >= 1 then o <- 1 end\n"
    for rule in ("l1 1", "linf 1", "l0 1", "all"):
        box = _delta(text.replace("{rule}", rule), "1/10")
        grid = text.replace("{rule}", rule).replace("real 0..1", "{0, 1/2, 1}")
        assert box.upper >= _delta(grid, "1/10").lower
        assert box.width < Fraction(1, 10**8)


@pytest.mark.parametrize("noise", part(["Gauss", "Lap", "LapPlus"], 2))
@cases(
    "guard",
    "x >= q[1] + q[2]",
    "q[1] - q[2] + x >= 0",
    "x >= 0 and x <= q[1]",
    "x >= q[1] and x <= q[2] + 2",
    "x >= k and x + y >= q[1]",
)
def test_samples_may_be_compared_with_anything(noise, guard) -> None:
    """One sample with a constant and inputs, with several inputs, with finite ones beside."""
    text = f"""
input k in {{{{0, 1}}}}
input q[2] in {{domain}}
output out in {{{{0, 1}}}}
adjacent linf 1
out <- 0
x <- {noise}(0, 2)
y <- Lap(q[2], 1)
if {guard} then out <- 1 end
"""
    program = parse(text.format(domain="real 0..1"))
    grid = profile(parse(text.format(domain="{0, 1/2, 1}")), eps=1, eps_prv="1/10").delta_enclosure
    hair = Fraction(1, 500)
    found = verify(program, eps=1, eps_prv="1/10", delta=grid.lower - hair)
    assert found.answer is Answer.NOT_DP
    found = verify(program, eps=1, eps_prv="1/10", delta=grid.upper + hair)
    assert found.answer is Answer.DP


def test_gumbel_noise_over_several_inputs_is_that_of_a_race() -> None:
    """Of independent Gumbel numbers around m_k one is the largest with odds e^m_k."""
    text = template_of("real_inputs-race")
    steps = np.arange(9) / 8
    p, q = np.meshgrid(np.exp(2 * steps), np.exp(2 * steps), indexing="ij")
    none, first, second = 1 / (1 + p + q), 1 / (1 + p), 1 / (1 + q)
    laws = np.stack([none, first - none, second - none, 1 - first - second + none])
    terms = laws[:, :, :, None, None] - exp(1 / 4) * laws[:, None, None]
    near = abs(steps[:, None] - steps) <= 0.5
    allowed = near[:, None, :, None] & near[None, :, None, :]
    truth = float((np.maximum(terms, 0).sum(axis=0) * allowed).max())
    found = profile(parse(text), eps=1, eps_prv="1/4")
    assert found.delta_enclosure.width < Fraction(truth) / 10**6
    assert 0 <= float(found.delta_enclosure.upper) - truth < 1e-5  # it lies off the grid
    assert "polynomials" in found.engine


def test_many_inputs_and_wide_ones_end_with_bounds(monkeypatch) -> None:
    """Up to some outputs corners are all that is left; then polynomials would be too many."""
    corners = parse(_SVT.format(domain="real 0..1", adjacency="linf 1"), {"N": 6})
    assert verify(corners, eps=_HALF, eps_prv="3/2", delta="1e-9").answer is Answer.DP
    many = parse(_SVT.format(domain="real 0..1", adjacency="linf 1"), {"N": 10})
    monkeypatch.setattr("dipapprox.pairs.boxes.models._MOST_PROBABILITIES", 500)
    # Upper ends by programs that tell more are not asked where answers are to be proved.
    proved = Options(proved=True)
    found = verify(many, eps=_HALF, eps_prv="3/2", delta="1e-9", options=proved)
    assert found.answer is Answer.UNKNOWN
    assert "too many" in found.reason
    leaks = verify(many, eps=_HALF, eps_prv="1/10", delta="1e-3")
    assert leaks.answer is Answer.NOT_DP
    wide = parse(_ONE.format(domain="real -10^9..10^9".replace("^9", "0" * 8), adjacency="all"))
    assert verify(wide, eps=1, delta="1e-9").answer is not Answer.DP


def test_a_calibration_asks_of_sets_of_pairs_only_what_is_claimed() -> None:
    """The largest of three: what is needed near the claim takes far longer to know."""
    text = "input q[3] in real -1..1\noutput o in 1..3\nadjacent linf 1\n"
    text += "for i in 1..3 do v[i] <- Gauss(q[i], 2 / eps) end\no <- argmax(v)\n"
    found = calibrate(parse(text), eps_prv=1, delta="1/100", width="1/2")
    certified, refuted = found.certified, found.refuted
    assert certified.needed.upper <= 1
    assert refuted.needed.lower > 1
    assert refuted.needed.upper is None
    program = parse(text)
    pair = [(refuted.witness.input, refuted.witness.adjacent)]
    again = verify(program, eps=refuted.eps, eps_prv=1, delta="1/100", pairs=pair)
    assert again.answer is Answer.NOT_DP


def test_what_needs_more_than_a_claim_whose_factor_has_no_end() -> None:
    text = "input q in real 0..3\noutput o in 0..1\nadjacent linf 1\no <- 0\n"
    text += "x <- Gumbel(q, 1/4 / eps)\nif x > 1/2 then o <- 1 end\n"
    question = AtDelta(Fraction(0), claimed=Fraction(21601))
    found = profile_of_pairs(Setting(parse(text), AllPairs(), Options()), Fraction(1), question)
    assert found.eps_prv_enclosure.lower > 21601 and found.witness is not None


def test_numbers_beside_guards_tell_no_more_than_samples() -> None:
    text = "input q in real 0..1\noutput y in real\nr <- Gauss(q, 1)\ny <- 0\n"
    text += "if r >= 0 then y <- r end\n"
    found = profile(parse(text), eps=1, eps_prv="1/2")
    assert found.delta_enclosure.width < Fraction(1, 10**9) and found.reason is None
    assert float(found.delta_enclosure) == pytest.approx(ndtr(0) - exp(0.5) * ndtr(-1))
    assert [end.by.split(":")[0] for end in found.why()] == ["enclosures", "processing"]


@pytest.mark.parametrize("scale", ["1 / eps", "1"])
def test_what_moves_now_one_number_furthest_now_the_other_is_bounded(scale) -> None:
    """Other noise than Laplace noise shares a change: no pair moves both numbers furthest."""
    text = (
        "input q[2] in real\nadjacent l1 1\noutput y[2] in real\n"
        f"y[1] <- Lap(q[1], {scale}) + Lap(q[1], {scale})\ny[2] <- Lap(q[2], {scale})\n"
    )
    program = parse(text)
    known = profile(program, eps=1, eps_prv="9/10").delta_enclosure
    assert 0 < known.lower < known.upper < 1
    found = verify(program, eps=1, eps_prv="9/10", delta=(known.lower + known.upper) / 2)
    assert found.answer is Answer.UNKNOWN
    assert verify(program, eps=1, eps_prv="9/10", delta=0).answer is Answer.NOT_DP
    assert "no pair of infinitely many; 1 output, 1 final state" in str(found.describe())
    assert verify(program, eps=1, eps_prv=2, delta=0).answer is Answer.DP  # the budget


def _apart(losses: list[NDArray[np.float64]], width: float, eps_prv: float) -> float:
    """The delta of independent losses, each a density over a grid of this width around 0."""
    joint = losses[0]
    for each in losses[1:]:
        joint = fftconvolve(joint, each)
    loss = (np.arange(len(joint)) - len(joint) // 2) * width
    return float(np.sum(joint * np.maximum(0, -np.expm1(eps_prv - loss))))


def _losses(log_density: Callable[[NDArray[np.float64]], Any], d: float) -> NDArray[np.float64]:
    """The log of f(x) / f(x - d), counted on a grid."""
    x = np.linspace(-60, 60, 150_001)
    log_p, log_q = log_density(x), log_density(x - d)
    places = np.rint(np.clip(log_p - log_q, -10, 10) / 1e-3).astype(int) + 10_000
    return np.bincount(places, weights=np.exp(log_p) * (x[1] - x[0]), minlength=20_001).astype(
        float
    )


_LOG_DENSITIES: dict[str, Callable[[NDArray[np.float64]], Any]] = {
    "Lap": lambda z: -np.abs(z) - np.log(2),
    "Gauss": lambda z: -z * z / 2 - np.log(2 * np.pi) / 2,
    "Logistic": lambda z: -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z))),
    "Gumbel": lambda z: -z - np.exp(np.minimum(-z, 700)),
}


@cases(
    "noise, means, published, changes",
    (("Lap", "Lap"), ("q[1]", "q[1] + q[2]"), ("a", "b"), [(1, 2), (1, 0), (1, 1), (0, 1)]),
    (("Lap", "Gauss"), ("q[1]", "q[2]/2"), ("a", "a + b"), [(1, 0.5), (0, 0.5), (0.5, -0.5)]),
    pytest.param(
        *(("Gumbel", "Logistic"), ("q[1]", "2*q[2]"), ("a", "b - a")),
        *([(1, 2), (-1, 2), (-0.5, 1)],),
        marks=pytest.mark.thorough,
    ),
    (("Gumbel", "Gumbel"), ("q[1]", "q[2]"), ("a", "b"), [(1, 1), (-1, 1), (-1, -1), (1, 0)]),
)
def test_several_numbers_are_largest_where_inputs_move_all_furthest(
    noise, means, published, changes
) -> None:
    """Against distributions of losses on a grid, of some changes of the means, all allowed."""
    text = "input q[2] in real 0..3\nadjacent linf 1\noutput y[2] in real\n" + "".join(
        f"{name} <- {family}({mean}, 1/eps)\n"
        for name, family, mean in zip("ab", noise, means, strict=True)
    )
    text += f"y[1] <- {published[0]}\ny[2] <- {published[1]}\n"
    found = profile(parse(text), eps=1, eps_prv="1/2", width="1e-4").delta_enclosure
    logs = [_LOG_DENSITIES[family] for family in noise]
    own = [
        _apart([_losses(log, d) for log, d in zip(logs, each, strict=True)], 1e-3, 0.5)
        for each in changes
    ]
    assert float(found.lower) - 1e-3 <= max(own) <= float(found.upper) + 1e-3
    assert found.width < Fraction(1, 1000)


@pytest.mark.parametrize(("rule", "beside"), [("linf", 1), ("increasing", 0)])
def test_what_guards_are_made_of_need_not_tell_inputs_apart(rule, beside) -> None:
    """Only the number does, 1-private: less than randomised response, or adjacency in one order."""
    program = parse(
        f"input q in real 0..1\nadjacent {rule} 1\noutput out in {{0, 1}}\noutput y in real\n"
        "x <- Lap(q, 1/eps)\nz <- Lap(q, 1/eps)\nout <- 0\nif x >= z then out <- 1 end\n"
        "y <- Lap(q, 1/eps)\n"
    )
    found = profile(program, eps=1, eps_prv="1/2")
    assert found.delta_enclosure.width < Fraction(1, 10**9) and found.reason is None
    assert float(found.delta_enclosure) == pytest.approx(1 - exp(-0.25))
    most = most_of(Fraction(1), Fraction(1, 2), program)
    assert float(most) == pytest.approx((exp(1) - exp(0.5)) / (exp(1) + beside))
    least = profile(program, eps=1, delta="1/10").eps_prv_enclosure
    assert float(least) == pytest.approx(1 + 2 * log(0.9))


@cases(
    "ends, scale, reason",
    ("0..1e400", "1", "beyond 2"),
    ("-1e200..1e200", "1", "beyond 2"),
    ("1e-300..2e-300", "1", "None"),  # 0: thresholds of one number have a small budget
    ("0..1e30", "1", "scales of noise"),
    ("0..1", "1e400", "None"),
)
def test_what_doubles_do_not_hold_all_samples_tell(ends, scale, reason) -> None:
    text = f"""input q in real {ends}
output y in 0..1
adjacent linf 1
r <- Gauss(q, {scale} / eps)
if r > 1/2 then y <- 1 else y <- 0 end
"""
    found = profile(parse(text), eps=1, eps_prv=1)
    assert reason in str(found.reason)
    assert found.delta_enclosure.upper <= 0.127  # by all samples


@cases(
    "call, said",
    ("abs(x) + x", "'abs' of an input, which has no noise yet"),
    ("clamp(x, 0, 1) + x", "'clamp' of an input, which has no noise yet"),
    ("round(x)", "inputs are compared without noise"),
)
def test_functions_of_an_input_without_noise_are_named(call, said) -> None:
    """With what to write: one clamp alone, or a smaller range."""
    head = "input x in real -1..3\noutput y in {0, 1}\n"
    program = parse(f"{head}r <- Lap({call}, 1/eps)\ny <- r > 1/2\n")
    with pytest.raises(SourceError, match=said) as error:
        verify(program, eps=1, delta=0)
    assert "read the input through one 'clamp(q, -1, 1)' and nowhere else" in str(error.value)


def test_some_pairs_refute_where_no_method_bounds_all() -> None:
    """The first number moves by 1, or the second one, by two scales of its noise, or both less."""
    program = parse(
        "input q[2] in real 0..2\nadjacent l1 1\noutput y[2] in real\n"
        "y[1] <- Logistic(q[1], 1/eps)\ny[2] <- Logistic(2*q[2], 1/eps)\n"
    )
    pair = profile(program, eps=1, eps_prv="1/2", pairs="0,0~0,1").delta_enclosure
    for claimed, answer in (
        (pair.lower - Fraction(1, 10**9), Answer.NOT_DP),
        (pair.upper + Fraction(1, 10**9), Answer.UNKNOWN),
    ):
        verdict = verify(program, eps=1, eps_prv="1/2", delta=claimed)
        assert verdict.answer is answer and verdict.scope.everywhere
    least = profile(program, eps=1, eps_prv="1/2")
    most = (exp(2) - exp(0.5)) / (exp(2) + 1)  # two scales are the dearest change
    assert float(least.delta_enclosure.upper) == pytest.approx(most)
    assert abs(least.delta_enclosure.lower - pair.lower) < Fraction(1, 10**9) and least.reason


def test_a_large_eps_prv_is_found_for_two_inputs() -> None:
    """One input changes: delta is 1 - e^(-1/b) / 2 - e^(ε - 9/b) / 2, the other tells nothing."""
    text = "input q[2] in real 0..10\noutput out[2] in 0..1\nadjacent l0 1\n"
    for place in (1, 2):
        text += f"x <- Lap(q[{place}], 3/4 / eps)\nout[{place}] <- 0\n"
        text += f"if x > 1 then\nout[{place}] <- 1\nend\n"
    found = profile(parse(text), eps=1, delta="1/100").eps_prv_enclosure
    assert found.lower is not None
    assert found.upper is not None
    assert found.upper - found.lower < 1e-4
    least = 12 + log(2 * (0.99 - exp(-4 / 3) / 2))
    assert float(found.lower) - 1e-9 < least < float(found.upper) + 1e-9


@cases("eps_prv, delta", *part([(14, "1/10000"), (24, "1/20000")], 2))
def test_chords_bound_two_inputs_at_a_large_eps_prv(eps_prv, delta) -> None:
    """Of Laplace and Gaussian noise corners say less there than chords: 27/10000, 4/10000."""
    text = "input q1 in real 0..6\ninput q2 in real 0..6\noutput o in 0..8\n"
    text += "adjacent increasing 2\no <- 0\nx <- Lap(q1, 1 / eps)\nif x > 4 then o <- o + 1 end\n"
    text += "x <- Gauss(q2, 1/2 / eps)\nif x > 5 then o <- o + 3 end\n"
    assert verify(parse(text), eps=1, eps_prv=eps_prv, delta=delta).answer is Answer.DP
