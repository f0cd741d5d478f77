"""Surface trees to text: the inverse of the parser, `parse(print_program(p)) == p`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, assert_never

from dipapprox.language import ast

# Binding strengths; an operand that binds less than its place demands gets brackets.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _NEGATIVE, _POWER, _ATOM = range(9)

_LEVELS = {
    ast.Or: _OR, ast.And: _AND, ast.Comparison: _COMPARISON, ast.Sum: _SUM, ast.Product: _PRODUCT,
}  # fmt: skip
_INDENT = "    "


def print_program(program: ast.Program) -> str:
    """Write a program in the style of `programs/`, one statement per line."""
    lines = [_declaration(declaration) for declaration in program.declarations]
    if lines and program.body:
        lines.append("")
    lines += _lines(program.body)
    for handler in program.handlers:
        lines += ["", _header(handler), *_inside(handler.body), "end"]
    return "\n".join(lines) + "\n"


# --- declarations -------------------------------------------------------------------------------


def _declaration(node: ast.Declaration) -> str:
    match node:
        case ast.Parameter(name, default):
            return f"param {name}{_after(' = ', default)}"
        case ast.Publishes():
            return f"publishes {_domain(node.domain)}"
        case ast.Variables(variables, domain):
            start = f" <- {print_expression(node.initial)}" if isinstance(node, ast.State) else ""
            word = type(node).__name__.lower()
            return f"{word} {_listed(variables)} in {_domain(domain)}{start}"
        case ast.AdjacentRule() | ast.AdjacentWhere():
            return f"adjacent {print_expression(node)}"
        case ast.AdjacentPairs(pairs):
            return f"adjacent {{ {'; '.join(map(print_expression, pairs))} }}"
        case _:
            assert_never(node)


def _listed(nodes: Iterable[ast.Node]) -> str:
    return ", ".join(map(print_expression, nodes))


def _domain(domain: ast.Domain) -> str:
    if domain == (ast.Truth(False), ast.Truth(True)):
        return "bool"
    listed = _listed(domain)
    return listed if isinstance(domain[0], ast.Integers | ast.Reals) else f"{{{listed}}}"


def _header(handler: ast.Handler) -> str:
    arguments = [f"{_listed(a.variables)} in {_domain(a.domain)}" for a in handler.arguments]
    if handler.name is None:
        return f"on data {arguments[0]} do"
    listed = f"({', '.join(arguments)})" if arguments else ""
    seen = f" seen by {', '.join(handler.users)}" if handler.users else ""
    return f"on query {handler.name}{listed}{seen} do"


# --- statements ---------------------------------------------------------------------------------


def _lines(block: ast.Block) -> Iterator[str]:
    for node in block:
        match node:
            case ast.Assign(targets, value):
                yield f"{_listed(targets)} <- {print_expression(value)}"
            case ast.If(branches, otherwise):
                for place, branch in enumerate(branches):
                    yield f"{'elif' if place else 'if'} {print_expression(branch.condition)} then"
                    yield from _inside(branch.body)
                if otherwise:
                    yield "else"
                    yield from _inside(otherwise)
                yield "end"
            case ast.For(variable, first, last, body):
                yield from _loop(print_expression(ast.Turns(variable, first, last)), body)
            case ast.While(condition, body):
                yield from _loop(f"while {print_expression(condition)}", body)
            case ast.Forever(body):
                yield from _loop("forever", body)
            case ast.Read(name):
                yield f"read {name}"
            case ast.Publish(value):
                yield f"publish {print_expression(value)}"
            case ast.Skip() | ast.Exit():
                yield type(node).__name__.lower()
            case _:
                assert_never(node)


def _loop(head: str, body: ast.Block) -> Iterator[str]:
    yield f"{head} do"
    yield from _inside(body)
    yield "end"


def _inside(block: ast.Block) -> Iterator[str]:
    return (f"{_INDENT}{line}" for line in _lines(block))


# --- expressions --------------------------------------------------------------------------------


def print_expression(node: ast.Node) -> str:
    """Write an expression, or another part of a line, with as few brackets as the grammar allows:
    of an adjacency the rule and the condition, "l0 1 where q' >= q"."""
    return _write(node)[0]


def _write(node: Any) -> tuple[str, int]:
    """Return the text of a part of a line, and how strongly it binds."""
    match node:
        case ast.Number(value):
            return print_decimal(value), _ATOM
        case ast.Truth(value):
            return "true" if value else "false", _ATOM
        case ast.Name(name) | ast.Declared(name, None):
            return name, _ATOM
        case ast.Index(name, index) | ast.Declared(name, ast.Node() as index):
            return f"{name}[{print_expression(index)}]", _ATOM
        case ast.Call(name, arguments):
            return f"{name}({_listed(arguments)})", _ATOM
        case ast.Choose(options):
            return f"choose {{{_listed(options)}}}", _ATOM
        case ast.Option(value, weight, turns):
            text = print_expression(value) + _after(" : ", weight)
            return text + _after(" ", turns), _ATOM
        case ast.Turns(variable, first, last):
            return f"for {variable} in {print_expression(ast.Range(first, last))}", _ATOM
        case ast.Range(first, last):
            return f"{print_expression(first)}..{print_expression(last)}", _ATOM
        case ast.Integers():
            return "int", _ATOM
        case ast.Reals(bounds):
            return "real" + _after(" ", bounds), _ATOM
        case ast.Pair(left, right):
            return f"({_listed(left)}) ~ ({_listed(right)})", _ATOM
        case ast.AdjacentRule(rule, radius):
            return rule + _after(" ", radius), _ATOM
        case ast.AdjacentWhere(rule, condition, turns):
            text = print_expression(condition)
            text = f"({text})" if isinstance(condition, ast.Choose) else text  # begins no condition
            return f"{print_expression(rule)} where {text}{_after(' ', turns)}", _ATOM
        case ast.Disc(value, points):
            ascending = _chain(points, ("<",) * (len(points) - 1), _COMPARISON)
            return f"disc({print_expression(value)}; {ascending})", _ATOM
        case ast.Negative(operand):
            return "-" + _bracketed(operand, _NEGATIVE), _NEGATIVE
        case ast.Not(operand):
            return "not " + _bracketed(operand, _NOT), _NOT
        case ast.Power(base, exponent):
            return f"{_bracketed(base, _ATOM)}^{_bracketed(exponent, _ATOM)}", _POWER
        case ast.Chain(operands, operators):
            level = _LEVELS[type(node)]
            return _chain(operands, operators, level), level
        case _:
            raise AssertionError(node)


def _after(mark: str, node: ast.Node | None) -> str:
    return "" if node is None else mark + print_expression(node)


def _chain(operands: tuple[ast.Expression, ...], operators: tuple[str, ...], level: int) -> str:
    words = [_bracketed(operands[0], level + 1)]
    for operator, operand in zip(operators, operands[1:], strict=True):
        words += [operator, _bracketed(operand, level + 1)]
    return " ".join(words)


def _bracketed(node: ast.Expression, least: int) -> str:
    text, strength = _write(node)
    return text if strength >= least else f"({text})"


def print_decimal(value: Fraction) -> str:
    """Write a number >= 0 whose decimal expansion ends, exactly and without an exponent.

    Raises:
        ValueError: If the expansion does not end or the number is negative.
    """
    places = value.denominator.bit_length()  # 10**places is a multiple of a product of 2s and 5s
    scaled = value * 10**places
    if scaled.denominator != 1 or value < 0:
        raise ValueError(f"{value} is not an unsigned decimal")
    digits = str(scaled.numerator).rjust(places + 1, "0")
    whole, decimals = digits[:-places], digits[-places:].rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole
