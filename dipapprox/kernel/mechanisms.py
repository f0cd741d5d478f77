"""What pipelines run: mechanisms and statements, by pairs of distributions.

    mechanism    {"mechanism": "Lap" | "DLap", "sensitivity": number, "scale": number}
                 | {"mechanism": "Gauss" | "DGauss", "sensitivity": number, "variance": number}
                 | {"mechanism": "randomised_response", "probability": number, "values": integer}
                 | {"mechanism": "exponential_mechanism", "eps": number}
                 | {"mechanism": "approx_dp", "eps": number, "delta": number}
                 | {"mechanism": "rdp", "orders": [[order, divergence], …]}
                 | {"mechanism": "zcdp", "rho": number}

A pair (P, Q) has the H of `losses`. It dominates a mechanism if its H is at least that of the
outputs for any two adjacent data sets, at every a > 0. All pairs here dominate their reversal, so
the order of the data sets does not matter; for any pair

    H of (Q, P) at a = 1 - a + a H of (P, Q) at 1 / a,                                          (1)

as the best set of the one is the complement of the best set of the other.

    noise        a number, or a whole number, of sensitivity D plus noise of a log-concave law: laws
                 D apart dominate all closer ones; as dP/dQ rises, best sets are x > c
    response     the true one of some values with the probability, else any other one alike
    exponential  Pr of outcomes ~ exp(eps u / 2), u of sensitivity 1: losses in an interval of
                 length eps about 0, so that H <= (sqrt E - sqrt a)^2 / (E - 1), E = e^eps, for
                 1 / E <= a <= E (bounded range: Dong, Durfee, Rogers 2020), 1 - a or 0 beyond
    approx_dp    (eps, delta)-DP: delta at infinity, the rest at the losses eps and -eps
    rdp          Rényi divergences of some orders > 1 are at most these, either way round
    zcdp         divergence of every order > 1 at most rho order
    divergences  statements that are run: all of a pipeline's that get all data

On a Poisson sample of rate r the outputs are mixtures, over the other records, of r P + (1 - r) Q
against Q, and H is convex in the pair: it is r H((a - 1 + r) / r), or 1 - a if a <= 1 - r, for the
removal of a record, and by (1) for its adding. Source: Zhu, Dong, Wang 2022, theorem 11.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import comb
from typing import Any, NamedTuple

from flint import arb

from dipapprox.kernel.balls import lower_at, precision, spend_balls, to_ball
from dipapprox.kernel.errors import BadProof, Refused, spend
from dipapprox.kernel.laws import FAMILIES, IntegerFamily, cost_of
from dipapprox.kernel.losses import Sets
from dipapprox.kernel.reading import as_number, as_record, as_rows, as_word

ZERO, ONE = arb(0), arb(1)
PLACES = 512  # losses that are no rational numbers are rounded to multiples of 2^-PLACES

Statement = tuple[str, tuple[Any, ...], int]
"""The name and the values of a statement about divergences, and how often it is run."""


class Pair(NamedTuple):
    """What is known of a pair (P, Q)."""

    most: Callable[[Fraction], arb]  # returns a ball whose upper end is at least H(e^loss)
    # Returns the masses of disjoint sets, of a pair that is had: about those of losses between some
    # that ascend, or finer ones.
    outcomes: Callable[[Sequence[Fraction]], Sets]


def finite(outcomes: Sets) -> Pair:
    """A pair with finitely many outcomes."""

    def most(loss: Fraction) -> arb:
        spend(len(outcomes))
        factor = to_ball(loss).exp()
        return sum(((p - factor * q).max(ZERO) for p, q in outcomes), ZERO)

    return Pair(most, lambda losses: outcomes)


def bounded_range(eps: Fraction, upper: Fraction) -> Pair:
    """All pairs whose losses lie in an interval about 0; one has `upper` and `upper` - eps alone.

    Two outcomes whose utilities change by 1 each have it, for some quotient of what they weigh: if
    p = e^upper q and 1 - p = e^(upper - eps) (1 - q), p is (1 - e^(upper - eps)) / (1 - e^-eps).
    """

    def most(loss: Fraction) -> arb:
        if abs(loss) >= eps:
            return ZERO if loss > 0 else 1 - to_ball(loss).exp()
        top, factor = to_ball(eps).exp(), to_ball(loss).exp()
        gap = top.sqrt() - factor.sqrt()
        return gap * gap / (top - 1)

    p = to_ball(upper - eps).expm1() / to_ball(-eps).expm1()
    q = p * to_ball(-upper).exp()
    return Pair(most, lambda losses: [(p, q), (1 - p, 1 - q)])


def noise(name: str, distance: Fraction, size: Fraction) -> Pair:
    """Laws about D and about 0, of this scale, or variance. Where the loss is t, x = c, and above
    it beyond c:

    Gauss, DGauss: t = (2 D x - D^2) / (2 variance). Lap, DLap: t = (2 x - D) / scale between 0 and
    D, and constant beyond.
    """
    family = FAMILIES[name]
    squared = "variance" in FIELDS[name]

    def above(place: Fraction) -> arb:
        spend_balls(4)
        if isinstance(family, IntegerFamily):
            return family.above(place.__floor__() + 1, 1 / (family.p * size))
        return family.above(to_ball(place) / (to_ball(size).sqrt() if squared else to_ball(size)))

    def line(loss: Fraction) -> tuple[arb, arb]:
        spend(3 * (cost_of(size) + cost_of(distance)))
        if squared:
            c = loss * size / distance + distance / 2
        elif -distance <= loss * size < distance:
            c = (size * loss + distance) / 2
        else:
            return (ZERO, ZERO) if loss > 0 else (ONE, ONE)
        return above(c - distance), above(c)

    def most(loss: Fraction) -> arb:
        p, q = line(loss)
        return p - to_ball(loss).exp() * q

    def outcomes(losses: Sequence[Fraction]) -> Sets:
        sets = [(ONE, ONE), *map(line, losses), (ZERO, ZERO)]
        return [(p - r, q - t) for (p, q), (r, t) in pairwise(sets)]

    return Pair(most, outcomes)


def divergences(runs: Sequence[Statement], told: Sequence[Fraction], above: bool) -> Pair:
    """Statements add up: for y = dP/dQ, E y^order <= M = e^((order - 1) sum of divergences) by Q.

    With l = order - 1, y^order >= order x^l y - l x^order, at x = z on a set S and at x = u z off
    it, 0 < u < 1: order (1 - u^l) z^l P(S) <= M - order (u z)^l + l (u z)^order
    + l (1 - u^order) z^order Q(S). That is P(S) <= d + a Q(S) for

        a = z (l / order) (1 - u^order) / (1 - u^l), d = (M - order (u z)^l + l (u z)^order) / own,

    own = order (1 - u^l) z^l. So H(a) <= d, in either order. From below runs of one may each
    have the same two outcomes that keep it, independently: how often they have one tells all. Or
    all are Gaussian noise, of which divergences are order m^2 / 2; squares of shifts m add up.

    Args:
        runs: What is run.
        told: ln a >= 0, order and -ln u of every bound; from below P(S) > Q(S) of two outcomes of
            every statement, and two orders (`concentrated`); or nothing, for noise.
    """
    if told and not above:
        cells = [(ONE, ONE)]
        if len(told) != 4 * len(runs):
            raise BadProof("two outcomes of every statement are wanted")
        for k, (name, values, times) in enumerate(runs):
            first, second, *orders = told[4 * k : 4 * k + 4]
            (p, r), (q, s) = ((to_ball(x), to_ball(1 - x)) for x in (first, second))
            ways = ((p, q), (r, s)), ((s, r), (q, p))
            spend((20 + times // 64) * times * len(cells))
            if not 0 < second < first < 1 or not all(
                map(partial(_keeps, name, values), ways, orders)
            ):
                raise BadProof("two outcomes do not keep a statement")
            counts = [(comb(times, j), j, times - j) for j in range(times + 1)]
            own = [(c * p**j * r**i, c * q**j * s**i) for c, j, i in counts]
            cells = [(x * m, y * n) for x, y in cells for m, n in own]
        return Pair(of_deltas({}).most, lambda losses: cells)
    if len(told) % 3:
        raise BadProof("bounds have three numbers each")
    points, size = dict[Fraction, arb](), 8 + sum(len(values) for _, values, _ in runs)
    for loss, order, gap in zip(told[::3], told[1::3], told[2::3], strict=True):
        if loss < 0 or order <= 1 or gap <= 0:
            raise BadProof("orders or bounds are out of range")
        spend_balls(size)
        total = sum((n * divergence(name, values, order) for name, values, n in runs), Fraction(0))
        spend(2 * cost_of(total))
        less, power = to_ball(order - 1), to_ball(order)
        rest = -(-less * to_ball(gap)).expm1()
        z = to_ball(loss).exp() * power / less * rest / -(-power * to_ball(gap)).expm1()
        x = z * to_ball(-gap).exp()
        most = (less * to_ball(total)).exp() - power * x**less + less * x**power
        points[loss] = most / (power * rest * z**less)
    square = sum((n * _square(name, values) for name, values, n in runs), Fraction(0))
    had = noise("Gauss", Fraction(1), 1 / square).outcomes if square else _unknown
    return Pair(of_deltas(points).most, had)


def divergence(name: str, values: tuple[Any, ...], order: Fraction) -> Fraction:
    """What a statement bounds that of an order t by: (t - 1) D = ln E y^t is convex, and 0 at 1."""
    if name == "zcdp":
        return Fraction(values[0]) * order
    spend(len(values) ** 2)
    ends = [(Fraction(1), Fraction(0)), *((a, (a - 1) * own) for a, own in values)]
    pairs = [(a, k, b, m) for a, k in ends for b, m in ends if a < order <= b]
    if not pairs:
        raise Refused("nothing is known of that order")
    chords = [(k * (b - order) + m * (order - a)) / (b - a) for a, k, b, m in pairs]
    return Fraction(min(chords)) / (order - 1)


def _square(name: str, values: tuple[Any, ...]) -> Fraction:
    """That of the largest shift for which all divergences are kept."""
    return 2 * Fraction(values[0]) if name == "zcdp" else min(2 * own / a for a, own in values)


def _keeps(name: str, values: tuple[Any, ...], outcomes: Sets, order: Fraction) -> bool:
    """Whether two outcomes (p, q), the likelier one by P first, keep a statement this way round."""
    if name == "zcdp":
        return concentrated(outcomes, values[0], order)
    spend_balls(8 * len(values))
    return all(_tilted(outcomes, a)[0] <= to_ball((a - 1) * own) for a, own in values)


def concentrated(outcomes: Sets, rho: Fraction, order: Fraction) -> bool:
    """Whether D_t <= rho t for all t > 1, that is g(t) = rho t (t - 1) - K(t) >= 0.

    K(t) = ln sum of p^t q^(1-t); K' and K'' are the mean and the variance of losses, weighted so:
    with w the distance of the two losses and s the weight of the greater one, K'' = w^2 s (1 - s),
    and s grows with t. So g is concave on one interval at most, where s (1 - s) > 2 rho / w^2. At 1
    g is 0; let g' be >= 0 there. If w^2 <= 8 rho, g is convex, and >= 0. Else let s >= 1/2 and
    g'' >= 0 at the order: it is at or behind that interval, and from its end on g is convex and g''
    grows. There g is >= 0 if the order is 1, or it lies above its tangent at the order, g' >= 0,
    which is at least g - (order - 1) g' >= 0; or if g' <= 0, g is >= 0 before the order and at
    least g + g' d + g'' d^2 / 2 >= g - g'^2 / (2 g'') at d behind. On the interval g is at least
    what it is at one of its ends, or 0 if 1 is inside; before it g is above its tangent at 1.
    """
    spend_balls(16)
    start = to_ball(rho) - _tilted(outcomes, Fraction(1))[1]
    value, mean, weight, gap = _tilted(outcomes, order)
    bend = to_ball(2 * rho) - gap * gap * weight * (1 - weight)
    if order < 1 or not start >= 0:
        return False
    if gap * gap <= to_ball(8 * rho):
        return True
    if not (weight >= to_ball(Fraction(1, 2)) and bend >= 0):
        return False
    height = to_ball(rho * order * (order - 1)) - value
    slope = to_ball(rho * (2 * order - 1)) - mean
    behind = bool(slope <= 0 <= height and slope * slope <= 2 * bend * height)
    return order == 1 or behind or bool(slope >= 0 and to_ball(order - 1) * slope <= height)


def _tilted(outcomes: Sets, order: Fraction) -> tuple[arb, arb, arb, arb]:
    """K and K', the weight of the first outcome, and by how much its loss is greater."""
    (p, q), (r, s) = outcomes
    loss, other, less = (p / q).log(), (r / s).log(), to_ball(order - 1)
    one, two = p * (less * loss).exp(), r * (less * other).exp()
    weight = one / (one + two)
    return (one + two).log(), weight * loss + (1 - weight) * other, weight, loss - other


