"""Words of streams and services: keywords in their places, names everywhere else.

    read q          a statement                  out <- read      a named value
    in real 0..1    a domain                     real <- q[1]     a variable

So programs that use them as names stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

_BEFORE_STATEMENTS = frozenset(["NEWLINE", "SEP", "THEN", "DO", "ELSE"])
_NEVER_AFTER_WORD = frozenset(
    ["ARROW", "EQ", "COMMA", "LBRACK", "RBRACE", "RPAREN", "RANGE", "NEWLINE", "SEP"]
)
"""What follows a name at the beginning of a line: it is assigned, or an element of a list."""
_OPERATORS = frozenset(["RANGE", "PLUS", "TIMES", "DIVIDE", "CARET", "COMMA", "RBRACE"])


def with_keywords(tokens: Iterable[Any]) -> Iterator[Any]:
    """Give such words among raw tokens the types of keywords, where they are some.

    One token is read ahead: who stops early has not read the rest.
    """
    before = "NEWLINE"
    waiting: Any = None
    for token in tokens:
        if waiting is not None:
            before = _decide(waiting, before, token.type)
            yield waiting
        waiting = token
    if waiting is not None:
        _decide(waiting, before, "NEWLINE")
        yield waiting


def _decide(token: Any, before: str, after: str) -> str:
    """Make a word a keyword if its place says so; return the token's type."""
    if token.type == "NAME" and token.value in _PLACES and _PLACES[token.value](before, after):
        token.type = token.value.upper()
    kind: str = token.type
    return kind


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
