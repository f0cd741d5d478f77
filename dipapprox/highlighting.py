"""Highlighting of `.dpg` programs: a Pygments lexer, and the same rules as a TextMate grammar.

The words come from the language itself, so that neither can fall behind. Pygments finds the lexer
by its entry point ("dpg"): documentation, notebooks and rich use it without further ado. Editors
take `editors/vscode/syntaxes/dpg.tmLanguage.json`, which `python -m dipapprox.highlighting` prints.
"""

from __future__ import annotations

import json
from typing import ClassVar

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Text

from dipapprox.language.core import EUCLIDEAN, Norm
from dipapprox.language.lexer import KEYWORDS
from dipapprox.language.symbols import EPSILON, FUNCTIONS

DECLARATIONS = ("param", "input", "output", "adjacent")
WORD_OPERATORS = ("and", "or", "not", "in")
CONSTANTS = ("true", "false", "bool")
SOFT_DECLARATIONS = r"\b(?:(?:stream|state)(?=\s+[A-Za-z_])|publishes(?=\s+[\w{(-]))"
SOFT_STATEMENTS = (
    r"\b(?:(?:read|on)(?=\s+[A-Za-z_])|(?:publish|where)(?=\s+[\w(-])|forever(?=\s+do\b))"
)
REALS = r"(?<=\bin )(?:real|int)\b"
NORMS = ("all", *(norm.value for norm in Norm), EUCLIDEAN)

_CONTROL = tuple(sorted(KEYWORDS - {*DECLARATIONS, *WORD_OPERATORS, *CONSTANTS}))
_PHRASES = (r"(on)(\s+)(data|query)\b", r"(seen)(\s+)(by)\b")
"""Words that are words only after others."""
_OPERATORS = r"<-|<=|>=|!=|\.\.|[-+*/^<>=~]"
_NUMBER = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"


def _any_of(alternatives: tuple[str, ...]) -> str:
    return rf"\b(?:{'|'.join(sorted(alternatives))})\b"


_RULES = (
    (Comment.Single, "comment.line.number-sign", r"#[^\n]*"),
    *(
        (bygroups(Keyword, Text.Whitespace, Keyword), "keyword.control", rf"\b{phrase}")
        for phrase in _PHRASES
    ),
    (Keyword.Declaration, "storage.type", _any_of(DECLARATIONS)),
    (Keyword.Declaration, "storage.type", SOFT_DECLARATIONS),
    (Keyword, "keyword.control", SOFT_STATEMENTS),
    (Keyword.Constant, "constant.language", REALS),
    (Operator.Word, "keyword.operator.word", _any_of(WORD_OPERATORS)),
    (Keyword.Constant, "constant.language", _any_of(CONSTANTS)),
    (Keyword, "keyword.control", _any_of(_CONTROL)),
    (Name.Builtin, "support.function", rf"{_any_of(FUNCTIONS)}(?=\s*\()"),
    (Keyword.Pseudo, "support.constant", _any_of(NORMS)),
    (Name.Variable.Magic, "variable.language", rf"\b{EPSILON}\b"),
    (Number, "constant.numeric", rf"\b{_NUMBER}"),
    (Operator, "keyword.operator", _OPERATORS),
)
"""What Pygments and what TextMate calls the matches of a pattern; the first that fits counts."""


class DpgLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Pygments lexer of the `.dpg` language."""

    name = "dipapprox program"
    aliases: ClassVar = ["dpg"]
    filenames: ClassVar = ["*.dpg"]
    url = ""
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text.Whitespace),
            *((pattern, kind) for kind, _, pattern in _RULES[:-1]),
            (r"[A-Za-z_]\w*'?", Name),
            (_OPERATORS, Operator),
            (r"[()\[\]{},;:]", Punctuation),
        ]
    }


def highlighted(program: str) -> str:
    """Write a `.dpg` program as HTML: words in `span` elements with Pygments' short classes."""
    # Blank lines at the ends belong to the program that was read.
    lexer = DpgLexer(stripnl=False, ensurenl=False)
    return str(highlight(program, lexer, HtmlFormatter(nowrap=True)))


def textmate_grammar() -> dict[str, object]:
    """Return the TextMate grammar, as JSON."""
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": DpgLexer.name,
        "scopeName": "source.dpg",
        "fileTypes": ["dpg"],
        "patterns": [{"name": f"{name}.dpg", "match": match} for _, name, match in _RULES],
    }


if __name__ == "__main__":
    print(json.dumps(textmate_grammar(), indent=2))
