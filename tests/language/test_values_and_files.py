"""Numbers, formulas and inputs from the command line, files of all sorts, and calls in turn."""

from fractions import Fraction

from hypothesis import given

from dipapprox.bundled import BUNDLED
from dipapprox.errors import LimitReached, UserError
from dipapprox.language import core
from dipapprox.language.ast import Number
from dipapprox.language.domains import AllReals, domain_text, read_domain, read_widening
from dipapprox.language.elaborate import elaborate
from dipapprox.language.formula import Formula, parse_formula, rational_value
from dipapprox.language.load import LARGEST_FILE, load
from dipapprox.language.parser import parse
from dipapprox.language.printer import print_program
from dipapprox.language.services import elaborate_service
from dipapprox.language.unrolling import read_calls, unroll
from dipapprox.numerics.formula_values import Undefined, eps_jet, evaluate
from dipapprox.semantics.execution import execute
from tests.cases import cases, refuses, text_of
from tests.cli.running import run
from tests.formula_strategies import formulas, write


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
