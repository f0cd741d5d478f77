"""Python functions: what CPython does with samples, the program does, or it is refused."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from textwrap import indent
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

import dipapprox
from dipapprox.errors import SourceError
from dipapprox.language.functions import paths
from dipapprox.language.mechanism import read_mechanism
from tests.cases import check_answers, complaint, examples, template_of
from tests.language.functions.beside import differences

HEAD = template_of("heads/statements")

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


@pytest.fixture
def few_paths() -> Iterator[None]:
    """Functions with many paths are slow, and alike."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "MOST_PATHS", 60)
        yield


@settings(suppress_health_check=list(HealthCheck))
@given(
    blocks(st.recursive(SIMPLE.map(lambda line: [line]), compound, max_leaves=6)),
    st.sampled_from([0, 1, 2, 6]),
)
def test_a_function_does_what_python_does(few_paths, body, apart) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "MOST_APART", apart)
        compare_with_python(body)


def compare_with_python(body: list[str]) -> None:
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


# --- Python as people write it: what is followed does what CPython does, and the rest is ----------

NATURAL_HEAD = template_of("heads/natural")


def file_with(body: str) -> str:
    return NATURAL_HEAD + indent(body, "    ") + "\n"


NATURAL = (Path(__file__).parent / "natural.txt").read_text(encoding="utf-8").split("=====\n")


@pytest.mark.parametrize("body", NATURAL)
def test_what_people_write_does_what_python_does(body, monkeypatch) -> None:
    assert not list(differences(file_with(body)))
    monkeypatch.setattr(paths, "MOST_APART", 0)
    assert not list(differences(file_with(body), 8))


LOOPS = (
    "for x in q: v.append(1 if laplace(x, 4 / eps) >= t else 0)\nreturn v",
    "for x in q: v.append(int(laplace(x, 4 / eps) >= t))\nreturn v",
    "for x in q:\n    if laplace(x, 4 / eps) >= t: v.append(1)\n    else: v.append(0)\nreturn v",
    "v, best, at = [0] * N, t, 0\nfor i, x in enumerate(q):\n    noisy = laplace(x, 4 / eps)\n"
    "    if noisy > best: best, at = noisy, i\nv[at] = 1\nreturn v",
    "d = {0: 0, 1: 0}\nfor x in q:\n    if laplace(x, 4 / eps) > t: d[0] += 1\n"
    "    else: d[1] += 1\nreturn [1 if d[0] > d[1] else 0] + [0] * (N - 1)",
)
"""Where what people write in loops decides and goes on: ways that are joined again."""


@pytest.mark.parametrize("body", LOOPS)
def test_ways_that_differ_in_numbers_are_followed_once(body, monkeypatch) -> None:
    text = template_of("like_python-ways")
    text += indent(body, "    ") + "\n"
    assert not list(differences(text.replace("SIZE", "7"), 8))
    found = read_mechanism(Path("f.py"), text.replace("SIZE", "20"), "f").text()
    assert found.count("\n") < 700


def test_ways_that_no_input_goes_are_not_followed(monkeypatch) -> None:
    monkeypatch.setattr(paths, "MOST_APART", 0)
    body = (
        "n = 0\nfor x in q:\n    if laplace(x, 1 / eps) > 1: n += 1\n"
        "if k <= 3: n += 1\nelse: n = [0, 3, 1, 2][k]\nreturn n"
    )
    assert not list(differences(file_with(body), 8))


def test_what_is_not_followed_is_refused_at_its_line() -> None:
    def text(body: str) -> str:
        return read_mechanism(Path("f.py"), file_with(body), "f").text()

    check_answers("functions_lists", complaint(text))


# --- What makes no path of its own means what the paths of ordinary Python mean -------------------

WITHOUT = template_of("heads/without_paths")

Pair = tuple[str, str]
"""One expression, written without paths and with them."""

PAIRED: st.SearchStrategy[Pair] = st.sampled_from(
    [
        (each, each)
        for each in ("a > 0", "a <= 1", "z >= 1", "z == 0", "c == 1", "q[1] == c", "a > c")
    ]
)


def larger(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    both = st.tuples(inner, inner)
    return st.one_of(
        both.map(lambda p: (f"(({p[0][0]}) & ({p[1][0]}))", f"(({p[0][1]}) and ({p[1][1]}))")),
        both.map(lambda p: (f"(({p[0][0]}) | ({p[1][0]}))", f"(({p[0][1]}) or ({p[1][1]}))")),
        inner.map(lambda one: (f"(~({one[0]}))", f"(not ({one[1]}))")),
    )


CONDITIONS = st.recursive(PAIRED, larger, max_leaves=3)
VALUES: st.SearchStrategy[Pair] = st.one_of(
    st.builds(
        lambda on, yes, no: (f"where({on[0]}, {yes}, {no})", f"({yes} if {on[1]} else {no})"),
        CONDITIONS,
        st.sampled_from(["1", "q[1]", "c + 1"]),
        st.sampled_from(["0", "-1", "2 * c"]),
    ),
    st.builds(
        lambda one, other: (f"({one[0]}) + ({other[0]})", f"int({one[1]}) + int({other[1]})"),
        CONDITIONS,
        PAIRED,
    ),
)


def distributions(values: list[str]) -> list[dict[Any, Any]]:
    text = f"{WITHOUT}    return [{', '.join(values)}]\n"
    function = read_mechanism(Path("chosen.py"), text, "chosen")
    program = dipapprox.parse(function.text())
    return [
        {
            each.output: each.probability
            for each in dipapprox.probability(program, eps=1, input=input).outputs
        }
        for input in product((0, 1), repeat=2)
    ]


@examples(6)
@given(VALUES, VALUES)
def test_both_ways_give_the_same_distribution(first, second) -> None:
    without, with_paths = (distributions([first[way], second[way]]) for way in (0, 1))
    for one, other in zip(without, with_paths, strict=True):
        for output in {*one, *other}:
            if output not in one or output not in other:
                assert (one | other)[output].lower == 0
                continue
            assert one[output].lower <= other[output].upper
            assert other[output].lower <= one[output].upper
            assert one[output].width < 1e-6
