"""The grammar has no conflicts, the printer is its inverse, and limits hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from ply import lex, yacc

from dipapprox.errors import SourceError
from dipapprox.language import ast, lexer
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.grammar import Grammar
from dipapprox.language.parser import parse
from dipapprox.language.printer import print_program
from dipapprox.language.write_tables import GRAMMARS
from tests.language.samples import HEADER, SAMPLES
from tests.language.strategies import programs
from tests.thorough import part


class _Log:
    """Collects what PLY complains about."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, message: str, *arguments: object) -> None:
        self.lines.append(message % arguments)

    error = critical = warning

    def info(self, message: str, *arguments: object) -> None:
        pass

    debug = info


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda each: each.name)
def test_the_grammars_have_no_conflicts(grammar: Grammar) -> None:
    log = _Log()
    grammar.build(debug=True, debuglog=yacc.NullLogger(), errorlog=log)
    assert [line for line in log.lines if "Generating" not in line] == []


@pytest.mark.parametrize("grammar", GRAMMARS, ids=lambda each: each.name)
def test_the_tables_on_disk_are_those_of_the_rules(grammar: Grammar) -> None:
    """`make grammar` writes them after a grammar has changed."""
    assert grammar.path.read_text(encoding="utf-8") == grammar.describe()
    loaded, built = grammar.load(), grammar.build(debug=False, errorlog=yacc.NullLogger())
    assert loaded.action == built.action
    assert loaded.goto == built.goto
    for found, wanted in zip(loaded.productions, built.productions, strict=True):
        assert (str(found), found.name, found.len) == (str(wanted), wanted.name, wanted.len)
        assert getattr(found, "callable", None) is getattr(wanted, "callable", None)


def test_ply_finds_nothing_wrong_with_the_token_rules() -> None:
    log = _Log()
    lex.lex(module=lexer, errorlog=log)
    assert [line for line in log.lines if "FOREIGN" not in line] == []


@given(programs)
@example(parse("adjacent l1 false where false"))
@example(parse("adjacent q where (choose {false : false})"))
@example(parse("adjacent l1 choose {1} where false"))
def test_parsing_what_was_printed_gives_the_program_back(program: ast.Program) -> None:
    assert parse(print_program(program)) == program


SHIPPED = [
    path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).parents[2] / "programs").rglob("*.dpg"))
]


@pytest.mark.parametrize("text", [*SAMPLES, *part(SHIPPED, 4)])
def test_samples_and_shipped_programs_survive_printing(text: str) -> None:
    program = parse(text)
    assert parse(print_program(program)) == program


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("if q = 0 then\n" * 110_000, "blocks nest deeper than 100"),
        ("out <- " + "(" * 110_000, "brackets nest deeper than 32"),
        ("out <- " + "-" * 110_000 + "1", "more than 32 prefix operators"),
        ("if q " + "< not q " * 110_000, "more than 32 prefix operators"),
        ("out <- " + "9" * 110_000, "is too long or too extreme"),
        ("out <- 1e999999999", "is too long or too extreme"),
        ("a" * 110_000 + " <- 1", "is too long"),
    ],
)  # fmt: skip
def test_monsters_are_refused(text: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        parse(HEADER + text)
    assert message in caught.value.diagnostics[0].message


def test_the_deepest_allowed_program_is_parsed_and_printed() -> None:
    level = "not (a or b and c < d + e * -x["
    deep = "y <- " + level * 15 + "1" + "])" * 15
    blocks = "if a then\n" * 100 + deep + "\n" + "end\n" * 100
    printed = print_program(parse(blocks))
    assert print_program(parse(printed)) == printed


def test_long_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dipapprox.language.tokens.MOST_TOKENS", 100)
    for read, text in ((parse, "out <- 1" + " 1" * 100), (parse_dipa, "(q1, 1, 0): " * 20)):
        with pytest.raises(SourceError, match="more than 100 symbols"):
            read(text)
