"""Reasons name the program's variables and their lines, not the normal form of an event."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.events.catalogue import Catalogue
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates


def states_of(text: str) -> FinalStates:
    return execute(elaborate(parse(text), {}, "program"), True, Limits())


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