def of_deltas(points: Mapping[Fraction, arb]) -> Pair:
    """All pairs that have, in either order, H at e^t at most d, for some t >= 0.

    By (1) it is at most 1 - e^-t + e^-t d at e^-t; it is at most 1 at 0, convex, and does not
    increase: so it is below chords, and beyond a point at most what it is there.
    """
    losses, ends = sorted({sign * t for t in points for sign in (1, -1)}), [(ZERO, ONE)]
    for t in losses:
        factor, bound = to_ball(t).exp(), points[abs(t)]
        ends.append((factor, bound if t >= 0 else 1 - factor + factor * bound))

    def most(loss: Fraction) -> arb:
        left = bisect_right(losses, loss)
        start, before = ends[left]
        if left == len(losses) or (left and losses[left - 1] == loss):
            return before
        end, after = ends[left + 1]
        return before - (before - after) * (to_ball(loss).exp() - start) / (end - start)

    return Pair(most, _unknown)


def sampled(pair: Pair, sample: tuple[Fraction, bool] | None) -> Pair:
    """A record's removal, or its adding, on a Poisson sample, if there is one; 1 is that of all."""
    if sample is None:
        return pair
    share, added = to_ball(sample[0]), sample[1]

    def inner(loss: Fraction) -> Fraction | None:
        """About ln((e^loss - 1 + r) / r), at most that; None where it may be -infinity."""
        found = (to_ball(loss).exp() - 1 + share) / share
        return Fraction(lower_at(found.log(), PLACES), 1 << PLACES) if found > 0 else None

    def removed(loss: Fraction) -> arb:
        # H does not increase.
        place = inner(loss)
        return (1 - to_ball(loss).exp()).max(share) if place is None else share * pair.most(place)

    def most(loss: Fraction) -> arb:
        factor = to_ball(loss).exp()
        return 1 - factor + factor * removed(-loss) if added else removed(loss)

    def outcomes(losses: Sequence[Fraction]) -> Sets:
        places = (inner(-loss if added else loss) for loss in losses)
        cells = pair.outcomes(sorted(place for place in places if place is not None))
        mixed = [(share * p + (1 - share) * q, q) for p, q in cells]
        return [(q, p) for p, q in mixed] if added else mixed

    return Pair(most, outcomes)


