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
from tests.cases import THOROUGH, cases, check_answers, complaint, examples, part, template_of
from tests.grammars import texts
from tests.language.functions.beside import differences

HEAD = template_of("heads/statements")


@pytest.fixture
def few_paths() -> Iterator[None]:
    """Functions with many paths are slow, and alike."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "MOST_PATHS", 60)
        yield


@settings(suppress_health_check=list(HealthCheck))
@given(texts("python", 24), st.sampled_from([0, 1, 2, 6]))
def test_a_function_does_what_python_does(few_paths, body, apart) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "MOST_APART", apart)
        compare_with_python(body)


def compare_with_python(body: str) -> None:
    text = f"{HEAD}{indent(body, '    ')}\n    return n\n"
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


@cases(
    "body, apart",
    *((body, paths.MOST_APART) for body in NATURAL),
    *((body, 0) for body in part(NATURAL, 6)),
)
def test_what_people_write_does_what_python_does(body, apart, monkeypatch) -> None:
    monkeypatch.setattr(paths, "MOST_APART", apart)
    assert not list(differences(file_with(body), 24 if THOROUGH else 9))


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
