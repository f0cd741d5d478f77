"""Text of a `.dipa` file (the format of the published DiPAut release) to tokens."""

from __future__ import annotations

from typing import Any

from dipapprox.errors import shorten
from dipapprox.language.automata import INSAMPLE, INSAMPLE_PRIME
from dipapprox.language.lexer import check_name, read_number
from dipapprox.source import Span, unlike_ascii

KEYWORDS = frozenset(["if", "then", "elseif", "output", "goto", INSAMPLE, INSAMPLE_PRIME])

TOKENS = (
    "NUMBER", "NAME", "PARAMETER", "NONINPUT", "LT", "LE", "GT", "GE", "ASSIGN", "EQ", "AND",
    "MINUS", "DIVIDE", "LPAREN", "RPAREN", "COLON", "COMMA", "SEMICOLON",
    *sorted(word.upper() for word in KEYWORDS),
)  # fmt: skip

# The token rules, in the form PLY wants them.

tokens = TOKENS

t_ignore = " \t\r\n\f"
t_ignore_comment = r"\#[^\n]*"
t_LE = "<="
t_GE = ">="
t_LT = "<"
t_GT = ">"
t_ASSIGN = ":="
t_EQ = "="
t_AND = "&&"
t_MINUS = "-"
t_DIVIDE = "/"
t_LPAREN = r"\("
t_RPAREN = r"\)"
t_COLON = ":"
t_COMMA = ","
t_SEMICOLON = ";"


def t_NUMBER(t: Any) -> Any:
    r"""\d+(\.\d+)?"""
    read_number(t, t.value)
    return t


def t_NONINPUT(t: Any) -> Any:
    r"""non-input\b"""
    return t


def t_PARAMETER(t: Any) -> Any:
    r"""(d|mu)'?(?=\s*=)"""
    return t


def t_NAME(t: Any) -> Any:
    r"""[a-zA-Z_][a-zA-Z0-9_]*"""
    if t.value in KEYWORDS:
        t.type = t.value.upper()
    check_name(t)
    return t


def t_error(t: Any) -> None:
    start = t.lexer.lexpos
    t.lexer.skip(2 if t.value.startswith("||") else 1)
    hint = {
        "'": f"the second sample is written '{INSAMPLE_PRIME}'",
        "&": "conjunctions are written '&&'",
        "|": "a guard is a conjunction; write two branches",
    }.get(t.value[0], unlike_ascii(t.value[:1]))
    span = Span(t.lexer.source, start, t.lexer.lexpos)
    t.lexer.problems.report("syntax error", f"unexpected '{shorten(span.text)}'", span, hint)
