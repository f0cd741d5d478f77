"""Text to raw tokens: spelling only. `tokens.py` makes separators and checks the structure.

Operators of other languages are recognised, reported with their spelling here, and read as
what was meant, so that the parser can find the other mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

from ply import lex

from dipapprox.digits import read_digits
from dipapprox.errors import Diagnosis, shorten
from dipapprox.source import HIDDEN, SourceFile, Span, named, unlike_ascii, visible

KEYWORDS = frozenset(
    ["param", "input", "output", "adjacent", "in", "if", "then", "elif", "else", "end", "for",
     "while", "do", "and", "or", "not", "skip", "exit", "true", "false", "bool", "choose"]
)  # fmt: skip

SOFT_WORDS = frozenset(
    ["stream", "publishes", "read", "forever", "publish", "real", "state", "on", "where"]
)
"""Keywords in their places only (see `tokens.with_keywords`); names everywhere else."""

_FOREIGN = {
    "==": ("EQ", "="),
    "<>": ("NE", "!="),
    "≠": ("NE", "!="),
    "≤": ("LE", "<="),
    "≥": ("GE", ">="),
    "=<": ("LE", "<="),
    "=>": ("GE", ">="),
    "&&": ("AND", "and"),
    "&": ("AND", "and"),
    "||": ("OR", "or"),
    "|": ("OR", "or"),
    "!": ("NOT", "not"),
    "¬": ("NOT", "not"),
    ":=": ("ARROW", "<-"),
    "←": ("ARROW", "<-"),
    "×": ("TIMES", "*"),
    "·": ("TIMES", "*"),
    "−": ("MINUS", "-"),
    "–": ("MINUS", "-"),  # a dash
}

LONGEST_NAME = 100
_MOST_DIGITS = 1000

# The token rules, in the form PLY wants them.

tokens = (
    "NUMBER", "NAME", "ARROW", "LE", "GE", "NE", "LT", "GT", "EQ", "PLUS", "MINUS", "TIMES",
    "DIVIDE", "CARET", "LPAREN", "RPAREN", "LBRACK", "RBRACK", "LBRACE", "RBRACE", "COMMA",
    "COLON", "TILDE", "RANGE", "SEP", "SEMICOLON", "NEWLINE", "FOREIGN", "EACH",
    *sorted(word.upper() for word in KEYWORDS | SOFT_WORDS),
)  # fmt: skip

t_ignore = " \t\r\f"
t_ignore_COMMENT = r"\#[^\n]*"
t_ARROW = "<-"
t_LT = "<"
t_GT = ">"
t_EQ = "="
t_LE = "<="
t_GE = ">="
t_NE = "!="
t_PLUS = r"\+"
t_MINUS = "-"
t_TIMES = r"\*"
t_DIVIDE = "/"
t_CARET = r"\^"
t_LPAREN = r"\("
t_RPAREN = r"\)"
t_LBRACK = r"\["
t_RBRACK = r"\]"
t_LBRACE = r"\{"
t_RBRACE = r"\}"
t_COMMA = ","
t_COLON = ":"
t_TILDE = "~"
t_RANGE = r"\.\."
t_SEP = ";"
t_NEWLINE = r"\n"


def t_NUMBER(t: Any) -> Any:
    r"""\d+(\.\d+)?([eE][+-]?\d+)?"""
    hint = f"at most {_MOST_DIGITS} digits before and after the point are allowed"
    read_number(t, t.value, hint)
    return t


def t_NAME(t: Any) -> Any:
    r"""[A-Za-z_][A-Za-z_0-9]*'?"""
    if t.value in KEYWORDS:
        t.type = t.value.upper()
    check_name(t)
    return t


def t_ignore_FOREIGN_COMMENT(t: Any) -> None:
    r"""//[^\n]*"""
    t.lexer.problems.report(
        "syntax error",
        "unexpected '//'",
        Span(t.lexer.source, t.lexpos, t.lexpos + 2),
        "comments start with '#'",
    )


def t_FOREIGN(t: Any) -> Any:
    r"""==|<>|=<|=>|:=|&&?|\|\|?|!(?!=)|[≠≤≥¬←×·−–]"""
    t.type, ours = _FOREIGN[t.value]
    report(t, f"unknown operator '{t.value}'", f"write '{ours}'")
    return t


REMAINDER = "there is no remainder: b divides a if a = b * floor(a / b)"
_GREEK = {"ε": "eps", "ϵ": "eps", "δ": "delta", "Δ": "Delta", "σ": "sigma", "λ": "lambda"}


