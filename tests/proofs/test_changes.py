"""Which changes of real inputs an adjacency allows, against what all pairs of finite inputs say."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import dipapprox
from dipapprox.language.core import Norm, Within
from dipapprox.proofs.changes import allows, changes_of

SUM = """input q[2] in {inputs}
output out in {{low, high}}
adjacent l1 {radius}
r <- Lap(q[1] + q[2], 1 / eps)
if r >= 1 then out <- high else out <- low end
"""


def test_a_radius_between_multiples_of_the_width_is_bounded_from_both_sides() -> None:
    proof = dipapprox.prove(dipapprox.parse(SUM.format(inputs="real 0..1", radius="3/2")))
    assert proof.upper is not None
    assert proof.lower <= Fraction(3, 2) <= proof.upper


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("radius", [Fraction(n, 2) for n in (0, 1, 2, 3, 5)])
def test_boxes_hold_every_change(norm: Norm, radius: Fraction) -> None:
    """For inputs of [0, 1]: every allowed change is in the hull of the boxes."""
    adjacency = Within(norm, radius)
    changes = changes_of(adjacency, 2, integers=False, width=Fraction(1))
    steps = [Fraction(k, 2) for k in range(-2, 3)]
    corners = {
        tuple(changes.radius * end for end in corner)
        for box in changes.boxes
        for corner in product(*box)
    }
    for change in product(steps, repeat=2):
        if allows(adjacency, change):
            # In two dimensions: no direction in which a change goes farther than all corners.
            for normal in product(range(-2, 3), repeat=2):
                far = max(
                    sum(a * b for a, b in zip(normal, corner, strict=True))
                    for corner in (*corners, (0, 0))
                )
                assert sum(a * b for a, b in zip(normal, change, strict=True)) <= far
