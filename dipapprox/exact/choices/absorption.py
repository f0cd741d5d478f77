"""Where a finite Markov chain is absorbed: exact elimination of states, without fractions.

A transient state is a row  total · x_s = Σ_t weights[t] · x_t  of polynomials in ε and
y = e^{ε/N}: its transition probabilities times a common denominator. Putting row s into row p,

    (D · total_p) x_p = Σ_t (D · weights_p[t] + weights_p[s] · weights_s[t]) x_t,
    D = total_s - weights_s[s],

and dividing by the common divisor of the row keeps polynomials small. The last row is about the
first state alone and has the absorption probabilities as quotients.

Right at every ε of an interval in which the transitions are probabilities and absorption is
certain, not only off a discrete set. Each absorption probability is a supremum of continuous
partial sums, hence lower semicontinuous, and as they add up to 1 also upper semicontinuous: it is
continuous, and the quotient, which agrees with it off a discrete set, is bounded there. The last
row has no common divisor, so total and weights, all >= 0 up to one sign, cannot vanish together at
an ε > 0 (Lindemann; see `normal_form`), and total is their sum: it has no zero in the interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from flint import fmpz_mpoly

from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.exact.signs.normal_form import common_step, exponential_polynomial, polynomials
from dipapprox.exponentials import ExponentialRatio, common_denominator
from dipapprox.language.traversal import reachable, reaching
from dipapprox.laws.distribution import ChainLaw
from dipapprox.limits import check_limits

Edges = Mapping[int, Mapping[int, ExponentialRatio]]
"""A graph: state -> next state -> probability, not identically 0. Nothing follows a last state."""


_known: Cache[ChainLaw, Mapping[int, ExponentialRatio]] = Cache(256)
"""Every outcome asks for the same chain."""


class _Row(Record, frozen=False):
    """total · x = Σ weights[t] · x_t; no weight is 0."""

    total: fmpz_mpoly
    weights: dict[int, fmpz_mpoly]


def absorption(law: ChainLaw) -> Mapping[int, ExponentialRatio]:
    """Return {absorbing state: the probability of ending there}, over one denominator; remembered.

    Only states that can be reached count. The probabilities add up to exactly 1 if absorption is
    certain for almost every ε.
    """
    return _known.find(law, lambda: _absorption(law))


def _absorption(law: ChainLaw) -> dict[int, ExponentialRatio]:
    if not law.transitions[0]:
        return {0: ExponentialRatio.constant(1)}
    edges = reached(possible(law))
    ending = reaching(edges, (state for state, targets in edges.items() if not targets))
    if 0 not in ending:
        return {}
    weights = [weight for targets in edges.values() for weight in targets.values()]
    step = common_step(f for w in weights for f in (w.numerator, *dict(w.denominator)))
    rows = {
        state: _row({t: p for t, p in targets.items() if t in ending}, targets.values(), step)
        for state, targets in edges.items()
        if targets and state in ending
    }
    _eliminate(rows)
    row = rows[0]
    total = exponential_polynomial(row.total, step)
    return {
        state: ExponentialRatio.of(exponential_polynomial(weight, step), {total: 1})
        for state, weight in row.weights.items()
    }


def possible(law: ChainLaw) -> Edges:
    return {
        state: {target: weight for target, weight in row if weight.numerator}
        for state, row in enumerate(law.transitions)
    }


def reached(edges: Edges) -> Edges:
    return {state: edges[state] for state in reachable((0,), edges.__getitem__)}


def _eliminate(rows: dict[int, _Row]) -> None:
    """Substitute all rows but that of state 0, those with the least work first."""
    sources: dict[int, set[int]] = {state: set() for state in rows}
    for state, row in rows.items():
        for target in row.weights:
            if target in rows and target != state:
                sources[target].add(state)
    while True:
        check_limits()
        others = [state for state in rows if state != 0]
        state = min(others, key=lambda s: (len(sources[s]) * len(rows[s].weights), s), default=0)
        row = rows[state]
        loop = row.weights.pop(state, None)
        leaving = row.total if loop is None else row.total - loop
        if not leaving:
            raise BrokenInvariant("a state of a Markov chain that can be left is never left")
        row.total = leaving
        if loop is not None:
            _reduce(row)
        if state == 0:
            return
        del rows[state]
        for source in sources.pop(state):
            check_limits()
            if state not in rows[source].weights:
                continue  # what led there has cancelled
            _substitute(rows[source], state, row)
            for target in row.weights:
                if target in rows and target != source:
                    sources[target].add(source)
        for found in sources.values():
            found.discard(state)


def _substitute(row: _Row, state: int, inner: _Row) -> None:
    """Replace x_state in a row by its own row, which has no loop."""
    factor = row.weights.pop(state)
    common = factor.gcd(inner.total)
    factor, total = factor // common, inner.total // common
    row.total = row.total * total
    row.weights = {target: weight * total for target, weight in row.weights.items()}
    for target, weight in inner.weights.items():
        known = row.weights.get(target)
        added = factor * weight if known is None else known + factor * weight
        row.weights[target] = added
    row.weights = {target: weight for target, weight in row.weights.items() if weight}
    _reduce(row)


def _reduce(row: _Row) -> None:
    """Divide a row by the common divisor of its polynomials."""
    common = row.total
    for weight in sorted(row.weights.values(), key=len):
        if common.is_one():
            return
        common = common.gcd(weight)
    if not common.is_one():
        row.total = row.total // common
        row.weights = {target: weight // common for target, weight in row.weights.items()}


def _row(
    kept: Mapping[int, ExponentialRatio], every: Iterable[ExponentialRatio], step: Fraction
) -> _Row:
    """Multiply the transitions of a state by a common denominator, a power of y and an integer."""
    common = common_denominator(every)
    one = ExponentialRatio.constant(1)
    total, *weights = polynomials([p.over(common) for p in (one, *kept.values())], step)
    return _Row(total, dict(zip(kept, weights, strict=True)))
