"""What Rényi divergences allow: the worst P(S) - a Q(S), and two outcomes that have it.

Statements. Those of runs add up, whatever is chosen by what came before: of all together, either
way round, (λ - 1) D_λ <= κ(λ). With K(λ) = ln E_Q y^λ = (λ - 1) D_λ(P, Q), y = dP/dQ, which is
convex and 0 at 1, a statement of some orders holds on chords between (1, 0) and its points as well.

From above. y^λ is above its tangents: at y_2 on S and at y_1 < y_2 off S,

    M = e^κ >= E_Q y^λ >= λ y_2^(λ-1) P(S) - (λ-1) y_2^λ Q(S)
                          + λ y_1^(λ-1) (1 - P(S)) - (λ-1) y_1^λ (1 - Q(S)),

so that P(S) <= c + a Q(S) for all S, that is H(a) <= c, with u = y_1 / y_2 = e^-w:

    a = y_2 (λ-1)/λ (1 - u^λ) / (1 - u^(λ-1)),
    c = (M y_2^(1-λ) - u^(λ-1) (λ - (λ-1) y_1)) / (λ (1 - u^(λ-1))).                            (1)

That holds for any λ and w, which are guessed in doubles; w = ∞ is the bound of Markov's inequality.
It is least where E_Q y^λ = M for two outcomes of the quotients y_1 and y_2, P(S) = p = (1 - y_1) /
(1 - u) and Q(S) = q = p / y_2; so these attain it if all other orders allow them. Where they do
not, two orders bind, or one either way round, which is so about a = 1, for p = 1 - q. There H is
below the chord of (1) at two factors, for which the best sets are the same.

From below. Of lists of orders two outcomes are asked for each. They are rho-zCDP if, for them and
turned round, with g(λ) = rho λ (λ-1) - K(λ), π = p^λ q^(1-λ) / e^K, w = ln(y_2 / y_1),

    g'(λ) = rho (2 λ - 1) - π ln y_2 - (1 - π) ln y_1,    g''(λ) = 2 rho - w² π (1 - π),

g' >= 0 at 1, and w² <= 8 rho, so that g is convex, or there is a λ >= 1 where π >= 1/2,
m = g'' >= 0, and

    λ = 1,   or   0 <= (λ - 1) g' <= g,   or   g' <= 0 and g'² <= 2 m g.                       (2)

For π grows with λ, so that g is concave at most between some λ' and λ'' where π (1 - π) is large,
and from λ'' on, as π >= 1/2 grows, g is convex and g'' grows. λ is there, and so g >= 0 on all of
it from 1 on: in the second case by the tangent at λ, which is least at 1, in the third before λ by
the tangent, and behind it by g + g' d + m d²/2. Before λ'' it is concave between numbers >= 0, the
first of which is g(1) = 0, or g(λ'), and up to λ' it is above its tangent at 1.

Source: Bun, Steinke, Concentrated differential privacy, 2016; Mironov, Rényi differential privacy,
2017; Canonne, Kamath, Steinke, The discrete Gaussian for differential privacy, 2020 (u = 0).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.divergences import Divergences, Statement, Tangent, WorstOutcomes
from dipapprox.composition.mechanisms import ConcentratedStatement, RenyiStatement
from dipapprox.composition.profile import NO_ENDS, BallProfile, Ends, ProfilePoint

_INWARD = 2.0**-30
"""By this part outcomes are moved to what surely is allowed."""


class StatementProfile:
    """The most that divergences allow.

    Args:
        known: Of all runs together.
        below: What is had.
        single: The statement of a single run whose outcomes may be chosen by α; then lines are of
            the worst two.
    """

    def __init__(
        self, known: Divergences, below: BallProfile, single: Statement | None = None
    ) -> None:
        self._known, self._single, self._worst = known, single, WorstOutcomes(known)
        self._below = below

    @property
    def ends(self) -> Ends:
        """None is known."""
        return NO_ENDS

    def at(self, alpha: arb) -> ProfilePoint:
        """Evaluate at α > 0."""
        turned = alpha.mid() < 1
        factor = 1 / alpha if turned else alpha
        tangents = self._worst.at(max(float(factor.log().mid()), 0.0))
        if len(tangents) == 1:
            bound = self._above(tangents[0], factor)
        else:
            ends = [to_ball(Fraction(each.place)).exp() for each in tangents]
            values = [self._above(*each) for each in zip(tangents, ends, strict=True)]
            if tangents[0] is tangents[1]:
                ends[0], values[0] = 1 / ends[1], 1 - (1 - values[1]) / ends[1]
            share = (factor - ends[0]) / (ends[1] - ends[0])
            bound = values[0] + share * (values[1] - values[0])
        bound = min(1 - alpha + alpha * bound if turned else bound, arb(1), key=arb.upper)
        had = None if self._single is None else self._had(tangents[0], self._single)
        if had is None:
            point = self._below.at(alpha)
            return ProfilePoint(bound, point.first, point.second)
        p, q = had
        return ProfilePoint(bound, *((1 - q, 1 - p) if turned else (p, q)))

    def _above(self, tangent: Tangent, factor: arb) -> arb:
        """(1), at every number of a ball."""
        less, gap = to_ball(Fraction(tangent.less)), to_ball(Fraction(tangent.gap))
        kappa = less * to_ball(self._known.divergence(1 + Fraction(tangent.less)))
        part = -(-less * gap).expm1()
        upper = (factor * (1 + less) / less * part / -(-(1 + less) * gap).expm1()).log()
        own = (kappa - less * upper).exp() - (-less * gap).exp() * (
            1 - less * (upper - gap).expm1()
        )
        return own / ((1 + less) * part)

    def _had(self, tangent: Tangent, single: Statement) -> tuple[arb, arb] | None:
        """Two outcomes, by P(S) and Q(S), that a statement surely allows; None: it is not sure."""
        first, _ = tangent.masses
        p, turn = to_ball(Fraction(first)), to_ball(Fraction(tangent.upper))
        q = p * (-turn).exp()
        p -= to_ball(Fraction(_INWARD)) * (p - q)
        for pair in (((p, q), (1 - p, 1 - q)), ((1 - q, 1 - p), (q, p))):
            match single:
                case RenyiStatement(listed):
                    holds = all(
                        _tilted(pair, to_ball(a))[0] <= to_ball((a - 1) * d) for a, d in listed
                    )
                case ConcentratedStatement(rho):
                    holds = are_concentrated(pair, rho, 1 + Fraction(tangent.less))
            if not holds:
                return None
        return p, q


_Pair = tuple[tuple[arb, arb], tuple[arb, arb]]
"""(p, q) of the outcome of the greater loss, then of the other one."""


def are_concentrated(pair: _Pair, rho: Fraction, order: Fraction) -> bool:
    """Whether (2) surely holds, one way round, at 1 or where g' is 0, next to an order."""
    twice, half = 2 * to_ball(rho), arb(1) / 2

    def bent(place: arb) -> tuple[arb, arb, arb, arb]:
        """Return g, g', m and π."""
        value, slope, share, gap = _tilted(pair, place)
        grown, rise = twice * half * place * (place - 1) - value, twice * (place - half) - slope
        return grown, rise, twice - gap * gap * share * (1 - share), share

    _, start, bend, share = bent(arb(1))
    gap = _tilted(pair, arb(1))[3]
    if not start >= 0:
        return False
    if (share >= half and bend >= 0) or gap * gap <= 4 * twice:
        return True
    _, rise, bend, _ = bent(to_ball(order))
    place = (to_ball(order) - rise / bend).mid()
    grown, rise, bend, share = bent(place)
    if not (place >= 1 and share >= half and bend >= 0):
        return False
    falls = bool(rise <= 0 and 2 * bend * grown >= rise * rise)
    return falls or bool(rise >= 0 and grown >= (place - 1) * rise)


def _tilted(pair: _Pair, order: arb) -> tuple[arb, arb, arb, arb]:
    """K, K', π and w of two outcomes at an order."""
    (upper, one), (lower, two) = (
        (loss, p * ((order - 1) * loss).exp()) for p, q in pair for loss in [(p / q).log()]
    )
    share = one / (one + two)
    return (one + two).log(), share * upper + (1 - share) * lower, share, upper - lower
