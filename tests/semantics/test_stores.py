"""Copies of cells are independent, whatever is assigned and forked in whatever order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.semantics.state import SampleComparison, Store, assigned_apart, guard_of

_NAMES = st.sampled_from([f"x[{k}]" for k in range(12)])
_STEPS = st.lists(
    st.tuples(st.integers(0, 7), st.one_of(st.none(), st.tuples(_NAMES, st.integers(0, 2)))),
    max_size=60,
)


@given(_STEPS)
def test_cells_do_what_copied_dictionaries_do(
    steps: list[tuple[int, tuple[str, int] | None]],
) -> None:
    stores: list[Store[int]] = [Store()]
    expected: list[dict[str, int]] = [{}]
    for which, assignment in steps:
        which %= len(stores)
        if assignment is None:
            stores.append(stores[which].fork())
            expected.append(expected[which].copy())
        else:
            name, value = assignment
            stores[which][name] = value
            expected[which][name] = value
    for cells, values in zip(stores, expected, strict=True):
        assert dict(cells.items()) == values
        assert len(cells) == len(values)
        assert cells.get("y") is None
        assert dict(cells.restricted({"x[0]", "x[1]"}).items()) == {
            name: value for name, value in values.items() if name in ("x[0]", "x[1]")
        }
    for cells, values in zip(stores, expected, strict=True):
        for other, others in zip(stores, expected, strict=True):
            assert cells.equals(other) == (values == others)
            differing = {n for n in values | others if values.get(n) != others.get(n)}
            assert cells.equals(other, {"x[0]", "x[1]"}) == (differing <= {"x[0]", "x[1]"})
            assert differing <= assigned_apart([cells, other])


@given(st.integers(0, 5), st.integers(0, 5), st.booleans())
def test_comparisons_of_samples_are_guards_in_normal_form(a: int, b: int, strict: bool) -> None:
    if a == b:
        return
    guard = guard_of(SampleComparison(a, b, strict))
    assert guard.form == guard.form.normalised()
    assert guard.form.samples() == tuple(sorted((a, b)))
    assert (guard.form.coefficient(a), guard.form.coefficient(b)) == (1, -1)
    assert guard.strict == strict