def t_error(t: Any) -> None:
    text: str = t.value
    start = t.lexer.lexpos
    t.lexer.skip(_foreign_length(text))
    bad = text[: t.lexer.lexpos - start]
    hint = ""
    if bad.startswith("%"):
        line = t.lexer.source.text.rfind("\n", 0, start) + 1
        alone = not t.lexer.source.text[line:start].strip()
        hint = "comments start with '#'" if alone else REMAINDER
    elif bad[0] in _GREEK:
        hint = f"write '{_GREEK[bad[0]]}'"
    elif bad.startswith("."):
        decimals = "decimals are written with a digit on both sides of the point, e.g. 0.5"
        hint = unlike_ascii(bad) or decimals
    elif bad[0] in "\"'`":
        hint = "named values are written without quotes"
    elif bad[0] in "⊤⊥":
        hint = "declare named values and use their names, e.g. {bot, top}"
    hint = hint or unlike_ascii(bad)
    quoted = shorten(visible(bad))
    t.lexer.problems.report(
        "syntax error",
        f"unexpected character{'s' if len(bad) > 1 else ''} '{quoted}'",
        Span(t.lexer.source, start, t.lexer.lexpos),
        hint,
    )


def _foreign_length(text: str) -> int:
    """Return how many characters at the start of `text` no token can start with."""
    length = 1
    while length < min(len(text), 200) and not (
        text[length].isascii()
        and (text[length].isalnum() or text[length] in " \t\r\n_#<>=!+-*/^()[]{},~;.&|:")
    ):
        length += 1
    return length


def raw_tokens(rules: ModuleType, source: SourceFile, problems: Diagnosis) -> Iterator[Any]:
    """Yield the tokens of a text as they are spelled, each with the offset just after it.

    Args:
        rules: The module with the token rules.
        problems: Where the rules report to.
    """
    lexer = _blank_lexer(rules).clone()
    lexer.source = source
    lexer.problems = problems
    for found in HIDDEN.finditer(source.text):
        what = f"the character {named(found[0])} is not seen"
        problems.report("syntax error", what, Span(source, *found.span()), "take it out")
    lexer.input(source.text)
    while (token := lexer.token()) is not None:
        token.endlexpos = lexer.lexpos
        yield token


@cache
def _blank_lexer(rules: ModuleType) -> Any:
    # Without the validation pass of PLY, which reads the file again (the tests validate), and
    # without a package, where PLY would look for tables.
    namespace = SimpleNamespace(**{**vars(rules), "__package__": None})
    # In ASCII: \d would be every digit of Unicode, ৪ among them.
    flags = int(re.VERBOSE | re.ASCII)
    return lex.lex(
        module=namespace, optimize=True, lextab="", errorlog=lex.NullLogger(), reflags=flags
    )


def report(t: Any, message: str, hint: str = "", kind: str = "syntax error") -> None:
    """Note a mistake in a token that was just read."""
    span = Span(t.lexer.source, t.lexpos, t.lexer.lexpos)
    t.lexer.problems.report(kind, message, span, hint)


def read_number(t: Any, text: str, hint: str = "") -> None:
    """Give a token the number that `text` says; report one that is absurdly large."""
    value = read_decimal(text)
    if value is None:
        report(t, f"number '{shorten(t.value)}' is too long or too extreme", hint, "value error")
    t.value = Fraction(0) if value is None else value


def check_name(t: Any) -> None:
    """Report a name that would make every message unreadable."""
    if len(t.value) > LONGEST_NAME:
        hint = f"at most {LONGEST_NAME} characters are allowed"
        report(t, f"the name '{shorten(t.value)}' is too long", hint, "limit")


def read_decimal(text: str) -> Fraction | None:
    """Read an unsigned decimal with optional exponent, exactly; None if it is absurdly large.

    No digit is needed on one side of the point: "1.", ".5".
    """
    mantissa, _, exponent = text.lower().partition("e")
    # The exponent is looked at before it is used: 1e999999999 must not be computed.
    if len(mantissa) > 2 * _MOST_DIGITS or len(exponent.lstrip("+-0")) > 4:
        return None
    whole, _, decimals = mantissa.partition(".")
    shift = int(exponent.lstrip("+-0") or "0")
    power = (-shift if exponent.startswith("-") else shift) - len(decimals)
    if abs(power) > 3 * _MOST_DIGITS:
        return None
    value = Fraction(read_digits(whole + decimals)) * Fraction(10) ** power
    if value >= 10**_MOST_DIGITS or (value * 10**_MOST_DIGITS).denominator != 1:
        return None
    return value


TOKENS = tuple(token for token in tokens if token not in ("NEWLINE", "FOREIGN"))
