"""Which inputs are adjacent: against the definitions, for all pairs of a few."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dipapprox.kernel.adjacency import Adjacency, Range, adjacent_pairs, all_inputs
from dipapprox.kernel.budget import budget
from dipapprox.kernel.errors import BadProof, Refused
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.proofs import Proof, pairs_of
from dipapprox.kernel.signs import Epsilons
from dipapprox.replays.words import interval_text

Changes = list[Any]
DEFINED: dict[str, Callable[[Changes, Any], bool]] = {
    "linf": lambda changes, radius: max(map(abs, changes)) <= radius,
    "l1": lambda changes, radius: sum(map(abs, changes)) <= radius,
    "l0": lambda changes, radius: sum(map(bool, changes)) <= radius,
    "increasing": lambda changes, radius: all(0 <= c <= radius for c in changes),
    "decreasing": lambda changes, radius: all(-radius <= c <= 0 for c in changes),
    "all": lambda changes, radius: True,
}
DOMAINS = (0, 1, 3), (-1, 0, Fraction(1, 2)), (0, 2)
INPUTS = list(product(*DOMAINS))


@pytest.mark.parametrize("radius", [0, Fraction(1, 2), 1, Fraction(3, 2), 2, 3])
@pytest.mark.parametrize("norm", DEFINED)
def test_pairs_are_those_of_the_definition(norm: str, radius: Any) -> None:
    adjacency = Adjacency(norm, radius)
    expected = {
        (u, v)
        for u, v in product(INPUTS, INPUTS)
        if u != v and DEFINED[norm]([b - a for a, b in zip(u, v, strict=True)], radius)
    }
    found = list(adjacent_pairs(adjacency, DOMAINS))
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert {pair for pair in product(INPUTS, INPUTS) if adjacency.holds(*pair)} == expected
    if adjacency.symmetric:
        assert {(v, u) for u, v in expected} == expected
    assert adjacency.symmetric == (norm not in ("increasing", "decreasing"))
    for u, v in product(INPUTS, INPUTS):
        price = adjacency.total(zip(u, v, strict=True))
        assert (price is not None) == (u == v or (u, v) in expected)
        changed = [abs(b - a) for a, b in zip(u, v, strict=True)]
        if price is not None:
            assert price == {"l1": sum(changed), "l0": sum(map(bool, changed))}.get(norm, 0)


def test_pairs_that_are_listed() -> None:
    one, other, same = ((0,), (1,)), ((1,), (0,)), ((1,), (1,))
    for listed, symmetric in (({one}, False), ({one, other}, True), ({one, other, same}, True)):
        adjacency = Adjacency("pairs", pairs=frozenset(listed))
        assert adjacency.symmetric == symmetric
        expected = set(listed) - {same}
        assert set(adjacent_pairs(adjacency, ((0, 1, 2),))) == expected
        inputs = [(k,) for k in range(3)]
        assert {pair for pair in product(inputs, inputs) if adjacency.holds(*pair)} == expected


def test_named_values_are_different_or_the_same() -> None:
    names = (("a", "b"), ("a", 1))
    assert len(list(adjacent_pairs(Adjacency("all"), names))) == 12
    assert len(list(adjacent_pairs(Adjacency("l0", 1), names))) == 8
    for norm in ("l1", "linf", "increasing", "decreasing"):
        for pair in (("a", 1), (1, "a"), ("a", "a")):
            with pytest.raises(BadProof, match="no distance"):
                Adjacency(norm, 1).price(*pair)


def test_ranges_hold_their_ends_and_are_not_gone_through() -> None:
    low, high = Fraction(0), Fraction(1)
    for domain, inside in (
        (Range(low, high), [0, 1, Fraction(1, 2)]),
        (Range(low, None), [0, 1, 2]),
        (Range(None, high), [-1, 0, 1]),
        (Range(None, None), [-1, 0, 1, 2]),
    ):
        points: list[Any] = [-1, 0, Fraction(1, 2), 1, 2]
        assert set(inside) <= {point for point in points if point in domain}
        ends = (domain.low is not None and -1 in domain), (domain.high is not None and 2 in domain)
        assert ends == (False, False)
        assert "name" not in domain
        with pytest.raises(Refused, match="real numbers"):
            all_inputs(((0, 1), domain))


def test_pairs_are_counted() -> None:
    machine = {"inputs": [["q", [0, 1, 2]]], "outputs": [["o", [0]]], "reals": []}
    about = Proof(read_machine({**machine, "adjacency": {"norm": "all"}, "body": []}), None)
    listed = Proof(about.machine, tuple(pairs_of(about)))
    with budget(24):
        assert len(list(pairs_of(listed))) == 6
    with pytest.raises(Refused, match="more work"), budget(23):
        list(pairs_of(listed))


def test_intervals_are_told_by_their_ends() -> None:
    one, two = Fraction(1), Fraction(2)
    assert interval_text(Epsilons(one, one)) == "eps = 1"
    assert interval_text(Epsilons(one, two)) == "1 <= eps <= 2"
    assert interval_text(Epsilons(one, None)) == "1 <= eps"
    assert interval_text(Epsilons(Fraction(0), two)) == "0 < eps <= 2"
    assert Epsilons(one, two).point is None
    assert Epsilons(one, one).point == 1
