"""Rules of closed forms: probabilities as functions of eps, at one eps or on an interval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations

from dipapprox.kernel.adjacency import Input, all_inputs
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.judgements import (
    ExactDistributions,
    Judgement,
    Private,
    Violated,
    ViolatedSomewhere,
)
from dipapprox.kernel.machine import Tree, read_weight
from dipapprox.kernel.nodes import Node
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    ascending,
    claimed,
    growth_bound,
    listed,
    outcomes,
    pairs_of,
    rows_of,
)
from dipapprox.kernel.reading import as_list
from dipapprox.kernel.signs import (
    Epsilons,
    Sign,
    Signs,
    product_is_signed,
    read_epsilons,
    read_factor,
)
from dipapprox.kernel.weights import formula_of

MOST_FREE = 10
"""Outputs of one pair whose excesses have no known sign on one part of an interval."""

PLACES = 256
"""Of the lower bound of e ** eps_prv where that is no function of the kind."""


def sign(proof: Proof, premises: Sequence[Judgement], step: Step) -> Sign:
    """A product of functions of eps is >= 0 if those with odd exponents are (`signs`).

    An interval is cut into pieces. Each says how the sign of a factor is known there: after some
    slopes, which rise from its lower end or fall to its upper one, all coefficients are > 0, or
    Taylor's formula around the middle, in balls, leaves out 0.

    Step: "eps", "factors".
    """
    if premises:
        raise BadProof("a sign has no premises")
    factors = [read_factor(each) for each in as_list(step["factors"], "factors")]
    return product_is_signed(read_epsilons(step["eps"]), factors)


def exact_distributions(
    proof: Proof, premises: Sequence[Judgement], step: Step
) -> ExactDistributions:
    """The machine is run for some inputs, all probabilities in closed form (`exact`).

    At all eps that are meant, weights of choices are >= 0 and add up to 1, nothing is divided by 0,
    and loops go on with probabilities below 1: by exact signs at one eps, by premises on intervals.

    Step: "eps", "inputs", "cuts"; premises: signs.
    """
    return closed_forms(proof, Signs(read_epsilons(step["eps"]), _signs(premises)), step)


def closed_forms(proof: Proof, signs: Signs, step: Step) -> ExactDistributions:
    """Return the probabilities of all outputs as functions of eps."""
    if not signs.epsilons.upper and signs.epsilons.point is not None:
        raise BadProof("eps is 0")
    graph, found, outputs = outcomes(proof, signs, step)
    wanted = {scalar for own in found.values() for scalars in own.values() for scalar in scalars}
    values = exact_values(graph, wanted, signs)
    nothing, point = Ratio.constant(Fraction(0)), signs.epsilons.point

    def total(scalars: Sequence[Node]) -> Ratio:
        found = sum((values[scalar] for scalar in scalars), nothing)
        return found if point is None else found.at(point)

    return ExactDistributions(signs.epsilons, outputs, dict(rows_of(found, outputs, total)))


def every_pair_exactly(proof: Proof, premises: Sequence[Judgement], step: Step) -> Private:
    """The same sum as in "every pair", all signs in closed form: delta may be attained.

    Step: "eps_prv", "delta"; one premise: closed forms for all inputs of the pairs, at one eps.
    """
    found, signs = _forms(premises)
    eps_prv, delta = claimed(step)
    eps = found.epsilons.point
    if eps is None:
        raise BadProof("closed forms at one eps are wanted")
    growth = Ratio(Sum.exponential(eps_prv / eps))
    count = bounded_excesses(proof, found, signs, (growth, Ratio.constant(delta)), ())
    return Private(eps, eps_prv, delta, listed(proof), count)


def every_pair_throughout(proof: Proof, premises: Sequence[Judgement], step: Step) -> Private:
    """delta_{u,u'} = sum over outputs of max(0, g_o) <= delta at all eps of an interval.

    Theorem: let g_o = Pr[o | u] - e^eps_prv Pr[o | u'], and let the interval be cut. On a part
    where g_o >= 0 for o in A, g_o <= 0 for o in B, and C are the other outputs, the sum is at every
    eps that over A and some of C. So it is at most delta if delta - (sum of g_o over A and D) >= 0
    on the part for every D in C.

    Step: "eps_prv", "delta": formulas in eps, the first a multiple of eps, or a constant; "cuts";
    premises: closed forms for all inputs of the pairs, then signs.
    """
    found, signs = _forms(premises)
    eps_prv, delta = read_weight(step["eps_prv"]), read_weight(step["delta"])
    claim = growth_of(eps_prv, signs), formula_of(delta, signs)
    count = bounded_excesses(proof, found, signs, claim, ascending(step["cuts"]))
    return Private(found.epsilons, eps_prv, delta, listed(proof), count)


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
            above, shift = growth_bound(Fraction(constant), PLACES, above=False)
            return Ratio.constant(Fraction(above, 1 << shift))
        case _:
            raise Refused("eps_prv is no multiple of eps, and no constant")


def bounded_excesses(
    proof: Proof,
    found: ExactDistributions,
    signs: Signs,
    claim: tuple[Ratio, Ratio],
    cuts: Sequence[Fraction],
) -> int:
    """Make sure that no pair exceeds a claim (e ** eps_prv, or less, and delta); count the pairs.

    As `every_pair_throughout` says; cuts are those of the interval.
    """
    if proof.machine.reals:
        raise BadProof("intervals of real outputs do not bound delta")
    bounds, count = _Bounds(signs, *claim, cuts), 0
    # Formulas are long: each is looked up once.
    values = {input: [bounds.named(each) for each in row] for input, row in found.values.items()}
    known: set[tuple[int, ...]] = set()
    for first, second in pairs_of(proof, 10 + 2 * len(found.outputs), values):
        count += 1
        excesses = bounds.numbers(zip(values[first], values[second], strict=True))
        if excesses not in known:
            known.add(excesses)
            if not bounds.hold(excesses):
                raise Refuted(f"delta is not known to bound {first}, {second}")
    return count


class _Bounds:
    """Sums of excesses g = p - growth * q, each distinct one with a number."""

    def __init__(self, signs: Signs, growth: Ratio, delta: Ratio, cuts: Sequence[Fraction]) -> None:
        self._signs = signs
        self._growth = growth.scaled(Fraction(-1))
        self._delta = delta
        on = signs.epsilons
        starts, ends = (on.lower, *cuts), (*cuts, on.upper)
        self._parts = [Epsilons(a, b) for a, b in zip(starts, ends, strict=True)]
        if cuts and not all(b is None or a < b for a, b in zip(starts, ends, strict=True)):
            raise BadProof("cuts are not inside of the interval")
        self._names: dict[Ratio, int] = {}
        self._values: list[Ratio] = []
        self._numbers: dict[tuple[int, int], int] = {}
        self._excesses: list[Ratio] = []
        self._kinds: list[list[int]] = []
        self._bounded: set[tuple[tuple[int, ...], Epsilons]] = set()

    def named(self, value: Ratio) -> int:
        """Return the number of a formula."""
        spend(5 * len(value.numerator.terms))
        if (name := self._names.setdefault(value, len(self._values))) == len(self._values):
            self._values.append(value)
        return name

    def numbers(self, pairs: Iterable[tuple[int, int]]) -> tuple[int, ...]:
        """Return the numbers of excesses, ascending."""
        found = []
        for pair in pairs:
            number = self._numbers.setdefault(pair, len(self._excesses))
            if number == len(self._excesses):
                excess = self._values[pair[0]] + self._growth * self._values[pair[1]]
                self._excesses.append(excess)
                self._kinds.append(self._kinds_of(excess))
            found.append(number)
        return tuple(sorted(found))

    def _kinds_of(self, excess: Ratio) -> list[int]:
        """For every part 1 if the excess is >= 0, -1 if it is <= 0, and 0 if neither is known."""
        whole = self._kind(excess, self._signs.epsilons)
        if whole:
            return [whole] * len(self._parts)
        return [self._kind(excess, part) for part in self._parts]

    def _kind(self, excess: Ratio, on: Epsilons) -> int:
        for kind in (-1, 1):
            if self._signs.tell(excess.numerator.scaled(Fraction(kind)), positive=False, on=on):
                return kind
        return 0

    def hold(self, excesses: Sequence[int]) -> bool:
        """Whether sums of these are known to be at most delta."""
        for place, part in enumerate(self._parts):
            kinds = [(number, self._kinds[number][place]) for number in excesses]
            always = [number for number, kind in kinds if kind > 0]
            # Positive multiples of one function have the same sign.
            free: dict[Sum, list[int]] = {}
            for number, kind in kinds:
                if not kind:
                    function = self._excesses[number].numerator.parts()[1]
                    free.setdefault(function, []).append(number)
            if len(free) > MOST_FREE:
                raise Refused(f"more than {MOST_FREE} excesses of one pair without a known sign")
            for size in range(len(free) + 1):
                for some in combinations(free.values(), size):
                    if not self._is_bounded(tuple(sorted(chain(always, *some))), part):
                        return False
        return True

    def _is_bounded(self, chosen: tuple[int, ...], part: Epsilons) -> bool:
        if (chosen, part) not in self._bounded:
            spend(10 * len(chosen))
            slack = self._delta
            for number in chosen:
                slack = slack + self._excesses[number].scaled(Fraction(-1))
            if not any(
                self._signs.tell(slack.numerator, positive=False, on=on)
                for on in (self._signs.epsilons, part)
            ):
                return False
            self._bounded.add((chosen, part))
        return True


def violated_somewhere(
    proof: Proof, premises: Sequence[Judgement], step: Step
) -> ViolatedSomewhere:
    """A claim about an interval of eps is violated if it is at one eps of them.

    At that eps the violated numbers are at least eps_prv and delta. On the whole interval these are
    >= 0, and runs have probabilities: there are no choices and loops, or there are closed forms.

    Step: "eps", "eps_prv", "delta"; premises: the violation, closed forms for all inputs that are
    meant if they are needed, signs.
    """
    on = read_epsilons(step["eps"])
    match premises:
        case [Violated(eps, eps_prv, delta) as found, ExactDistributions() as meaning, *rest]:
            known: Collection[Input] = meaning.values if meaning.epsilons == on else ()
        case [Violated(eps, eps_prv, delta) as found, *rest]:
            known = ()
        case _:
            raise BadProof("a violation is wanted first")
    if not on.holds(eps, eps):
        raise Refuted("the violation is at another eps")
    if needs_meaning(proof.machine.body):
        pairs = proof.pairs
        meant = (
            all_inputs(proof.machine.domains)
            if pairs is None
            else (u for pair in pairs for u in pair)
        )
        if not all(input in known for input in meant):
            raise Refuted("no closed forms say that the machine has probabilities")
    here, everywhere = Signs.at(eps), Signs(on, _signs(rest))
    formulas = read_weight(step["eps_prv"]), read_weight(step["delta"])
    for formula, value in zip(formulas, (eps_prv, delta), strict=True):
        slack = formula_of(formula, here).scaled(Fraction(-1)) + Ratio.constant(value)
        if not here.tell(slack.numerator, positive=False):
            raise Refuted("the violation is of less than what is claimed")
        if not everywhere.tell(formula_of(formula, everywhere).numerator, positive=False):
            raise Refuted("what is claimed is not known to be >= 0")
    return ViolatedSomewhere(on, *formulas, found)


def needs_meaning(tree: Tree) -> bool:
    """Whether there are choices or loops, which may be none for some eps."""
    parts = tree if isinstance(tree, tuple) else ()
    return any(part in ("choose", "while") or needs_meaning(part) for part in parts)


def _signs(premises: Sequence[Judgement]) -> list[Sign]:
    found = [each for each in premises if isinstance(each, Sign)]
    if len(found) < len(premises):
        raise BadProof("premises are signs")
    return found


def _forms(premises: Sequence[Judgement]) -> tuple[ExactDistributions, Signs]:
    match premises:
        case [ExactDistributions() as found, *rest]:
            return found, Signs(found.epsilons, _signs(rest))
        case _:
            raise BadProof("one premise is wanted first: distributions in closed form")
