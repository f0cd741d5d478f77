"""Text to surface tree: an LALR(1) parser, and the grammar of all but expressions, as PLY rules.

The start symbol is `program`. Some rules accept what is wrong (`=` for `<-`, a missing `then`) to
report it by name.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

from dipapprox.errors import MOST_DIAGNOSTICS, Diagnosis, did_you_mean
from dipapprox.language import ast, expression_grammar, syntax_errors
from dipapprox.language.expression_grammar import collect, finish
from dipapprox.language.lexer import TOKENS, Grammar, rules_in
from dipapprox.language.tokens import TokenStream, read_tokens
from dipapprox.source import SourceFile, Span

_LONGEST_RECOVERED = 5000  # tokens; longer texts get one message, as each message costs a parse


def parse(text: str, name: str = "<text>") -> ast.Program:
    """Parse a `.dpg` program.

    After a syntax error the statement or header at fault is replaced by a harmless one and the
    text is parsed again, so that one mistake gives one message and all are found.
    """
    source = SourceFile(name, text)
    problems = Diagnosis()
    tokens = read_tokens(source, problems)
    program: Any = None
    parser = copy(_parser())  # the tables of all threads, and a state of its own
    for _ in range(MOST_DIAGNOSTICS):
        stream = TokenStream(source, problems, tokens)
        try:
            program = parser.parse(lexer=stream, tracking=True)
            break
        except _Unexpected as error:
            syntax_errors.report_unexpected(stream, error.token, parser.action[parser.state])
            if len(tokens) > _LONGEST_RECOVERED:
                break
            tokens = syntax_errors.without_error(
                tokens, len(tokens) if error.token is None else stream.position
            )
    problems.finish()
    assert isinstance(program, ast.Program)
    return program


class _Unexpected(Exception):
    """The parser has no use for a token; None is the end of the text."""

    def __init__(self, token: Any) -> None:
        super().__init__()
        self.token = token


def _raise_unexpected(token: Any) -> None:
    raise _Unexpected(token)


# --- programs and blocks ------------------------------------------------------------------------


def p_program(p: Any) -> None:
    """program : block"""
    items = [x for x in p[1] if not isinstance(x, ast.Handler)]
    handlers = tuple(x for x in p[1] if isinstance(x, ast.Handler))
    count = next((i for i, x in enumerate(items) if not isinstance(x, ast.Declaration)), len(items))
    body = statements(p, items[count:])
    p[0] = ast.Program(tuple(items[:count]), body, handlers, span=p.lexer.span(p))


def p_block(p: Any) -> None:
    """block : items
    | empty"""
    p[0] = p[1] or []


def p_lists(p: Any) -> None:
    """items : item
    | items SEP item
    names : declared
    | names COMMA declared
    elements : element
    | elements COMMA element
    targets : place
    | targets COMMA place
    options : option
    | options COMMA option
    handler_arguments : argument
    | handler_arguments COMMA argument
    users : NAME
    | users COMMA NAME"""
    collect(p)


def p_same(p: Any) -> None:
    """item : declaration
    | statement
    | handler
    expression : atom
    | call
    atom : number
    | place"""
    p[0] = p[1]


def p_empty(p: Any) -> None:
    """empty :"""


def statements(p: Any, items: list[Any]) -> ast.Block:
    """Return the statements of a block; report what belongs elsewhere."""
    for item in items:
        if isinstance(item, ast.Handler):
            hint = "handlers stand one after the other, each with its own 'end'"
            p.lexer.report("'on' inside a block", item.span, hint)
        if isinstance(item, ast.Declaration):
            hint = "move it to the top of the file"
            p.lexer.report("declaration after the first statement", item.span, hint)
    return tuple(item for item in items if not isinstance(item, ast.Declaration | ast.Handler))


# --- declarations -------------------------------------------------------------------------------


def p_parameter(p: Any) -> None:
    """declaration : PARAM NAME EQ expression
    | PARAM NAME"""
    default = finish(p[4]) if len(p) == 5 else None
    p[0] = ast.Parameter(p[2], default, span=p.lexer.span(p, 2))


def p_variables(p: Any) -> None:
    """declaration : INPUT names IN domain
    | OUTPUT names IN domain"""
    node = ast.Input if p[1] == "input" else ast.Output
    p[0] = node(tuple(p[2]), tuple(p[4]), span=p.lexer.span(p))


def p_declared(p: Any) -> None:
    """declared : NAME
    | NAME LBRACK expression RBRACK"""
    size = finish(p[3]) if len(p) == 5 else None
    p[0] = ast.Declared(p[1], size, span=p.lexer.span(p))


def p_domain(p: Any) -> None:
    """domain : LBRACE elements RBRACE
    | range
    | BOOL
    | NAME"""
    if p.slice[1].type == "NAME":
        p[0] = [_named_domain(p)]
    elif p[1] == "bool":
        p[0] = [ast.Truth(value, span=p.lexer.span(p)) for value in (False, True)]
    else:
        p[0] = p[2] if len(p) == 4 else [p[1]]


_DOMAINS = {
    **dict.fromkeys(["integer", "integers", "z", "n", "nat", "whole"], "list the values: '-5..5'"),
    **dict.fromkeys(["float", "double", "number", "r", "reals"], "all numbers are 'real'"),
}


def _named_domain(p: Any) -> ast.Element:
    span = p.lexer.span(p)
    if p[1] == "int":
        return ast.Integers(span=span)
    hint = did_you_mean(p[1], ("bool", "int", "real"), f"write '{{{p[1]}}}' for a single value")
    hint = _DOMAINS.get(p[1].lower(), hint)
    p.lexer.report(f"'{p[1]}' is no domain", span, hint)
    return ast.Name(p[1], span=span)


def p_element(p: Any) -> None:
    """element : expression
    | range"""
    p[0] = finish(p[1])


def p_adjacent_rule(p: Any) -> None:
    """declaration : ADJACENT NAME
    | ADJACENT NAME expression"""
    radius = finish(p[3]) if len(p) == 4 else None
    p[0] = ast.AdjacentRule(p[2], radius, span=p.lexer.span(p))


def p_adjacent_where(p: Any) -> None:
    """declaration : ADJACENT WHERE expression
    | ADJACENT WHERE expression turns
    | ADJACENT NAME WHERE expression
    | ADJACENT NAME WHERE expression turns
    | ADJACENT NAME expression WHERE expression
    | ADJACENT NAME expression WHERE expression turns"""
    turns = p[len(p) - 1] if isinstance(p[len(p) - 1], ast.Turns) else None
    place = next(i for i in range(2, len(p)) if p.slice[i].type == "WHERE")
    name = p[2] if place > 2 else "all"
    radius = finish(p[3]) if place > 3 else None
    rule = ast.AdjacentRule(name, radius, span=p.lexer.span(p))
    p[0] = ast.AdjacentWhere(rule, finish(p[place + 1]), turns, span=p.lexer.span(p))


def p_adjacent_pairs(p: Any) -> None:
    """declaration : ADJACENT LBRACE pairs RBRACE"""
    p[0] = ast.AdjacentPairs(tuple(p[3]), span=p.lexer.span(p))


def p_pairs(p: Any) -> None:
    """pairs : pair
    | pairs pair
    | pairs SEMICOLON pair
    | pairs COMMA pair"""
    p[0] = p[1] if len(p) > 2 else []
    p[0].append(p[len(p) - 1])


def p_pair(p: Any) -> None:
    """pair : row TILDE row"""
    p[0] = ast.Pair(tuple(p[1]), tuple(p[3]), span=p.lexer.span(p))


def p_row(p: Any) -> None:
    """row : LPAREN arguments RPAREN
    | cell"""
    p[0] = p[2] if len(p) == 4 else [p[1]]


def p_cell(p: Any) -> None:
    """cell : atom
    | fraction
    | MINUS atom
    | MINUS fraction"""
    p[0] = p[1] if len(p) == 2 else ast.Negative(p[2], span=p.lexer.span(p))


def p_fraction(p: Any) -> None:
    """fraction : atom DIVIDE atom"""
    p[0] = ast.Product((p[1], p[3]), ("/",), span=p.lexer.span(p))


# --- statements ---------------------------------------------------------------------------------


def p_assign(p: Any) -> None:
    """statement : targets ARROW expression
    | targets EQ expression"""
    if p[2] == "=":
        hint = "write '<-' to assign"
        p.lexer.report("'=' compares, it does not assign", p.lexer.span(p, 2), hint)
    p[0] = ast.Assign(tuple(p[1]), finish(p[3]), span=p.lexer.span(p))


def p_if(p: Any) -> None:
    """statement : IF expression then block elifs otherwise END"""
    first = ast.Branch(finish(p[2]), statements(p, p[4]), span=p.lexer.span(p, 2))
    p[0] = ast.If((first, *p[5]), statements(p, p[6]), span=p.lexer.span(p, 1))


def p_elifs(p: Any) -> None:
    """elifs : elifs ELIF expression then block
    | empty"""
    p[0] = p[1] or []
    if len(p) == 6:
        branch = ast.Branch(finish(p[3]), statements(p, p[5]), span=p.lexer.span(p, 3))
        p[0].append(branch)


def p_otherwise(p: Any) -> None:
    """otherwise : ELSE block
    | empty"""
    p[0] = p[2] if len(p) == 3 else []


def p_for(p: Any) -> None:
    """statement : FOR NAME IN expression RANGE expression do block END"""
    body = statements(p, p[8])
    header = Span(p.lexer.source, p.lexpos(1), p.lexspan(6)[1])
    p[0] = ast.For(p[2], finish(p[4]), finish(p[6]), body, span=header)


def p_while(p: Any) -> None:
    """statement : WHILE expression do block END"""
    body = statements(p, p[4])
    header = Span(p.lexer.source, p.lexpos(1), p.lexspan(2)[1])
    p[0] = ast.While(finish(p[2]), body, span=header)


def p_then(p: Any) -> None:
    """then : THEN
    | SEP
    | empty"""
    if p[1] != "then":
        missing(p, "then", "after the condition")


def p_do(p: Any) -> None:
    """do : DO
    | SEP
    | empty"""
    if p[1] != "do":
        missing(p, "do", "after the header of the loop")


def missing(p: Any, word: str, where: str) -> None:
    """Report a word that is not there."""
    text = p.lexer.source.text
    end = len(text[: p.lexer.last.lexpos if p.lexer.last else len(text)].rstrip(" \t\r\n;"))
    span = Span(p.lexer.source, max(0, end - 1), end)
    p.lexer.report(f"missing '{word}' {where}", span, f"write '{word}'")


def p_simple_statement(p: Any) -> None:
    """statement : SKIP
    | EXIT"""
    p[0] = (ast.Skip if p[1] == "skip" else ast.Exit)(span=p.lexer.span(p))


# --- streams, real inputs and services ----------------------------------------------------------
# `data`, `query`, `seen` and `by` are words in these places only: elsewhere they are names.


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


GRAMMAR = Grammar(
    name="dpg",
    start="program",
    tokens=TOKENS,
    precedence=expression_grammar.precedence,
    rules=rules_in(vars(expression_grammar), globals()),
    error=_raise_unexpected,
)

_parser = cache(GRAMMAR.load)
