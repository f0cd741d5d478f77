"""Text of a `.dip` file (the published tool's format) to tokens; line breaks mean nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

from ply import lex

from dipapprox.language.diagnosis import Diagnosis, shorten
from dipapprox.language.lexer import begin, check_name, read_number
from dipapprox.language.tokens import DEEPEST_BLOCKS, MOST_TOKENS
from dipapprox.source import SourceFile, Span

_USED = frozenset(["IF", "THEN", "ELSE", "RANDOM", "NUMERIC", "OUTPUT", "INPUT", "INPUTSIZE"])
_UNUSED = frozenset(["TRUE", "FALSE", "AND", "OR", "NOT"])
"""Reserved words that no rule of the format uses."""
_KEYWORDS = _USED | _UNUSED

TOKENS = (
    "NUMBER", "NAME", "FAMILY", "EPS", "LT", "LE", "GT", "GE", "EQ", "PLUS", "MINUS", "DIVIDE",
    "LPAREN", "RPAREN", "LBRACK", "RBRACK", "LBRACE", "RBRACE", "COMMA", "SEMICOLON",
    *sorted(_USED),
)  # fmt: skip


class _Rules:
    """The token rules in the form PLY wants them."""

    tokens = (*TOKENS, *sorted(_UNUSED))

    t_ignore = " \t\r\n\f"
    t_FAMILY = "gauss|lap"
    t_EPS = "eps"
    t_LE = "<="
    t_GE = ">="
    t_LT = "<"
    t_GT = ">"
    t_EQ = "="
    t_PLUS = r"\+"
    t_MINUS = "-"
    t_DIVIDE = "/"
    t_LPAREN = r"\("
    t_RPAREN = r"\)"
    t_LBRACK = r"\["
    t_RBRACK = r"\]"
    t_LBRACE = r"\{"
    t_RBRACE = r"\}"
    t_COMMA = ","
    t_SEMICOLON = ";"

    def t_NUMBER(self, t: Any) -> Any:
        r"""\d+(\.\d*)?([eE][+-]?\d+)?"""
        read_number(t, t.value.replace(".", ".0", 1) if t.value[-1] == "." else t.value)
        return t

    def t_NAME(self, t: Any) -> Any:
        r"""[A-Z][A-Z0-9]*"""
        if t.value in _KEYWORDS:
            t.type = t.value
        check_name(t)
        return t

    def t_error(self, t: Any) -> None:
        start = t.lexer.lexpos
        word = len(t.value) - len(t.value.lstrip("abcdefghijklmnopqrstuvwxyz_0123456789"))
        t.lexer.skip(max(1, min(word, 200)))
        span = Span(t.lexer.source, start, t.lexer.lexpos)
        hint = "names and keywords are upper case" if word else "'.dip' files have no comments"
        t.lexer.problems.report("syntax error", f"unexpected '{shorten(span.text)}'", span, hint)


@cache
def _blank_lexer() -> Any:
    return lex.lex(object=_Rules(), optimize=True, lextab="", errorlog=lex.NullLogger())


def read_dip_tokens(source: SourceFile, problems: Diagnosis) -> list[Any]:
    """Read the tokens of a `.dip` text; what is misspelled goes to `problems`.

    Raises:
        SourceError: With all that is misspelled, or if the text is too long or too deep.
    """
    lexer = begin(_blank_lexer(), source, problems)
    tokens: list[Any] = []
    depth = 0
    while (token := lexer.token()) is not None:
        token.endlexpos = lexer.lexpos
        tokens.append(token)
        depth += (token.type == "LBRACE") - (token.type == "RBRACE")
        if len(tokens) > MOST_TOKENS or depth > DEEPEST_BLOCKS:
            what = f"blocks nest deeper than {DEEPEST_BLOCKS}"
            if len(tokens) > MOST_TOKENS:
                what = f"the program has more than {MOST_TOKENS} symbols"
            raise problems.abort("limit", what, Span(source, token.lexpos, token.endlexpos))
    problems.finish()
    return tokens
