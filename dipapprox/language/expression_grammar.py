"""The grammar of expressions, as PLY rules.

Expressions of all kinds share one grammar; the checker tells numbers, reals and conditions apart.
Chains of one precedence level are collected in a `_Chain` and become one flat node.
"""

from __future__ import annotations

from typing import Any

from dipapprox.data_classes import Record
from dipapprox.language import ast
from dipapprox.language.symbols import DISCRETISATION
from dipapprox.source import Span

precedence = (
    ("left", "OR"),
    ("left", "AND"),
    ("right", "NOT"),
    ("left", "LT", "LE", "GT", "GE", "EQ", "NE"),
    ("left", "PLUS", "MINUS"),
    ("left", "TIMES", "DIVIDE"),
    ("right", "NEGATIVE"),
    ("nonassoc", "CARET"),  # chains of powers would nest without a bound
)


class _Chain(Record, frozen=False):
    """Operands of one precedence level, still growing."""

    level: type[Any]
    operands: list[Any]
    operators: list[str]
    span: Span


_LEVELS: dict[str, type[Any]] = {
    **dict.fromkeys(("+", "-"), ast.Sum),
    **dict.fromkeys(("*", "/"), ast.Product),
    **dict.fromkeys(("<", "<=", ">", ">=", "=", "!="), ast.Comparison),
    "and": ast.And,
    "or": ast.Or,
}


def p_binary(p: Any) -> None:
    """expression : expression OR expression
    | expression AND expression
    | expression LT expression
    | expression LE expression
    | expression GT expression
    | expression GE expression
    | expression EQ expression
    | expression NE expression
    | expression PLUS expression
    | expression MINUS expression
    | expression TIMES expression
    | expression DIVIDE expression"""
    token = p.slice[2].type
    operator = _SPELLING[token]
    level = _LEVELS[operator]
    left, right = p[1], finish(p[3])
    if isinstance(left, _Chain) and left.level is level:
        left.operands.append(right)
        left.operators.append(operator)
        left.span = p.lexer.span(p)
        p[0] = left
    else:
        p[0] = _Chain(level, [finish(left), right], [operator], p.lexer.span(p))


_SPELLING = {
    "OR": "or", "AND": "and", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "EQ": "=", "NE": "!=",
    "PLUS": "+", "MINUS": "-", "TIMES": "*", "DIVIDE": "/",
}  # fmt: skip


def finish(node: Any) -> Any:
    """Turn a grown chain into its node; other nodes are finished already."""
    if not isinstance(node, _Chain):
        return node
    if node.level in (ast.And, ast.Or):
        return node.level(tuple(node.operands), span=node.span)
    return node.level(tuple(node.operands), tuple(node.operators), span=node.span)


def p_not(p: Any) -> None:
    """expression : NOT expression"""
    p[0] = ast.Not(finish(p[2]), span=p.lexer.span(p))


def p_negative(p: Any) -> None:
    """expression : MINUS expression %prec NEGATIVE"""
    p[0] = ast.Negative(finish(p[2]), span=p.lexer.span(p))


def p_power(p: Any) -> None:
    """expression : expression CARET expression"""
    p[0] = ast.Power(finish(p[1]), finish(p[3]), span=p.lexer.span(p))


def p_parenthesised(p: Any) -> None:
    """expression : LPAREN expression RPAREN"""
    p[0] = finish(p[2])


def p_call(p: Any) -> None:
    """call : NAME LPAREN arguments RPAREN"""
    p[0] = ast.Call(p[1], tuple(p[3]), span=p.lexer.span(p))


def p_disc(p: Any) -> None:
    """call : NAME LPAREN expression SEMICOLON expression RPAREN"""
    points = finish(p[5])
    if p[1] != DISCRETISATION:
        hint = "arguments are separated by ','; only disc(r; a < b < …) has a ';'"
        p.lexer.report(f"unexpected ';' in '{p[1]}(…)'", p.lexer.span(p, 4), hint)
        points = ast.Comparison((points, points), ("<",))
    elif not isinstance(points, ast.Comparison) or set(points.operators) != {"<"}:
        message = "'disc' needs at least two points, in ascending order"
        p.lexer.report(message, p.lexer.span(p, 5), "write e.g. 'disc(r; -1 < 0 < 1)'")
        points = ast.Comparison((points, points), ("<",))
    p[0] = ast.Disc(finish(p[3]), points.operands, span=p.lexer.span(p))


def p_choose(p: Any) -> None:
    """call : CHOOSE LBRACE options RBRACE"""
    options = tuple(p[3])
    if any(option.weight is not None for option in options):
        for option in options:
            if option.weight is None:
                p.lexer.report(
                    "a value without a weight",
                    option.span,
                    "write 'value : weight', e.g. 'choose {0 : 1/3, 1 : 2/3}'; "
                    "without any weights all values are equally likely",
                )
    p[0] = ast.Choose(options, span=p.lexer.span(p))


def p_option(p: Any) -> None:
    """option : expression COLON expression
    | expression COLON expression turns
    | expression
    | expression turns
    | range"""
    weight = finish(p[3]) if len(p) > 3 else None
    turns = p[len(p) - 1] if len(p) in (3, 5) else None
    p[0] = ast.Option(finish(p[1]), weight, turns, span=p.lexer.span(p))


def p_turns(p: Any) -> None:
    """turns : EACH NAME IN expression RANGE expression"""
    p[0] = ast.Turns(p[2], finish(p[4]), finish(p[6]), span=p.lexer.span(p))


def p_range(p: Any) -> None:
    """range : expression RANGE expression"""
    p[0] = ast.Range(finish(p[1]), finish(p[3]), span=p.lexer.span(p))


def p_arguments(p: Any) -> None:
    """arguments : expression
    | arguments COMMA expression"""
    p[0] = p[1] if len(p) == 4 else []
    p[0].append(finish(p[len(p) - 1]))


def p_truth(p: Any) -> None:
    """atom : TRUE
    | FALSE"""
    p[0] = ast.Truth(p[1] == "true", span=p.lexer.span(p))


def p_number(p: Any) -> None:
    """number : NUMBER"""
    p[0] = ast.Number(p[1], span=p.lexer.span(p))


def p_place(p: Any) -> None:
    """place : NAME
    | NAME LBRACK expression RBRACK"""
    if len(p) == 2:
        p[0] = ast.Name(p[1], span=p.lexer.span(p))
    else:
        p[0] = ast.Index(p[1], finish(p[3]), span=p.lexer.span(p))


def collect(p: Any) -> None:
    p[0] = p[1] if len(p) == 4 else []
    p[0].append(p[len(p) - 1])
