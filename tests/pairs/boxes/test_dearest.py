"""The least pure budget for real inputs, beside what scipy says of the same distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import cycle, product
from typing import Any

import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import gumbel_r, laplace, logistic, norm

import dipapprox
from dipapprox.errors import LimitReached
from dipapprox.exact.log_concave import Logarithms
from dipapprox.pairs.boxes.cells import pairs_of
from dipapprox.pairs.boxes.dearest import pure_search
from dipapprox.privacy.subjects import open_probabilities
from dipapprox.semantics.real_inputs import execute_for_declared
from tests.cases import THOROUGH, cases, part

LAWS = {"Lap": laplace, "Gauss": norm, "Gumbel": gumbel_r, "Logistic": logistic}
_NEAR = Fraction(1, 10**6)


def asked(inputs: str, labels: int, adjacency: str, *parts: tuple[str, str, str, tuple[int, ...]]):
    """A program that tells for every part between which cuts its number lies."""
    lines = [inputs, f"output out[{len(parts)}] in 0..{labels}", f"adjacent {adjacency}"]
    for number, (family, mean, scale, cuts) in enumerate(parts, 1):
        lines += [f"x{number} <- {family}({mean}, {scale} / eps)", f"out[{number}] <- 0"]
        for label, cut in enumerate(cuts, 1):
            lines += [f"if x{number} > {cut} then", f"out[{number}] <- {label}", "end"]
    return dipapprox.parse("\n".join(lines))


def shared(first: Callable[[float], float], second: Callable[[float], float]) -> float:
    """The largest first(t) + second(1 - t)."""
    found = minimize_scalar(
        lambda t: -first(t) - second(1 - t), bounds=(0, 1), options={"xatol": 1e-12}
    )
    return max(-found.fun, first(1) + second(0), first(0) + second(1))


def moved(name: str, scale: float, cut: float, up: bool) -> Callable[[float], float]:
    """What a number about 0 that is moved up by t, or about 1 and moved down, loses by a tail."""
    law = LAWS[name]
    if up:
        return lambda t: law.logsf((cut - t) / scale) - law.logsf(cut / scale)
    return lambda t: law.logcdf((cut - 1 + t) / scale) - law.logcdf((cut - 1) / scale)


@pytest.mark.parametrize(
    ("first", "second"),
    [("Lap", "Gumbel"), ("Logistic", "Lap"), ("Gauss", "Gauss"), ("Gumbel", "Logistic")],
)
def test_a_radius_is_shared_by_independent_parts(first: str, second: str) -> None:
    """The theorem of concave needs: with l1 the place on the line between two ends counts."""
    program = asked(
        "input q[2] in real 0..1", 1, "l1 1",
        (first, "q[1]", "1", (1,)), (second, "q[2]", "3/2", (1,)),
    )  # fmt: skip
    truth = max(
        shared(moved(first, 1, 1, up), moved(second, 1.5, 1, also))
        for up, also in product((True, False), repeat=2)
    )
    found = dipapprox.profile(program, eps=1, delta=0)
    least = found.eps_prv_enclosure
    assert found.reason is None
    assert least.lower is not None
    assert least.upper is not None
    assert float(least.lower) <= truth + 1e-9
    assert truth <= float(least.upper) + 1e-9
    assert least.upper - least.lower <= _NEAR
    for eps_prv, answer in ((least.upper + _NEAR, "DP"), (least.lower - _NEAR, "Not_DP")):
        assert dipapprox.verify(program, eps=1, eps_prv=eps_prv, delta=0).answer.value == answer


@cases("mean, cut", *part([("q", "-5 * k"), ("q + 5 * k", "0")], 2))
def test_finite_inputs_move_parts_and_their_ends(mean, cut) -> None:
    """The lemma is about real inputs alone: with these the needed pair lies elsewhere."""
    inputs = "input q in real 0..1\ninput k in 0..1"
    program = asked(inputs, 1, "l0 1", ("Gauss", mean, "1", (cut,)))
    truth = norm.logcdf(-1) - norm.logcdf(-6)
    found = dipapprox.profile(program, eps=1, delta=0).eps_prv_enclosure
    assert found.lower - _NEAR <= truth <= found.upper + _NEAR
    for eps_prv, answer in part([(truth + 1e-3, "DP"), (truth - 1e-3, "Not_DP")], 2):
        claim = dipapprox.verify(program, eps=1, eps_prv=Fraction(eps_prv), delta=0)
        assert claim.answer.value == answer


TWO_TAILS = """
input q in real -5..5
output out in 0..3
adjacent linf 2
x <- Logistic(q, 2)
y <- Gumbel(q, 1)
out <- 0
if x <= 1 and y > 1 then out <- 1 end
if x > 1 and y >= q + 3 then out <- 2 end
if x > 1 and y < q + 3 then out <- 3 end
"""


def test_tiny_deltas_refute_as_well() -> None:
    """δ = 0 fails by less than doubles tell at first."""
    program = dipapprox.parse(TWO_TAILS)
    least = dipapprox.profile(program, eps=1, delta=0).eps_prv_enclosure
    inside = least.lower * (1 - Fraction(1, 10**6))
    claim = dipapprox.verify(program, eps=1, eps_prv=inside, delta=0)
    assert claim.answer is dipapprox.Answer.NOT_DP


def test_a_limit_leaves_what_is_known_from_both_sides(monkeypatch) -> None:
    """Sets of pairs that a limit finds in the middle of a division are not forgotten."""
    program = dipapprox.parse("""
