"""Surface trees to text: the inverse of the parser, `parse(print_program(p)) == p`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

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
            return f"param {name}" + ("" if default is None else f" = {print_expression(default)}")
        case ast.Publishes():
            return f"publishes {_domain(node.domain)}"
        case ast.Variables(variables, domain):
            start = f" <- {print_expression(node.initial)}" if isinstance(node, ast.State) else ""
            word = type(node).__name__.lower()
            return f"{word} {_variables(variables)} in {_domain(domain)}{start}"
        case ast.AdjacentRule():
            return f"adjacent {_rule(node)}"
        case ast.AdjacentWhere():
            return f"adjacent {print_condition(node)}"
        case ast.AdjacentPairs(pairs):
            rows = "; ".join(f"{_row(pair.left)} ~ {_row(pair.right)}" for pair in pairs)
            return f"adjacent {{ {rows} }}"
        case _:
            assert_never(node)


def _rule(node: ast.AdjacentRule) -> str:
    return node.rule + ("" if node.radius is None else f" {print_expression(node.radius)}")


def print_condition(node: ast.AdjacentWhere) -> str:
    """Write the rule and the condition of an adjacency: "l0 1 where q' >= q"."""
    condition = print_expression(node.condition)
    if isinstance(node.condition, ast.Choose):
        condition = f"({condition})"  # which begins no condition
    return f"{_rule(node.rule)} where {condition}{_turns(node.turns)}"


def _turns(turns: ast.Turns | None) -> str:
    if turns is None:
        return ""
    return f" for {turns.variable} in {_range(turns)}"


def _variables(variables: tuple[ast.Declared, ...]) -> str:
    return ", ".join(
        v.name if v.size is None else f"{v.name}[{print_expression(v.size)}]" for v in variables
    )


def _domain(domain: ast.Domain) -> str:
    if isinstance(domain[0], ast.Integers):
        return "int"
    if isinstance(domain[0], ast.Reals):
        bounds = domain[0].bounds
        return "real" if bounds is None else f"real {_element(bounds)}"
    if domain == (ast.Truth(False), ast.Truth(True)):
        return "bool"
    return "{" + ", ".join(map(_element, domain)) + "}"


def _element(element: ast.Element) -> str:
    assert not isinstance(element, ast.Reals | ast.Integers)
    return _range(element) if isinstance(element, ast.Range) else print_expression(element)


def _range(node: ast.Range | ast.Turns | ast.For) -> str:
    return f"{print_expression(node.first)}..{print_expression(node.last)}"


def _header(handler: ast.Handler) -> str:
    arguments = [f"{_variables(a.variables)} in {_domain(a.domain)}" for a in handler.arguments]
    if handler.name is None:
        return f"on data {arguments[0]} do"
    listed = f"({', '.join(arguments)})" if arguments else ""
    seen = f" seen by {', '.join(handler.users)}" if handler.users else ""
    return f"on query {handler.name}{listed}{seen} do"


def _row(row: tuple[ast.Expression, ...]) -> str:
    return "(" + ", ".join(print_expression(value) for value in row) + ")"


# --- statements ---------------------------------------------------------------------------------


def _lines(block: ast.Block) -> Iterator[str]:
    for node in block:
        match node:
            case ast.Assign(targets, value):
                yield f"{', '.join(map(print_expression, targets))} <- {print_expression(value)}"
            case ast.If(branches, otherwise):
                for place, branch in enumerate(branches):
                    yield f"{'elif' if place else 'if'} {print_expression(branch.condition)} then"
                    yield from _inside(branch.body)
                if otherwise:
                    yield "else"
                    yield from _inside(otherwise)
                yield "end"
            case ast.For(variable, _, _, body):
                yield from _loop(f"for {variable} in {_range(node)}", body)
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


def print_expression(node: ast.Expression) -> str:
    """Write an expression with as few brackets as the grammar allows."""
    return _write(node)[0]


def _write(node: ast.Expression) -> tuple[str, int]:
    """Return the text of an expression and how strongly it binds."""
    match node:
        case ast.Number(value):
            return print_decimal(value), _ATOM
        case ast.Truth(value):
            return "true" if value else "false", _ATOM
        case ast.Name(name):
            return name, _ATOM
        case ast.Index(name, index):
            return f"{name}[{print_expression(index)}]", _ATOM
        case ast.Call(name, arguments):
            return f"{name}({', '.join(print_expression(a) for a in arguments)})", _ATOM
        case ast.Choose(options):
            return f"choose {{{', '.join(map(_option, options))}}}", _ATOM
        case ast.Disc(value, points):
            ascending = _chain(points, ("<",) * (len(points) - 1), _COMPARISON)
            return f"disc({print_expression(value)}; {ascending})", _ATOM
        case ast.Negative(operand):
            return "-" + _bracketed(operand, _NEGATIVE), _NEGATIVE
        case ast.Not(operand):
            return "not " + _bracketed(operand, _NOT), _NOT
        case ast.Power(base, exponent):
            return f"{_bracketed(base, _ATOM)}^{_bracketed(exponent, _ATOM)}", _POWER
        case (
            ast.Sum(operands, operators)
            | ast.Product(operands, operators)
            | ast.Comparison(operands, operators)
        ):
            level = _LEVELS[type(node)]
            return _chain(operands, operators, level), level
        case ast.And(operands) | ast.Or(operands):
            level = _LEVELS[type(node)]
            word = type(node).__name__.lower()
            return _chain(operands, (word,) * (len(operands) - 1), level), level
        case _:
            assert_never(node)


def _option(option: ast.Option) -> str:
    text = _element(option.value)
    if option.weight is not None:
        text += f" : {print_expression(option.weight)}"
    return text + _turns(option.turns)


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
