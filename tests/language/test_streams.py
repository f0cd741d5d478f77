"""Streams in programs: words in their places, clear errors, core programs with rounds."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox.errors import SourceError, UserError
from dipapprox.language import core
from dipapprox.language.domains import AllReals
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import finite
from dipapprox.language.parser import parse

SPARSE = """
stream q in real
publishes {bot, top}
adjacent linf 1
rT <- Lap(0, 4 / eps)
forever do
    read q
    r <- Lap(q, 2 / eps)
    if r >= rT then publish top; exit end
    publish bot
end
"""


def program(text: str) -> core.Program:
    return elaborate(parse(text), {}, "program")


def test_reals_list_nothing() -> None:
    domain = AllReals()
    for look in (len, list, iter, lambda d: 0 in d, lambda d: d[0], bool):
        with pytest.raises(UserError, match="any real number"):
            look(domain)
    assert domain == AllReals() != AllReals((Fraction(0), Fraction(1)))


@pytest.mark.parametrize("text", [SPARSE, "input q in real 0..1\noutput o in {0}\no <- 0\n"])
def test_other_commands_name_the_one_to_use(text: str) -> None:
    with pytest.raises(UserError, match="dipapprox prove"):
        finite(program(text))


COUNTED = """
stream q in real
publishes {a, b}
adjacent linf 1
n <- 0
forever do
    if n < 1 then read q end
    r <- Lap(q, 4 / eps)
    if r >= 0 then publish a; publish b; n <- n + 1 else publish b end
end
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("publish b end", "while n < 9 do publish b end end", "'publish' in an inner loop"),
        ("read q end", "while n < 9 do read q end end", "'read' in an inner loop"),
        ("publish b end", "publish r end", "a number of noise is published"),
        ("publish b end", "publish r + 1 end", "a number of noise is published"),
    ],
)
def test_what_has_no_finite_rounds(old: str, new: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        dipapprox.parse(COUNTED.replace(old, new), rounds=2, values="0..1")
