"""Lower bounds: along a ray of inputs the loss comes as close to a budget as wanted.

**Theorem.** Let an output be the union of final states j with costs E_j, some of them possible at
inputs q. Let b be a change between adjacent inputs, and V = min_j E_j(b). Then for every eps at
which the program has a meaning the supremum over adjacent inputs of the log-ratio of the output's
probabilities is at least eps · V; it is unbounded if V = ∞.

Proof. (1) Let y >= 0 be a flow of state j, |Σ_g y_g a_gi| at most the rate of source i, with the
value B = -Σ_g y_g c_g·b. At inputs q + tb the state's guards, each times y_g and added, say that
Σ_i λ_i e_i >= tB + const for some |λ_i| <= rate_i. By Markov's inequality, for every θ < 1,

    Pr_j(q + tb) <= e^(-θ eps (tB + const)) · Π_i E[e^(θ eps λ_i e_i)],

a constant times e^(-θ eps t B): the expectations are finite because θ eps |λ_i| is below the rate
of decay of e_i, for Gaussian noise with any λ_i, for one-sided noise if λ_i is bounded on its side.
So liminf_t -ln Pr_j(q + tb)/t >= eps · E_j(b), by duality; without a shift, flows of any size do.
With a Farkas flow of samples that all have finite rates, Pr_j(q + tb) is even 0 for large t.
(2) Going from q, where the output has a positive probability, to q + tb in t steps of b, the
log-ratios of the steps add up to eps · t · V - o(t): some step has at least the average.

Of a program with real outputs the output is that they lie in some intervals, where the state that
is possible at q has a positive probability: bounds on forms are guards, and constants play no part.

A scale that is no multiple of 1/eps has at a single eps a finite rate, and eps · E grows to the
cost with an infinite rate as eps goes to 0 (a power above -1) or to ∞ (one below): the bound then
is one for a budget that is to serve every eps.

With a single state this is E(b): what its shifts cost is what it loses. With several the states may
help each other: then it is looked at what is lost between two inputs, too (`places`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.data_classes import Record
from dipapprox.proofs.changes import Change
from dipapprox.proofs.worst_change import CostOfChanges, DearChange


class Ray(Record):
    """A family of adjacent inputs, q + s·b for s >= 0, on which an output loses.

    q is the start of the cone of the first of its possible states.
    """

    target: Change  # b, in multiples of the unit
    loss: Fraction | None  # the log-ratio that is reached, in multiples of unit · eps; None for ∞


def best_ray(costs: Sequence[CostOfChanges], dearest: Sequence[DearChange]) -> Ray | None:
    """Look for a ray on which an output loses much.

    Args:
        dearest: For each of them the dearest change found between adjacent inputs.

    Returns:
        The best ray found; None if none loses anything.
    """
    changes = dict.fromkeys(each.change for each in dearest if each.cost != 0)
    rays = [ray_along(costs, change) for change in changes]
    losing = [ray for ray in rays if ray.loss is None or ray.loss > 0]
    return max(losing, key=lambda ray: dearness(ray.loss), default=None)


def ray_along(costs: Sequence[CostOfChanges], change: Change) -> Ray:
    """Return the ray along a change."""
    finite = [flow.cost for cost in costs if (flow := cost.at(change)).cost is not None]
    return Ray(change, min(finite) if finite else None)


def total_loss(losses: Iterable[Fraction | None]) -> Fraction | None:
    """Return what losses add up to; None stands for ∞."""
    total = Fraction(0)
    for loss in losses:
        if loss is None:
            return None
        total += loss
    return total


def dearness(loss: Fraction | None) -> tuple[bool, Fraction]:
    """Return what losses are compared by; ∞ comes last."""
    return loss is None, loss or Fraction(0)
