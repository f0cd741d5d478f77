"""How the tokens of languages are spelled, and their grammars as PLY rules.

    text            --raw_tokens-->         tokens, for `tokens.py` to check their structure
    rules           --build: PLY, 50 ms-->  a parser  --describe-->  tables/<name>.json
    rules + tables  --load: 1 ms-->         the same parser

The LALR(1) tables are generated once and kept beside this file: `python -m
dipapprox.language.write_tables` (`make grammar`) writes them when a grammar has changed; a test
compares them with what the rules say.

Operators of other languages are recognised, reported with their spelling here, and read as
what was meant, so that the parser can find the other mistakes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ply import yacc

from dipapprox.data_classes import Record, settle
from dipapprox.digits import MOST_DIGITS, read_decimal
from dipapprox.errors import Diagnosis, shorten
from dipapprox.source import HIDDEN, SourceFile, Span, named, unlike_ascii, visible

KEYWORDS = frozenset(
    ["param", "input", "output", "adjacent", "in", "if", "then", "elif", "else", "end", "for",
     "while", "do", "and", "or", "not", "skip", "exit", "true", "false", "bool", "choose"]
)  # fmt: skip

_BEFORE_STATEMENTS = frozenset(["NEWLINE", "SEP", "THEN", "DO", "ELSE"])
_NEVER_AFTER_WORD = frozenset(
    ["ARROW", "EQ", "COMMA", "LBRACK", "RBRACE", "RPAREN", "RANGE", "NEWLINE", "SEP"]
)
"""What follows a name at the beginning of a line: it is assigned, or an element of a list."""
_OPERATORS = frozenset(["RANGE", "PLUS", "TIMES", "DIVIDE", "CARET", "RBRACE"])


_BEFORE_WHERE = frozenset(
    ["ADJACENT", "NAME", "NUMBER", "TRUE", "FALSE", "RPAREN", "RBRACK", "RBRACE"]
)
_CONDITIONS = frozenset(["NAME", "NUMBER", "LPAREN", "MINUS", "NOT", "TRUE", "FALSE"])
SOFT_WORDS = {
    **dict.fromkeys(("stream", "read", "state", "on"), (_BEFORE_STATEMENTS, ("NAME",), True)),
    **dict.fromkeys(("publish", "publishes"), (_BEFORE_STATEMENTS, _NEVER_AFTER_WORD, False)),
    "forever": (_BEFORE_STATEMENTS, ("DO", "NEWLINE", "SEP"), True),
    "real": (("IN", "PUBLISHES"), _OPERATORS, False),
    "where": (_BEFORE_WHERE, _CONDITIONS, True),
}
"""Keywords in their places only (see `tokens.with_keywords`), names everywhere else: of each word,
what stands before it, and what may follow, or what may not."""


_FOREIGN = {
    foreign: ours
    for ours, several in {
        "=": "==", "!=": "<> ≠", "<=": "≤ =<", ">=": "≥ =>", "and": "&& &", "or": "|| |",
        "not": "! ¬", "<-": ":= ←", "*": "× ·", "-": "− –",  # the last is a dash
    }.items()
    for foreign in several.split()
}  # fmt: skip

LONGEST_NAME = 100


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
    pattern: re.Pattern[str] = re.compile("")  # of all of them: `__post_init__`

    def __post_init__(self) -> None:
        marks = "|".join(map(re.escape, sorted(self.marks, key=len, reverse=True)))
        groups = (f"(?P<{kind}>{each})" for kind, each in {**self.patterns, "MARK": marks}.items())
        # In ASCII: \d would be every digit of Unicode, ৪ among them.
        settle(self, "pattern", re.compile("|".join(groups), re.ASCII))

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


_FOREIGN_RUN = re.compile(r".[^\w \t\r\n#<>=!+*/^()\[\]{},~;.&|:-]{,199}", re.ASCII | re.DOTALL)
"""A character that no token begins with, and those after it."""


def _unexpected(text: str, start: int) -> tuple[int, str, str]:
    found = _FOREIGN_RUN.match(text, start)
    assert found is not None
    end, bad = found.end(), found[0]
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
    f"at most {MOST_DIGITS} digits before and after the point are allowed",
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
                ours = _FOREIGN[word]
                kind = spelling.marks.get(ours, ours.upper())
                hint = f"write '{ours}'" + ", or 'abs(x)' for '|x|'" * (word == "|")
                report(start, end, f"unknown operator '{word}'", hint)
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


# --- grammars -------------------------------------------------------------------------------------

TABLES = Path(__file__).parent / "tables"

Action = Callable[[Any], Any]
"""Returns what a PLY production stands for."""


class Grammar(Record, eq=False):
    """What PLY makes a parser of."""

    name: str  # of the file with the tables
    start: str  # the symbol that a whole text is
    tokens: tuple[str, ...]
    precedence: tuple[tuple[str, ...], ...]
    rules: Mapping[str, Callable[[Any], None]]  # functions p_…, from `rules`
    # Called with the parser and an unexpected token, None at the end of the text.
    error: Callable[[Any, Any], None]

    @property
    def path(self) -> Path:
        return TABLES / f"{self.name}.json"

    def load(self) -> Any:
        """Make the parser from its tables on disk."""
        text = json.loads(self.path.read_text(encoding="utf-8"))
        tables = yacc.LRTable()
        tables.lr_productions = [
            yacc.MiniProduction(written, symbol, length, rule, "", 0)
            for written, symbol, length, rule in text["productions"]
        ]
        tables.lr_action = dict(enumerate(text["actions"]))
        tables.lr_goto = dict(enumerate(text["gotos"]))
        tables.bind_callables(self.rules)
        parser = yacc.LRParser(tables, None)
        # With default reductions an error would be noticed too late to say what was expected, or
        # to resume in the right place.
        parser.disable_defaulted_states()
        return parser

    def parser(self) -> Any:
        """Return the parser: the tables of all threads, and a state of its own."""
        parser = copy(_loaded(self))
        parser.errorfunc = partial(self.error, parser)
        return parser

    def build(self, **options: Any) -> Any:
        """Make the parser from the rules alone."""
        namespace = SimpleNamespace(
            __file__=__file__,
            tokens=self.tokens,
            precedence=self.precedence,
            p_error=lambda token: None,
            **self.rules,
        )
        return yacc.yacc(
            module=namespace, start=self.start, write_tables=False, tabmodule="no_table", **options
        )

    def describe(self) -> str:
        """Write the tables down: JSON, one line for each production and each row."""
        parser = self.build(debug=False, errorlog=yacc.NullLogger())
        states = range(len(parser.action))
        lists: dict[str, list[Any]] = {
            "productions": [[str(p), p.name, p.len, p.func] for p in parser.productions],
            "actions": [dict(sorted(parser.action[state].items())) for state in states],
            "gotos": [dict(sorted(parser.goto[state].items())) for state in states],
        }
        parts = (
            f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
            for name, rows in lists.items()
        )
        return "{\n" + ",\n".join(parts) + "\n}\n"


_loaded = cache(Grammar.load)


def rules(actions: Mapping[str, Action]) -> dict[str, Callable[[Any], None]]:
    """Return PLY's functions of productions, "block : items | empty", and what these stand for."""
    return {f"p_{place}": _rule(place, *each) for place, each in enumerate(actions.items())}


