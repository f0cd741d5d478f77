"""Finite verdicts in closed form: at one eps, or on an interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain, combinations

from flint import arb

from dipapprox.kernel.balls import between, lower_at, precision, spend_balls, to_ball
from dipapprox.kernel.errors import Refused, Refuted, spend
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio, Sum, total
from dipapprox.kernel.forward import outcomes
from dipapprox.kernel.judgements import ExactDistributions, Violated
from dipapprox.kernel.machine import Input, Inputs, Tree, all_inputs, mentions
from dipapprox.kernel.proofs import Proof, Step, growth_bound, stated
from dipapprox.kernel.signs import Epsilons, Signs, read_epsilons
from dipapprox.kernel.walk import formula_of, number_of

MOST_FREE = 5
"""Outputs of one pair whose excesses have no known sign on an interval that is not halved."""

MOST_PARTS = 400  # of an interval
CHANCES = "eps", "while"  # where chances depend on eps, and mean nothing at some, perhaps
_PLACES = 64  # of what formulas are at least
PLACES = 256  # of the lower bound of e ** eps_prv where that is no function of the kind


def closed_forms(proof: Proof, signs: Signs, inputs: Iterable[Input]) -> ExactDistributions:
    """Return the probabilities of all outputs as functions of eps."""
    graph, outputs, sums, rows = outcomes(proof.machine, signs, inputs)
    values, point = exact_values(graph, chain(*sums), signs), signs.epsilons.point
    forms: dict[Ratio, int] = {}
    places = []
    for own in sums:
        form = total(values[scalar] for scalar in own)
        form = form if point is None else form.at(point)
        places.append(forms.setdefault(form, len(forms)))
    found = {input: [places[k] for k in row] for input, row in rows.items()}
    return ExactDistributions(signs.epsilons, outputs, list(forms), found)


def growth_of(eps_prv: Tree, signs: Signs) -> Ratio:
    """Return e ** eps_prv, or less."""
    value, point = formula_of(eps_prv, signs), signs.epsilons.point
    match value.numerator.terms, value.denominator:
        case ((((0, 0), constant),), ()) if constant > 0:
            if point is not None:
                return Ratio(Sum.exponential(constant / point))
            return Ratio.constant(growth_bound(Fraction(constant), PLACES, above=False))
    return value.exponential()


class Sums:
    """Sums of max(0, g_o) over the outputs o, g_o = Pr[o | u] - growth * Pr[o | u'], at most delta.

    Theorem: where g_o >= 0 for o in A, g_o <= 0 for o in B, and C are the other outputs, the sum is
    at every eps that over A and some of C. So it is at most delta if delta - (sum of g_o over A and
    D) >= 0 for every D in C. An interval where C is large is halved.
    """

    def __init__(self, found: ExactDistributions, stated: tuple[Tree, Tree]) -> None:
        self._found, self._signs, self._kind = found, Signs(found.epsilons), cache(self._kind_of)
        self._delta = formula_of(stated[1], self._signs)
        forms, growth = found.forms, growth_of(stated[0], self._signs)
        self._excess = cache(lambda p, q: forms[p] - growth * forms[q])
        self._known: dict[tuple[tuple[int, int], ...], bool] = {}

    def hold(self, first: Input, second: Input) -> bool:
        """Whether the sum for a pair is known to be at most delta."""
        values = self._found.values
        if first not in values or second not in values:
            raise Refuted("an input of a pair has no distribution")
        spend(10 + 2 * len(self._found.outputs))
        pairs = tuple(sorted(zip(values[first], values[second], strict=True)))
        if pairs not in self._known:
            self._known[pairs] = self._hold([self._excess(*pair) for pair in pairs])
        return self._known[pairs]

    def _hold(self, excesses: Sequence[Ratio]) -> bool:
        waiting = [self._signs.epsilons]
        for _ in range(MOST_PARTS):
            if not waiting:
                return True
            on = waiting.pop()
            kinds = [self._kind(each, on) for each in excesses]
            # Positive multiples of one function have the same sign.
            free: dict[Sum, list[Ratio]] = {}
            for kind, excess in zip(kinds, excesses, strict=True):
                if not kind:
                    free.setdefault(excess.numerator.parts()[1], []).append(excess)
            if len(free) > MOST_FREE:
                waiting += on.halves()
                continue
            always = (each.scaled(-1) for k, each in zip(kinds, excesses, strict=True) if k > 0)
            slack = sum(always, self._delta)
            for size in range(len(free) + 1):
                for some in combinations(free.values(), size):
                    less = sum(chain(*some), Ratio.constant(0))
                    if not self._signs.tell((slack - less).numerator, positive=False, on=on):
                        return False
        raise Refused(f"more than {MOST_FREE} excesses of one pair without a known sign")

    def _kind_of(self, excess: Ratio, on: Epsilons) -> int:
        """1 if the excess is >= 0, -1 if it is <= 0, and 0 if neither is known."""
        for kind in (-1, 1):
            if self._signs.tell(excess.numerator.scaled(kind), positive=False, on=on):
                return kind
        return 0


def exceeds(
    found: ExactDistributions,
    pair: Inputs,
    outputs: Sequence[int],
    eps_prv: Fraction | None,
    delta: Fraction,
) -> bool:
    """Whether Pr[S | u] - e^eps_prv Pr[S | u'] > delta, for some outputs by their places."""
    eps = found.epsilons.point
    if eps is None or eps_prv is None:
        raise Refused("a violation on an interval of eps, or at every eps_prv")
    # e ** eps_prv is the value of this function at eps.
    factor, (first, second) = Ratio(Sum.exponential(eps_prv / eps)), (found.values[u] for u in pair)
    excess = total(found.forms[first[k]] - factor * found.forms[second[k]] for k in outputs)
    return Signs(found.epsilons).tell((excess - Ratio.constant(delta)).numerator, positive=True)


def lowest(tree: Tree, on: Epsilons) -> Fraction:
    """Return what a formula is at least on an interval with two ends: nearly that, if it is short.

    Theorem: balls of its parts give one of all its values; where it has none, it is not finite.
    """
    if on.upper is None:
        raise Refused("roots and logarithms on an interval without end")
    with precision(2 * _PLACES):
        ball = _ball_of(tree, between(to_ball(on.lower), to_ball(on.upper)))
        return Fraction(lower_at(ball, _PLACES), 1 << _PLACES)


def _ball_of(tree: Tree, eps: arb) -> arb:
    spend_balls(4)
    match tree:
        case ("eps",):
            return eps
        case "inverse", operand:
            return 1 / _ball_of(operand, eps)
        case ("exp" | "sqrt" | "log") as word, operand:
            value: arb = getattr(_ball_of(operand, eps), word)()
            return value
        case ("+" | "*") as word, *parts:
            one, other = (_ball_of(part, eps) for part in parts)
            return one + other if word == "+" else one * other
    return to_ball(number_of(tree, {}, 0))


def is_nonnegative(tree: Tree, on: Epsilons) -> bool:
    """Whether a formula is known to be >= 0 on an interval, or at one eps."""
    signs = Signs(on)
    try:
        value = formula_of(tree, signs)
    except Refused:
        return lowest(tree, on) >= 0
    return signs.tell(value.numerator, positive=False)


def violated_somewhere(
    proof: Proof, step: Step, found: Violated, *closed: ExactDistributions
) -> Violated:
    """A claim about an interval of eps is violated if it is at one eps of them.

    At that eps the violated numbers are at least eps_prv and delta. On the whole interval these are
    >= 0, and runs have probabilities: weights read no eps, and are what they are at that one, and
    there are no loops; or there are closed forms.

    Step: "eps", "eps_prv", "delta"; premises: the violation; closed forms for all inputs that are
    meant, if they are needed.
    """
    on, eps = read_epsilons(step["eps"]), found.eps
    if not isinstance(eps, Fraction) or not on.holds(eps, eps) or found.eps_prv is None:
        raise Refuted("the violation is at another eps, or at every eps_prv")
    if mentions(proof.machine.body, *CHANCES):
        inputs = {input for each in closed if each.epsilons == on for input in each.values}
        pairs = proof.pairs
        listed_inputs = (u for pair in pairs or () for u in pair)
        meant = all_inputs(proof.machine.domains) if pairs is None else listed_inputs
        if not all(input in inputs for input in meant):
            raise Refuted("no closed forms say that the machine has probabilities")
    formulas = stated(step)
    for formula, value in zip(formulas, (found.eps_prv, found.delta), strict=True):
        if not is_nonnegative(("+", value, ("*", Fraction(-1), formula)), Epsilons(eps, eps)):
            raise Refuted("the violation is of less than what is claimed")
        if not is_nonnegative(formula, on):
            raise Refuted("what is claimed is not known to be >= 0")
    return Violated(on.value, *formulas, found.pair, found.outputs)
