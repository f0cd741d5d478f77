"""Text to surface tree: an LALR(1) parser, and the grammar as a table of PLY rules.

The start symbol is `program`. Expressions of all kinds share one grammar; the checker tells
numbers, reals and conditions apart. Chains of one precedence level are collected in a `_Chain` and
become one flat node. Some rules accept what is wrong (`=` for `<-`, a missing `then`) to report it
by name.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.errors import MOST_DIAGNOSTICS, Diagnosis, did_you_mean
from dipapprox.language import ast, syntax_errors
from dipapprox.language.lexer import (
    TOKENS,
    Action,
    Grammar,
    lists,
    more,
    node,
    nothing,
    part,
    rules,
)
from dipapprox.language.symbols import DISCRETISATION
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
    parser = GRAMMAR.parser()
    for _ in range(MOST_DIAGNOSTICS):
        stream = TokenStream(source, problems, tokens)
        try:
            program = parser.parse(lexer=stream, tracking=True)
            break
        except _Unexpected as error:
            syntax_errors.report_unexpected(stream, error.token, parser)
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


def _raise_unexpected(parser: Any, token: Any) -> None:
    raise _Unexpected(token)


# --- expressions ----------------------------------------------------------------------------------


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
_SPELLING = {
    "OR": "or", "AND": "and", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "EQ": "=", "NE": "!=",
    "PLUS": "+", "MINUS": "-", "TIMES": "*", "DIVIDE": "/",
}  # fmt: skip


def _binary(p: Any) -> _Chain:
    operator = _SPELLING[p.slice[2].type]
    level = _LEVELS[operator]
    left, right = p[1], _finished(p[3])
    if not isinstance(left, _Chain) or left.level is not level:
        return _Chain(level, [_finished(left), right], [operator], p.lexer.span(p))
    left.operands.append(right)
    left.operators.append(operator)
    left.span = p.lexer.span(p)
    return left


def _finished(value: Any) -> Any:
    """Turn a grown chain into its node; all else is finished already."""
    if not isinstance(value, _Chain):
        return value
    return value.level(tuple(value.operands), tuple(value.operators), span=value.span)


def _of_finished(action: Action) -> Action:
    """Return what does the same of symbols that are finished."""

    def act(p: Any) -> Any:
        for symbol in p.slice:
            if isinstance(symbol.value, _Chain):
                symbol.value = _finished(symbol.value)
        return action(p)

    return act


def _disc(p: Any) -> ast.Disc:
    points = p[5]
    ascends = isinstance(points, ast.Comparison) and set(points.operators) == {"<"}
    if p[1] != DISCRETISATION:
        hint = "arguments are separated by ','; only disc(r; a < b < …) has a ';'"
        p.lexer.report(f"unexpected ';' in '{p[1]}(…)'", p.lexer.span(p, 4), hint)
    elif not ascends:
        message = "'disc' needs at least two points, in ascending order"
        p.lexer.report(message, p.lexer.span(p, 5), "write e.g. 'disc(r; -1 < 0 < 1)'")
    operands = points.operands if ascends else (points, points)
    return ast.Disc(p[3], operands, span=p.lexer.span(p))


def _choose(p: Any) -> ast.Choose:
    if any(option.weight is not None for option in p[3]):
        for option in p[3]:
            if option.weight is None:
                p.lexer.report(
                    "a value without a weight",
                    option.span,
                    "write 'value : weight', e.g. 'choose {0 : 1/3, 1 : 2/3}'; "
                    "without any weights all values are equally likely",
                )
    return ast.Choose(tuple(p[3]), span=p.lexer.span(p))


_EXPRESSIONS: dict[str, Action] = {
    "expression : " + " | ".join(f"expression {sign} expression" for sign in _SPELLING): _binary,
    "expression : NOT expression": node(ast.Not, 2),
    "expression : MINUS expression %prec NEGATIVE": node(ast.Negative, 2),
    "expression : expression CARET expression": node(ast.Power, 1, 3),
    "expression : LPAREN expression RPAREN": part(2),
    "expression : atom | call": part(1),
    "call : NAME LPAREN arguments RPAREN": node(ast.Call, 1, 3),
    "call : NAME LPAREN expression SEMICOLON expression RPAREN": _disc,
    "call : CHOOSE LBRACE options RBRACE": _choose,
    "option : expression COLON expression": node(ast.Option, 1, 3, None),
    "option : expression COLON expression turns": node(ast.Option, 1, 3, 4),
    "option : expression | range": node(ast.Option, 1, None, None),
    "option : expression turns": node(ast.Option, 1, None, 2),
    "turns : EACH NAME IN expression RANGE expression": node(ast.Turns, 2, 4, 6),
    "range : expression RANGE expression": node(ast.Range, 1, 3),
    "atom : TRUE | FALSE": lambda p: ast.Truth(p[1] == "true", span=p.lexer.span(p)),
    "atom : number | place": part(1),
    "number : NUMBER": node(ast.Number, 1),
    "place : NAME": node(ast.Name, 1),
    "place : NAME LBRACK expression RBRACK": node(ast.Index, 1, 3),
    **lists(arguments="expression COMMA", options="option COMMA"),
}

# --- declarations -------------------------------------------------------------------------------

_DOMAINS = {
    **dict.fromkeys(["integer", "integers", "z", "n", "nat", "whole"], "list the values: '-5..5'"),
    **dict.fromkeys(["float", "double", "number", "r", "reals"], "all numbers are 'real'"),
}


def _named_domain(p: Any) -> list[ast.Element]:
    span = p.lexer.span(p)
    if p[1] == "int":
        return [ast.Integers(span=span)]
    hint = did_you_mean(p[1], ("bool", "int", "real"), f"write '{{{p[1]}}}' for a single value")
    hint = _DOMAINS.get(p[1].lower(), hint)
    p.lexer.report(f"'{p[1]}' is no domain", span, hint)
    return [ast.Name(p[1], span=span)]


def _where(p: Any) -> ast.AdjacentWhere:
    turns = p[len(p) - 1] if isinstance(p[len(p) - 1], ast.Turns) else None
    place = next(i for i in range(2, len(p)) if p.slice[i].type == "WHERE")
    name = p[2] if place > 2 else "all"
    rule = ast.AdjacentRule(name, p[3] if place > 3 else None, span=p.lexer.span(p))
    return ast.AdjacentWhere(rule, p[place + 1], turns, span=p.lexer.span(p))


def _state_without_value(p: Any) -> ast.State:
    span = p.lexer.span(p)
    hint = "e.g. 'state n in 0..5 <- 0'"
    p.lexer.report("a state cell needs the value that it begins with", span, hint)
    return ast.State(tuple(p[2]), tuple(p[4]), ast.Name("", span=span), span=span)


def _single(kind: type[Any], place: int) -> Action:
    """Return what makes a declaration of one variable, with its domain two symbols later."""

    def made(p: Any) -> Any:
        span = p.lexer.span(p)
        return kind((ast.Declared(p[place], None, span=span),), tuple(p[place + 2]), span=span)

    return made


_DECLARATIONS: dict[str, Action] = {
    "declaration : PARAM NAME EQ expression": node(ast.Parameter, 2, 4, at=2),
    "declaration : PARAM NAME": node(ast.Parameter, 2, None, at=2),
    "declaration : INPUT names IN domain": node(ast.Input, 2, 4),
    "declaration : OUTPUT names IN domain": node(ast.Output, 2, 4),
    "declaration : STREAM NAME IN domain": _single(ast.Stream, 2),
    "declaration : PUBLISHES domain": node(partial(ast.Publishes, ()), 2),
    "declaration : STATE names IN domain ARROW expression": node(ast.State, 2, 4, 6),
    "declaration : STATE names IN domain": _state_without_value,
    "declared : NAME": node(ast.Declared, 1, None),
    "declared : NAME LBRACK expression RBRACK": node(ast.Declared, 1, 3),
    "domain : LBRACE elements RBRACE": part(2),
    "domain : range": lambda p: [p[1]],
    "domain : BOOL": lambda p: [ast.Truth(v, span=p.lexer.span(p)) for v in (False, True)],
    "domain : NAME": _named_domain,
    "domain : REAL": lambda p: [ast.Reals(None, span=p.lexer.span(p))],
    "domain : REAL range": lambda p: [ast.Reals(p[2], span=p.lexer.span(p))],
    "element : expression | range": part(1),
    "declaration : ADJACENT NAME": node(ast.AdjacentRule, 2, None),
    "declaration : ADJACENT NAME expression": node(ast.AdjacentRule, 2, 3),
    "declaration : ADJACENT WHERE expression"
    " | ADJACENT WHERE expression turns"
    " | ADJACENT NAME WHERE expression"
    " | ADJACENT NAME WHERE expression turns"
    " | ADJACENT NAME expression WHERE expression"
    " | ADJACENT NAME expression WHERE expression turns": _where,
    "declaration : ADJACENT LBRACE pairs RBRACE": node(ast.AdjacentPairs, 3),
    "pairs : pair | pairs pair | pairs SEMICOLON pair | pairs COMMA pair": more,
    "pair : row TILDE row": node(ast.Pair, 1, 3),
    "row : LPAREN arguments RPAREN": part(2),
    "row : cell": lambda p: [p[1]],
    "cell : atom | fraction": part(1),
    "cell : MINUS atom | MINUS fraction": node(ast.Negative, 2),
    "fraction : atom DIVIDE atom": lambda p: ast.Product(
        (p[1], p[3]), ("/",), span=p.lexer.span(p)
    ),
    **lists(names="declared COMMA", elements="element COMMA"),
}

# --- statements ---------------------------------------------------------------------------------


def _program(p: Any) -> ast.Program:
    items = [x for x in p[1] if not isinstance(x, ast.Handler)]
    handlers = tuple(x for x in p[1] if isinstance(x, ast.Handler))
    count = next((i for i, x in enumerate(items) if not isinstance(x, ast.Declaration)), len(items))
    body = _statements(p, items[count:])
    return ast.Program(tuple(items[:count]), body, handlers, span=p.lexer.span(p))


def _statements(p: Any, items: list[Any]) -> ast.Block:
    """Return the statements of a block; report what belongs elsewhere."""
    for item in items:
        if isinstance(item, ast.Handler):
            hint = "handlers stand one after the other, each with its own 'end'"
            p.lexer.report("'on' inside a block", item.span, hint)
        if isinstance(item, ast.Declaration):
            hint = "move it to the top of the file"
            p.lexer.report("declaration after the first statement", item.span, hint)
    return tuple(item for item in items if not isinstance(item, ast.Declaration | ast.Handler))


def _assign(p: Any) -> ast.Assign:
    if p[2] == "=":
        hint = "write '<-' to assign"
        p.lexer.report("'=' compares, it does not assign", p.lexer.span(p, 2), hint)
    return ast.Assign(tuple(p[1]), p[3], span=p.lexer.span(p))


def _branch(p: Any, place: int) -> ast.Branch:
    """Return a branch whose condition stands at a place."""
    return ast.Branch(p[place], _statements(p, p[place + 2]), span=p.lexer.span(p, place))


def _loop(kind: type[Any], *places: int) -> Action:
    """Return what makes a loop of what its header says, then 'do', a block and 'end'."""

    def made(p: Any) -> Any:
        header = p.lexer.span(p, 1, len(p) - 4)
        return kind(*(p[place] for place in places), _statements(p, p[len(p) - 2]), span=header)

    return made


def _opened(word: str, where: str) -> Action:
    """Return what reports a word that does not stand before a block."""

    def check(p: Any) -> None:
        if p[1] == word:
            return
        text = p.lexer.source.text
        end = len(text[: p.lexer.last.lexpos if p.lexer.last else len(text)].rstrip(" \t\r\n;"))
        span = Span(p.lexer.source, max(0, end - 1), end)
        p.lexer.report(f"missing '{word}' {where}", span, f"write '{word}'")

    return check


# `data`, `query`, `seen` and `by` are words in these places only: elsewhere they are names.


def _on_data(p: Any) -> ast.Handler:
    _expect(p, 2, "data", "write 'on data d in 0..1 do', or 'on query name do'")
    return ast.Handler(None, (p[3],), (), _statements(p, p[5]), span=p.lexer.span(p, 1, 3))


def _on_query(p: Any) -> ast.Handler:
    _expect(p, 2, "query", "write 'on query name do', or 'on data d in 0..1 do'")
    body = _statements(p, p[7])
    return ast.Handler(p[3], tuple(p[4]), tuple(p[5]), body, span=p.lexer.span(p, 1, 3))


def _seen(p: Any) -> list[str]:
    for place, word in ((1, "seen"), (2, "by")):
        _expect(p, place, word, "write e.g. 'on query sum seen by alice do'")
    return p[3]  # type: ignore[no-any-return]  # of the grammar


def _expect(p: Any, place: int, word: str, hint: str) -> None:
    if p[place] != word:
        p.lexer.report(
            f"unexpected '{p[place]}'",
            p.lexer.span(p, place),
            did_you_mean(p[place].lower(), (word,), hint),
        )


_STATEMENTS: dict[str, Action] = {
    "program : block": _program,
    "block : items": part(1),
    "item : declaration | statement | handler": part(1),
    "statement : targets ARROW expression | targets EQ expression": _assign,
    "statement : IF expression then block elifs otherwise END": lambda p: ast.If(
        (_branch(p, 2), *p[5]), _statements(p, p[6]), span=p.lexer.span(p, 1)
    ),
    "elifs : elifs ELIF expression then block": lambda p: [*p[1], _branch(p, 3)],
    "otherwise : ELSE block": part(2),
    **dict.fromkeys(
        [f"{each} : empty" for each in ("block", "elifs", "otherwise", "asked", "seen")], nothing
    ),
    "statement : FOR NAME IN expression RANGE expression do block END": _loop(ast.For, 2, 4, 6),
    "statement : WHILE expression do block END": _loop(ast.While, 2),
    "statement : FOREVER do block END": _loop(ast.Forever),
    "then : THEN | SEP | empty": _opened("then", "after the condition"),
    "do : DO | SEP | empty": _opened("do", "after the header of the loop"),
    "statement : SKIP": node(ast.Skip),
    "statement : EXIT": node(ast.Exit),
    "statement : READ NAME": node(ast.Read, 2),
    "statement : PUBLISH expression": node(ast.Publish, 2),
    "handler : ON NAME argument opened block END": _on_data,
    "handler : ON NAME NAME asked seen opened block END": _on_query,
    "opened : DO | SEP": _opened("do", "after the header of the handler"),
    "argument : NAME IN domain": _single(ast.Input, 1),
    "asked : LPAREN handler_arguments RPAREN": part(2),
    "seen : NAME NAME users": _seen,
    "empty :": nothing,
    **lists(items="item SEP", targets="place COMMA", users="NAME COMMA"),
    **lists(handler_arguments="argument COMMA"),
}

GRAMMAR = Grammar(
    name="dpg",
    start="program",
    tokens=TOKENS,
    precedence=(
        ("left", "OR"),
        ("left", "AND"),
        ("right", "NOT"),
        ("left", "LT", "LE", "GT", "GE", "EQ", "NE"),
        ("left", "PLUS", "MINUS"),
        ("left", "TIMES", "DIVIDE"),
        ("right", "NEGATIVE"),
        ("nonassoc", "CARET"),  # chains of powers would nest without a bound
    ),
    rules=rules(
        {
            written: _of_finished(action)
            if "expression" in written and action != _binary
            else action
            for written, action in {**_EXPRESSIONS, **_DECLARATIONS, **_STATEMENTS}.items()
        }
    ),
    error=_raise_unexpected,
)
