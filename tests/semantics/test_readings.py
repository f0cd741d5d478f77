"""States that differ in what they know of inputs not read again: they meet, told by readings."""

import random
from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Chosen
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.exact.choices.circuits import enclose_choices
from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.semantics.interpreter import Noise, distribution, distribution_of_states

_HEADER = """input q[3] in {{0, 1}}
input r in -1..1
input s in {{x, y}}
output out in -9..9
output seen in {{x, y}}
adjacent all
n <- 0
m <- 0
seen <- x
{noise}{body}
out <- clamp(n + 3 * m, -9, 9)
"""

_VALUES = ["0", "1", "2", "q[1]", "1 - q[2]", "q[3]", "r", "n", "m"]
_WEIGHTS = ["1/4", "(1 + q[1]) / 4", "(1 + 2 * q[2]) / 4", "q[3] / 2", "(1 + r) / 3", "(2 - m) / 9"]
_TESTS = [
    "q[1] = 1",
    "q[2] = 0",
    "q[1] + q[3] > 1",
    "r < 1",
    "s = x",
    "n = 0",
    "n + r > m",
    "m = 1",
]
_STEPS = ["n <- b", "n <- clamp(n + b, 0, 2)", "n <- 0", "m <- clamp(m + b, 0, 1)", "m <- 1 - m"]


@st.composite
def _blocks(draw: DrawFn, noisy: bool, depth: int = 0) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 6 if depth == 0 else 2))):
        kinds = ["choose", "choose", "step", "step", "seen"] + ["branch"] * (2 - depth) * 2
        match draw(st.sampled_from([*kinds, *(["exit"] if depth else [])])):
            case "choose":
                first, second = draw(st.sampled_from(_VALUES)), draw(st.sampled_from(_VALUES))
                weight = draw(st.sampled_from(_WEIGHTS))
                lines.append(f"b <- choose {{ {first} : {weight}, {second} : 1 - {weight} }}")
            case "step":
                lines.append(draw(st.sampled_from(_STEPS)))
            case "seen":
                lines.append(f"seen <- {draw(st.sampled_from(['s', 'x', 'y']))}")
            case "exit":
                lines.append("out <- clamp(n - m, -9, 9)\nexit")
                break
            case _:
                tests = [*_TESTS, "z < 0", "z < 1/2", "q[1] + z > r"] if noisy else _TESTS
                then, other = draw(_blocks(noisy, depth + 1)), draw(_blocks(noisy, depth + 1))
                test = draw(st.sampled_from(tests))
                lines.append(f"if {test} then\n{then}\nelse\n{other}\nend")
    return "\n".join(lines)


@st.composite
def _programs(draw: DrawFn) -> core.Program:
    noisy = draw(st.booleans())
    noise = "b <- 0\n" + ("z <- Lap(q[2], 1)\n" if noisy else "")
    text = _HEADER.format(noise=noise, body=draw(_blocks(noisy)))
    return elaborate(parse(text), {}, "random")


def _inputs(program: core.Program) -> list[core.Input]:
    return list(product(*(cell.domain for cell in program.inputs)))


def _chances(states: FinalStates, inputs: list[core.Input]) -> list[dict[int, Fraction]]:
    """The probabilities of the outputs of a program without samples."""
    catalogue = Catalogue(states, Fraction(1))
    found = []
    for solved in catalogue.states(inputs):
        own: dict[int, Fraction] = {}
        for output, numbers in solved:
            chance = Fraction(1)
            for number in numbers:
                event = catalogue.events[number]
                assert isinstance(event, Chosen)
                enclosed = enclose_choices([event], 40, Limits())[event]
                assert isinstance(enclosed, Enclosure) and enclosed.lower == enclosed.upper
                chance *= enclosed.lower
            own[output] = own.get(output, Fraction(0)) + chance
        found.append({output: chance for output, chance in own.items() if chance})
    return found


