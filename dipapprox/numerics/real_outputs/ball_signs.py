"""Signs of a combination of functions in balls, proved by bisection of the panels.

In: h = Σ c_i f_i, f_i of a `BallAlgebra`: a polynomial Σ a_k u^k and a remainder r on each panel.
Out: as of `double_signs`. If |a_0| > Σ_{k>0} |a_k| + r, the sign of h is that of a_0 on the panel;
otherwise the panel is halved, u = (w ∓ 1) / 2. On what is left undecided ∫ |h| is at most the width
times Σ |a_k| + r.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, arb_poly

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import give_way, precision, to_ball, to_enclosure
from dipapprox.limits import Limits
from dipapprox.numerics.algebras.ball_convolution import PanelPiece, one_norm
from dipapprox.numerics.algebras.balls import BallAlgebra, BallFunction, BallPiece
from dipapprox.numerics.algebras.piecewise import Piecewise
from dipapprox.numerics.real_outputs.signs import Leaf

_MOST_LEAVES = 2**14
_DEEPEST = 4000

_ZERO = arb(0)


def combination_in_balls(
    terms: Sequence[tuple[Enclosure, BallFunction]], algebra: BallAlgebra
) -> BallFunction:
    """Add up functions, weighted."""
    pieces: list[BallPiece] = [None] * algebra.grid.panels
    with precision(algebra.bits):
        for weight, function in terms:
            ball = to_ball(weight.lower).union(to_ball(weight.upper))
            size = abs(ball)
            for panel, piece in enumerate(algebra.panels(function)):
                if piece is None:
                    continue
                before = pieces[panel]
                polynomial, radius = piece.polynomial * ball, piece.radius * size
                pieces[panel] = (
                    PanelPiece(polynomial, radius)
                    if before is None
                    else PanelPiece(before.polynomial + polynomial, before.radius + radius)
                )
    return Piecewise(algebra.grid.marks, (None, *pieces, None))


def signs_in_balls(
    function: BallFunction, algebra: BallAlgebra, spare: Fraction, limits: Limits
) -> list[Leaf] | NotEnclosed:
    """Prove signs on sub-panels; an undecided one may contribute `spare` > 0 to ∫ |h|."""
    marks = algebra.grid.boundaries
    leaves: list[Leaf] = []
    with precision(algebra.bits):
        enough = to_ball(spare)
        halves = arb_poly([arb(-1) / 2, arb(1) / 2]), arb_poly([arb(1) / 2, arb(1) / 2])
        for panel, piece in enumerate(algebra.panels(function)):
            if piece is None:
                continue
            width = to_ball(marks[panel + 1] - marks[panel])
            waiting = [(0, 0, piece.polynomial)]
            while waiting:
                limits.check()
                give_way()
                depth, place, polynomial = waiting.pop()
                leading, *others = polynomial.coeffs() or [_ZERO]
                rest = one_norm(others, piece.radius)
                if abs(leading) > rest:
                    leaves.append(Leaf(panel, depth, place, 1 if leading > 0 else -1, Fraction(0)))
                    continue
                size = abs(leading) + rest
                excess = (size * width / 2**depth).upper()
                noise = piece.radius + sum((c.rad() for c in (leading, *others)), _ZERO)
                full = len(leaves) > _MOST_LEAVES or depth == _DEEPEST
                if excess <= enough or size <= 2 * noise or full:
                    bound = to_enclosure(excess)
                    if isinstance(bound, NotEnclosed):
                        return bound
                    leaves.append(Leaf(panel, depth, place, 0, max(bound.upper, Fraction(0))))
                    continue
                for k, half in enumerate(halves):
                    waiting.append((depth + 1, 2 * place + k, polynomial(half)))
    return leaves
