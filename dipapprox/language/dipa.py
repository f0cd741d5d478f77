"""Reader for the `.dipa` files of the published DiPAut release, and of one-threshold automata.

One block a state, the first one initial:

    (q1:non-input, 1/4, 0): x := insample; output obot; goto q2
    (q2, 1/2, 0, 1/2, 0): if (insample < x) then output obot; goto q2
                          elseif (insample >= x) then output insampleprime; goto q3

The numbers are the rate and the mean of insample and, if it is used, of insampleprime; a Laplace
scale is 1 / (rate · ε). A state without a block stops. Branches are transitions, not priorities:
those of one state must exclude each other. Names of states begin with q, of output symbols with o,
of variables with another letter.

Ours: `#` begins a comment, and numbers may have names, d, mu, d', mu', where the means are 0 if
they are left out. So an automaton of the coupling paper, one threshold x and states with the noise
parameters (d, d'), is written `(q2, d = 1/2, d' = 1/2): …`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dipapprox.data_classes import Record, field
from dipapprox.errors import shorten
from dipapprox.language.lexer import (
    Action,
    Grammar,
    Spelling,
    lists,
    marks,
    more,
    nothing,
    part,
    rules,
    together,
    unexpected,
)
from dipapprox.language.tokens import PlainTokens
from dipapprox.source import Located, SourceFile, Span, unlike_ascii

INSAMPLE = "insample"  # the sample that guards compare and variables store
INSAMPLE_PRIME = "insampleprime"  # the second, independent sample, which can only be an output


class ThresholdTest(Located):
    """A comparison of insample with a variable: `at_least` for >= (or >), else < (or <=)."""

    variable: str
    at_least: bool


class StatedTransition(Located):
    """One transition: a conjunction of atoms (empty: true), variables set, output, next state."""

    guard: tuple[ThresholdTest, ...]
    assigned: tuple[str, ...]
    output: str
    target: str
    target_span: Span | None = field(default=None, compare=False, repr=False)


class AutomatonNoise(Record):
    """Noise of density (k/2)·exp(-k·|x - mean|) with k = rate · ε."""

    rate: Fraction
    mean: Fraction = Fraction(0)


class Location(Located):
    """A state: whether it reads an input, the noise of its samples, its transitions."""

    name: str
    reads: bool
    insample: AutomatonNoise
    insample_prime: AutomatonNoise | None
    steps: tuple[StatedTransition, ...]


AutomatonText = tuple[Location, ...]
"""An automaton as it is written; the first state is the initial one."""


# --- the reader -----------------------------------------------------------------------------------


def _unexpected(text: str, start: int) -> tuple[int, str, str]:
    bad = text[start : start + (2 if text.startswith("||", start) else 1)]
    hints = {
        "'": f"the second sample is written '{INSAMPLE_PRIME}'",
        "&": "conjunctions are written '&&'",
        "|": "a guard is a conjunction; write two branches",
    }
    hint = hints.get(bad[0], unlike_ascii(bad[0]))
    return start + len(bad), f"unexpected '{shorten(bad)}'", hint


_SPELLING = Spelling(
    {
        "BLANK": r"[ \t\r\n\f]+|#[^\n]*",
        "NUMBER": r"\d+(?:\.\d+)?",
        "NONINPUT": r"non-input\b",
        "PARAMETER": r"(?:d|mu)'?(?=\s*=)",
        "NAME": "[a-zA-Z_][a-zA-Z0-9_]*",
    },
    frozenset(["if", "then", "elseif", "output", "goto", INSAMPLE, INSAMPLE_PRIME]),
    marks(("<", "<=", ">", ">=", "=", *"-/():,"), ASSIGN=":=", AND="&&", SEMICOLON=";"),
    _unexpected,
)

_EXAMPLE = "a state is e.g. '(q1:non-input, 1/4, 0): x := insample; output oread; goto q2'"


def parse_dipa(text: str, name: str = "<text>") -> AutomatonText:
    """Parse a `.dipa` text.

    Raises:
        SourceError: With every error of spelling and grammar, in source order. Undefined names
            and the conditions on automata are not looked at here.
    """
    file = PlainTokens(SourceFile(name, text), _SPELLING, "automaton")
    locations = GRAMMAR.parser().parse(lexer=file, tracking=True)
    if not locations and not file.problems:
        what = "unexpected end of the text" if locations is None else "the file declares no states"
        file.report(what, file.token_span(None), _EXAMPLE)
    file.problems.finish()
    return tuple(locations)


# --- the grammar --------------------------------------------------------------------------------


def _block(p: Any) -> list[Location]:
    (name, reads), noises = p[2], _noises(p, p[4])
    if noises is None:
        return []
    return [Location(name, reads, *noises, tuple(p[7]), span=p.lexer.span(p, 2))]


_LAYOUT = "write (state, rate, mean), (state, rate, mean, rate', mean') or e.g. (state, d = 1/2)"


def _noises(
    p: Any, given: list[tuple[str | None, Fraction]]
) -> tuple[AutomatonNoise, AutomatonNoise | None] | None:
    """Return the noise of the two samples from a state's numbers; None if they are no such."""
    span = p.lexer.span(p, 4)
    names = [name for name, _ in given]
    values = [value for _, value in given]
    if any(names):
        named = {name: value for name, value in given if name is not None}
        message = ""
        if len(named) < len(given):
            message = "either all numbers have a name of their own, or none"
        elif "d" not in named or ("mu'" in named and "d'" not in named):
            missing = "d'" if "d" in named else "d"
            message = f"the rate '{missing}' is missing"
        if message:
            p.lexer.report(message, span, _LAYOUT)
            return None
        values = [named["d"], named.get("mu", Fraction(0))]
        if "d'" in named:
            values += [named["d'"], named.get("mu'", Fraction(0))]
    if len(values) not in (2, 4):
        message = f"a state has 2 or 4 numbers, got {len(values)}"
        p.lexer.report(message, span, _LAYOUT)
        return None
    return AutomatonNoise(*values[:2]), AutomatonNoise(*values[2:]) if len(values) == 4 else None


