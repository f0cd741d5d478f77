"""Texts that are refused, and what is said of each: all of it, with its place and its hint."""

from collections.abc import Callable

import pytest

import dipapprox
from dipapprox.automata.description import automaton_of
from dipapprox.language.dip import parse_dip
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.elaborate import elaborate
from dipapprox.language.formula import parse_formula
from dipapprox.language.parser import parse
from dipapprox.language.services import elaborate_service
from dipapprox.language.unrolling import read_calls
from dipapprox.questions.claims import read_claims
from tests.golden_text import check_answers, complaint
from tests.language.test_unrolling import TEXT

DECLARED = """\
input q[2] in {0, 1}
input h in {0, 1/2}
input b in bool
output out in {0, 1}
output flag in bool
"""


def asked(text: str) -> object:
    """Read a program and execute it."""
    return dipapprox.verify(dipapprox.parse(text), eps=1, eps_prv=1, delta=0)


READERS: dict[str, Callable[[str], object]] = {
    "statements": lambda text: asked(DECLARED + text),
    "programs": asked,
    "services": lambda text: elaborate_service(parse(text), {}, "service"),
    "calls": lambda text: read_calls(text, elaborate_service(parse(TEXT), {}, "service")),
    "claims": lambda line: read_claims(f"# {line}\n{DECLARED}", "noisy.dpg"),
    "dip": lambda text: elaborate(parse_dip(text), {}, "program"),
    "automata": lambda text: automaton_of(parse_dipa(text)),
    "formulas": lambda text: parse_formula(text, "--eps-prv", ("eps", "delta")),
}


@pytest.mark.parametrize("kind", READERS)
def test_what_is_wrong_is_said(kind: str) -> None:
    check_answers(f"refused_{kind}", complaint(READERS[kind]))
