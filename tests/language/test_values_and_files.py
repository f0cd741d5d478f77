"""Numbers, formulas and inputs from the command line, files of all sorts, and calls in turn."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given

import dipapprox
from dipapprox.bundled import BUNDLED
from dipapprox.errors import LimitReached, SourceError, UserError
from dipapprox.language import core
from dipapprox.language.ast import Number
from dipapprox.language.domains import (
    AllReals,
    domain_text,
    parse_rational,
    read_domain,
    read_widening,
)
from dipapprox.language.elaborate import elaborate
from dipapprox.language.formula import Formula, parse_formula, rational_value
from dipapprox.language.load import LARGEST_FILE, finite, load
from dipapprox.language.parser import parse
from dipapprox.language.printer import print_program
from dipapprox.language.services import elaborate_service
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.numerics.formula_values import Undefined, eps_jet, evaluate
from dipapprox.semantics.execution import execute
from tests.cases import cases, refuses
from tests.cli.running import run
from tests.formula_strategies import formulas, write
from tests.texts import template_of, text_of


@cases(
    "text",
    "", "nan", "inf", "-inf", "1e999999999", "1/0", "1//2", "1/2/3", "--1", "0x10", "1_000", "٣",
     "9" * 5000, "1 2", "1e", ".",
)  # fmt: skip
def test_what_is_no_number_is_refused_by_name(text) -> None:
    refuses(UserError, r"^delta ", parse_rational, text, "delta")


@cases(
    "data, message",
    (b"", "is empty"),
    (b" \n\t", "is empty"),
    (b"\x80\xff", "is not a text file"),
    (b"param\0", "is not a text file"),
    (b" " * (LARGEST_FILE + 1), "is larger than 5 MiB"),
)
def test_files_that_are_no_programs(tmp_path, data, message) -> None:
    path = tmp_path / "bad.dpg"
    path.write_bytes(data)
    refuses(UserError, message, load, path, {})


def test_missing_files_and_directories(tmp_path) -> None:
    refuses(UserError, "there is no file", load, tmp_path / "none.dpg", {})
    refuses(UserError, "is a directory", load, tmp_path, {})
    refuses(UserError, "cannot read", load, Path("a\0b"), {})


WIDENED = template_of("values_and_files-widened")


def widened(domain: str) -> str:
    return WIDENED.format(DOMAIN=domain).replace("linf 1", "l0 1")


@cases(
    "widen, message",
    ("1..5", "its value 0 is not in there"),
    ("0..0", "its value 1 is not in there"),
    ({"q": "{0, 1/2}"}, "its value 1 is not in there"),
    ({"flag": "0..5"}, "its values are names"),
    ({"r": "0..5"}, "no such input"),
    ("5..0", "no range of whole numbers"),
    ("0..1/2", "no range of whole numbers"),
    ("5", "needs a range or a set"),
    ("{}", "must be a number"),
    ([], "is empty"),
    ([0, 1, 0.5], "must be an exact number, got the float 0.5"),
    ("0..10000", "more than 10000 values"),
    (range(10_001), "more than 10000 values"),
)
def test_what_does_not_widen_is_refused(widen, message) -> None:
    refuses(UserError, message, dipapprox.parse, widened("{0, 1}"), widen=widen)


def test_there_must_be_something_to_widen() -> None:
    named = "input a in {x, y}\noutput o in {0, 1}\no <- 0\n"
    refuses(UserError, "no inputs with numbers", dipapprox.parse, named, widen="0..5")
    listed = "input a in {0, 1}\noutput o in {0, 1}\nadjacent {(0) ~ (1)}\no <- 0\n"
    refuses(UserError, "lists its adjacent pairs", dipapprox.parse, listed, widen="0..5")


def test_the_words_of_a_command_line() -> None:
    found = read_widening(["-1..1", "q={0, 1/2, 1}"])
    assert found.everywhere == (-1, 0, 1)
    assert found.named == {"q": (0, Fraction(1, 2), 1)}
    for twice in (["0..1", "0..2"], ["q=0..1", "q = 0..2"]):
        refuses(UserError, "twice", read_widening, twice)


def test_long_domains_are_shortened_for_people_only() -> None:
    halves = tuple(Fraction(k, 2) for k in range(40))
    assert domain_text(halves, 4) == "{0, 1/2, 1, …, 39/2} (40 values)"
    assert read_domain(domain_text(halves), "widen") == halves
    assert domain_text(tuple(map(Fraction, range(-2, 3))), 4) == "-2..2"


# --- Formulas of claims ---------------------------------------------------------------------------


def formula_of(text: str) -> Formula:
    return parse_formula(text, "--eps-prv", ("eps", "delta"))


def number(value: str) -> Number:
    return Number(Fraction(value))


@given(formulas)
def test_parse_undoes_write(formula) -> None:
    assert formula_of(write(formula)) == formula


@cases(
    "text, grouped",
    ("1 - 2 - 3", "(1 - 2) - 3"),
    ("1 / 2 / 3", "(1 / 2) / 3"),
    ("1 + 2 * 3", "1 + (2 * 3)"),
    ("2 * 3 ^ 2", "2 * (3 ^ 2)"),
    ("2 ^ 3 ^ 2", "2 ^ (3 ^ 2)"),
    ("-2 ^ 2", "-(2 ^ 2)"),
    ("2 ^ -3 ^ 2", "2 ^ (-(3 ^ 2))"),
    ("-2 * 3", "(-2) * 3"),
    ("1 - -2", "1 - (-2)"),
    ("+eps", "eps"),
    ("2*eps+1", "(2 * eps) + 1"),
)
def test_precedence(text, grouped) -> None:
    assert formula_of(text) == formula_of(grouped)


@cases(
    "text, column, message",
    ("(" * 300, 101, "nested too deeply"),
    ("-" * 300 + "1", 101, "nested too deeply"),
    ("1+" * 500 + "1", 1, "a formula of 1001 characters"),
)
def test_monsters_are_refused(text, column, message) -> None:
    with pytest.raises(SourceError) as caught:
        formula_of(text)
    rendered = caught.value.render()
    assert rendered.startswith(f"--eps-prv:1:{column}: ")
    assert message in rendered


@given(formulas)
def test_exact_values_are_those_that_are_enclosed(formula) -> None:
    exact = rational_value(formula, {"eps": Fraction(1, 3), "delta": Fraction(1, 7)})
    jets = {name: eps_jet(x, x) for name, x in (("eps", Fraction(1, 3)), ("delta", Fraction(1, 7)))}
    try:
        enclosed = evaluate(formula, jets, 80)
    except (Undefined, LimitReached):
        return
    if exact is not None:
        assert exact in enclosed.value


@cases(
    "text, value",
    ("eps/100", "1/300"),
    ("2 * eps^2 - delta", "5/63"),
    ("-eps", "-1/3"),
    ("2^-3", "1/8"),
    ("1 / (eps - 1/3)", None),
    ("0^-1", None),
    ("2^eps", None),
    ("exp(-eps)", None),
    ("eps * log(2)", None),
)
def test_exact_values(text, value) -> None:
    found = rational_value(formula_of(text), {"eps": Fraction(1, 3), "delta": Fraction(1, 7)})
    assert found == (None if value is None else Fraction(value))


def test_powers_of_powers_are_refused_before_they_are_written_out() -> None:
    refuses(SourceError, "powers of powers", formula_of, "((2^99)^99)^99")


# --- Sequences of calls as programs, and streams in programs: some rounds of them -----------------

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
    for state in execute(core, True).states:
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
