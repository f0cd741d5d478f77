"""Lower bounds: along a ray of inputs the loss comes as close to a budget as wanted.

**Theorem.** Let an output be the union of final states j with costs E_j, some of them possible at
inputs q. Let V(w) = min_j E_j(w), and let b - a be a change between adjacent inputs. Then for every
eps at which the program has a meaning the supremum over adjacent inputs of the log-ratio of the
output's probabilities is at least eps · (V(b) - V(a)); it is unbounded if V(b) = ∞ > V(a).

Proof. (1) Let y >= 0 be a flow of state j, |Σ_g y_g a_gi| at most the rate of source i, with the
value B = -Σ_g y_g c_g·b. At inputs q + tb the state's guards, each times y_g and added, say that
Σ_i λ_i e_i >= tB + const for some |λ_i| <= rate_i. By Markov's inequality, for every θ < 1,

    Pr_j(q + tb) <= e^(-θ eps (tB + const)) · Π_i E[e^(θ eps λ_i e_i)],

a constant times e^(-θ eps t B): the expectations are finite because θ eps |λ_i| is below the rate
of decay of e_i, for Gaussian noise with any λ_i, for one-sided noise if λ_i is bounded on its side.
So liminf_t -ln Pr_j(q + tb)/t >= eps · E_j(b), by duality; without a shift, flows of any size do.
With a Farkas flow of samples that all have finite rates, Pr_j(q + tb) is even 0 for large t.
(2) Where Pr_k(q) > 0, the shift of the noise by t·x with x optimal for E_k(a) gives
Pr_k(q + ta) >= e^(-eps t E_k(a)) · Pr_k(q).
(3) Going from q + ta to q + tb in t steps of b - a, the log-ratios of the steps add up to
eps · t · (V(b) - V(a)) - o(t): some step has at least the average.

Of a program with real outputs the output is that they lie in some intervals, where the state that
is possible at q has a positive probability: bounds on forms are guards, and constants play no part.

A scale that is no multiple of 1/eps has at a single eps a finite rate, and eps · E grows to the
cost with an infinite rate as eps goes to 0 (a power above -1) or to ∞ (one below): the bound then
is one for a budget that is to serve every eps.

With a single state and a = 0 this is E(b): what its shifts cost is what it loses. With several the
states may help each other, and a is searched for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits
from dipapprox.proofs.changes import Change
from dipapprox.proofs.worst_change import BoxShift, CostOfChanges, DearChange

LENGTHS = (-12, -4, -1, 0, 1, 4, 12)
"""What coordinates of origins are tried."""

MOST_SWEEPS = 4
"""Times that every coordinate of an origin is tried anew."""


@dataclass(frozen=True, slots=True)
class Ray:
    """A family of adjacent inputs, q + ta + s(b - a) for 0 <= s <= t, on which an output loses.

    q is the start of the state's cone.

    Attributes:
        origin: a, in multiples of the radius.
        target: b, likewise.
        flows: For every possible state of the output, that it costs so much at b.
        state: The number among them of the state that costs least at a.
        shift: The shift of that state for a.
        loss: The log-ratio that is reached, in multiples of radius · eps; None for ∞.
    """

    origin: Change
    target: Change
    flows: tuple[DearChange, ...]
    state: int
    shift: BoxShift
    loss: Fraction | None


def direct_ray(costs: Sequence[CostOfChanges], dearest: Sequence[DearChange]) -> Ray | None:
    """Look for a ray from 0 on which an output loses much.

    Args:
        costs: Of its states.
        dearest: For each of them the dearest change found between adjacent inputs.

    Returns:
        The best ray found; None if none loses anything.
    """
    return _best(ray_from_zero(costs, change) for change in _dear_changes(dearest))


def climbed_ray(
    costs: Sequence[CostOfChanges], dearest: Sequence[DearChange], limits: Limits
) -> Ray | None:
    """Do the same from origins at which one of several states is the cheapest."""
    changes = _dear_changes(dearest)
    return _best(
        ray_along(costs, origin, _sum(origin, change))
        for change, state in changes.items()
        for origin in (_climb(costs, state, change, limits),)
    )


def _dear_changes(dearest: Sequence[DearChange]) -> dict[Change, int]:
    """The dearest changes of states that lose anything, with a state each; the dearest first."""
    order = sorted(range(len(dearest)), key=lambda k: _dearness(dearest[k]), reverse=True)
    found = dict[Change, int]()
    for k in order:
        if dearest[k].cost != 0:
            found.setdefault(dearest[k].change, k)
    return found


def _best(rays: Iterable[Ray | None]) -> Ray | None:
    best: Ray | None = None
    for ray in rays:
        if ray is None or ray.loss == 0 or (ray.loss is not None and ray.loss < 0):
            continue
        if ray.loss is None:
            return ray
        if best is None or best.loss is None or ray.loss > best.loss:
            best = ray
    return best


def ray_from_zero(costs: Sequence[CostOfChanges], change: Change) -> Ray | None:
    """Return the ray from 0 along a change; None if no state is possible anywhere."""
    return ray_along(costs, (0,) * len(change), change)


def ray_along(costs: Sequence[CostOfChanges], origin: Change, target: Change) -> Ray | None:
    """Return the ray between two changes; None if no state is possible at the first."""
    starts = [cost.shift_for(tuple((a, a) for a in origin)) for cost in costs]
    possible = [(shift.cost, k, shift) for k, shift in enumerate(starts) if shift is not None]
    if not possible:
        return None
    before, state, shift = min(possible, key=lambda each: each[:2])
    flows = tuple(cost.at(target) for cost in costs)
    finite = [flow.cost for flow in flows if flow.cost is not None]
    loss = min(finite) - before if finite else None
    return Ray(origin, target, flows, state, shift, loss)


def _dearness(flow: DearChange) -> tuple[bool, Fraction]:
    return flow.cost is None, flow.cost or Fraction(0)


def _climb(costs: Sequence[CostOfChanges], state: int, change: Change, limits: Limits) -> Change:
    """Look for an origin from which a change is dear for a state, and all others cost more there.

    Coordinate by coordinate. That the change is dear is wanted first: it is along its own ray, and
    where other states are better off some inputs may be turned round without making it cheaper.
    """

    def height(origin: Change) -> tuple[Fraction, Fraction, Fraction]:
        limits.check()
        before, after = costs[state].at(origin).cost, costs[state].at(_sum(origin, change)).cost
        if before is None:
            return -_WIDE, -_WIDE, -_WIDE
        slope = Fraction(sum(LENGTHS[-1:]) ** 2) if after is None else after - before
        margins = []
        for number, cost in enumerate(costs):
            if number != state:
                other = cost.at(origin).cost
                margins.append(_WIDE if other is None else min(other - before, _WIDE))
        return slope, min(min(margins), _WIDE), sum(margins, Fraction(0))

    best = tuple(LENGTHS[-1] * d for d in change)
    reached = height(best)
    for _ in range(MOST_SWEEPS):
        before = reached
        for place in range(len(best)):
            for length in LENGTHS:
                tried = (*best[:place], length, *best[place + 1 :])
                found = height(tried)
                if found > reached:
                    best, reached = tried, found
        if reached == before:
            break
    return best


_WIDE = Fraction(LENGTHS[-1])


def _sum(origin: Change, change: Change) -> Change:
    return tuple(a + d for a, d in zip(origin, change, strict=True))
