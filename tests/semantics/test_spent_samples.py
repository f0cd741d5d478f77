"""Programs that count: states told by comparisons of spent samples, against paths one by one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.questions.interface import decide
from dipapprox.semantics import spent_samples
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.thorough import examples

HALF = Fraction(1, 2)

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
        return execute(example, True, Limits(), compared=True)


def distributions(states: FinalStates, bits: int = 30) -> list[Distribution]:
    source = open_probabilities(states, HALF, Options())
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
    fewer, all_paths = counted(example), execute(example, True, Limits())
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


@pytest.mark.parametrize(
    ("law", "threshold"),
    [("Gauss", "1"), ("Gauss", "x"), ("Lap", "x"), ("DLap", "1"), ("DLap", "x")],
)
def test_counts(law: str, threshold: str) -> None:
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
def test_what_else_depends_on_comparisons(name: str) -> None:
    example = program(OTHERS[name], 3, "x <- Lap(t, 2 / eps)\ny <- x", "if y >= 3 then c <- 0 end")
    fewer, all_paths = counted(example), execute(example, True, Limits())
    agree(distributions(fewer), distributions(all_paths))


TURNS = st.lists(
    st.sampled_from(
        [
            "r <- Lap(q[i], 4 / eps)",
            "s <- Gauss(t, 1 / eps)",
            "if r >= x then c <- c + 1 end",
            "if r < 0 then c <- 2 - c end",
            "if s >= y then c <- 1 end",
            "if s < r then c <- c + 1 end",
            "x <- r",
            "if c > 3 then c <- 0 end",
        ]
    ),
    min_size=2,
    max_size=4,
)


@given(TURNS, st.sampled_from(["", "if x >= 1 then c <- 0 end"]))
@examples(4)
def test_random_turns(turn: list[str], after: str) -> None:
    start = "x <- Lap(0, 2 / eps)\ny <- Gauss(t, 1)\nr <- x\ns <- y"
    example = program("\n".join(turn), 2, start, after, most=60)
    fewer, all_paths = counted(example), execute(example, True, Limits())
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