def _rule(place: int, productions: str, action: Action) -> Callable[[Any], None]:
    def rule(p: Any) -> None:
        p[0] = action(p)

    rule.__doc__ = productions.replace(" | ", "\n| ")
    rule.co_firstlineno = place  # type: ignore[attr-defined]  # PLY takes rules in this order
    return rule


def node(kind: Callable[..., Any], *places: int | None, at: int = 0) -> Action:
    """Return what makes a node of some symbols of a production: None for what is not there.

    Args:
        at: The symbol whose place is that of the node; 0 for the whole.
    """

    def made(p: Any) -> Any:
        parts = [place and p[place] for place in places]
        values = [tuple(part) if type(part) is list else part for part in parts]
        return kind(*values, span=p.lexer.span(p, at))

    return made


def part(place: int) -> Action:
    """Return what takes a symbol of a production for the whole."""
    return lambda p: p[place]


def nothing(p: Any) -> list[Any]:
    """Take a production for an empty list."""
    return []


def more(p: Any) -> list[Any]:
    """Return the list that a production begins with, with its last symbol; or that alone."""
    found: list[Any] = p[1] if len(p) > 2 else []
    found.append(p[len(p) - 1])
    return found


def together(p: Any) -> list[Any]:
    """Return the list that a production begins with, with those of another one."""
    p[1].extend(p[2])
    return p[1]  # type: ignore[no-any-return]  # of the grammar


def lists(**written: str) -> dict[str, Action]:
    """Return the rules of lists, by their symbols: "element MARK", which stands between them."""
    found: dict[str, Action] = {}
    for several, each in written.items():
        one, mark = each.split()
        found[f"{several} : {one} | {several} {mark} {one}"] = more
    return found


_SPELLED = {
    "NUMBER": "a number", "NAME": "a name", "SEP": "a new line", "SEMICOLON": "';'",
    "EACH": "'for'", "$end": "the end of the text", "FAMILY": "'gauss' or 'lap'",
    "NONINPUT": "'non-input'", "PARAMETER": "a named number, 'd = 1/2'",
}  # fmt: skip


def usable(parser: Any) -> list[str]:
    """Return the types of the tokens that the parser could use where it has met an error."""

    def goes_on(kind: str) -> bool:
        states = list(parser.statestack)
        while (action := parser.action[states[-1]].get(kind)) is not None and action < 0:
            production = parser.productions[-action]
            del states[len(states) - production.len :]
            states.append(parser.goto[states[-1]][production.name])
        return action is not None

    kinds = [kind for kind in parser.action[parser.state] if kind != "error" and goes_on(kind)]
    return [kind for kind in kinds if kind != "EQ" or "ARROW" not in kinds]  # '=' is reported there


def expected(spelling: Spelling, parser: Any) -> str:
    """Say what the parser could have used where it has met an error; nothing if that is much."""
    spelled = {kind: mark for mark, kind in spelling.marks.items()}
    spelled |= {word.upper(): word for word in spelling.keywords}
    kinds = usable(parser)
    words = {_SPELLED.get(kind) or f"'{spelled.get(kind) or kind.lower()}'" for kind in kinds}
    return f"expected {' or '.join(sorted(words))}" if len(kinds) <= 4 else ""


def unexpected(spelling: Spelling, hint: Callable[[Any], str]) -> Callable[[Any, Any], None]:
    """Return what reports an unexpected token, with a hint; PLY then resumes where it can."""

    def report(parser: Any, token: Any) -> None:
        if token is not None:  # the end of the text: who parses it reports that
            span = token.lexer.token_span(token)
            said = hint(token) or expected(spelling, parser)
            token.lexer.report(f"unexpected '{shorten(span.text)}'", span, said)

    return report
