"""Random functions: what CPython does with samples, the program does, or the function is refused.

CPython runs the function with stubs that hand out samples (`beside`); the program is executed with
the same ones. Both must draw the same, in the same order, and return the same.
"""

from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from dipapprox.errors import SourceError
from dipapprox.language.functions import paths
from tests.language.functions.beside import differences

HEAD = """
import bisect, copy, heapq, itertools, operator, statistics
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Annotated, NamedTuple
from dipapprox import *

TABLE = [3, 1, 2]

class Full(Exception): pass

@dataclass
class Box:
    held: object
    more: int = 1
    def grow(self, by=1):
        self.held = self.held + by
        return self
    @property
    def twice(self): return 2 * self.held

class Pair(NamedTuple):
    left: object
    right: object = 0

class Base:
    step = 1
    def __init__(self, at): self.at = at
    def go(self): self.at += self.step; return self.at
class Derived(Base):
    step = 2
    def go(self): return super().go() + 1

def last(values, *more, default=0):
    return [*values, *more][-1] if values or more else default

def fact(n): return 1 if n <= 0 else n * fact(n - 1)

@mechanism(adjacent="all")
def f(
    q: Annotated[list[Quantity], "[2] in 0..2"], k: Annotated[Quantity, "in 0..2"], eps: Weight
) -> Annotated[int, "in -9..9"]:
    n, m, v, w = 1, k, [k, 1, q[0]], [2, 0]
    a, b = laplace(q[0], 1 / eps), gauss(1, 2)
    d = {0: k, 1: 5, "x": 2}
"""

REALS = st.sampled_from(["a", "b", "a - b", "2 * a", "k - a", "a + n", "1", "0", "m", "max(a, b)"])
RELATIONS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
COMPARED = st.one_of(
    st.builds("({} {} {})".format, REALS, st.sampled_from(["<", "<=", ">", ">="]), REALS),
    st.builds("({} {} {})".format, st.sampled_from(["n", "m", "k"]), RELATIONS, st.just("1")),
)
BOOLEANS = st.recursive(
    st.one_of(
        COMPARED,
        st.sampled_from(["k in w", "0 < k <= 1", "q == [1, k]", "(k, n) < (n, 1)", "v", "not w"]),
        st.sampled_from(["any(x > 1 for x in q)", "all(q)", "None in v", "k is None", "k == 'x'"]),
    ),
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
    ),
    max_leaves=2,
)
VECTORS = st.sampled_from(
    [
        *("q", "v", "w", "[k, n]", "sorted(q)", "v[1:]", "v[::-1]", "sorted(v, reverse=True)"),
        *("range(k)", "[*q, n]", "list(map(abs, v))", "w * 2", "list(reversed(q))", "d.values()"),
        *("[x + i for i, x in enumerate(q)]", "[x for p in zip(v, w) for x in p]", "v + [m]"),
        *("list(itertools.accumulate(q))", "[x for x, _ in itertools.combinations(v, 2)]"),
        *("heapq.nlargest(2, v)", "sorted(w, key=lambda x: -x)", "[min(v), max(q)]", "(n, m)"),
        *("[y for x in q if (y := x + n) > 1]", "list(set(q) & {0, k})[:0]", "sorted({*q, k})"),
        *("list({x: x for x in v}.values())", "sorted(v, key=lambda x: (-x, n))", "w[n:] + v[:k]"),
        *(
            "list(map(operator.add, v, w))",
            "[x for x in itertools.takewhile(bool, v)]",
            "v[k:0:-1]",
        ),
        *("copy.copy(v)", "list(itertools.islice(v, 2))", "[x for x in (k, 1) if x]"),
    ]
)
NUMBERS = st.recursive(
    st.sampled_from(["n", "m", "k", "q[1]", "0", "1", "2", "-3", "v[0]", "v[-1]", "len(v)", "n"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-"), inner),
        st.builds("({} * {})".format, st.sampled_from(["2", "n", "-1"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["//", "%"]), st.just("2")),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("abs({})".format, inner),
        st.builds("({} if {} else {})".format, inner, BOOLEANS, inner),
        st.builds("TABLE[({}) % 3]".format, inner),
        st.builds("d.get(({}) % 3, 7)".format, inner),
        st.builds("(y := {})".format, inner),
        st.builds("last(v[:{}], {})".format, st.sampled_from(["1", "0", "k"]), inner),
        st.builds("fact(({}) % 4)".format, inner),
        st.builds("sum([x * {} for x in {} if x != {}])".format, inner, VECTORS, inner),
        st.builds("len([x for x in {} if x >= {}])".format, VECTORS, inner),
        st.builds("where({}, {}, {})".format, COMPARED, inner, inner),
        st.builds("(lambda x, z=m: x + z)({})".format, inner),
        st.builds("Box({}, more=2).grow().twice".format, inner),
        st.builds("Derived({}).go()".format, inner),
        st.builds("sum(Pair({}, right={}))".format, inner, inner),
        st.builds("reduce(lambda x, z: 2 * x - z, {}, {})".format, VECTORS, inner),
        st.builds("v.count({})".format, inner),
        st.builds("d.get({}, {})".format, inner, inner),
        st.builds("({} in {{0, k}})".format, inner),
        st.builds("statistics.median_low({})".format, VECTORS),
        st.builds("max({}, key=lambda x: -x, default={})".format, VECTORS, inner),
        st.builds("next((x for x in {} if x > {}), n)".format, VECTORS, inner),
        st.builds("operator.sub(*[{}, n])".format, inner),
    ),
    max_leaves=3,
)
SIMPLE = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(["n", "m"]), NUMBERS),
    st.builds("n {}= {}".format, st.sampled_from("+-"), NUMBERS),
    st.builds("v = list({})".format, VECTORS),
    st.builds("v.append({})".format, NUMBERS),
    st.builds("v[0] = {}".format, NUMBERS),
    st.builds("d[1] = {}".format, NUMBERS),
    st.builds("n, m = m, {}".format, NUMBERS),
    st.builds("n, *v = [{}, 3, k]".format, NUMBERS),
    st.builds("a = laplace({}, 1 / eps)".format, NUMBERS),
    st.builds("m = choose([{}, 1], [Fraction(1, 3), Fraction(2, 3)])".format, NUMBERS),
    st.builds("return {}".format, NUMBERS),
    st.builds("if {}: raise Full({})".format, BOOLEANS, NUMBERS),
    st.sampled_from(["w = v", "v = w[:]", "v += w", "w.extend(q)", "v.sort()", "v.reverse()"]),
    st.sampled_from(["w.insert(0, k)", "v.pop()", "del v[0]", "n = v.index(k)", "n = [2][k]"]),
    st.sampled_from(["heapq.heappush(w, n)", "bisect.insort(w, k)", "n = 6 // k", "n = d['y']"]),
    st.builds("d[{}] = n".format, NUMBERS),
    st.builds("v[:1] += [{}]".format, NUMBERS),
    st.builds("assert {}, f'{{n}} is {{k}}'".format, BOOLEANS),
    st.builds("if {}: return {}".format, BOOLEANS, NUMBERS),
    st.builds("v = [{} for x in v for n in (x, m)]".format, NUMBERS),
    st.sampled_from(["d.pop(k, 0)", "n = len(d) + len(v)", "v, w = w, v", "d = {**d, k: n}"]),
    st.sampled_from(["b = max(a, b)", "n = argmax([a, b, 0])", "break", "continue", "pass"]),
)