def _unknown(losses: Sequence[Fraction]) -> Sets:
    raise Refused("no pair is known that has these bounds")


FIELDS = {
    **dict.fromkeys(("Gauss", "DGauss"), ("sensitivity", "variance")),
    **dict.fromkeys(("Lap", "DLap"), ("sensitivity", "scale")),
    "randomised_response": ("probability", "values"),
    "exponential_mechanism": ("eps",),
    "approx_dp": ("eps", "delta"),
    "rdp": ("orders",),
    "zcdp": ("rho",),
}


class Mechanism(NamedTuple):
    """A mechanism as above: the values of its fields; of rdp, the pairs."""

    name: str
    values: tuple[Any, ...]

    def pair(self, orders: Sequence[Fraction], above: bool = True) -> Pair:
        """Return what is known of it, at this precision, from one side; `divergences` are told
        `orders`, which is the greater loss of two outcomes of an exponential mechanism."""
        match self.name, self.values:
            case "divergences", runs:
                return divergences(runs, orders, above)
            case "rdp", [_, *_] as listed if all(order > 1 and own >= 0 for order, own in listed):
                return divergences([(self.name, self.values, 1)], orders, above)
            case "zcdp", [rho] if rho > 0:
                return divergences([(self.name, self.values, 1)], orders, above)
            case "randomised_response", [p, n] if 0 < p < 1 and n >= 2 and n.denominator == 1:
                likely, other = to_ball(p), to_ball((1 - p) / (n - 1))
                rest = 1 - likely - other if n > 2 else ZERO
                return finite([(likely, other), (other, likely), (rest, rest)])
            case "exponential_mechanism", [eps] if eps > 0 and all(0 < t < eps for t in orders):
                return bounded_range(eps, *orders[:1] or [eps / 2])
            case "approx_dp", [eps, delta] if eps >= 0 and 0 <= delta <= 1:
                sure, odds = to_ball(delta), to_ball(eps).exp()
                likely, other = (1 - sure) * odds / (1 + odds), (1 - sure) / (1 + odds)
                own = finite([(sure, ZERO), (ZERO, sure), (likely, other), (other, likely)])
                return own._replace(most=of_deltas({eps: sure}).most)
            case family, [distance, size] if family in FAMILIES and distance > 0 and size > 0:
                if isinstance(FAMILIES[family], IntegerFamily) and distance.denominator > 1:
                    raise BadProof("a sensitivity of integers is none")
                return noise(family, distance, size)
        raise BadProof(f"parameters of '{self.name}' are out of range")


def read_mechanism(json: object) -> Mechanism:
    """Read a mechanism."""
    name = json.get("mechanism") if isinstance(json, dict) else None
    name = as_word(name, "a mechanism", tuple(FIELDS))
    record = as_record(json, "a mechanism", ("mechanism", *FIELDS[name]))
    if name == "rdp":
        found = Mechanism(name, tuple(as_rows(record["orders"], "orders", as_number, as_number)))
    else:
        found = Mechanism(name, tuple(as_number(record[each], each) for each in FIELDS[name]))
    with precision(64):
        found.pair(())
    return found
