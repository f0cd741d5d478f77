"""The grammar of streams, real inputs and services, as PLY rules beside `statement_grammar`.

`data`, `query`, `seen` and `by` are words in these places only: elsewhere they are names.
"""

from __future__ import annotations

from typing import Any

from dipapprox.errors import did_you_mean
from dipapprox.language import ast
from dipapprox.language.expression_grammar import finish
from dipapprox.language.statement_grammar import missing, statements
from dipapprox.source import Span


def p_stream(p: Any) -> None:
    """declaration : STREAM NAME IN domain"""
    span = p.lexer.span(p)
    p[0] = ast.Stream((ast.Declared(p[2], None, span=span),), tuple(p[4]), span=span)


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


def p_state(p: Any) -> None:
    """declaration : STATE names IN domain ARROW expression
    | STATE names IN domain"""
    initial: ast.Expression = ast.Name("", span=p.lexer.span(p))
    if len(p) == 7:
        initial = finish(p[6])
    else:
        hint = "e.g. 'state n in 0..5 <- 0'"
        p.lexer.report("a state cell needs the value that it begins with", p.lexer.span(p), hint)
    p[0] = ast.State(tuple(p[2]), tuple(p[4]), initial, span=p.lexer.span(p))


def p_on_data(p: Any) -> None:
    """handler : ON NAME argument opened block END"""
    _expect(p, 2, "data", "write 'on data d in 0..1 do', or 'on query name do'")
    p[0] = ast.Handler(None, (p[3],), (), statements(p, p[5]), span=_header(p, 3))


def p_on_query(p: Any) -> None:
    """handler : ON NAME NAME asked seen opened block END"""
    _expect(p, 2, "query", "write 'on query name do', or 'on data d in 0..1 do'")
    body = statements(p, p[7])
    p[0] = ast.Handler(p[3], tuple(p[4]), tuple(p[5]), body, span=_header(p, 3))


def p_opened(p: Any) -> None:
    """opened : DO
    | SEP"""
    if p[1] != "do":
        missing(p, "do", "after the header of the handler")


def p_asked(p: Any) -> None:
    """asked : LPAREN handler_arguments RPAREN
    | empty"""
    p[0] = p[2] if len(p) == 4 else []


def p_handler_argument(p: Any) -> None:
    """argument : NAME IN domain"""
    span = p.lexer.span(p)
    p[0] = ast.Input((ast.Declared(p[1], None, span=span),), tuple(p[3]), span=span)


def p_seen(p: Any) -> None:
    """seen : NAME NAME users
    | empty"""
    p[0] = []
    if len(p) == 4:
        for place, word in ((1, "seen"), (2, "by")):
            _expect(p, place, word, "write e.g. 'on query sum seen by alice do'")
        p[0] = p[3]


def _expect(p: Any, place: int, word: str, hint: str) -> None:
    if p[place] != word:
        p.lexer.report(
            f"unexpected '{p[place]}'",
            p.lexer.span(p, place),
            did_you_mean(p[place].lower(), (word,), hint),
        )


def _header(p: Any, last: int) -> Span:
    return Span(p.lexer.source, p.lexpos(1), p.lexspan(last)[1])
