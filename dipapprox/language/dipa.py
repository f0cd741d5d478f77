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

from copy import copy
from fractions import Fraction
from functools import cache
from typing import Any

from dipapprox.data_classes import Record, field
from dipapprox.errors import shorten
from dipapprox.language.expression_grammar import collect
from dipapprox.language.lexer import Grammar, Spelling, marks, rules_in
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
    target_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


class AutomatonNoise(Record):
    """Laplace noise: its rate (the scale is 1 / (rate · ε)) and its mean."""

    rate: Fraction
    mean: Fraction


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
    locations = copy(_parser()).parse(lexer=file, tracking=True)
    if not locations and not file.problems:
        what = "unexpected end of the text" if locations is None else "the file declares no states"
        file.report(what, file.token_span(None), _EXAMPLE)
    file.problems.finish()
    return tuple(locations)


# --- states -------------------------------------------------------------------------------------


def p_blocks(p: Any) -> None:
    """blocks : blocks block
    | empty"""
    p[0] = p[1] or []
    if len(p) == 3 and p[2] is not None:
        p[0].append(p[2])


def p_empty(p: Any) -> None:
    """empty :"""


def p_block(p: Any) -> None:
    """block : LPAREN kind COMMA numbers RPAREN COLON steps"""
    name, reads = p[2]
    noises = _noises(p, p[4])
    if noises is not None:
        p[0] = Location(name, reads, *noises, tuple(p[7]), span=p.lexer.span(p, 2))


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


def p_kind(p: Any) -> None:
    """kind : state
    | state COLON NONINPUT"""
    p[0] = p[1], len(p) == 2


def p_state(p: Any) -> None:
    """state : NAME"""
    p[0] = p[1]
    _expect_initial(p, "q", "state")


def p_lists(p: Any) -> None:
    """numbers : parameter
    | numbers COMMA parameter
    guard : atom
    | guard AND atom
    assignments : assignment
    | assignments COMMA assignment"""
    collect(p)


def p_parameter(p: Any) -> None:
    """parameter : number
    | PARAMETER EQ number"""
    p[0] = (None, p[1]) if len(p) == 2 else (p[1], p[3])


def p_number(p: Any) -> None:
    """number : magnitude
    | MINUS magnitude"""
    p[0] = -p[2] if len(p) == 3 else p[1]


def p_magnitude(p: Any) -> None:
    """magnitude : NUMBER
    | NUMBER DIVIDE NUMBER"""
    p[0] = p[1]
    if len(p) == 4:
        if p[3] == 0:
            span = p.lexer.span(p)
            p.lexer.report(f"'{shorten(span.text)}' divides by 0", span, "", "value error")
        p[0] = p[1] / p[3] if p[3] else Fraction(0)


# --- transitions --------------------------------------------------------------------------------


def p_steps_plain(p: Any) -> None:
    """steps : action"""
    p[0] = [_step(p, (), p[1], 1)]


def p_steps_guarded(p: Any) -> None:
    """steps : IF branch others"""
    p[0] = [p[2], *p[3]]


def p_others(p: Any) -> None:
    """others : others ELSEIF branch
    | empty"""
    p[0] = p[1] or []
    if len(p) == 4:
        p[0].append(p[3])


def p_branch(p: Any) -> None:
    """branch : LPAREN guard RPAREN THEN action"""
    p[0] = _step(p, tuple(p[2]), p[5], 5)


def _step(p: Any, guard: tuple[ThresholdTest, ...], action: Any, index: int) -> StatedTransition:
    assigned, output, target, target_span = action
    whole = p.lexer.span(p) if guard else p.lexer.span(p, index)
    return StatedTransition(guard, assigned, output, target, span=whole, target_span=target_span)


def p_atom(p: Any) -> None:
    """atom : INSAMPLE relation variable"""
    p[0] = ThresholdTest(p[3], p[2] in (">", ">="), span=p.lexer.span(p))


def p_atom_mirrored(p: Any) -> None:
    """atom : variable relation INSAMPLE"""
    p[0] = ThresholdTest(p[1], p[2] in ("<", "<="), span=p.lexer.span(p))


def p_relation(p: Any) -> None:
    """relation : LT
    | LE
    | GT
    | GE"""
    p[0] = p[1]


def p_action(p: Any) -> None:
    """action : assignments SEMICOLON OUTPUT result SEMICOLON GOTO state
    | OUTPUT result SEMICOLON GOTO state"""
    last = len(p) - 1
    assigned = tuple(dict.fromkeys(p[1])) if last == 7 else ()
    p[0] = assigned, p[last - 3], p[last], p.lexer.span(p, last)


def p_assignment(p: Any) -> None:
    """assignment : variable ASSIGN INSAMPLE
    | variable ASSIGN INSAMPLEPRIME"""
    p[0] = p[1]
    if p.slice[3].type == "INSAMPLEPRIME":
        hint = "only 'insample' can be stored"
        span = p.lexer.span(p, 3)
        p.lexer.report("'insampleprime' cannot be stored", span, hint, "type error")


def p_variable(p: Any) -> None:
    """variable : NAME"""
    p[0] = p[1]
    if p[1][0] in "qo":
        hint = "names with q are states, names with o are outputs"
        message = f"a variable's name cannot begin with '{p[1][0]}', got '{p[1]}'"
        p.lexer.report(message, p.lexer.span(p), hint, "name error")


def p_result(p: Any) -> None:
    """result : INSAMPLE
    | INSAMPLEPRIME
    | NAME"""
    p[0] = p[1]
    if p.slice[1].type == "NAME":
        _expect_initial(p, "o", "output symbol")


def _expect_initial(p: Any, letter: str, what: str) -> None:
    if p[1][0] != letter:
        message = f"the name of a{'n' if what[0] == 'o' else ''} {what} begins with '{letter}'"
        hint = f"e.g. '{letter}{p[1]}'"
        if letter == "o":
            hint += ", or 'insample' or 'insampleprime'"
        p.lexer.report(f"{message}, got '{p[1]}'", p.lexer.span(p), hint, "name error")


# --- errors -------------------------------------------------------------------------------------


def p_block_error(p: Any) -> None:
    """block : LPAREN error COLON steps
    | LPAREN kind COMMA numbers RPAREN COLON error"""


def p_error(token: Any) -> None:
    """Report an unexpected token; PLY then resumes where the grammar allows."""
    if token is None:
        return
    span = token.lexer.token_span(token)
    hint = ""
    match token.type:
        case "NAME" if token.value in ("else", "elif", "elsif"):
            hint = "further branches are written 'elseif (guard) then …'"
        case "NAME" if token.value in ("Lap", "lap"):
            hint = "the numbers of a state are the rate and the mean, e.g. '(q1, 1/4, 0)'"
        case "EQ":
            hint = "':=' assigns; comparisons are '<', '<=', '>' and '>='"
        case "COMMA":
            hint = "the parts of a transition are separated by ';'"
        case "AND" | "LT" | "LE" | "GT" | "GE":
            hint = "a guard is e.g. 'insample >= x && insample < y'"
    message = f"unexpected '{shorten(span.text)}'"
    token.lexer.report(message, span, hint)


GRAMMAR = Grammar(
    name="dipa",
    start="blocks",
    tokens=_SPELLING.tokens(),
    precedence=(),
    rules=rules_in(globals()),
    error=p_error,
)

_parser = cache(GRAMMAR.load)
