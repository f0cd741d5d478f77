"""abs, clamp and rounding, and choices among ranges: what programs do is their definition."""

import random
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import erf, sqrt
from typing import Annotated

from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.data_classes import replace
from dipapprox.language import core
from tests.language.samples import core_of
from tests.semantics.interpreter import Noise, run
from tests.texts import text_of

_MODES = {"round": ROUND_HALF_UP, "floor": ROUND_FLOOR, "ceil": ROUND_CEILING}


def nearest(word: str, value: Fraction) -> int:
    """What `decimal` says; its halves go away from zero, so values are moved above it."""
    moved = Decimal((value + 1000).numerator) / Decimal((value + 1000).denominator)
    return int(moved.to_integral_value(_MODES[word])) - 1000


@given(
    word=st.sampled_from(sorted(_MODES)),
    step=st.sampled_from(["1", "2", "1/2", "3/4"]),
    slope=st.sampled_from([1, -1, Fraction(1, 2), Fraction(-3, 4)]),
    point=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
)
def test_functions_of_inputs(word: str, step: str, slope: Fraction, point: tuple[int, int]) -> None:
    program = core_of(
        "input q[2] in -3..3\noutput a, b, c in real\nadjacent all\n"
        f"a <- {word}(({slope}) * q[1] + q[2], {step})\n"
        f"b <- abs(({slope}) * q[1])\nc <- clamp(q[1] + q[2], -1/2, 2)"
    )
    inputs = tuple(map(Fraction, point))
    value = slope * inputs[0] + inputs[1]
    unit = Fraction(step)
    found = run(_published(program), inputs, Noise(random.Random(0)))
    assert found == (
        nearest(word, value / unit) * unit,
        abs(slope * inputs[0]),
        min(max(sum(inputs), Fraction(-1, 2)), Fraction(2)),
    )


def _published(program: core.Program) -> core.Program:
    """The same, with the outputs where the interpreter reads them."""
    return replace(program, outputs=program.real_outputs)


@given(
    word=st.sampled_from(sorted(_MODES)),
    factor=st.sampled_from(["z/2", "2*z", "(z + w)/3", "z - 1/2"]),
    seed=st.integers(0, 10**6),
)
def test_functions_of_integer_noise(word: str, factor: str, seed: int) -> None:
    program = core_of(
        "input q in 0..1\noutput a, b, c in -9..9\nadjacent all\n"
        f"z <- DLap(q, 1/eps)\nw <- DLap(0, 1/eps)\na <- clamp({word}({factor}), -2, 2)\n"
        "b <- clamp(abs(z - w), 0, 4)\nc <- clamp(max(z, w) + min(z, w), -5, 5)"
    )
    noise = Noise(random.Random(seed))
    found = run(program, (Fraction(1),), noise)
    z, w = (
        noise.value(draw.site, draw.family.name, Fraction(mean), str(draw.scale))
        for draw, mean in zip(program.body[:2], (1, 0), strict=True)
        if isinstance(draw, core.Draw)
    )
    value = {
        "z/2": z / 2, "2*z": 2 * z, "(z + w)/3": (z + w) / 3, "z - 1/2": z - Fraction(1, 2)
    }[factor]  # fmt: skip
    assert found == (
        min(max(nearest(word, value), -2), 2),
        min(abs(z - w), 4),
        min(max(z + w, -5), 5),
    )


def phi(x: float) -> float:
    return (1 + erf(x / sqrt(2))) / 2


def test_pieces_of_published_noise() -> None:
    # The densities of |N(1, 1)| and |N(0, 1)| have the ratio e^(-1/2) cosh x.
    program = dipapprox.parse(
        "input q in 0..1\noutput out in real\nadjacent linf 1\nout <- abs(Gauss(q, 1/eps))"
    )
    found = dipapprox.profile(program, eps=1, eps_prv="1/2")
    cut = 1.65745445315405  # arccosh e
    tail = phi(1 - cut) + phi(-1 - cut) - 2 * sqrt(2.718281828459045) * phi(-cut)
    assert abs(float(found.delta_enclosure) - tail) < 1e-9


def test_choices_among_ranges() -> None:
    header = "input q in 0..2\noutput out in 0..5\nadjacent all\n"
    written = core_of(header + "out <- choose {0 : 1/6, 1 : 2/6, 2 : 3/6}")
    assert core_of(header + "out <- choose {v : (v + 1)/6 for v in 0..2}") == written
    alike = core_of(header + "out <- choose {2 : 1/4, 3 : 1/4, 4 : 1/4, q : 1/4}")
    assert core_of(header + "out <- choose {2..4, q}") == alike
    assert core_of(header + "out <- choose {v + 1 for v in 1..3, q}") == alike
    with_eps = core_of(header + "out <- choose {v : exp(-v*eps)/(1 + exp(-eps)) for v in 0..1}")
    given = "out <- choose {0 : exp(-0*eps)/(1 + exp(-eps)), 1 : exp(-1*eps)/(1 + exp(-eps))}"
    assert with_eps == core_of(header + given)


@dipapprox.mechanism(adjacent="linf 1")
def snapped(
    q: Annotated[dipapprox.Quantity, "in -3..3"], eps: dipapprox.Weight
) -> Annotated[tuple[object, ...], "a in -2..2", "b in 0..3", "c in 0..1"]:
    r = dipapprox.laplace(q, 1 / eps)
    z = dipapprox.discrete_laplace(q, 1 / eps)
    held = dipapprox.clamp(r, 0, 1)
    near = dipapprox.clamp(abs(z), 0, 3)
    c = dipapprox.where(held > Fraction(1, 3), 1, 0)
    return dipapprox.rounded(r / 2, -2, 2, 2), near, c


SNAPPED = text_of("language/piecewise-13")


def test_python_functions_have_them_too() -> None:
    ours = dipapprox.profile(snapped, eps=1, eps_prv="1/2")
    theirs = dipapprox.profile(dipapprox.parse(SNAPPED), eps=1, eps_prv="1/2")
    assert ours.delta_enclosure.meets(theirs.delta_enclosure)
