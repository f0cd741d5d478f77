"""Sequences of calls as programs, and streams in programs: some rounds of them."""

from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Limits, SourceError, UserError
from dipapprox.bundled import BUNDLED
from dipapprox.language import core
from dipapprox.language.domains import AllReals
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import finite
from dipapprox.language.parser import parse
from dipapprox.language.printer import print_program
from dipapprox.language.services import elaborate_service
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.semantics.execution import execute
from tests.cases import cases, refuses
from tests.cli.running import run
from tests.texts import text_of

TEXT = text_of("language/unrolling-1")


def outputs(calls: str) -> dict[str, tuple[str, ...]]:
    """The outputs without and with the call; nothing is random."""
    program = parse(TEXT)
    service = elaborate_service(program, {}, "f")
    unrolled = unroll(program, service, read_calls(calls, service))
    text = print_program(unrolled)
    assert parse(text) == unrolled
    core = elaborate(parse(text), {}, "f")
    found = {}
    for state in execute(core, True, Limits()).states:
        for value in core.inputs[0].domain:
            if all(c.values is None or value in c.values for c in state.conditions):
                found[str(value)] = tuple(map(str, state.outputs))
    return found


def test_handlers_end_by_exit_and_names_do_not_clash() -> None:
    found = outputs("data 1, data -1, near(1/2, some)")
    assert found["true"][:2] == ("2", "high")
    assert found["false"][:2] == ("1", "high")
    found = outputs("data 1, +data 0, data 1, data 1, near(1/2, some), near(2, none)")
    assert found["true"] == found["false"]
    assert found["true"][:4] == ("9", "high", "3", "high")
    assert outputs("data 1, near(2, some)")["false"][:2] == ("no_reply", "no_reply")


def test_replies_without_bounds_are_refused() -> None:
    text = TEXT.replace("output reply in 0..9", "output reply in int")
    service = elaborate_service(parse(text), {}, "f")
    calls = read_calls("data 1, near(2, some)", service)
    refuses(UserError, "may be any number", unroll, parse(text), service, calls)


def test_parameters_in_domains_of_arguments_are_no_named_values() -> None:
    text = "param K = 2\nstate n in 0..5 <- 0\noutput reply in 0..5\n"
    text += "on data d in {0, K} do\n    n <- d\nend\non query sum do\n    reply <- n\nend\n"
    program = parse(text)
    service = elaborate_service(program, {}, "f")
    unrolled = unroll(program, service, read_calls("data 2, sum", service))
    assert "named_values" not in print_program(unrolled)


def test_the_command() -> None:
    slots = str(BUNDLED / "services" / "slots.dpg")
    status, text = run("unroll", slots, "data 1, sum", "-p", "t=1")
    assert status == 0
    assert "param t = 1" in text
    assert "input made in bool" in text


def program(text: str) -> core.Program:
    return elaborate(parse(text), {}, "program")


def test_reals_list_nothing() -> None:
    domain = AllReals()
    for look in (len, list, iter, lambda d: 0 in d, lambda d: d[0], bool):
        refuses(UserError, "any real number", look, domain)
    assert domain == AllReals() != AllReals((Fraction(0), Fraction(1)))


@pytest.mark.parametrize(
    "text",
    [text_of("proofs/streams_as_automata-3"), "input q in real 0..1\noutput o in {0}\no <- 0\n"],
)
def test_other_commands_name_the_one_to_use(text) -> None:
    refuses(UserError, "dipapprox prove", finite, program(text))


@cases(
    "old, new, message",
    ("publish b end", "while n < 9 do publish b end end", "'publish' in an inner loop"),
    ("read q end", "while n < 9 do read q end end", "'read' in an inner loop"),
    ("publish b end", "publish r end", "a number of noise is published"),
    ("publish b end", "publish r + 1 end", "a number of noise is published"),
)
def test_what_has_no_finite_rounds(old, new, message) -> None:
    with pytest.raises(SourceError, match=message):
        dipapprox.parse(text_of("language/streams-6").replace(old, new), rounds=2, values="0..1")