@given(program=_programs(), seed=st.integers(0, 2**32))
def test_programs_have_the_probabilities_of_their_runs(program: core.Program, seed: int) -> None:
    generator = random.Random(seed)
    inputs = _inputs(program)
    asked = None
    if seed % 2:
        asked = inputs = generator.sample(inputs, generator.randint(1, 6))
    states = execute(program, True, Limits(), compared=True, inputs=asked)
    noise = Noise(generator)
    runs = [distribution(program, input, noise) for input in inputs]
    for input, expected in zip(inputs, runs, strict=True):
        assert distribution_of_states(states, input, noise)[0] == expected
    if states.samples or not states.choices:
        return
    found = _chances(states, inputs)
    for expected, own in zip(runs, found, strict=True):
        assert {tuple(states.outputs[k]): chance for k, chance in own.items()} == expected
    if asked is not None:
        return
    symmetry = CellSymmetry(states)
    known = dict(zip(inputs, found, strict=True))
    for first, second in combinations(range(3), 2):
        swap = symmetry.swap(first, second)
        for input in inputs if swap is not None else ():
            other = list(input)
            other[first], other[second] = input[second], input[first]
            for output, partner in enumerate(swap.partners if swap is not None else ()):
                if swap is not None and swap.matched[output]:
                    theirs = known[tuple(other)].get(output, 0)
                    assert known[input].get(partner, 0) == theirs


_COUNTED = {
    "values": """
    b <- choose { q[i] : 3/4, 1 - q[i] : 1/4 }
    n <- n + b""",
    "weights": """
    b <- choose { 1 : (1 + 2 * q[i]) / 4, 0 : (3 - 2 * q[i]) / 4 }
    n <- n + b""",
    "branches": """
    if q[i] = 1 then b <- choose { 1 : 3/4, 0 : 1/4 } else b <- choose { 1 : 1/4, 0 : 3/4 } end
    n <- n + b""",
    "one side": """
    if q[i] = 1 then b <- choose { 1 : 3/4, 0 : 1/4 } else b <- choose { 1 : 1/4, 0 : 3/4 } end
    if b = 1 then n <- n + 1 end""",
    "eps": """
    b <- choose { q[i] : exp(eps) / (1 + exp(eps)), 1 - q[i] : 1 / (1 + exp(eps)) }
    n <- n + b""",
}


def _counted(step: str, size: int) -> core.Program:
    text = f"""param N = {size}
    input q[N] in {{0, 1}}
    output out in 0..N
    adjacent l0 1
    n <- 0
    for i in 1..N do {step}
    end
    out <- n"""
    return elaborate(parse(text), {}, "counted")


@pytest.mark.parametrize("step", _COUNTED.values(), ids=_COUNTED)
def test_counted_responses_have_a_state_for_every_count(step: str) -> None:
    size = 6
    program = _counted(step, size)
    states = execute(program, True, Limits(states=6 * size), compared=True)
    assert len(states.states) == size + 1
    assert not any(state.conditions for state in states.states)
    cells = tuple(tuple(range(size)) for _ in range(size + 1))
    symmetry = CellSymmetry(states)
    assert tuple(symmetry.classes(output)[0] for output in range(size + 1)) == cells
    if "eps" not in step:
        ones = 3
        input = (Fraction(1),) * ones + (Fraction(0),) * (size - ones)
        (found,) = _chances(states, [input])
        for output, chance in found.items():
            assert chance == _chance(size, ones, int(str(states.outputs[output][0])))


def _chance(size: int, ones: int, count: int) -> Fraction:
    """That `count` of `size` answers are 1, `ones` of which are so with probability 3/4."""
    high, low = Fraction(3, 4), Fraction(1, 4)
    return sum(
        (
            comb(ones, k) * high**k * low ** (ones - k)
            * comb(size - ones, count - k) * low ** (count - k) * high ** (size - ones - count + k)
            for k in range(max(0, count - size + ones), min(ones, count) + 1)
        ),
        Fraction(0),
    )  # fmt: skip
