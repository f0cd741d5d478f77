"""Signs of functions of eps: those that the verifier proves are proved, and no false one is."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from exact.sign_functions import EPS, ONE, coarse_functions, constant, exp, functions, product
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Limits
from dipapprox.errors import LimitReached
from dipapprox.exact.signs.nonnegative import Nonnegative, is_nonnegative
from dipapprox.exact.signs.positive import positive_on
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.proofs import Proof
from dipapprox.kernel.replay import apply
from dipapprox.kernel.signs import ALL, Epsilons, Sign, Signs, read_epsilons
from dipapprox.proof_steps.signs import Finder, interval_of
from kernel.forgeries import paths, put, variants

NOTHING = read_machine(
    {"inputs": [], "outputs": [], "reals": [], "adjacency": {"norm": "all"}, "body": []}
)
HALF, TWO = Fraction(1, 2), Fraction(2)
INTERVALS = (
    ALL,
    Epsilons(Fraction(0), TWO),
    Epsilons(HALF, None),
    Epsilons(HALF, TWO),
    Epsilons(Fraction(1), Fraction(1)),
)
SAMPLES = [
    Fraction(n, d) for d in (1, 7, 64) for n in (1, 2, 3, 5, 16, 33, 64, 100, 127, 200, 1000)
]


def as_sum(function: ExponentialPolynomial) -> Sum:
    return Sum.of(((q, n), c) for (n, q), c in function.terms)


def as_function(function: Sum) -> ExponentialPolynomial:
    return ExponentialPolynomial.of({(n, q): c for (q, n), c in function.terms})


def replayed(step: Any) -> Sign:
    found = apply(Proof(NOTHING, None), {}, json.loads(json.dumps(step)))
    assert isinstance(found, Sign)
    return found


def is_true(sign: Sign) -> bool:
    """Whether a sign holds where it is tried: at simple numbers, and at the ends."""
    on, limits = sign.epsilons, Limits()
    ends = [end for end in (on.lower, on.upper) if end]
    tried = [eps for eps in (*SAMPLES, *ends) if on.holds(eps, eps)]
    found = [sign_at(as_function(sign.function), eps, limits) for eps in tried]
    return all(each > 0 or (not each and not sign.positive) for each in found)


@given(st.one_of(functions, coarse_functions), st.sampled_from(INTERVALS), st.booleans())
def test_what_the_verifier_proves_is_told(
    function: ExponentialPolynomial, on: Epsilons, positive: bool
) -> None:
    finder, limits = Finder(on, Limits()), Limits()
    found: object = positive_on(function, interval_of(on), limits) if positive else None
    if not positive:
        answer = is_nonnegative(function, interval_of(on), limits)
        found = answer if isinstance(answer, Nonnegative) else None
    assert finder.tell(as_sum(function), positive) == (found is not None)
    for sign, step in finder.used.items():
        assert replayed(step) == sign
        assert is_true(sign)
        assert sign.function == as_sum(function).parts()[1]
        # The same with what the steps conclude in place of the search.
        assert Signs(on, [sign]).tell(as_sum(function), positive)


TOUCHING = {
    "a square": product([EPS - ONE, EPS - ONE]),
    "a square of a function": product([EPS * exp(1) - ONE, EPS * exp(1) - ONE]),
    "zeros at both ends": (EPS - constant(HALF)) * (constant(2) - EPS),
    "nearly a double zero": product([EPS - ONE, EPS - ONE]) + constant(Fraction(1, 10**12)),
    "high order at 0": exp(1) - ONE - EPS - (EPS * EPS).scaled(HALF) + constant(0),
    "high order at 0, and one zero below": (exp(1) - ONE - EPS) * (EPS + ONE) * (EPS - ONE),
    "falls, then rises": EPS * EPS - EPS.scaled(Fraction(3, 2)) + constant(Fraction(3, 5)),
    "large powers": product([EPS] * 9) - product([EPS] * 8).scaled(3) + exp(3) + constant(90),
    "low far away": (product([EPS - constant(10**6)] * 2) + ONE) * exp(HALF) - ONE,
    "small rates": exp(Fraction(1, 97)) - constant(1) - EPS.scaled(Fraction(1, 100)),
}


@pytest.mark.parametrize("name", TOUCHING)
@pytest.mark.parametrize("on", INTERVALS[:4], ids=str)
@pytest.mark.parametrize("flipped", [False, True])
def test_touching_functions_are_told(name: str, on: Epsilons, flipped: bool) -> None:
    function = -TOUCHING[name] if flipped else TOUCHING[name]
    answer = is_nonnegative(function, interval_of(on), Limits())
    finder = Finder(on, Limits())
    assert finder.tell(as_sum(function), positive=False) == isinstance(answer, Nonnegative)
    for sign, step in finder.used.items():
        assert replayed(step) == sign
        assert is_true(sign)


def steps() -> Iterator[Any]:
    """Steps with all that they may have."""
    for name in TOUCHING:
        for on in INTERVALS[:4]:
            for function in (TOUCHING[name], -TOUCHING[name]):
                finder = Finder(on, Limits())
                if finder.tell(as_sum(function), positive=False):
                    yield from finder.used.values()


HONEST = list(steps())


def test_steps_have_pieces_of_every_kind() -> None:
    pieces = [piece for step in HONEST for factor in step["factors"] for piece in factor["pieces"]]
    assert any(to is not None for to, *_ in pieces)
    assert any(to is None for to, *_ in pieces)
    assert any(not factor["pieces"] for step in HONEST for factor in step["factors"])
    assert any(factor["exponent"] > 1 for step in HONEST for factor in step["factors"])


def test_changed_steps_are_refused_or_conclude_what_is_true() -> None:
    source, counts = random.Random(3), Counter[bool]()
    for step in HONEST:
        changes = [
            (path, new) for path in paths(step) if path for new in variants(_at(step, path), [])
        ]
        for path, new in source.sample(changes, min(60, len(changes))):
            try:
                found = replayed(put(step, path, new))
            except NotProved:
                counts[False] += 1
                continue
            counts[True] += 1
            with contextlib.suppress(LimitReached):  # powers that the verifier does not work out
                assert is_true(found), (path, new, step)
    assert counts[False] > 200
    assert counts[True] > 50


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def one_factor(function: ExponentialPolynomial, *pieces: Any, exponent: int = 1) -> Any:
    terms = [[str(c) if c.denominator > 1 else int(c), n, str(q) if q.denominator > 1 else int(q)]
             for (n, q), c in function.terms]  # fmt: skip
    return {"terms": terms, "exponent": exponent, "pieces": list(pieces)}


def sign_step(low: Any, high: Any, *factors: Any) -> Any:
    return {"rule": "sign", "from": [], "eps": {"from": low, "to": high}, "factors": list(factors)}


@pytest.mark.parametrize(
    "step",
    [
        # The pieces end too early, or leave a gap in front, or go back.
        sign_step(0, 2, one_factor(EPS, [1, 1, 64])),
        sign_step(0, None, one_factor(EPS, [1, 1, 64])),
        sign_step(1, 3, one_factor(EPS - ONE, [1, 1, 64], [3, 1, 64])),
        sign_step(1, 3, one_factor(EPS, [2, 1, 64], [2, 1, 64], [3, 1, 64])),
        # What is below 0 at the start of a rise, or at an end.
        sign_step("1/2", 2, one_factor(EPS - ONE)),
        sign_step(0, 2, one_factor(EPS - ONE)),
        sign_step(1, 3, one_factor(constant(2) - EPS)),
        sign_step(1, None, one_factor(EPS - ONE)),
        sign_step(1, 2, one_factor((EPS - ONE) * (constant(3) - EPS))),
        sign_step("1/2", 2, one_factor(EPS - ONE, [2, 1, 64])),
        sign_step(1, 3, one_factor(constant(2) - EPS, [3, 1, 64])),
        sign_step(1, None, one_factor(constant(2) - EPS, [None, 1, 64])),
        sign_step(0, 2, one_factor(EPS - ONE, [2, 1, 64])),
        # A slope of the wrong sign, a constant, no slope at all.
        sign_step("1/2", None, one_factor(constant(2) - EPS, [None, 1, 64])),
        sign_step(0, 1, one_factor(-ONE, [1, 1, 64])),
        sign_step(0, None, one_factor(-ONE, [None, 1, 64])),
        sign_step(0, 1, one_factor(ONE - EPS, [1, 1, 64])),
        # Taylor's formula with 0 in its range, and beyond all bounds.
        sign_step(0, 2, one_factor(EPS - ONE, [2, 8, 64])),
        sign_step(0, None, one_factor(EPS + constant(-1), [None, 8, 64])),
        sign_step("1/4", "1/2", one_factor(EPS - constant(Fraction(1, 4)), ["1/2", 2, 64])),
        # Slopes that are 0 in the middle, or at one end, and nowhere else.
        sign_step(1, 3, one_factor(ONE - product([EPS - constant(2)] * 2).scaled(4), [3, 1, 64])),
        sign_step(1, 3, one_factor(product([EPS - ONE] * 2) - constant(HALF), [3, 1, 64])),
        sign_step(1, 3, one_factor(product([EPS - constant(3)] * 2) - constant(HALF), [3, 1, 64])),
        # An odd factor without pieces, and no factors.
        sign_step(0, 1, one_factor(exp(1))),
        sign_step(0, 1, one_factor(exp(1), exponent=3)),
        # No interval.
        sign_step(2, 1, one_factor(ONE, [1, 1, 64])),
        sign_step(0, 0, one_factor(ONE, [1, 1, 64])),
        sign_step(-1, 1, one_factor(ONE, [1, 1, 64])),
        # Exponents, orders, bits.
        sign_step(0, 1, one_factor(ONE, [1, 1, 64], exponent=0)),
        sign_step(0, 1, one_factor(ONE - EPS.scaled(HALF), [1, 10**6, 64])),
        sign_step(0, 1, one_factor(ONE - EPS.scaled(HALF), [1, 0, 64])),
        sign_step(0, 1, one_factor(ONE - EPS.scaled(HALF), [1, 2, 1])),
        sign_step(0, 1, one_factor(constant(0), [1, 1, 64])),
    ],
)  # fmt: skip
def test_steps_that_prove_nothing_are_refused(step: Any) -> None:
    with pytest.raises(NotProved):
        replayed(step)


def test_signs_at_the_ends_are_weak_where_they_are_zero() -> None:
    for step, positive in (
        (sign_step(1, 2, one_factor(EPS - ONE, [None, 1, 64])), False),
        (sign_step("1/2", 2, one_factor(EPS - constant(Fraction(1, 4)), [None, 1, 64])), True),
        (sign_step(1, 2, one_factor(EPS - ONE)), False),
        (sign_step(1, 2, one_factor(constant(2) - EPS)), False),
        (sign_step("1/2", 1, one_factor(constant(2) - EPS, [1, 1, 64])), True),
        (sign_step(0, None, one_factor(exp(1) - ONE, [None, 1, 64])), True),
        (sign_step(2, None, one_factor(EPS - ONE, [None, 1, 64])), True),
        (sign_step(0, 2, one_factor(exp(1) - ONE, [2, 4, 64])), True),
        (sign_step(0, None, one_factor(EPS - ONE, exponent=2)), False),
        (sign_step(2, 3, one_factor(EPS - ONE, [3, 1, 64], exponent=2)), True),
        (sign_step(1, 1, one_factor(EPS - ONE, exponent=2)), False),
    ):
        assert replayed(step).positive is positive


def test_signs_are_known_where_they_were_proved_and_nowhere_else() -> None:
    function = as_sum(EPS - ONE)
    known = replayed(sign_step(1, 3, one_factor(EPS - ONE)))
    signs = Signs(Epsilons(Fraction(1), Fraction(3)), [known])
    assert signs.tell(function, positive=False)
    assert not signs.tell(function, positive=True)
    assert signs.tell(function.scaled(TWO), positive=False, on=Epsilons(Fraction(3, 2), TWO))
    for lower, upper in ((HALF, TWO), (Fraction(2), Fraction(4)), (Fraction(2), None)):
        assert not signs.tell(function, positive=False, on=Epsilons(lower, upper))
    # At one eps every sign is known.
    assert signs.tell(function, positive=True, on=Epsilons(TWO, TWO))
    assert not signs.tell(function, positive=True, on=Epsilons(Fraction(1), Fraction(1)))
    assert not signs.tell(function, positive=False, on=Epsilons(HALF, HALF))


def test_only_what_has_one_sign_is_divided_by() -> None:
    signs = Signs(ALL)
    grows, falls = (Ratio(as_sum(each)) for each in (exp(1) - ONE, ONE - exp(1)))
    for eps in (HALF, TWO):
        for one in (grows, falls):
            whole = (signs.inverse(one) * one + Ratio.constant(Fraction(-1))).numerator
            assert whole.sign(eps) == 0
        # A quotient has the sign of its numerator.
        assert signs.inverse(falls).numerator.sign(eps) == -1
    for one in (as_sum(EPS - ONE), Sum(())):
        with pytest.raises(NotProved):
            signs.inverse(Ratio(one))
        with pytest.raises(NotProved):
            Signs.at(Fraction(1)).inverse(Ratio(one))


def test_intervals_are_read_strictly() -> None:
    assert read_epsilons({"from": 0, "to": None}) == ALL
    assert read_epsilons("1/2").point == HALF
    records = [{"from": 0}, {"from": None, "to": 1}, {"from": 0, "to": "inf"}]
    records += [{"from": 2, "to": 1}, {"from": 0, "to": 0}]
    for bad in (0, -1, None, "1", [0, 1], *records, {"from": 0, "to": 1, "closed": True}):
        with pytest.raises(BadProof):
            read_epsilons(bad)


def test_powers_that_are_high_are_refused_and_not_worked_out() -> None:
    power = 10**9
    factor = {"terms": [[1, power, 0], [-1, 0, 0]], "exponent": 1, "pieces": [[3, 4, 64]]}
    with pytest.raises(NotProved):
        replayed(sign_step(2, 3, factor))
    with pytest.raises(Refuted):
        replayed(sign_step(2, 3, {**factor, "pieces": []}))
