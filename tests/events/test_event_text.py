"""Reasons name the program's variables and their lines, not the normal form of an event."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.errors import LimitReached
from dipapprox.events.catalogue import Catalogue
from dipapprox.events.event import Connected, Star
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.numerics.methods import Answers
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates

TEXT = """\
input q in {0, 1}
output out in {0, 1, 2}
adjacent all
out <- 0
noise <- Gauss(3, 5)
x <- Gauss(q, 1)
y <- Gauss(0, 2)
z <- Gauss(1, 3)
if x < y and y < z then
    out <- 1
elif noise > 7 then
    out <- 2
end
"""
LOOP = """\
input q in {0, 1}
output out in {0, 1}
adjacent all
out <- 0
top <- Lap(q, 1 / eps)
for i in 1..3 do
    r <- Lap(0, 1 / eps)
    if r > top then
        out <- 1
    end
end
"""
CHAIN = "the guards of line 9 tie 'x' (line 6), 'y' (line 7) and 'z' (line 8) where out = 1"


def states_of(text: str) -> FinalStates:
    return execute(elaborate(parse(text), {}, "program"), True, Limits())


def texts(text: str) -> list[str]:
    states = states_of(text)
    catalogue = Catalogue(states, Fraction(1))
    catalogue.columns([(Fraction(0),), (Fraction(1),)])
    return [catalogue.where(number) for number in range(len(catalogue.events))]


def test_draws_of_a_loop_are_counted() -> None:
    found = texts(LOOP)
    together = "the guards of line 8 tie 'top' (line 5) and 3 draws of 'r' (line 7) where out = 0"
    assert together in " ".join(found)


def test_merged_guards_keep_their_lines() -> None:
    text = """\
input q in {0, 1}
output out in {0, 1}
adjacent all
x <- Gauss(q, 1)
y <- Gauss(0, 1)
z <- Lap(0, 1)
out <- 0
mark <- 0
if x + y >= 2*z + 1 then
    mark <- 1
end
if x - y <= 3 and z >= x then
    if mark = 1 then
        out <- 1
    end
end
best <- y
if x > best then
    best <- x
end
if best + z > 1 then
    out <- 0
end
"""
    found = texts(text)
    assert "the guards of lines 9, 12, 18 and 21 tie" in " ".join(found), found


def test_choices_are_named_as_such() -> None:
    text = """\
output out in {0, 1}
x <- choose {0 : 1/2, 1 : 1/2}
out <- x
"""
    states = states_of(text)
    catalogue = Catalogue(states, Fraction(1))
    catalogue.columns([()])
    assert catalogue.where(0).startswith("a choice where out = ")


class _Failing:
    """Fails at events of three samples, by a limit or by an answer."""

    name = "failing"

    def __init__(self, *, limit: bool) -> None:
        self._limit = limit

    def one(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        if not isinstance(event, Star):
            return UNIT
        if self._limit:
            raise LimitReached("time limit: 0 s", event)
        return NotEnclosed("too deep")

    def enclose(self, events: list[Connected], bits: int, limits: Limits) -> Answers:
        return Answers.of([self.one(event, bits, limits) for event in events])


def test_a_missing_enclosure_says_what_it_is_of() -> None:
    method = _Failing(limit=False)
    probabilities = OutputProbabilities(
        states_of(TEXT),
        Fraction(1),
        method,  # type: ignore[arg-type]  # lists will do
        Limits(),
    )
    found = probabilities.distribution((Fraction(0),), 40)
    assert isinstance(found, NotEnclosed)
    assert found.reason == f"{CHAIN}: too deep"
