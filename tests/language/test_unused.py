"""Warnings about what is declared and not used."""

from __future__ import annotations

import pytest

from dipapprox.bundled import BUNDLED
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.language.unused import unused

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
