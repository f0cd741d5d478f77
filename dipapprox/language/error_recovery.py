"""Tokens with a syntax error in, tokens without it out; the block structure stays."""

from __future__ import annotations

from copy import copy
from typing import Any

_HEADS = frozenset(["IF", "ELIF", "FOR", "WHILE"])
_DECLARING = frozenset(["PARAM", "INPUT", "OUTPUT", "ADJACENT"])
_BEFORE = frozenset(["SEP", "THEN", "DO", "ELSE", "END"])
_AFTER = frozenset(["SEP", "END", "ELSE", "ELIF", "THEN", "DO", "IF", "FOR", "WHILE"])


def without_error(tokens: list[Any], position: int) -> list[Any]:
    """Return the tokens without the statement or block header that contains a wrong token.

    A header becomes `if true then` or `elif true then`, a statement `skip`; a declaration goes.

    Args:
        tokens: Of the whole text.
        position: Index of the wrong token; the number of tokens if the text ends too early.
    """
    start = position
    while start > 0 and tokens[start - 1].type not in _BEFORE:
        start -= 1
        if tokens[start].type in _HEADS:
            break
    end = position
    while end < len(tokens) and tokens[end].type not in _AFTER:
        end += 1
    if start == end == len(tokens):
        start -= 1  # a separator at the end
    elif start == end:
        return tokens[:start] + tokens[end + 1 :]
    first = tokens[start]
    if first.type in _HEADS:
        if end < len(tokens) and tokens[end].type in ("THEN", "DO", "SEP"):
            end += 1
        head = "ELIF" if first.type == "ELIF" else "IF"
        kinds = [head, "TRUE", "THEN"]
        if head == "IF" and start > 0 and tokens[start - 1].type == "END":
            kinds.insert(0, "SEP")
        harmless = [_like(first, kind) for kind in kinds]
    elif first.type in _DECLARING:
        harmless = []
        if end < len(tokens) and tokens[end].type == "SEP":
            end += 1
        elif start > 0 and tokens[start - 1].type == "SEP":
            start -= 1
    elif start > 0 and tokens[start - 1].type == "END":
        harmless = []  # the separator before it is missing, too
    elif end < len(tokens) and tokens[end].type in ("IF", "FOR", "WHILE"):
        harmless = [_like(first, "SKIP"), _like(first, "SEP")]
    else:
        harmless = [_like(first, "SKIP")]
    return tokens[:start] + harmless + tokens[end:]


def _like(token: Any, kind: str) -> Any:
    """Return a token of another kind at the same place."""
    made = copy(token)
    made.type, made.value = kind, kind.lower()
    return made