def _quotient(p: Any) -> Fraction:
    if p[3] == 0:
        span = p.lexer.span(p)
        p.lexer.report(f"'{shorten(span.text)}' divides by 0", span, "", "value error")
    return p[1] / p[3] if p[3] else Fraction(0)


def _step(
    p: Any, guard: tuple[ThresholdTest, ...], action: tuple[Any, ...], span: Span
) -> StatedTransition:
    assigned, output, target, target_span = action
    return StatedTransition(guard, assigned, output, target, span=span, target_span=target_span)


def _test(variable: int, above: tuple[str, ...]) -> Action:
    """Return what makes a test of a variable, at its place; `above`: the signs of at least it."""
    return lambda p: ThresholdTest(p[variable], p[2] in above, span=p.lexer.span(p))


def _action(p: Any) -> tuple[Any, ...]:
    last = len(p) - 1
    assigned = tuple(dict.fromkeys(p[1])) if last == 7 else ()
    return assigned, p[last - 3], p[last], p.lexer.span(p, last)


def _prime_assigned(p: Any) -> str:
    hint = "only 'insample' can be stored"
    p.lexer.report("'insampleprime' cannot be stored", p.lexer.span(p, 3), hint, "type error")
    return p[1]  # type: ignore[no-any-return]  # of the grammar


def _variable(p: Any) -> str:
    if p[1][0] in "qo":
        hint = "names with q are states, names with o are outputs"
        message = f"a variable's name cannot begin with '{p[1][0]}', got '{p[1]}'"
        p.lexer.report(message, p.lexer.span(p), hint, "name error")
    return p[1]  # type: ignore[no-any-return]  # of the grammar


def _named(letter: str, what: str) -> Action:
    """Return what takes a name, and reports one that begins with another letter."""

    def checked(p: Any) -> Any:
        if p[1][0] != letter:
            message = f"the name of a{'n' if what[0] == 'o' else ''} {what} begins with '{letter}'"
            hint = f"e.g. '{letter}{p[1]}'"
            if letter == "o":
                hint += ", or 'insample' or 'insampleprime'"
            p.lexer.report(f"{message}, got '{p[1]}'", p.lexer.span(p), hint, "name error")
        return p[1]

    return checked


def _hint(token: Any) -> str:
    match token.type:
        case "NAME" if token.value in ("else", "elif", "elsif"):
            return "further branches are written 'elseif (guard) then …'"
        case "NAME" if token.value in ("Lap", "lap"):
            return "the numbers of a state are the rate and the mean, e.g. '(q1, 1/4, 0)'"
        case "EQ":
            return "':=' assigns; comparisons are '<', '<=', '>' and '>='"
        case "COMMA":
            return "the parts of a transition are separated by ';'"
        case "AND" | "LT" | "LE" | "GT" | "GE":
            return "a guard is e.g. 'insample >= x && insample < y'"
        case _:
            return ""


GRAMMAR = Grammar(
    name="dipa",
    start="blocks",
    tokens=_SPELLING.tokens(),
    precedence=(),
    rules=rules(
        {
            "blocks : blocks block": together,
            "blocks : empty": part(1),
            "empty :": nothing,
            "block : LPAREN kind COMMA numbers RPAREN COLON steps": _block,
            "block : LPAREN error COLON steps"
            " | LPAREN kind COMMA numbers RPAREN COLON error": nothing,
            "kind : state": lambda p: (p[1], True),
            "kind : state COLON NONINPUT": lambda p: (p[1], False),
            "state : NAME": _named("q", "state"),
            "parameter : number": lambda p: (None, p[1]),
            "parameter : PARAMETER EQ number": lambda p: (p[1], p[3]),
            "number : magnitude": part(1),
            "number : MINUS magnitude": lambda p: -p[2],
            "magnitude : NUMBER": part(1),
            "magnitude : NUMBER DIVIDE NUMBER": _quotient,
            "steps : action": lambda p: [_step(p, (), p[1], p.lexer.span(p, 1))],
            "steps : IF branch others": lambda p: [p[2], *p[3]],
            "others : others ELSEIF branch": more,
            "others : empty": part(1),
            "branch : LPAREN guard RPAREN THEN action": lambda p: _step(
                p, tuple(p[2]), p[5], p.lexer.span(p)
            ),
            "atom : INSAMPLE relation variable": _test(3, (">", ">=")),
            "atom : variable relation INSAMPLE": _test(1, ("<", "<=")),
            "relation : LT | LE | GT | GE": part(1),
            "action : assignments SEMICOLON OUTPUT result SEMICOLON GOTO state"
            " | OUTPUT result SEMICOLON GOTO state": _action,
            "assignment : variable ASSIGN INSAMPLE": part(1),
            "assignment : variable ASSIGN INSAMPLEPRIME": _prime_assigned,
            "variable : NAME": _variable,
            "result : INSAMPLE | INSAMPLEPRIME": part(1),
            "result : NAME": _named("o", "output symbol"),
            **lists(numbers="parameter COMMA", guard="atom AND", assignments="assignment COMMA"),
        }
    ),
    error=unexpected(_SPELLING, _hint),
)
