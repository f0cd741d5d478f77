"""Surface to core: unrolling, expansion of sugar, domains, adjacency; what is not used is told."""

from fractions import Fraction

import pytest

from dipapprox.bundled import BUNDLED
from dipapprox.language import core
from dipapprox.language.core import Everyone, Listed, Norm, Within  # fmt: skip
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.language.unused import unused
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.language.samples import core_of


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- 2\nout <- m", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k <- 2\nout <- v[1]", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nk, v[k] <- 2\nout <- v[2]", 2),
        ("b[1] <- q[1] > 5\nk <- 1\nb[k], c <- q[1] < 5\nif b[1] and c then out <- 2 end", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- max(v)\nout <- m + v[1]", 16),
    ],
)
def test_targets_are_assigned_from_left_to_right(body: str, expected: int) -> None:
    header = "input q[2] in {0, 1}\noutput out in 0..20\nadjacent linf 1\n"
    states = execute(core_of(header + body + "\n"), True, Limits())
    assert states.outputs == ((Fraction(expected),),)


@pytest.mark.parametrize(
    ("written", "adjacency"),
    [
        ("", Everyone()),
        ("adjacent all", Everyone()),
        ("adjacent l1 3/2", Within(Norm.L1, Fraction(3, 2))),
        ("adjacent l0 1", Within(Norm.L0, Fraction(1))),
        ("adjacent { 0 ~ 1 }", Listed((((Fraction(0),), (Fraction(1),)),))),
        ("adjacent { 0 ~ 3/2 }", Listed((((Fraction(0),), (Fraction(3, 2),)),))),
        ("adjacent { -3/2 ~ 1 }", Listed((((Fraction(-3, 2),), (Fraction(1),)),))),
    ],
)
def test_adjacency(written: str, adjacency: core.Adjacency) -> None:
    program = core_of(
        f"input q in {{-3/2, 0, 1, 3/2}}\noutput out in {{0, 1}}\n{written}\nout <- 0"
    )
    assert program.adjacency == adjacency


HEAD = (
    "param N = 2\nparam T = 0\ninput q[N], h in {0, 1}\noutput out in {0, 1, bot}\nadjacent all\n"
)


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("out <- q[1] + h + T", []),
        ("out <- bot\nif q[1] = h then out <- T end", []),
        (
            "out <- bot\nif q[1] > 0 then out <- 1 end",
            ["the parameter 'T' is not used", "the input 'h' is not used",
             "the output 'out' is never 0"],
        ),
        ("h2 <- T\nq2 <- h\nout <- q2", ["the input 'q' is not used"]),
        ("for i in 1..T do out <- h end\nout <- q[1]", []),
        ("x <- q[h]\nout <- T\nout <- 0", []),
    ],
)  # fmt: skip
def test_warnings(text: str, warnings: list[str]) -> None:
    found = unused(parse(HEAD + text))
    assert [each.message for each in found] == warnings
    assert all(each.render().startswith("<text>:") for each in found)


def test_no_program_that_comes_along_has_any() -> None:
    for path in BUNDLED.rglob("*.dpg"):
        assert unused(read_source(path, {}).program) == (), path
