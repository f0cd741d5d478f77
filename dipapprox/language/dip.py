"""Reader for the published tool's `.dip` files.

The result is an ordinary surface program, so that printing it converts the file to `.dpg`:
inputs become `q[1..n]` in {0, 1}, every two inputs adjacent, outputs `out[1..m]`; indices move
from 0-based to 1-based, and `gauss(eps/a, m)` to `Gauss(m, a/eps)`.
Line breaks mean nothing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from dipapprox.errors import shorten
from dipapprox.language import ast
from dipapprox.language.constants import literal
from dipapprox.language.domains import MOST_CELLS
from dipapprox.language.lexer import (
    Grammar,
    Spelling,
    lists,
    marks,
    node,
    nothing,
    part,
    rules,
    together,
    unexpected,
)
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
    file = _File(SourceFile(name, text))
    body = GRAMMAR.parser().parse(lexer=file, tracking=True)
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


# --- the grammar --------------------------------------------------------------------------------


def _input_size(p: Any) -> list[ast.Assign]:
    if p.lexer.inputs is not None or p[2] == 0:
        message = "INPUTSIZE is given twice" if p[2] else "INPUTSIZE must be at least 1"
        p.lexer.report(message, p.lexer.span(p), "", "value error")
    p.lexer.inputs = p[2]
    return []


def _outputs(p: Any) -> list[ast.Assign]:
    if p.lexer.outputs is not None:
        p.lexer.report("OUTPUT is declared twice", p.lexer.span(p), "", "value error")
    p.lexer.outputs = len(p[4])
    p.lexer.values.update(p[4])
    span = p.lexer.span(p)
    return [
        ast.Assign((_element(OUTPUTS, i, span),), literal(value, span), span=span)
        for i, value in enumerate(p[4])
    ]


def _set_output(p: Any) -> list[ast.Assign]:
    p.lexer.values.add(p[6])
    target = _used(p, OUTPUTS)
    return [ast.Assign((target,), literal(p[6], p.lexer.span(p, 6)), span=p.lexer.span(p))]


def _used(p: Any, array: str) -> ast.Index:
    span = p.lexer.span(p, 1, 4)
    p.lexer.uses.append((array, p[3], span))
    return _element(array, p[3], span)


def _element(name: str, index: int, span: Span) -> ast.Index:
    return ast.Index(name, ast.Number(Fraction(index + 1), span=span), span=span)


def _assign(p: Any) -> list[ast.Assign]:
    target = ast.Name(p[2], span=p.lexer.span(p, 2))
    return [ast.Assign((target,), p[4], span=p.lexer.span(p))]


def _draw(p: Any) -> ast.Call:
    divisor = literal(p[5], p.lexer.span(p, 5))
    span = p.lexer.span(p, 3, 5)
    scale = ast.Product((divisor, ast.Name("eps", span=span)), ("/",), span=span)
    return ast.Call(_FAMILIES[p[1]], (p[7], scale), span=p.lexer.span(p))


def _if(p: Any) -> list[ast.If]:
    branch = ast.Branch(p[2], tuple(p[5]), span=p.lexer.span(p, 2))
    otherwise = tuple(p[9]) if len(p) == 11 else ()
    return [ast.If((branch,), otherwise, span=p.lexer.span(p, 1))]


def _natural(p: Any) -> int:
    found = int(p[1])
    if p[1] != found or found > MOST_CELLS:
        span = p.lexer.span(p)
        what = "be a whole number" if p[1] != found else f"be at most {MOST_CELLS}"
        p.lexer.report(f"'{shorten(span.text)}' must {what}", span, "", "value error")
    return found


GRAMMAR = Grammar(
    name="dip",
    start="items",
    tokens=tuple(each for each in _SPELLING.tokens() if each not in _UNUSED),
    precedence=(),
    rules=rules(
        {
            "items : items item": together,
            "items : empty": part(1),
            "empty :": nothing,
            "item : INPUTSIZE natural SEMICOLON": _input_size,
            "item : OUTPUT EQ LBRACK numbers RBRACK SEMICOLON": _outputs,
            "item : OUTPUT LBRACK natural RBRACK EQ number SEMICOLON": _set_output,
            "item : NUMERIC NAME EQ constant SEMICOLON | NUMERIC NAME EQ input SEMICOLON"
            " | RANDOM NAME EQ name SEMICOLON | RANDOM NAME EQ draw SEMICOLON": _assign,
            "draw : FAMILY LPAREN EPS DIVIDE number COMMA operand RPAREN": _draw,
            "item : IF condition THEN LBRACE items RBRACE"
            " | IF condition THEN LBRACE items RBRACE ELSE LBRACE items RBRACE": _if,
            "item : error SEMICOLON": nothing,
            "condition : operand LT operand | operand LE operand"
            " | operand GT operand | operand GE operand": lambda p: ast.Comparison(
                (p[1], p[3]), (p[2],), span=p.lexer.span(p)
            ),
            "operand : constant | name | input": part(1),
            "constant : number": lambda p: literal(p[1], p.lexer.span(p)),
            "name : NAME": node(ast.Name, 1),
            "input : INPUT LBRACK natural RBRACK": lambda p: _used(p, INPUTS),
            "number : NUMBER": part(1),
            "number : PLUS NUMBER": part(2),
            "number : MINUS NUMBER": lambda p: -p[2],
            "natural : NUMBER": _natural,
            **lists(numbers="number COMMA"),
        }
    ),
    error=unexpected(
        _SPELLING,
        lambda token: (
            "conditions in '.dip' files are single comparisons; '.dpg' files have more"
            * (token.type in _UNUSED)
        ),
    ),
)
