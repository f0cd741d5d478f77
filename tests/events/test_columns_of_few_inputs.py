"""Few rows are solved without arrays: as the same rows among many."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from dipapprox.events.catalogue import Catalogue
from dipapprox.events.columns import FEW
from dipapprox.events.event import Connected
from dipapprox.language import core
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.semantics.examples import noisy_extreme, sparse_vector

State = tuple[int, tuple[Connected, ...]]


@pytest.mark.parametrize("program", [sparse_vector(5), noisy_extreme(5), noisy_extreme(5, "<")])
def test_rows_alone_have_the_events_that_they_have_together(program: core.Program) -> None:
    states = execute(program, True, Limits())
    rows = list(product(*(cell.domain for cell in program.inputs)))
    assert len(rows) > FEW
    together = Catalogue(states, Fraction(1, 2))
    expected = together.states(rows)
    alone = Catalogue(states, Fraction(1, 2))
    for row, known in zip(rows, expected, strict=True):
        (found,) = alone.states((row,))
        assert spelled(alone, found) == spelled(together, known)


def spelled(catalogue: Catalogue, states: list[tuple[int, tuple[int, ...]]]) -> list[State]:
    return [
        (output, tuple(sorted((catalogue.events[k] for k in numbers), key=repr)))
        for output, numbers in states
    ]
