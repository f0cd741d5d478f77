"""Surface to core: unrolling, expansion of sugar, folding, scales, domains, adjacency."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.language import core
from dipapprox.language.core import (
    Assign,
    Draw,
    Everyone,
    Listed,
    Norm,
    Product,
    Sum,
    Within,
)  # fmt: skip
from dipapprox.laws.distribution import Scale
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.language.samples import HEADER, core_of


@pytest.mark.parametrize(
    ("written", "scale"),
    [
        ("2*2/eps", Scale(Fraction(4), -1)),
        ("4*1/(3*eps)", Scale(Fraction(4, 3), -1)),
        ("1/eps + 1/(2*eps)", Scale(Fraction(3, 2), -1)),
        ("0.1", Scale(Fraction(1, 10), 0)),
        ("1/(eps/3)", Scale(Fraction(3), -1)),
        ("-(-1/eps)", Scale(Fraction(1), -1)),
        ("eps/(eps*eps)", Scale(Fraction(1), -1)),
        ("2*eps", Scale(Fraction(2), 1)),
        ("3^2/(2*eps)^1", Scale(Fraction(9, 2), -1)),
    ],
)
def test_scales_are_monomials_in_eps(written: str, scale: Scale) -> None:
    (draw,) = core_of(HEADER + f"r <- Lap(q[1], {written})").body
    assert isinstance(draw, Draw)
    assert draw.scale == scale


@pytest.mark.parametrize(
    ("operator", "shape"), [("+", Sum), ("*", Product)], ids=["sum", "product"]
)
def test_long_sums_and_products_are_shallow_trees(
    operator: str, shape: type[Sum] | type[Product]
) -> None:
    statement = core_of(HEADER + "s <- q[1]" + f" {operator} q[2]" * 1000).body[-1]
    assert isinstance(statement, Assign)
    depth, node = 0, statement.value
    while isinstance(node, Sum | Product):
        assert isinstance(node, shape)
        depth, node = depth + 1, node.left
    assert depth <= 10


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- 2\nout <- m", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k <- 2\nout <- v[1]", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nk, v[k] <- 2\nout <- v[2]", 2),
        ("b[1] <- q[1] > 5\nk <- 1\nb[k], c <- q[1] < 5\nif b[1] and c then out <- 2 end", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- max(v)\nout <- m + v[1]", 16),
    ],
)
def test_targets_are_assigned_from_left_to_right(body: str, expected: int) -> None:
    header = "input q[2] in {0, 1}\noutput out in 0..20\nadjacent linf 1\n"
    states = execute(core_of(header + body + "\n"), True, Limits())
    assert states.outputs == ((Fraction(expected),),)


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        ("-1..1", (-1, 0, 1)),
        ("{0, 1/2, 0.1, 0}", (0, Fraction(1, 2), Fraction(1, 10))),
        ("{bot, -1..0, K, top}", ("bot", -1, 0, 7, "top")),
    ],
)
def test_domains(domain: str, values: tuple[object, ...]) -> None:
    program = core_of(f"param K = 7\ninput q in {domain}\noutput out in {{0}}\n")
    assert program.inputs[0].domain == values


@pytest.mark.parametrize(
    ("written", "adjacency"),
    [
        ("", Everyone()),
        ("adjacent all", Everyone()),
        ("adjacent l1 3/2", Within(Norm.L1, Fraction(3, 2))),
        ("adjacent l0 1", Within(Norm.L0, Fraction(1))),
        ("adjacent { 0 ~ 1 }", Listed((((Fraction(0),), (Fraction(1),)),))),
        ("adjacent { 0 ~ 3/2 }", Listed((((Fraction(0),), (Fraction(3, 2),)),))),
        ("adjacent { -3/2 ~ 1 }", Listed((((Fraction(-3, 2),), (Fraction(1),)),))),
    ],
)
def test_adjacency(written: str, adjacency: core.Adjacency) -> None:
    program = core_of(
        f"input q in {{-3/2, 0, 1, 3/2}}\noutput out in {{0, 1}}\n{written}\nout <- 0"
    )
    assert program.adjacency == adjacency
