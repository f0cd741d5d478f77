"""Grammars without conflicts, printers that invert them, and messages with places."""

import contextlib
import re
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ply import yacc

import dipapprox
from dipapprox import SourceError, UserError
from dipapprox.automata.model import automaton_of
from dipapprox.language import ast
from dipapprox.language.dip import parse_dip
from dipapprox.language.dipa import (
    INSAMPLE,
    AutomatonNoise,
    AutomatonText,
    Location,
    StatedTransition,
    ThresholdTest,
    parse_dipa,
)
from dipapprox.language.elaborate import elaborate
from dipapprox.language.formula import parse_formula
from dipapprox.language.lexer import KEYWORDS, SOFT_WORDS
from dipapprox.language.parser import parse
from dipapprox.language.printer import print_program
from dipapprox.language.services import elaborate_service
from dipapprox.language.traversal import nodes_in
from dipapprox.language.unrolling import read_calls
from dipapprox.language.write_tables import GRAMMARS
from dipapprox.questions.claims import read_claims
from dipapprox.semantics.execution import execute
from tests.cases import check_answers, complaint, examples, part, refuses, template_of
from tests.grammars import texts
from tests.language.samples import HEADER, SAMPLES, core_of
from tests.language.test_values_and_files import TEXT


class _Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, message: str, *arguments: object) -> None:
        self.lines.append(message % arguments)

    error = critical = warning

    def info(self, message: str, *arguments: object) -> None:
        pass

    debug = info


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda each: each.name)
def test_the_grammars_have_no_conflicts(grammar) -> None:
    log = _Log()
    grammar.build(debug=True, debuglog=yacc.NullLogger(), errorlog=log)
    assert [line for line in log.lines if "Generating" not in line] == []


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda each: each.name)
def test_the_tables_on_disk_are_those_of_the_rules(grammar) -> None:
    """`make grammar` writes them after a grammar has changed."""
    assert grammar.path.read_text(encoding="utf-8") == grammar.describe()
    loaded, built = grammar.load(), grammar.build(debug=False, errorlog=yacc.NullLogger())
    assert loaded.action == built.action
    assert loaded.goto == built.goto
    for found, wanted in zip(loaded.productions, built.productions, strict=True):
        assert (str(found), found.name, found.len) == (str(wanted), wanted.name, wanted.len)
        assert getattr(found, "callable", None) is getattr(wanted, "callable", None)


def test_every_token_of_a_grammar_is_in_some_rule() -> None:
    for grammar in GRAMMARS:
        used = {word for rule in grammar.rules.values() for word in (rule.__doc__ or "").split()}
        assert set(grammar.tokens) <= used


def words(text: str) -> str:
    """All of a text but brackets and space."""
    return re.sub(r"[()\s]", "", text).replace("{false,true}", "bool")


@given(texts("language", 40))
@example("adjacent l1 false where false")
@example("adjacent q where (choose {false : false})")
@example("adjacent l1 choose {1} where false")
def test_printing_keeps_every_word_and_parsing_gives_the_program_back(text) -> None:
    program = parse(text)
    printed = print_program(program)
    assert parse(printed) == program
    assert words(printed) == words(text)


SHIPPED = [
    path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parents[2] / "programs").rglob("*.dpg"))
]


@pytest.mark.parametrize("text", [*SAMPLES, *part(SHIPPED, 4)])
def test_samples_and_shipped_programs_survive_printing(text) -> None:
    program = parse(text)
    assert parse(print_program(program)) == program


def test_the_deepest_allowed_program_is_parsed_and_printed() -> None:
    level = "not (a or b and c < d + e * -x["
    deep = "y <- " + level * 15 + "1" + "])" * 15
    blocks = "if a then\n" * 100 + deep + "\n" + "end\n" * 100
    printed = print_program(parse(blocks))
    assert print_program(parse(printed)) == printed


