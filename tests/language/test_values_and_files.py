"""Numbers, formulas and inputs from the command line, files of all sorts, and calls in turn."""

from fractions import Fraction

from hypothesis import given

from dipapprox.bundled import BUNDLED
from dipapprox.errors import LimitReached, UserError
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
from tests.cases import cases, check_answers, evaluated, refuses, text_of
from tests.cli.running import run
from tests.formulas import formulas


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


# --- Formulas of claims ---------------------------------------------------------------------------


def formula_of(text: str) -> Formula:
    return parse_formula(text, "--eps-prv", ("eps", "delta"))


@given(formulas)
def test_exact_values_are_those_that_are_enclosed(text) -> None:
    formula, exact = formula_of(text), known(text)
    jets = {name: eps_jet(x, x) for name, x in (("eps", Fraction(1, 3)), ("delta", Fraction(1, 7)))}
    try:
        enclosed = evaluate(formula, jets, 80)
    except (Undefined, LimitReached):
        return
    if exact is not None:
        assert exact in enclosed.value


# --- Sequences of calls as programs, and streams in programs: some rounds of them -----------------

TEXT = text_of("language/unrolling-1")


def outputs(calls: str, text: str = TEXT) -> dict[str, tuple[str, ...]]:
    """The outputs without and with the call; nothing is random."""
    program = parse(text)
    service = elaborate_service(program, {}, "f")
    unrolled = unroll(program, service, read_calls(calls, service))
    printed = print_program(unrolled)
    assert parse(printed) == unrolled
    core = elaborate(parse(printed), {}, "f")
    found = {}
    for state in execute(core, True).states:
        for value in core.inputs[0].domain:
            if all(c.values is None or value in c.values for c in state.conditions):
                found[str(value)] = tuple(map(str, state.outputs))
    return found


def test_an_exit_inside_a_loop_ends_the_loop() -> None:
    text = "state n in 0..5 <- 0\noutput reply in 0..9\non data d in 0..2 do\n    n <- d\nend\n"
    text += "on query sum do\n    reply <- n\n    while reply < 9 do\n"
    text += "        reply <- reply + 1\n        if reply >= 4 then exit end\n    end\nend\n"
    assert outputs("data 2, sum", text) == {"false": ("4",), "true": ("4",)}


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


def test_reals_list_nothing() -> None:
    domain = AllReals()
    for look in (len, list, iter, lambda d: 0 in d, lambda d: d[0], bool):
        refuses(UserError, "any real number", look, domain)
    assert domain == AllReals() != AllReals((Fraction(0), Fraction(1)))


# --- Expressions, and what they are ---------------------------------------------------------------

HALVES = tuple(Fraction(k, 2) for k in range(40))
UNBOUNDED = TEXT.replace("output reply in 0..9", "output reply in int")


def known(text: str) -> Fraction | None:
    """The exact value at eps = 1/3 and delta = 1/7."""
    return rational_value(formula_of(text), {"eps": Fraction(1, 3), "delta": Fraction(1, 7)})


def test_domains_formulas_and_calls() -> None:
    """Domains are shortened for people only; handlers end by exit, and names do not clash."""
    asked = {each.__name__: each for each in (domain_text, read_domain, read_widening)}
    check_answers("values_and_files", evaluated(globals() | asked, UserError))


@cases("done", "n <- clamp(n + d, 0, 3)", "y <- clamp(d, 0, 1); n <- n + y")
def test_a_clamp_passes_on_what_it_clamps(done) -> None:
    text = f"state n in int <- 0\noutput big in int\non data d in 0..1 do\n    {done}\nend\n"
    text += "on query sum do\n    y <- clamp(n, 0, 3)\n    big <- DLap(y, 1/eps)\nend\n"
    assert len(elaborate_service(parse(text), {}, "f").handlers) == 2
