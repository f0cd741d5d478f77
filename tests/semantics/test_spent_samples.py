"""States that count or differ in what they know: told by comparisons and readings."""

import random
from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Enclosure, Limits, NotEnclosed, Options, decide
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Chosen
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.exact.choices.circuits import enclose_choices
from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.limits import limited
from dipapprox.privacy.subjects import open_probabilities
from dipapprox.semantics import spent_samples
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.cases import cases, examples
from tests.grammars import texts
from tests.semantics.interpreter import Noise, distribution, distribution_of_states

Distribution = dict[tuple[core.Value, ...], Enclosure]


def program(
    turn: str, size: int, before: str = "", after: str = "", most: int = 40
) -> core.Program:
    text = (
        f"param N = {size}\ninput q[N], t in {{0, 1}}\noutput out in {-most}..{most}\n"
        "adjacent linf 1\n"
        f"c <- 0\n{before}\nfor i in 1..N do\n{turn}\nend\n{after}\nout <- c\n"
    )
    return elaborate(parse(text), {}, "counts")


def counted(example: core.Program, at_least: int = 2) -> FinalStates:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spent_samples, "_MANY", at_least)
        return execute(example, True, compared=True)


def distributions(states: FinalStates, bits: int = 30) -> list[Distribution]:
    source = open_probabilities(states, Fraction(1, 2), Options())
    inputs = [
        tuple(cell.domain[k % 3 < ones] for k, cell in enumerate(states.program.inputs))
        for ones in (0, 2)
    ]
    found = [
        each for each in source.distributions(inputs, bits) if not isinstance(each, NotEnclosed)
    ]
    assert len(found) == len(inputs)
    return [dict(zip(map(tuple, states.outputs), each, strict=True)) for each in found]


def check(example: core.Program) -> FinalStates:
    """Both executions give the same probabilities, one of them with fewer states."""
    fewer, all_paths = counted(example), execute(example, True)
    assert fewer.comparisons and len(fewer.states) < len(all_paths.states)
    agree(distributions(fewer), distributions(all_paths))
    return fewer


def agree(first: list[Distribution], second: list[Distribution]) -> None:
    for one, other in zip(first, second, strict=True):
        assert one.keys() == other.keys()
        for output, enclosure in one.items():
            expected = other[output]
            assert enclosure.lower <= expected.upper and expected.lower <= enclosure.upper
            assert enclosure.width < Fraction(1, 2**18)


COUNT = "r <- {law}(q[i], 4 / eps)\nif r >= {threshold} then c <- c + 1 end"
SHARED = "x <- {law}(t, 2 / eps)"


@cases("law, threshold", ("Gauss", "1"), ("Gauss", "x"), ("Lap", "x"), ("DLap", "1"), ("DLap", "x"))
def test_counts(law, threshold) -> None:
    turn = COUNT.format(law=law, threshold=threshold)
    states = check(program(turn, 3, SHARED.format(law=law)))
    assert len(states.states) == 4


OTHERS = {
    "parity": "r <- Lap(q[i], 4 / eps)\nif r >= x then c <- 1 - c end",
    "a cap": "r <- Lap(q[i], 4 / eps)\nif r >= x and c < 2 then c <- c + 1 end",
    "two counters in one": "r <- Lap(q[i], 4 / eps)\nif r >= x then c <- c + 1 end\n"
    "if r < x - 2 then c <- c + 5 end",
    "two thresholds": "r <- Lap(q[i], 4 / eps)\nif r >= x then c <- c + 1 end\n"
    "s <- Lap(q[i], 1 / eps)\nif s >= 1 then c <- c + 1 end",
    "weights": "r <- Lap(q[i], 4 / eps)\nif r >= x then c <- 2 * c + 1 end",
    "what is held is not spent": "r <- Lap(q[i], 4 / eps)\nif r >= x then c <- c + 1 end\ny <- r",
    "an input decides": "r <- Lap(q[i], 4 / eps)\nif r >= x and q[i] = t then c <- c + 1 end",
    "noise on both sides": "r <- Lap(q[i], 4 / eps)\nif r >= x + q[i] then c <- c + 1 end",
    "one sample against the next": "r <- Lap(q[i], 4 / eps)\nif r >= x then c <- c + 1; x <- r end",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_else_depends_on_comparisons(name) -> None:
    example = program(OTHERS[name], 3, "x <- Lap(t, 2 / eps)\ny <- x", "if y >= 3 then c <- 0 end")
    fewer, all_paths = counted(example), execute(example, True)
    agree(distributions(fewer), distributions(all_paths))


@given(texts("counters", 1), st.sampled_from(["", "if x >= 1 then c <- 0 end"]))
@examples(4)
def test_random_turns(turn, after) -> None:
    start = "x <- Lap(0, 2 / eps)\ny <- Gauss(t, 1)\nr <- x\ns <- y"
    example = program(turn, 2, start, after, most=60)
    fewer, all_paths = counted(example), execute(example, True)
    agree(distributions(fewer, 20), distributions(all_paths, 20))


def test_cells_that_are_counted_may_be_exchanged() -> None:
    turn = COUNT.format(law="Lap", threshold="x")
    symmetry = CellSymmetry(counted(program(turn, 4, SHARED.format(law="Lap"))))
    swap = symmetry.swap(0, 3)
    assert swap is not None and all(swap.fixed)
    apart = symmetry.swap(0, 4)  # a query, and what moves the threshold
    assert apart is None or not any(apart.fixed)


def test_decisions() -> None:
    turn = COUNT.format(law="Lap", threshold="1")
    small = program(turn, 2, most=2)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spent_samples, "_MANY", 2)
        mixed = decide(small, budget="1")
    assert mixed.answer is decide(small, budget="1").answer


def test_comparisons_of_samples_that_are_looked_at_again_do_not_trade_places() -> None:
    turn = (
        "r <- Lap(q[i], 1 / eps)\nif r >= x then\nc <- c + 1\n"
        "if c = 2 then if r >= 1 then f <- true end end\nend"
    )
    check(program(turn, 4, "x <- Lap(t, 1 / eps)\nf <- false", "if f then c <- c + 10 end"))


# --- States that differ in what they know of inputs not read again --------------------------------


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
                enclosed = enclose_choices([event], 40)[event]
                assert isinstance(enclosed, Enclosure) and enclosed.lower == enclosed.upper
                chance *= enclosed.lower
            own[output] = own.get(output, Fraction(0)) + chance
        found.append({output: chance for output, chance in own.items() if chance})
    return found


@given(text=texts("known_inputs", 14), seed=st.integers(0, 2**32))
def test_programs_have_the_probabilities_of_their_runs(text, seed) -> None:
    program, generator = elaborate(parse(text), {}, "random"), random.Random(seed)
    inputs = _inputs(program)
    asked = None
    if seed % 2:
        asked = inputs = generator.sample(inputs, generator.randint(1, 6))
    states = execute(program, True, compared=True, inputs=asked)
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
def test_counted_responses_have_a_state_for_every_count(step) -> None:
    size = 6
    program = _counted(step, size)
    with limited(Limits(states=6 * size)):
        states = execute(program, True, compared=True)
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
