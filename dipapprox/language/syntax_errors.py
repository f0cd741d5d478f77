"""Tokens that the grammar has no use for in; out a message, and the other tokens to go on with.

What may stand there, what was meant; then the statement or header at fault is cut out, and the
structure of the blocks stays.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from typing import Any

from dipapprox.errors import shorten
from dipapprox.language.lexer import DPG, KEYWORDS, REMAINDER, expected, usable
from dipapprox.language.tokens import TokenStream

_ABSENT = {
    "repeat": "loops are written 'for i in 1..N do … end' and 'while … do … end'",
    "until": "loops are written 'for i in 1..N do … end' and 'while … do … end'",
    "return": "assign to an output, then 'exit'",
    "mod": REMAINDER,
    "print": "assign to an output",
    "let": "assign with 'name <- value'",
    "var": "assign with 'name <- value'; local variables need no declaration",
    "def": "a file is one program; there are no functions",
    "break": "write 'exit' to end the program",
    "elseif": "write 'elif'",
    "elsif": "write 'elif'",
    "endif": "blocks end with 'end'",
    "begin": "blocks are opened by 'then' and 'do'",
}

_IS_KEYWORD = "'{word}' is a keyword; choose another name"


def report_unexpected(stream: TokenStream, token: Any, parser: Any) -> None:
    """Report an unexpected token, or the unexpected end of the text, at most once per line.

    Args:
        token: None at the end of the text.
        parser: In the state that has no use for it.
    """
    span = stream.token_span(token)
    text = stream.source.text
    line_start = text.rfind("\n", 0, span.start) + 1
    line_end = text.find("\n", span.start)
    if stream.problems.has_any(line_start, line_end if line_end >= 0 else len(text)):
        return
    quoted = "line break" if span.text == "\n" else f"'{shorten(span.text)}'"
    what = "unexpected end of the text" if token is None else f"unexpected {quoted}"
    hint = _hint(stream.before, token, usable(parser))
    stream.report(what, span, hint or expected(DPG, parser))


def _hint(before: Any, token: Any, possible: Collection[str]) -> str:
    """Guess what was meant from the token, the one before it and those that could be used."""
    kind = None if token is None else token.type
    previous = None if before is None else before.type
    word = str(before.value) if previous == "NAME" else ""
    here = str(token.value) if kind == "NAME" else ""
    text = "" if token is None else token.lexer.source.text
    for name in (word, here):
        if name in _ABSENT:
            return _ABSENT[name]
        if name.lower() in KEYWORDS:
            return f"keywords are written in lower case: '{name.lower()}'"
    match previous, kind:
        case "IN", "LBRACK" | "LPAREN":
            return (
                "whole numbers are written '0..1', sets '{0, 1}', all numbers between 'real 0..1'"
            )
        case "ADJACENT", "NUMBER":
            return "name the distance: 'adjacent linf 1', 'adjacent l1 1'"
        case "NUMBER", "NAME" | "LPAREN" if before.endlexpos == token.lexpos:
            return "multiplication is written with '*'"
        case "NAME", "EQ" | "ARROW" if kind == "EQ" or "IN" in possible:
            return "loops are written 'for i in 1..N do'"
        case _, "ARROW":
            return "'<-' assigns; to compare with a negative number put a space: 'x < -1'"
        case "NAME" | "RBRACK", "PLUS" | "MINUS" | "TIMES" | "DIVIDE":
            return "write the whole assignment, e.g. 'count <- count + 1'"
        case "TIMES", "TIMES":
            return "powers are written with '^'"
        case ("RBRACK", "LBRACK") | (_, "COMMA") if kind == "LBRACK" or "RBRACK" in possible:
            return "arrays have one index: a table is written row by row, x[N*(i-1) + j]"
        case "ARROW", "IF" | "LBRACK":
            return "one value is assigned at a time: 'if … then x <- 1 end', 'x[1] <- 0; x[2] <- 0'"
        case _, "CARET":
            return "powers of powers need brackets"
        case _, "COLON":
            return "write 'then' after a condition, 'do' after a loop header"
        case _, "THEN":
            return "'then' follows the condition of an 'if' or 'elif'"
        case _, "DO":
            return "'do' follows the header of a loop; 'then' follows the condition of an 'if'"
        case _, "LBRACE" if "IN" in possible:
            return "a domain follows 'in': 'input q in {0, 1}'"
        case "NAME" | "RBRACK", "TILDE":
            return "a draw is assigned like any value: 'x <- Lap(q, 1/eps)'"
        case _, "TILDE":
            return "conditions are negated with 'not'"
        case "NAME" | "NUMBER" | "RPAREN" | "RBRACK" | "EXIT" | "SKIP" | "END", (
            "NAME" | "IF" | "FOR" | "WHILE" | "EXIT" | "SKIP"
        ):
            return "statements are separated by a new line or ';', factors by '*'"
        case _, str() if kind.lower() in KEYWORDS and previous in (
            "PARAM",
            "FOR",
            "INPUT",
            "OUTPUT",
        ):
            return _IS_KEYWORD.format(word=kind.lower())
        case "NAME" | "RBRACK", "IN" if "\n" not in text[before.endlexpos : token.lexpos]:
            return "write 'x = 0 or x = 1'"
        case _, "IN":
            return _IS_KEYWORD.format(word="in")
    return ""


_HEADS = frozenset(["IF", "ELIF", "FOR", "WHILE", "FOREVER", "ON"])
_DECLARING = frozenset(["PARAM", "INPUT", "OUTPUT", "STATE", "ADJACENT", "STREAM", "PUBLISHES"])
_BEFORE = frozenset(["SEP", "THEN", "DO", "ELSE", "END"])
_AFTER = frozenset(
    ["SEP", "END", "ELSE", "ELIF", "THEN", "DO", "IF", "FOR", "WHILE", "FOREVER", "ON"]
)


def without_error(tokens: list[Any], position: int) -> list[Any]:
    """Return the tokens without the statement or block header that contains a wrong token.

    A header becomes `if true then` or `elif true then`, a statement `skip`; a declaration goes.

    Args:
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
    elif end < len(tokens) and tokens[end].type in ("IF", "FOR", "WHILE", "FOREVER"):
        harmless = [_like(first, "SKIP"), _like(first, "SEP")]
    else:
        harmless = [_like(first, "SKIP")]
    return tokens[:start] + harmless + tokens[end:]


def _like(token: Any, kind: str) -> Any:
    """Return a token of another kind at the same place."""
    made = copy(token)
    made.type, made.value = kind, kind.lower()
    return made
