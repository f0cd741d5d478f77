"""Integer samples: guards at half-integers, integer means, ties."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.errors import SourceError
from dipapprox.language import core
from dipapprox.laws.families import DISCRETE_LAPLACE
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.execution import execute
from dipapprox.semantics.integers import at_most_zero, below_zero, coprime
from dipapprox.semantics.order import complement
from tests.semantics.examples import assign, cells, choose, compare, draw, program
from tests.semantics.test_choices import BIT
from tests.semantics.test_execution import check_partition

HALF = Fraction(1, 2)
SMALL = st.builds(Fraction, st.integers(-4, 4), st.sampled_from([1, 2, 3]))


def integer(name: str, mean: object, site: int) -> core.Draw:
    return draw(name, mean, site, family=DISCRETE_LAPLACE)


def branched(condition: core.Condition, *drawn: core.Statement) -> Sequence[core.Statement]:
    return [*drawn, choose(condition, [assign("out[1]", 1)], [assign("out[1]", 0)])]


@given(
    coefficients=st.lists(SMALL, min_size=1, max_size=3).filter(all),
    constant=SMALL,
    point=st.lists(st.integers(-5, 5), min_size=3, max_size=3),
)
def test_guards_of_integers_say_what_was_compared(
    coefficients: list[Fraction], constant: Fraction, point: list[int]
) -> None:
    form = LinearForm.of(dict(enumerate(coefficients)), constant)
    values: dict[int | str, Fraction] = {k: Fraction(v) for k, v in enumerate(point)}
    value = form.at(values).constant
    whole = coprime(form)
    assert (whole.at(values).constant > 0) == (value > 0)
    for guard, holds in ((at_most_zero(whole), value <= 0), (below_zero(whole), value < 0)):
        cut = guard.form.at(values).constant
        assert cut != 0
        assert (cut < 0) == holds
    assert complement(at_most_zero(whole)) == below_zero(-whole)
    assert complement(below_zero(whole)) == at_most_zero(-whole)


def test_paths_of_ties_are_taken() -> None:
    """The output is assigned unless z = y: a null set for reals, not for integers."""
    body = [choose(compare("z", "!=", "y"), [assign("out[1]", 0)])]
    reals = [draw("z", 0, 0), draw("y", 0, 1), *body]
    assert len(execute(program((), BIT, reals), True, Limits()).states) == 1
    with pytest.raises(SourceError, match="never assigned"):
        execute(program((), BIT, [integer("z", 0, 0), integer("y", 0, 1), *body]), True, Limits())


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