input q in real -1..4
output out in 0..1
adjacent linf 1
c <- choose {0 : 1/3, 1 : 2/3}
x <- Logistic(q, 2 / eps)
out <- 0
if x >= 1/2 then
    if c = 0 then out <- 1 end
else
    if c = 1 then out <- 1 end
end
""")
    whole = dipapprox.profile(program, eps=1, delta=0).eps_prv_enclosure
    assert whole.lower is not None
    assert whole.upper is not None
    states, bound = execute_for_declared(program, True), Logarithms.bound
    wide = 0
    ends = LimitReached("time limit: 1 s"), SystemExit()
    for looks, end in product(part(range(1, 60, 9), 4), ends):
        left = iter(range(looks))

        def ended(
            self: Logarithms, *given: Any, left: Iterator[int] = left, end: BaseException = end
        ) -> Any:
            if next(left, None) is None:
                raise end
            return bound(self, *given)

        monkeypatch.setattr(Logarithms, "bound", ended)
        source = open_probabilities(states, Fraction(1), dipapprox.Options())
        search = pure_search(states, Fraction(1), pairs_of(states.program), source)
        assert search is not None
        with suppress(SystemExit):
            search.bounds()
        found = search.bounds()
        if found is not None:
            lower, upper = found.told.lower, found.told.upper
            assert lower is not None and lower <= whole.upper
            assert upper is None or upper >= whole.lower
            # What ends it anywhere may have lost sets.
            assert upper is None or isinstance(end, LimitReached)
            wide += upper is not None and upper > lower + _NEAR
    assert wide


TIED = {
    "race": "if x > y and x > z then out <- 1 end\nif y > x and y > z then out <- 2 end",
    "sparse vector": "if x >= z then out <- 1 else if y >= z - 1/2 then out <- 2 end end",
    "ends": "if x >= q[2] then if x <= 2 + q[3] then out <- 1 else out <- 2 end end",
    "differences": "if x >= y + q[3] then out <- 1 else if z > 1 then out <- 2 end end",
}


RULES = ["linf 1/2", "l0 1", "increasing 1/2"]


@cases(
    "name, adjacency", *(product(TIED, RULES) if THOROUGH else part([*zip(TIED, cycle(RULES))], 2))
)
def test_tied_numbers_need_most_at_ends(name: str, adjacency: str) -> None:
    """The lemma of what moves together, beside all pairs of a grid that has these ends."""
    body = TIED[name]
    text = "input q[3] in {domain}\noutput out in 0..2\nadjacent {rule}\nout <- 0\n{draws}{body}"
    means = "q[1]", "q[2]" if "q[2]" not in body else "1", "-q[3]" if "q[3]" in body else "q[3]"
    draws = zip("xyz", ("Logistic", "Lap", "Gumbel"), means, ("1", "3/2", "1"), strict=True)
    lines = "".join(f"{x} <- {law}({mean}, {b} / eps)\n" for x, law, mean, b in draws)
    found, grid = (
        dipapprox.profile(
            dipapprox.parse(text.format(domain=own, rule=adjacency, draws=lines, body=body)),
            eps=1, delta=0,
        )
        for own in ("real 0..1", "{0, 1/2, 1}")
    )  # fmt: skip
    assert "log-concave states" in found.engine
    assert found.reason is None
    assert found.eps_prv_enclosure.is_within(_NEAR)
    assert found.eps_prv_enclosure.meet(grid.eps_prv_enclosure, "the least ε_prv")
