"""Signs of a combination of sampled functions in doubles, proved by bisection of the panels.

In: h = Σ c_i f_i, f_i of a `Float64Algebra`. Out: for each panel, sub-panels on which h is proved
to be positive, or negative, and a bound of ∫ |h| on each of the others.

With coefficients c_k and a distance from h (`panel_polynomials`): if |c_0| > Σ_{k>0} |c_k| +
distance, the sign of h is that of c_0 on the whole panel. Otherwise the panel is halved. Near a
simple zero at most two sub-panels stay undecided at every step, and the bound (width) (Σ |c_k| +
distance) of ∫ |h| there falls by four each time. What is below `spare`, or is no more than the
distance itself, is left undecided. Sums and products of nonnegative doubles with fewer than 2^20
roundings are multiplied by 1 + 2^-30.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

import numpy as np

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.rounding import SAFE
from dipapprox.numerics.algebras.float64 import Float64Algebra
from dipapprox.numerics.real_outputs.panel_polynomials import Combination, PanelPolynomials
from dipapprox.numerics.real_outputs.signs import Leaf

OVERFLOW = "doubles overflow: the panels are too wide for the functions"
"""Why there are no signs, and no masses."""

_MOST_LEAVES = 2**14
_DEEPEST = 50


@np.errstate(over="ignore", invalid="ignore")
def signs_in_doubles(
    function: Combination, algebra: Float64Algebra, spare: float
) -> list[Leaf] | NotEnclosed:
    """Prove signs on sub-panels; an undecided one may contribute `spare` > 0 to ∫ |h|."""
    parts = PanelPolynomials.of(function, algebra)
    if not parts.is_finite:
        return NotEnclosed(OVERFLOW)
    leaves: list[Leaf] = []
    for depth in range(_DEEPEST + 1):
        rest = np.abs(parts.coefficients[1:]).sum(axis=0)
        size = (rest + parts.distance) * SAFE
        leading = np.abs(parts.coefficients[0])
        decided = leading > size
        bound = (leading + size) * (parts.half * (2 * SAFE))
        hopeless = (bound <= spare) | (leading + rest <= parts.distance)
        if depth == _DEEPEST or len(parts.panel) > _MOST_LEAVES:
            hopeless[:] = True
        done = decided | hopeless
        for k in np.flatnonzero(done).tolist():
            sign = int(np.sign(parts.coefficients[0, k])) if decided[k] else 0
            if not decided[k] and not isfinite(bound[k]):
                return NotEnclosed(OVERFLOW)
            excess = Fraction(0) if decided[k] else Fraction(float(bound[k]))
            leaves.append(Leaf(int(parts.panel[k]), depth, int(parts.place[k]), sign, excess))
        if done.all():
            break
        parts = parts.halved(~done)
    return leaves
