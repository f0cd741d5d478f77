"""Words of streams and services: keywords in their places, names everywhere else.

    read q          a statement                  out <- read      a named value
    in real 0..1    a domain                     real <- q[1]     a variable

So programs that use them as names stay what they are.
"""

from __future__ import annotations

from typing import Any

_BEFORE_STATEMENTS = frozenset(["NEWLINE", "SEP", "THEN", "DO", "ELSE"])
_NEVER_AFTER_WORD = frozenset(
    ["ARROW", "EQ", "COMMA", "LBRACK", "RBRACE", "RPAREN", "RANGE", "NEWLINE", "SEP"]
)
"""What follows a name at the beginning of a line: it is assigned, or an element of a list."""
_OPERATORS = frozenset(["RANGE", "PLUS", "TIMES", "DIVIDE", "CARET", "COMMA", "RBRACE"])


def mark_words(tokens: list[Any]) -> None:
    """Give such words among raw tokens the types of keywords, where they are some."""
    for k, token in enumerate(tokens):
        if token.type == "NAME" and token.value in _PLACES:
            before = tokens[k - 1].type if k else "NEWLINE"
            after = tokens[k + 1].type if k + 1 < len(tokens) else "NEWLINE"
            if _PLACES[token.value](before, after):
                token.type = token.value.upper()


def _begins(before: str, after: str) -> bool:
    return before in _BEFORE_STATEMENTS and after not in _NEVER_AFTER_WORD


def _names_next(before: str, after: str) -> bool:
    return before in _BEFORE_STATEMENTS and after == "NAME"


def _opens(before: str, after: str) -> bool:
    return before in _BEFORE_STATEMENTS and after in ("DO", "NEWLINE", "SEP")


def _is_domain(before: str, after: str) -> bool:
    return before in ("IN", "PUBLISHES") and after not in _OPERATORS


_PLACES = {
    "stream": _names_next,
    "read": _names_next,
    "state": _names_next,
    "on": _names_next,
    "publish": _begins,
    "publishes": _begins,
    "forever": _opens,
    "real": _is_domain,
}