def indented(block: list[str]) -> list[str]:
    return [f"    {line}" for line in block]


def blocks(statements: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.lists(statements, min_size=1, max_size=3).map(
        lambda parts: [line for part in parts for line in part]
    )


def compound(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    body = blocks(inner).map(indented)
    return st.one_of(
        st.builds(lambda c, x, y: [f"if {c}:", *x, "else:", *y], BOOLEANS, body, body),
        st.builds(lambda v, x, y: [f"for i in {v}:", *x, "else:", *y], VECTORS, body, body),
        st.builds(
            # Loops in loops have counters of their own, and end.
            lambda c, x: [
                f"t{len(x)} = 0",
                f"while t{len(x)} < 2 and {c}:",
                f"    t{len(x)} += 1",
                *x,
            ],
            BOOLEANS,
            body,
        ),
        st.builds(
            lambda x, y, z: [
                "try:",
                *x,
                "except (Full, ZeroDivisionError) as error:",
                *y,
                "except (LookupError, ValueError):",
                *z,
                "finally:",
                "    n += 1",
            ],
            body,
            body,
            body,
        ),
        st.builds(
            lambda p, x, y: [f"match {p}:", *indented(x), "    case _:", *indented(y)],
            st.sampled_from(
                [
                    "(k, n):\n        case (0, y)",
                    "v:\n        case [y, *_]",
                    "Pair(n, k):\n        case Pair(y, right=1 | 2)",
                    "{'a': k, 'b': n}:\n        case {'b': y, 'a': 1}",
                    "k > n:\n        case True if n < 2",
                ]
            ),
            body,
            body,
        ),
        st.builds(
            lambda x: [
                "def inner(z=n):",
                "    nonlocal m",
                "    m = m + z",
                *[line for line in x if "=" not in line or "return" in line],
                "    return z",
                "n = inner() + inner(2)",
            ],
            body,
        ),
    )


@pytest.fixture(autouse=True, scope="module")
def few_paths() -> Iterator[None]:
    """Functions with many paths are slow, and alike."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "MOST_PATHS", 60)
        yield


@settings(suppress_health_check=list(HealthCheck))
@given(blocks(st.recursive(SIMPLE.map(lambda line: [line]), compound, max_leaves=6)))
def test_a_function_does_what_python_does(body) -> None:
    text = HEAD + "\n".join(indented([*body, "return n"])) + "\n"
    try:
        compile(text, "f.py", "exec")
    except SyntaxError:
        return  # `break` outside a loop
    try:
        found = list(differences(text, 8))
    except SourceError:
        return
    except (ArithmeticError, LookupError, ValueError, NameError, TypeError, RuntimeError) as error:
        raise AssertionError(f"CPython fails where the program does not: {error!r}") from error
    assert not found, found[0]
