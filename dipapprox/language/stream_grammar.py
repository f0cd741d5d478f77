"""The grammar of streams and of real inputs, as PLY rules beside those of `statement_grammar`."""

from __future__ import annotations

from typing import Any

from dipapprox.language import ast
from dipapprox.language.expression_grammar import finish
from dipapprox.language.statement_grammar import statements
from dipapprox.source import Span


def p_stream(p: Any) -> None:
    """declaration : STREAM NAME IN domain"""
    p[0] = ast.Stream(p[2], tuple(p[4]), span=p.lexer.span(p))


def p_publishes(p: Any) -> None:
    """declaration : PUBLISHES domain"""
    p[0] = ast.Publishes(tuple(p[2]), span=p.lexer.span(p))


def p_reals(p: Any) -> None:
    """domain : REAL
    | REAL range"""
    p[0] = [ast.Reals(p[2] if len(p) == 3 else None, span=p.lexer.span(p))]


def p_read(p: Any) -> None:
    """statement : READ NAME"""
    p[0] = ast.Read(p[2], span=p.lexer.span(p))


def p_publish(p: Any) -> None:
    """statement : PUBLISH expression"""
    p[0] = ast.Publish(finish(p[2]), span=p.lexer.span(p))


def p_forever(p: Any) -> None:
    """statement : FOREVER do block END"""
    body = statements(p, p[3])
    header = Span(p.lexer.source, p.lexpos(1), p.lexspan(1)[1])
    p[0] = ast.Forever(body, span=header)
