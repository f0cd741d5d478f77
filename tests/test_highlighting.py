"""Highlighting follows the language: every word known, every program without an error token."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name, Operator

from dipapprox import highlighting
from dipapprox.highlighting import DpgLexer, textmate_grammar
from dipapprox.language.lexer import KEYWORDS

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "programs").rglob("*.dpg"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs_have_no_unknown_tokens(path: Path) -> None:
    text = path.read_text()
    tokens = list(DpgLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert not [value for kind, value in tokens if kind in Error]


def test_words_are_told_apart() -> None:
    line = "if not r >= max(v) then rT <- Gauss(q[1], 2 / eps) end  # why\n"
    kinds = {value: kind for kind, value in DpgLexer().get_tokens(line)}
    assert kinds["if"] is kinds["then"] is kinds["end"] is Keyword
    assert kinds["not"] is Operator.Word
    assert kinds["max"] is kinds["Gauss"] is Name.Builtin
    assert kinds["rT"] is kinds["q"] is Name
    assert kinds["eps"] is Name.Variable.Magic
    assert kinds["# why"] is Comment.Single


def test_every_keyword_is_highlighted() -> None:
    special = {
        *highlighting.DECLARATIONS,
        *highlighting.WORD_OPERATORS,
        *highlighting.CONSTANTS,
    }
    assert special < KEYWORDS
    for word in KEYWORDS:
        (kind, _), *_ = DpgLexer().get_tokens(word)
        assert kind in Keyword or kind is Operator.Word


def test_the_entry_point_is_registered() -> None:
    assert get_lexer_by_name("dpg").name == DpgLexer.name


def test_the_textmate_grammar_is_up_to_date() -> None:
    """`python -m dipapprox.highlighting` prints a new one."""
    written = json.loads((ROOT / "editors/vscode/syntaxes/dpg.tmLanguage.json").read_text())
    assert written == textmate_grammar()
    for rule in written["patterns"]:
        re.compile(rule["match"])
