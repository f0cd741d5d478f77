"""Reader for the published tool's `.dip` files.

The result is an ordinary surface program, so that printing it converts the file to `.dpg`:
inputs become `q[1..n]` in {0, 1}, every two inputs adjacent, outputs `out[1..m]`; indices move
from 0-based to 1-based, and `gauss(eps/a, m)` to `Gauss(m, a/eps)`.
Line breaks mean nothing.
"""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from functools import cache
from typing import Any

from dipapprox.errors import shorten
from dipapprox.language import ast
from dipapprox.language.constants import literal
from dipapprox.language.domains import MOST_CELLS
from dipapprox.language.expression_grammar import collect
from dipapprox.language.lexer import Grammar, Spelling, marks, rules_in
from dipapprox.language.tokens import PlainTokens
from dipapprox.source import SourceFile, Span, unlike_ascii

_UNUSED = frozenset(["TRUE", "FALSE", "AND", "OR", "NOT"])
"""Reserved words that no rule of the format uses."""
_KEYWORDS = _UNUSED | {"IF", "THEN", "ELSE", "RANDOM", "NUMERIC", "OUTPUT", "INPUT", "INPUTSIZE"}


def _unexpected(text: str, start: int) -> tuple[int, str, str]:
    rest = text[start : start + 200]
    word = len(rest) - len(rest.lstrip("abcdefghijklmnopqrstuvwxyz_0123456789"))
    bad = rest[: max(1, word)]
    hint = "names and keywords are upper case"
    if not word:
        hint = unlike_ascii(bad) or "'.dip' files have no comments"
    return start + len(bad), f"unexpected '{shorten(bad)}'", hint


_SPELLING = Spelling(
    {
        "BLANK": r"[ \t\r\n\f]+",
        "NUMBER": r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?",
        "NAME": "[A-Z][A-Z0-9]*",
        "FAMILY": "gauss|lap",
        "EPS": "eps",
    },
    _KEYWORDS,
    marks(("<", "<=", ">", ">=", "=", *"+-/()[]{},"), SEMICOLON=";"),
    _unexpected,
)

INPUTS = "q"
OUTPUTS = "out"
_FAMILIES = {"gauss": "Gauss", "lap": "Lap"}


class _File(PlainTokens):
    """The tokens, and what the file declares on the way.

    Attributes:
        inputs: Value of INPUTSIZE.
        outputs: Length of the OUTPUT array.
        values: What the outputs are set to.
        uses: Array elements that occur: array, 0-based index, place.
    """

    def __init__(self, source: SourceFile) -> None:
        super().__init__(source, _SPELLING, "program")
        self.inputs: int | None = None
        self.outputs: int | None = None
        self.values: set[Fraction] = set()
        self.uses: list[tuple[str, int, Span]] = []


def parse_dip(text: str, name: str = "<text>") -> ast.Program:
    """Parse a `.dip` program."""
    file = _File(SourceFile(name, text))
    parser = copy(_parser())  # the tables of all threads, and a state of its own
    body = parser.parse(lexer=file, tracking=True)
    if body is None and not file.problems:
        span = file.token_span(None)
        file.report("unexpected end of the text", span)
    file.problems.finish()
    _check(file)
    domains = [ast.Number(Fraction(0)), ast.Number(Fraction(1))]
    values = [literal(value, None) for value in sorted(file.values)]
    declarations: tuple[ast.Declaration, ...] = (
        ast.Input((_array(INPUTS, file.inputs),), tuple(domains)),
        ast.Output((_array(OUTPUTS, file.outputs),), tuple(values)),
        ast.AdjacentRule("all", None),
    )
    return ast.Program(declarations, tuple(body))


def _check(file: _File) -> None:
    sizes = {INPUTS: file.inputs, OUTPUTS: file.outputs}
    spelled = {INPUTS: "INPUT", OUTPUTS: "OUTPUT"}
    for name, example in ((INPUTS, "INPUTSIZE 2;"), (OUTPUTS, "OUTPUT = [0, 0];")):
        if not sizes[name]:
            span = Span(file.source, 0, 0)
            message = f"the file declares no {spelled[name].lower()}s"
            file.report(message, span, f"add e.g. '{example}'")
    file.problems.finish()
    for name, index, span in file.uses:
        size = sizes[name]
        if size is not None and index >= size:
            message = f"index {index} of '{spelled[name]}' is out of range"
            file.report(message, span, f"allowed are 0..{size - 1}", "value error")
    file.problems.finish()


def _array(name: str, size: int | None) -> ast.Declared:
    return ast.Declared(name, ast.Number(Fraction(size or 0)))


# --- statements ---------------------------------------------------------------------------------


def p_items(p: Any) -> None:
    """items : items item
    | empty"""
    p[0] = p[1] or []
    if len(p) == 3 and p[2] is not None:
        p[0].extend(p[2])


def p_empty(p: Any) -> None:
    """empty :"""


def p_input_size(p: Any) -> None:
    """item : INPUTSIZE natural SEMICOLON"""
    if p.lexer.inputs is not None or p[2] == 0:
        message = "INPUTSIZE is given twice" if p[2] else "INPUTSIZE must be at least 1"
        p.lexer.report(message, p.lexer.span(p), "", "value error")
    p.lexer.inputs = p[2]