def test_long_texts_are_refused(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.language.tokens.MOST_TOKENS", 100)
    for read, text in ((parse, "out <- 1" + " 1" * 100), (parse_dipa, "(q1, 1, 0): " * 20)):
        refuses(SourceError, "more than 100 symbols", read, text)


# --- messages -------------------------------------------------------------------------------------

PIECES = [
    *sorted(KEYWORDS), "<-", "<", "=", "==", "(", ")", "[", "]", "{", "}", ",", ";", "\n", "..",
    "~", "q", "out", "r", "eps", "Gauss(0, 1)", "argmax(v)", "max(v)", "v[i]", "1/0", "1e9", "-",
    "not ", "&&", "#", "\t", "\0", "é", "∞", "0.5", "1..3", "N", "adjacent l0 ", "if q[1] then ",
    ":", "^", "^-2", "choose {0 : 1/2, 1 : 1/2}", "disc(r; 0 < 1)",
    "while q[1] = 0 do ", "DLap(0, 1)", "exp(eps)", "Exp(eps, q)", "LapPlus(0, eps)", "in bool",
]  # fmt: skip

DIP = template_of("parser-dip")


@st.composite
def damaged(draw: st.DrawFn, texts: list[str], pieces: list[str]) -> str:
    """One of the texts after a few deletions, repetitions, swaps and insertions."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        other = draw(st.integers(0, len(text)))
        some = ["", draw(st.sampled_from(pieces)), text[start:end] * 2, text[other : other + 15]]
        text = text[:start] + draw(st.sampled_from(some) | st.text(max_size=3)) + text[end:]
    return text


@examples(3)
@given(damaged(SAMPLES, PIECES))
def test_damaged_programs_get_only_clean_errors(text) -> None:
    with contextlib.suppress(UserError):
        elaborate(parse(text), {}, "damaged")


@given(damaged([DIP], ["IF ", "}", "{", ";", "OUTPUT", "INPUT[1]", "eps/0", "NOT ", "x", "9e9"]))
def test_damaged_dip_files_get_only_clean_errors(text) -> None:
    with contextlib.suppress(UserError):
        elaborate(parse_dip(text), {}, "damaged")


def test_endless_errors_end() -> None:
    with pytest.raises(SourceError) as caught:
        core_of(HEADER + "out <- a\n" * 1_000)
    assert len(caught.value.diagnostics) == 20


def test_cells_of_numbers_and_names_are_compared_with_both() -> None:
    header = "input q in {a, b}\ninput m in {a, 1}\noutput out in {0, 1}\nout <- 0\n"
    for condition in ("q = a", "q = m", "m = 1", "m = a"):
        elaborate(parse(f"{header}if {condition} then out <- 1 end"), {}, "mixed")


@pytest.mark.parametrize("word", sorted(SOFT_WORDS))
def test_words_of_some_places_are_names_in_all_others(word) -> None:
    text = f"output out in {{{word}, 0}}\n{word}, x <- {word}\nout <- {word}; {word} <- 2\n"
    text += f"if 1 = {word} then {word} <- x end\nwhile {word} > 1 do x <- {word} end"
    program = parse(text)
    assert sum(node == ast.Name(word) for node in nodes_in(program)) == 9
    assert parse(print_program(program)) == program


def test_chains_of_elif_are_no_nesting() -> None:
    links = "".join(f"elif r < {k} then out <- {k % 2}\n" for k in range(1, 151))
    chain = f"if r < 0 then out <- 0\n{links}else out <- 1 end\n"
    nest = "if q[1] = 0 then\n" * 99 + chain + "else out <- 0 end\n" * 99
    program = core_of(HEADER + "r <- Gauss(q[2], 1/eps)\n" + nest)
    assert len(execute(program, False).states) == 153
    with pytest.raises(SourceError, match="more than 150 'elif' are open"):
        core_of(
            HEADER
            + "r <- Gauss(0, 1)\n"
            + chain.replace("else", "elif r < 200 then out <- 0\nelse")
        )


@pytest.mark.parametrize("text", SAMPLES)
def test_every_wrong_line_has_its_message_and_no_other(text) -> None:
    """What is left of a statement, a header or a declaration is harmless."""
    numbered = enumerate(text.splitlines())
    written = [k for k, line in numbered if line.split("#")[0].strip() not in ("", "end")]
    for wrong in pairwise(written):
        lines = text.splitlines()
        for k in wrong:
            lines[k] = re.sub(r"^( *)(\S+)(.*)", r"\1\2 2 3\3", lines[k].split("#")[0])
        with pytest.raises(SourceError) as refused:
            parse("\n".join(lines))
        found = [each.render().split(":")[1] for each in refused.value.diagnostics]
        assert found == [str(k + 1) for k in wrong]


# --- The `.dipa` reader ---------------------------------------------------------------------------

_RATIONALS = st.fractions(-3, 3, max_denominator=9)


def _named(letter: str) -> st.SearchStrategy[str]:
    return st.text("abcxyz_019", max_size=4).map(lambda rest: letter + rest)


_VARIABLES = st.sampled_from(("x", "low1", "HIGH", "_u"))
_OUTPUTS = st.one_of(_named("o"), st.sampled_from(("insample", "insampleprime")))


@st.composite
def _steps(draw: st.DrawFn, guarded: bool) -> StatedTransition:
    atoms = st.lists(st.builds(ThresholdTest, _VARIABLES, st.booleans()), min_size=1, max_size=3)
    assigned = draw(st.lists(_VARIABLES, unique=True, max_size=2))
    guard = tuple(draw(atoms)) if guarded else ()
    return StatedTransition(guard, tuple(assigned), draw(_OUTPUTS), draw(_named("q")))


@st.composite
def _locations(draw: st.DrawFn) -> Location:
    noise = st.builds(AutomatonNoise, _RATIONALS, _RATIONALS)
    branches = st.lists(_steps(True), min_size=1, max_size=3)
    steps = draw(st.one_of(branches, _steps(False).map(lambda step: [step])))
    fresh = draw(st.one_of(st.none(), noise))
    return Location(draw(_named("q")), draw(st.booleans()), draw(noise), fresh, tuple(steps))


@given(st.lists(_locations(), min_size=1, max_size=3))
def test_reading_what_is_printed_gives_it_back(locations) -> None:
    automaton = tuple(locations)
    assert parse_dipa(print_dipa(automaton)) == automaton


def test_the_layout_of_the_release_is_read() -> None:
    text = """(q2,1/2,0, 1/2, 0): if (insample<= x) then v:=insample; output obot; goto q2 \
elseif (insample >= x) then  output insampleprime; goto q3
"""
    (location,) = parse_dipa(text)
    half = AutomatonNoise(Fraction(1, 2), Fraction(0))
    assert (location.name, location.reads) == ("q2", True)
    assert (location.insample, location.insample_prime) == (half, half)
    assert location.steps == (
        StatedTransition((ThresholdTest("x", False),), ("v",), "obot", "q2"),
        StatedTransition((ThresholdTest("x", True),), (), "insampleprime", "q3"),
    )
    assert location.steps[0].span.text == "(insample<= x) then v:=insample; output obot; goto q2"


def test_numbers_comments_and_mirrored_comparisons() -> None:
    text = "# SVT\n(q1, 0.25, -3): if (x <= insample && y > insample) then output oa; goto q1 # end"
    (location,) = parse_dipa(text)
    assert location.insample == AutomatonNoise(Fraction(1, 4), Fraction(-3))
    assert location.steps[0].guard == (ThresholdTest("x", True), ThresholdTest("y", False))


def test_numbers_may_have_names() -> None:
    """As the coupling paper gives them: rates alone."""
    half, none = AutomatonNoise(Fraction(1, 2), Fraction(0)), Fraction(0)
    for numbers, insample, prime in [
        ("d = 1/2", half, None),
        ("d=1/2, d'=1/2", half, half),
        (
            "d' = 3, mu=1, d = 1/2",
            AutomatonNoise(Fraction(1, 2), Fraction(1)),
            AutomatonNoise(Fraction(3), none),
        ),
        ("d=1/2,mu=0,d'=1/2,mu'=-1", half, AutomatonNoise(Fraction(1, 2), Fraction(-1))),
    ]:
        (location,) = parse_dipa(f"(q1, {numbers}): output oa; goto q2")
        assert (location.insample, location.insample_prime) == (insample, prime)
    # A variable may have such a name.
    (location,) = parse_dipa("(q1, 1, 0): mu := insample; output oa; goto q2")
    assert location.steps[0].assigned == ("mu",)


_PIECES = (
    "(q1, 1/4, 0)", "(q2:non-input", ":", "x", ":= insample", ";", "output oa", "goto q2", "if (",
    "insample < x", "&&", ") then", "elseif (", "insampleprime", ",", "d = 1", "#", "\n", "0", "-",
    "/", "=", "é", "(", ")",
)  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=25).map(" ".join))
def test_any_text_is_read_or_refused_with_a_place(text) -> None:
    try:
        automaton = parse_dipa(text, "f.dipa")
    except SourceError as error:
        assert all(d.span is not None for d in error.diagnostics)
        assert error.render().startswith("f.dipa:")
    else:
        assert parse_dipa(print_dipa(automaton)) == automaton


@given(st.data())
def test_a_damaged_file_is_read_or_refused_with_a_place(data) -> None:
    text = (
        "(q1:non-input, 1/4, 0): x := insample, y := insample; output oin; goto q2\n"
        "(q2, 1/2, 0, 1/2, 0): if (insample < x) then output obot; goto q2 "
        "elseif (insample >= x && insample < y) then output insampleprime; goto q3\n"
    )
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    with suppress(SourceError):
        automaton = parse_dipa(text[:start] + text[end:], "f.dipa")
        assert parse_dipa(print_dipa(automaton)) == automaton


def print_dipa(automaton: AutomatonText) -> str:
    """Return the text of an automaton, one line a state; reading it gives the same automaton."""
    return "".join(f"{_print_location(location)}\n" for location in automaton)


def _print_location(location: Location) -> str:
    kind = "" if location.reads else ":non-input"
    noises = [location.insample]
    if location.insample_prime is not None:
        noises.append(location.insample_prime)
    numbers = ", ".join(f"{noise.rate}, {noise.mean}" for noise in noises)
    steps = [_print_step(step) for step in location.steps]
    return f"({location.name}{kind}, {numbers}): {' else'.join(steps)}"


def _print_step(step: StatedTransition) -> str:
    guard = " && ".join(
        f"{INSAMPLE} {'>=' if atom.at_least else '<'} {atom.variable}" for atom in step.guard
    )
    assigned = ", ".join(f"{variable} := {INSAMPLE}" for variable in step.assigned)
    action = f"output {step.output}; goto {step.target}"
    if assigned:
        action = f"{assigned}; {action}"
    return f"if ({guard}) then {action}" if guard else action


# --- Texts that are refused, and what is said of each ---------------------------------------------

DECLARED = template_of("parser-declared")


def asked(text: str) -> object:
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
def test_what_is_wrong_is_said(kind) -> None:
    check_answers(f"refused_{kind}", complaint(READERS[kind]))
