"""Generators: surface trees of any shape, and damaged program texts."""

from fractions import Fraction

from hypothesis import strategies as st

from dipapprox.language import ast
from dipapprox.language.lexer import KEYWORDS, SOFT_WORDS

names = st.one_of(
    st.sampled_from(["q", "out", "r", "max", "argmax", "Gauss", "eps", "all", "top", "N"]),
    st.from_regex(r"[A-Za-z_][A-Za-z_0-9]{0,8}", fullmatch=True).filter(
        lambda name: name not in KEYWORDS | SOFT_WORDS
    ),
)

numbers = st.builds(
    lambda digits, places: ast.Number(Fraction(digits, 10**places)),
    st.integers(0, 10**6),
    st.integers(0, 8),
)


@st.composite
def _chains(draw: st.DrawFn, inner: st.SearchStrategy[ast.Expression]) -> ast.Expression:
    operands = tuple(draw(st.lists(inner, min_size=2, max_size=4)))
    count = len(operands) - 1
    spellings = {
        ast.Sum: ["+", "-"],
        ast.Product: ["*", "/"],
        ast.Comparison: ["<", "<=", ">", ">=", "=", "!="],
        ast.And: ["and"],
        ast.Or: ["or"],
    }
    node = draw(st.sampled_from(list(spellings)))
    operators = draw(st.lists(st.sampled_from(spellings[node]), min_size=count, max_size=count))
    return node(operands, tuple(operators))


def _choices(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Choose]:
    turns = st.one_of(st.none(), st.builds(ast.Turns, names, inner, inner))
    weighted = st.builds(ast.Option, inner, inner, turns)
    alike = st.one_of(
        st.builds(ast.Option, inner, st.none(), turns),
        st.builds(ast.Option, st.builds(ast.Range, inner, inner), st.none()),
    )
    options = (st.lists(each, min_size=1, max_size=3).map(tuple) for each in (weighted, alike))
    return st.builds(ast.Choose, st.one_of(*options))


expressions: st.SearchStrategy[ast.Expression] = st.recursive(
    st.one_of(numbers, st.builds(ast.Name, names), st.builds(ast.Truth, st.booleans())),
    lambda inner: st.one_of(
        _chains(inner),
        st.builds(ast.Negative, inner),
        st.builds(ast.Not, inner),
        st.builds(ast.Index, names, inner),
        st.builds(ast.Call, names, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(ast.Power, inner, inner),
        st.builds(ast.Disc, inner, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        _choices(inner),
    ),
    max_leaves=8,
)

targets = st.one_of(st.builds(ast.Name, names), st.builds(ast.Index, names, expressions))

_simple = st.one_of(
    st.builds(ast.Assign, st.lists(targets, min_size=1, max_size=3).map(tuple), expressions),
    st.builds(ast.Skip),
    st.builds(ast.Exit),
    st.builds(ast.Read, names),
    st.builds(ast.Publish, expressions),
)


def _blocks(inner: st.SearchStrategy[ast.Statement]) -> st.SearchStrategy[ast.Block]:
    return st.lists(inner, max_size=3).map(tuple)


statements: st.SearchStrategy[ast.Statement] = st.recursive(
    _simple,
    lambda inner: st.one_of(
        st.builds(
            ast.If,
            st.lists(
                st.builds(ast.Branch, expressions, _blocks(inner)), min_size=1, max_size=3
            ).map(tuple),
            _blocks(inner),
        ),
        st.builds(ast.For, names, expressions, expressions, _blocks(inner)),
        st.builds(ast.While, expressions, _blocks(inner)),
        st.builds(ast.Forever, _blocks(inner)),
    ),
    max_leaves=6,
)

_ranges = st.builds(ast.Range, expressions, expressions)
_domains = st.one_of(
    st.just((ast.Integers(),)),
    st.just((ast.Truth(False), ast.Truth(True))),
    st.lists(st.one_of(expressions, _ranges), min_size=1, max_size=3).map(tuple),
    st.tuples(st.builds(ast.Reals, st.one_of(st.none(), _ranges))),
)
_declared = st.lists(
    st.builds(ast.Declared, names, st.one_of(st.none(), expressions)), min_size=1, max_size=2
).map(tuple)
_rows = st.lists(expressions, min_size=1, max_size=3).map(tuple)

_scalar = st.builds(ast.Declared, names, st.none()).map(lambda each: (each,))

declarations: st.SearchStrategy[ast.Declaration] = st.one_of(
    st.builds(ast.Parameter, names, st.one_of(st.none(), expressions)),
    st.builds(ast.Input, _declared, _domains),
    st.builds(ast.Output, _declared, _domains),
    st.builds(ast.Stream, _scalar, _domains),
    st.builds(ast.Publishes, st.just(()), _domains),
    st.builds(ast.State, _declared, _domains, expressions),
    st.builds(ast.AdjacentRule, names, st.one_of(st.none(), expressions)),
    st.builds(
        ast.AdjacentWhere,
        st.builds(ast.AdjacentRule, names, st.one_of(st.none(), expressions)),
        expressions,
        st.one_of(st.none(), st.builds(ast.Turns, names, expressions, expressions)),
    ),
    st.builds(
        ast.AdjacentPairs,
        st.lists(st.builds(ast.Pair, _rows, _rows), min_size=1, max_size=3).map(tuple),
    ),
)

_arguments = st.builds(ast.Input, _scalar, _domains)
_bodies = st.lists(statements, max_size=3).map(tuple)
_handlers = st.one_of(
    st.builds(ast.Handler, st.none(), _arguments.map(lambda each: (each,)), st.just(()), _bodies),
    st.builds(
        ast.Handler,
        names,
        st.lists(_arguments, max_size=2).map(tuple),
        st.lists(names, max_size=2).map(tuple),
        _bodies,
    ),
)

programs = st.builds(
    ast.Program,
    st.lists(declarations, max_size=4).map(tuple),
    st.lists(statements, max_size=5).map(tuple),
    st.lists(_handlers, max_size=2).map(tuple),
)


@st.composite
def damaged(draw: st.DrawFn, texts: list[str], pieces: list[str]) -> str:
    """One of the texts after a few deletions, repetitions, swaps and insertions."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        other = draw(st.integers(0, len(text)))
        some = ["", draw(st.sampled_from(pieces)), text[start:end] * 2, text[other : other + 15]]
        text = text[:start] + draw(st.sampled_from(some) | st.text(max_size=3)) + text[end:]
    return text
