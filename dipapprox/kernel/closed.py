"""Rules of finite verdicts in closed form: at one eps, or on an interval."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations

from dipapprox.kernel.adjacency import Input, all_inputs
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio, Sum, total
from dipapprox.kernel.expressions import formula_of
from dipapprox.kernel.forward import outcomes
from dipapprox.kernel.judgements import ExactDistributions, Private, Violated
from dipapprox.kernel.machine import Tree, read_weight
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    claimed,
    growth_bound,
    kept,
    violating_set,
)
from dipapprox.kernel.reading import as_list, ascending
from dipapprox.kernel.signs import (
    Epsilons,
    Sign,
    Signs,
    product_is_signed,
    read_epsilons,
    read_factor,
)

MOST_FREE = 10
"""Outputs of one pair whose excesses have no known sign on one part of an interval."""

PLACES = 256
"""Of the lower bound of e ** eps_prv where that is no function of the kind."""


def sign(about: object, step: Step) -> Sign:
    """A product of functions of eps is >= 0 if those with odd exponents are (`signs`).

    An interval is cut into pieces. On each a factor rises from the lower end on, until all
    coefficients are > 0, or Taylor's formula around the middle, in balls, leaves out 0.

    Step: "eps", "factors".
    """
    factors = [read_factor(each) for each in as_list(step["factors"], "factors")]
    return product_is_signed(read_epsilons(step["eps"]), factors)


def exact_distributions(proof: Proof, step: Step, *signs: Sign) -> ExactDistributions:
    """The machine is run for some inputs, all probabilities in closed form (`exact`).

    At all eps that are meant, weights of choices are >= 0 and add up to 1, nothing is divided by 0,
    and loops go on with probabilities below 1: by exact signs at one eps, by premises on intervals.

    Step: "eps", "inputs", "cuts"; premises: signs.
    """
    return closed_forms(proof, Signs(read_epsilons(step["eps"]), signs), step)


def closed_forms(proof: Proof, signs: Signs, step: Step) -> ExactDistributions:
    """Return the probabilities of all outputs as functions of eps."""
    graph, outputs, sums, rows = outcomes(proof.machine, signs, step["inputs"], step["cuts"])
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
        case (), ():
            return Ratio.constant(Fraction(1))
        case ((((0, 1), factor),), ()) if factor > 0:
            return Ratio(Sum.exponential(factor))
        case ((((0, 0), constant),), ()) if constant > 0:
            if point is not None:
                return Ratio(Sum.exponential(constant / point))
            return Ratio.constant(growth_bound(Fraction(constant), PLACES, above=False))
        case _:
            raise Refused("eps_prv is no multiple of eps, and no constant")


class Sums:
    """Sums of max(0, g_o) over the outputs o, g_o = Pr[o | u] - growth * Pr[o | u'], at most delta.

    Theorem: let the interval be cut. On a part where g_o >= 0 for o in A, g_o <= 0 for o in B, and
    C are the other outputs, the sum is at every eps that over A and some of C. So it is at most
    delta if delta - (sum of g_o over A and D) >= 0 on the part for every D in C.

    Args:
        found: The probabilities.
        signs: What is known of signs.
        claim: e ** eps_prv, or less, and delta.
        cuts: Of the interval, ascending.
    """

    def __init__(
        self,
        found: ExactDistributions,
        signs: Signs,
        claim: tuple[Ratio, Ratio],
        cuts: Sequence[Fraction],
    ) -> None:
        on, self._found, self._signs = signs.epsilons, found, signs
        self._growth, self._delta = claim
        if cuts and not (on.lower < cuts[0] and (on.upper is None or cuts[-1] < on.upper)):
            raise BadProof("cuts are not inside of the interval")
        starts, ends = (on.lower, *cuts), (*cuts, on.upper)
        self._parts = list(map(Epsilons, starts, ends))
        self._excesses: dict[tuple[int, int], Ratio] = {}
        self._kinds: dict[tuple[int, int], list[int]] = {}
        self._known: dict[tuple[tuple[int, int], ...], bool] = {}

    def hold(self, first: Input, second: Input) -> bool:
        """Whether the sum for a pair is known to be at most delta."""
        values = self._found.values
        if first not in values or second not in values:
            raise Refuted("an input of a pair has no distribution")
        spend(10 + 2 * len(self._found.outputs))
        pairs = tuple(sorted(zip(values[first], values[second], strict=True)))
        if pairs not in self._known:
            for pair in pairs:
                if pair not in self._excesses:
                    p, q = (self._found.forms[k] for k in pair)
                    excess = self._excesses[pair] = p - self._growth * q
                    self._kinds[pair] = [self._kind(excess, part) for part in self._parts]
            parts = enumerate(self._parts)
            self._known[pairs] = all(self._hold_on(part, pairs, k) for k, part in parts)
        return self._known[pairs]

    def _kind(self, excess: Ratio, on: Epsilons) -> int:
        """1 if the excess is >= 0, -1 if it is <= 0, and 0 if neither is known."""
        for kind in (-1, 1):
            if self._signs.tell(excess.numerator.scaled(kind), positive=False, on=on):
                return kind
        return 0

    def _hold_on(self, on: Epsilons, pairs: Sequence[tuple[int, int]], place: int) -> bool:
        always = [self._excesses[pair] for pair in pairs if self._kinds[pair][place] > 0]
        # Positive multiples of one function have the same sign.
        free: dict[Sum, list[Ratio]] = {}
        for pair in pairs:
            if not self._kinds[pair][place]:
                excess = self._excesses[pair]
                free.setdefault(excess.numerator.parts()[1], []).append(excess)
        if len(free) > MOST_FREE:
            raise Refused(f"more than {MOST_FREE} excesses of one pair without a known sign")
        slack = sum((each.scaled(-1) for each in always), self._delta)
        for size in range(len(free) + 1):
            for some in combinations(free.values(), size):
                less = sum(chain(*some), Ratio.constant(0))
                if not self._signs.tell((slack - less).numerator, positive=False, on=on):
                    return False
        return True


def every_pair(proof: Proof, step: Step, found: ExactDistributions, *known: Sign) -> Private:
    """delta_{u,u'} = sum over outputs of max(0, Pr[o | u] - e^eps_prv Pr[o | u']) <= delta.

    Theorem (DiPApprox, Lemma 2): the sum is the largest Pr[S | u] - e^eps_prv Pr[S | u'] over all
    sets S of outputs. Signs tell (`Sums`): delta may be attained, and all eps of an interval are
    meant.

    Step: "eps_prv", "delta"; throughout an interval "cuts", and they are formulas in eps, the first
    a multiple of eps, or a constant. Premises: distributions for all inputs of the pairs, in closed
    form; then signs.
    """
    throughout = "cuts" in step
    signs, cuts = Signs(found.epsilons, known), ascending(step.get("cuts", []))
    stated: tuple[Tree, Tree] = (
        (read_weight(step["eps_prv"]), read_weight(step["delta"])) if throughout else claimed(step)
    )
    eps = found.epsilons if throughout else found.epsilons.point
    if eps is None:
        raise BadProof("closed forms at one eps are wanted")
    claim = growth_of(stated[0], signs), formula_of(stated[1], signs)
    return kept(proof, eps, stated, Sums(found, signs, claim, cuts).hold)


def violation(proof: Proof, step: Step, found: ExactDistributions) -> Violated:
    """A set S of outputs with Pr[S | u] - e^eps_prv Pr[S | u'] > delta, for a pair that is meant.

    Step: "eps_prv", "delta", "input", "adjacent", "outputs";
    one premise: distributions for both inputs, in closed form.
    """
    (eps_prv, delta), eps = claimed(step), found.epsilons.point
    if eps is None:
        raise Refused("a violation on an interval of eps")
    outputs, (first, second), numbers = violating_set(proof, step, found.outputs, found.values)
    # e ** eps_prv is the value of this function at eps.
    factor, forms = Ratio(Sum.exponential(eps_prv / eps)), found.forms
    rows = [(found.values[first][k], found.values[second][k]) for k in numbers]
    excess = sum((forms[p] - factor * forms[q] for p, q in rows), Ratio.constant(-delta))
    if not Signs(found.epsilons).tell(excess.numerator, positive=True):
        raise Refuted("Pr[S | u] - e^eps_prv Pr[S | u'] is not above delta")
    return Violated(eps, eps_prv, delta, (first, second), outputs)


def violated_somewhere(
    proof: Proof, step: Step, found: Violated, *known: ExactDistributions | Sign
) -> Violated:
    """A claim about an interval of eps is violated if it is at one eps of them.

    At that eps the violated numbers are at least eps_prv and delta. On the whole interval these are
    >= 0, and runs have probabilities: there are no choices and loops, or there are closed forms.

    Step: "eps", "eps_prv", "delta"; premises: the violation, closed forms for all inputs that are
    meant if they are needed, signs.
    """
    on, eps = read_epsilons(step["eps"]), found.eps
    if not isinstance(eps, Fraction) or not on.holds(eps, eps):
        raise Refuted("the violation is at another eps")
    closed = [each for each in known if isinstance(each, ExactDistributions)]
    if needs_meaning(proof.machine.body):
        inputs = {input for each in closed if each.epsilons == on for input in each.values}
        pairs = proof.pairs
        listed_inputs = (u for pair in pairs or () for u in pair)
        meant = all_inputs(proof.machine.domains) if pairs is None else listed_inputs
        if not all(input in inputs for input in meant):
            raise Refuted("no closed forms say that the machine has probabilities")
    signs = [each for each in known if isinstance(each, Sign)]
    here, everywhere = Signs.at(eps), Signs(on, signs)
    formulas = read_weight(step["eps_prv"]), read_weight(step["delta"])
    for formula, value in zip(formulas, (found.eps_prv, found.delta), strict=True):
        slack = Ratio.constant(value) - formula_of(formula, here)
        if not here.tell(slack.numerator, positive=False):
            raise Refuted("the violation is of less than what is claimed")
        if not everywhere.tell(formula_of(formula, everywhere).numerator, positive=False):
            raise Refuted("what is claimed is not known to be >= 0")
    return Violated(on, *formulas, found.pair, found.outputs)


def needs_meaning(tree: Tree) -> bool:
    """Whether there are choices or loops, which may be none for some eps."""
    parts = tree if isinstance(tree, tuple) else ()
    return any(part in ("choose", "while") or needs_meaning(part) for part in parts)
