"""Texts to raw tokens: spelling only. `tokens.py` makes separators and checks the structure.

Operators of other languages are recognised, reported with their spelling here, and read as
what was meant, so that the parser can find the other mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dipapprox.data_classes import Record, field
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


class Token(Record, frozen=False, eq=False):
    """A word of a text, in the form that PLY's parser wants."""

    type: str
    value: Any
    lexpos: int  # its offset
    endlexpos: int  # the offset just after it
    lexer: Any = None  # the stream that it is read from
    lineno: int = 1


class Spelling(Record, eq=False):
    """How the tokens of a language are spelled.

    Attributes:
        patterns: Of tokens by their types, the first one that fits counts. What is BLANK is passed
            over, FOREIGN ones are reported; all but NUMBER and NAME may be left out.
        keywords: Names that are tokens of their own types: themselves in upper case.
        marks: The types of all other tokens by their spelling.
        unexpected: Of a text and a place where none of them is: where to go on, a message, a hint.
        long_number: A hint at numbers that are too long.
    """

    patterns: Mapping[str, str]
    keywords: Collection[str]
    marks: Mapping[str, str]
    unexpected: Callable[[str, int], tuple[int, str, str]]
    long_number: str = ""
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        marks = "|".join(map(re.escape, sorted(self.marks, key=len, reverse=True)))
        groups = (f"(?P<{kind}>{each})" for kind, each in {**self.patterns, "MARK": marks}.items())
        # In ASCII: \d would be every digit of Unicode, ৪ among them.
        object.__setattr__(self, "pattern", re.compile("|".join(groups), re.ASCII))

    def tokens(self, *others: str) -> tuple[str, ...]:
        """Return the types of all tokens, and some others, but those that no grammar sees."""
        unseen = ("BLANK", "FOREIGN", "FOREIGN_COMMENT", "NEWLINE")
        found = (*self.patterns, *self.marks.values(), *others)
        seen = dict.fromkeys(each for each in found if each not in unseen)
        return (*seen, *sorted(word.upper() for word in self.keywords))


_MARKS = {
    "<": "LT", ">": "GT", "=": "EQ", "<=": "LE", ">=": "GE", "!=": "NE", "+": "PLUS", "-": "MINUS",
    "*": "TIMES", "/": "DIVIDE", "^": "CARET", "(": "LPAREN", ")": "RPAREN", "[": "LBRACK",
    "]": "RBRACK", "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ":": "COLON", "~": "TILDE",
}  # fmt: skip


def marks(spelled: Iterable[str], **others: str) -> dict[str, str]:
    """Return the types of marks by their spelling; others by their types."""
    return {mark: _MARKS[mark] for mark in spelled} | {mark: kind for kind, mark in others.items()}


REMAINDER = "there is no remainder: b divides a if a = b * floor(a / b)"
_GREEK = {"ε": "eps", "ϵ": "eps", "δ": "delta", "Δ": "Delta", "σ": "sigma", "λ": "lambda"}


def _unexpected(text: str, start: int) -> tuple[int, str, str]:
    end = start + _foreign_length(text[start : start + 200])
    bad = text[start:end]
    hint = ""
    if bad.startswith("%"):
        alone = not text[text.rfind("\n", 0, start) + 1 : start].strip()
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
    message = f"unexpected character{'s' if len(bad) > 1 else ''} '{shorten(visible(bad))}'"
    return end, message, hint or unlike_ascii(bad)


def _foreign_length(text: str) -> int:
    """Return how many characters at the start of `text` no token can start with."""
    length = 1
    while length < len(text) and not (
        text[length].isascii()
        and (text[length].isalnum() or text[length] in " \t\r\n_#<>=!+-*/^()[]{},~;.&|:")
    ):
        length += 1
    return length


DPG = Spelling(
    {
        "BLANK": r"[ \t\r\f]+|#[^\n]*",
        "NUMBER": r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?",
        "NAME": r"[A-Za-z_][A-Za-z_0-9]*'?",
        "FOREIGN_COMMENT": r"//[^\n]*",
        "FOREIGN": r"==|<>|=<|=>|:=|&&?|\|\|?|!(?!=)|[≠≤≥¬←×·−–]",
    },
    KEYWORDS,
    marks(_MARKS, ARROW="<-", RANGE="..", SEP=";", NEWLINE="\n"),
    _unexpected,
    f"at most {_MOST_DIGITS} digits before and after the point are allowed",
)
TOKENS = DPG.tokens("SEMICOLON", "EACH", *sorted(word.upper() for word in SOFT_WORDS))


def raw_tokens(spelling: Spelling, source: SourceFile, problems: Diagnosis) -> Iterator[Token]:
    """Yield the tokens of a text as they are spelled."""
    text = source.text

    def report(start: int, end: int, message: str, hint: str, kind: str = "syntax error") -> None:
        problems.report(kind, message, Span(source, start, end), hint)

    for hidden in HIDDEN.finditer(text):
        report(*hidden.span(), f"the character {named(hidden[0])} is not seen", "take it out")
    end = 0
    while (start := end) < len(text):
        found = spelling.pattern.match(text, start)
        if found is None:
            end, message, hint = spelling.unexpected(text, start)
            report(start, end, message, hint)
            continue
        kind, word, end = str(found.lastgroup), found[0], found.end()
        value: str | Fraction = word
        match kind:
            case "BLANK":
                continue
            case "FOREIGN_COMMENT":
                report(start, start + 2, "unexpected '//'", "comments start with '#'")
                continue
            case "FOREIGN":
                kind, ours = _FOREIGN[word]
                report(start, end, f"unknown operator '{word}'", f"write '{ours}'")
            case "NUMBER":
                number = read_decimal(word)
                if number is None:
                    message = f"number '{shorten(word)}' is too long or too extreme"
                    report(start, end, message, spelling.long_number, "value error")
                value = Fraction(0) if number is None else number
            case "NAME":
                kind = word.upper() if word in spelling.keywords else kind
                if len(word) > LONGEST_NAME:
                    hint = f"at most {LONGEST_NAME} characters are allowed"
                    report(start, end, f"the name '{shorten(word)}' is too long", hint, "limit")
            case "MARK":
                kind = spelling.marks[word]
        yield Token(kind, value, start, end)


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