def p_outputs(p: Any) -> None:
    """item : OUTPUT EQ LBRACK numbers RBRACK SEMICOLON"""
    if p.lexer.outputs is not None:
        p.lexer.report("OUTPUT is declared twice", p.lexer.span(p), "", "value error")
    p.lexer.outputs = len(p[4])
    p.lexer.values.update(p[4])
    span = p.lexer.span(p)
    p[0] = [
        ast.Assign((_element(OUTPUTS, i, span),), literal(value, span), span=span)
        for i, value in enumerate(p[4])
    ]


def p_numbers(p: Any) -> None:
    """numbers : number
    | numbers COMMA number"""
    collect(p)


def p_set_output(p: Any) -> None:
    """item : OUTPUT LBRACK natural RBRACK EQ number SEMICOLON"""
    span = Span(p.lexer.source, p.lexpos(1), p.lexspan(4)[1])
    p.lexer.uses.append((OUTPUTS, p[3], span))
    p.lexer.values.add(p[6])
    target = _element(OUTPUTS, p[3], span)
    p[0] = [ast.Assign((target,), literal(p[6], p.lexer.span(p, 6)), span=p.lexer.span(p))]


def p_assign(p: Any) -> None:
    """item : NUMERIC NAME EQ constant SEMICOLON
    | NUMERIC NAME EQ input SEMICOLON
    | RANDOM NAME EQ name SEMICOLON
    | RANDOM NAME EQ draw SEMICOLON"""
    target = ast.Name(p[2], span=p.lexer.span(p, 2))
    p[0] = [ast.Assign((target,), p[4], span=p.lexer.span(p))]


def p_draw(p: Any) -> None:
    """draw : FAMILY LPAREN EPS DIVIDE number COMMA operand RPAREN"""
    divisor = literal(p[5], p.lexer.span(p, 5))
    span = Span(p.lexer.source, p.lexpos(3), p.lexspan(5)[1])
    scale = ast.Product((divisor, ast.Name("eps", span=span)), ("/",), span=span)
    p[0] = ast.Call(_FAMILIES[p[1]], (p[7], scale), span=p.lexer.span(p))


def p_if(p: Any) -> None:
    """item : IF condition THEN LBRACE items RBRACE
    | IF condition THEN LBRACE items RBRACE ELSE LBRACE items RBRACE"""
    branch = ast.Branch(p[2], tuple(p[5]), span=p.lexer.span(p, 2))
    otherwise = tuple(p[9]) if len(p) == 11 else ()
    p[0] = [ast.If((branch,), otherwise, span=p.lexer.span(p, 1))]


def p_condition(p: Any) -> None:
    """condition : operand LT operand
    | operand LE operand
    | operand GT operand
    | operand GE operand"""
    p[0] = ast.Comparison((p[1], p[3]), (p[2],), span=p.lexer.span(p))


# --- operands -----------------------------------------------------------------------------------


def p_operand(p: Any) -> None:
    """operand : constant
    | name
    | input"""
    p[0] = p[1]


def p_constant(p: Any) -> None:
    """constant : number"""
    p[0] = literal(p[1], p.lexer.span(p))


def p_name(p: Any) -> None:
    """name : NAME"""
    p[0] = ast.Name(p[1], span=p.lexer.span(p))


def p_input(p: Any) -> None:
    """input : INPUT LBRACK natural RBRACK"""
    span = p.lexer.span(p)
    p.lexer.uses.append((INPUTS, p[3], span))
    p[0] = _element(INPUTS, p[3], span)


def _element(name: str, index: int, span: Span) -> ast.Index:
    return ast.Index(name, ast.Number(Fraction(index + 1), span=span), span=span)


def p_number(p: Any) -> None:
    """number : NUMBER
    | PLUS NUMBER
    | MINUS NUMBER"""
    p[0] = -p[2] if p[1] == "-" else p[len(p) - 1]


def p_natural(p: Any) -> None:
    """natural : NUMBER"""
    p[0] = int(p[1])
    if p[1] != p[0] or p[0] > MOST_CELLS:
        span = p.lexer.span(p)
        what = "be a whole number" if p[1] != p[0] else f"be at most {MOST_CELLS}"
        p.lexer.report(f"'{shorten(span.text)}' must {what}", span, "", "value error")


def p_item_error(p: Any) -> None:
    """item : error SEMICOLON"""


def p_error(token: Any) -> None:
    """Report an unexpected token; PLY then resumes after the next semicolon."""
    if token is not None:  # the end of the text: `parse_dip` reports it
        span = token.lexer.token_span(token)
        hint = ""
        if token.type in ("AND", "OR", "NOT", "TRUE", "FALSE"):
            hint = "conditions in '.dip' files are single comparisons; '.dpg' files have more"
        message = f"unexpected '{shorten(span.text)}'"
        token.lexer.report(message, span, hint)


GRAMMAR = Grammar(
    name="dip",
    start="items",
    tokens=tuple(each for each in _SPELLING.tokens() if each not in _UNUSED),
    precedence=(),
    rules=rules_in(globals()),
    error=p_error,
)

_parser = cache(GRAMMAR.load)
