"""Integer samples: guards at half-integers, integer means, ties."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from dipapprox.errors import SourceError
from dipapprox.language import core
from dipapprox.laws.families import DISCRETE_LAPLACE
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.execution import execute
from tests.semantics.examples import assign, cells, choose, compare, draw, program
from tests.semantics.test_choices import BIT
from tests.semantics.test_execution import check_partition

HALF = Fraction(1, 2)


def integer(name: str, mean: object, site: int) -> core.Draw:
    return draw(name, mean, site, family=DISCRETE_LAPLACE)


def branched(condition: core.Condition, *drawn: core.Statement) -> Sequence[core.Statement]:
    return [*drawn, choose(condition, [assign("out[1]", 1)], [assign("out[1]", 0)])]


def test_means_of_integers_are_integers() -> None:
    half = core.Product(core.Constant(HALF), core.Variable("q[1]"))
    example = program(cells("q", 1, (0, 1, 2)), BIT, [integer("z", half, 0), assign("out[1]", 0)])
    with pytest.raises(SourceError, match="fractional part of 1/2"):
        execute(example, True, Limits())
    even = program(
        cells("q", 1, (0, 2)), BIT, branched(compare("z", ">", 0), integer("z", half, 0))
    )
    (sample,) = execute(even, True, Limits()).samples
    assert sample.mean == LinearForm.symbol("q[1]").scaled(HALF)


def test_inputs_that_are_no_integers_are_told_apart() -> None:
    example = program(
        cells("q", 1, (0, HALF)), BIT, branched(compare("z", "<=", "q[1]"), integer("z", 0, 0))
    )
    check_partition(example, True, 1, 20)


def test_integers_and_reals_are_not_compared() -> None:
    body = branched(compare("z", "<", "r"), integer("z", 0, 0), draw("r", 0, 1))
    with pytest.raises(SourceError, match="integer and real samples are compared"):
        execute(program((), BIT, body), True, Limits())
