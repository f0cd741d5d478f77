"""Products in closed form: the two distributions of a pair on outputs that are counted together.

Parts whose pairs of inputs have the same pairs of probabilities, whatever the order of their
outputs, are alike. Of n such parts only the number of times that each pair of probabilities occurs
matters: the outputs with equal numbers have equal probabilities under both inputs, and become one
output,

    multinomial * Π p_j^{n_j}   and   multinomial * Π q_j^{n_j}.

Outputs of which the two probabilities have the same rational ratio become one, too. That changes no
delta. Two distributions that are counted so belong to a pair of inputs, not to two
inputs: they are known by *names*, inputs that are no inputs of the program.

What tells a pair apart are outputs, all of them or as many as are needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import comb

from dipapprox.arithmetic.enclosure import Missing, NotEnclosed, enclosing, if_enclosed, sure
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Input
from dipapprox.limits import check_limits
from dipapprox.pairs.divergence import Attempt, ExactPairs, Factor
from dipapprox.pairs.products.layout import Kind
from dipapprox.pairs.products.losses import Losses
from dipapprox.pairs.products.measures import ProductAtoms
from dipapprox.pairs.products.source import MOST_LISTED, ProductProgram
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.details import ExcessSet, LeastFactor, witness_over
from dipapprox.privacy.exact_pairs import ExactDeltas
from dipapprox.privacy.run import Options, Witness, WitnessRow, difference_of
from dipapprox.privacy.verdict import Claim

_MOST_OUTPUTS = 3_000  # most outputs of a pair after counting
_MOST_PRODUCTS = 10 * _MOST_OUTPUTS
"""Most outputs before those with equal ratios are counted together."""

_TOO_MANY = NotEnclosed(f"more than {_MOST_OUTPUTS} outputs remain to be compared exactly")
Term = tuple[ExponentialRatio, ExponentialRatio]  # two probabilities of one output
_Kind = tuple[tuple[Term, int], ...]
"""The terms of a pair of inputs of a part, each with the number of outputs that have it."""

_ONE = ExponentialRatio.constant(1)


class ExactProduct(ExactPairs):
    """Pairs of distributions of a product, by their names; at one eps, or for all with None.

    It decides pairs, if something is claimed.
    """

    def __init__(
        self, product: ProductProgram, eps: Fraction | None, claim: Claim | None = None
    ) -> None:
        self._deltas = None
        if claim is not None:
            self._deltas = ExactDeltas(self, claim.growth, claim.delta)
        self._program = product
        self._eps = eps
        self._sources = [ExactDistributions(each, eps) for each in product.states]
        self._numbers: dict[_Kind, Kind] = {}
        self._kinds: list[_Kind] = []
        self._named: list[tuple[Pair, list[Term] | NotEnclosed]] = []
        self._names: dict[tuple[tuple[Kind, int], ...], Pair] = {}
        self.obstacle: NotEnclosed | None = None

    def kind_of(self, part: int, first: Input, second: Input) -> Kind | None:
        """See `layout.KindOf`; what has no closed form is the `obstacle`."""
        if first == second:
            return None
        try:
            p, q = (sure(self._sources[part].distribution(input)) for input in (first, second))
        except Missing as missing:
            self.obstacle = self.obstacle or missing.why
            return None
        if self._eps is not None:
            p, q = (tuple(each.at(Fraction(1)) for each in own) for own in (p, q))
        if p == q:
            return None
        kind = tuple(sorted(Counter(zip(p, q, strict=True)).items(), key=repr))
        number = self._numbers.setdefault(kind, len(self._kinds))
        if number == len(self._kinds):
            self._kinds.append(kind)
        return number

    def name(self, pair: Pair) -> Pair:
        """Return the names of the two distributions of a pair of inputs, counted together."""
        kinds = Counter(
            kind
            for part, (u, v) in enumerate(self._program.pairs(pair))
            if (kind := self.kind_of(part, u, v)) is not None
        )
        key = tuple(sorted(kinds.items()))
        if key not in self._names:
            number = Fraction(len(self._named))
            self._named.append((pair, self.obstacle or self._terms(key)))
            self._names[key] = (number, Fraction(0)), (number, Fraction(1))
        return self._names[key]

    def pair(self, names: Pair) -> Pair:
        """Return a pair of inputs behind two names."""
        number, _ = names[0]
        assert isinstance(number, Fraction)
        return self._named[int(number)][0]

    def distribution(self, input: Input) -> tuple[ExponentialRatio, ...] | NotEnclosed:
        number, side = input
        assert isinstance(number, Fraction) and isinstance(side, Fraction)
        _, terms = self._named[int(number)]
        return terms if isinstance(terms, NotEnclosed) else tuple(t[int(side)] for t in terms)

    def decide(self, pair: Pair, bits: int) -> Attempt | NotEnclosed:
        assert self._deltas is not None
        try:
            names = self.name(pair)
        except LimitReached as limit:
            check_limits()
            return NotEnclosed(limit.reason)
        if self.obstacle is not None:
            return self.obstacle
        found = self._deltas.decide(names, bits)
        if isinstance(found, NotEnclosed):
            return found
        # The outputs of a proof are numbered as the closed forms are, not as the program's.
        proof = None if found.proof is None else replace(found.proof, outputs=())
        return replace(found, pair=pair, first=(), second=(), proof=proof)

    def _terms(self, kinds: tuple[tuple[Kind, int], ...]) -> list[Term] | NotEnclosed:
        found = [(_ONE, _ONE)]
        for kind, number in kinds:
            size = len(self._kinds[kind])
            if comb(number + size - 1, number) * len(found) > _MOST_PRODUCTS:
                return _TOO_MANY
            powers = _merged(self._power(self._kinds[kind], number))
            found = _merged([_times(one, other) for one in found for other in powers])
            if len(found) > _MOST_OUTPUTS:
                return _TOO_MANY
            check_limits()
        return found

    def _power(self, kind: _Kind, exponent: int) -> list[Term]:
        shared: list[tuple[int, Term]] = [(exponent, (_ONE, _ONE))]
        for place, (term, outputs) in enumerate(kind):
            powers = [(_ONE, _ONE)]
            for _ in range(exponent):
                powers.append(_times(powers[-1], term))
            last = place == len(kind) - 1
            shared = [
                (left - own, _scaled(_times(terms, powers[own]), comb(left, own) * outputs**own))
                for left, terms in shared
                for own in (range(left, left + 1) if last else range(left + 1))
            ]
        return [terms for _, terms in shared]


def _merged(terms: Sequence[Term]) -> list[Term]:
    """Add up the terms whose two probabilities are numbers with the same ratio."""
    found: dict[object, Term] = {}
    for term in terms:
        p, q = (each.as_constant() for each in term)
        # A pair (p, q) of numbers is known by the point of the projective line that it stands for.
        key = term if p is None or q is None else (p / q, _ONE) if q else (bool(p), q)
        other = found.get(key)
        found[key] = term if other is None else (other[0] + term[0], other[1] + term[1])
    return list(found.values())


def _times(one: Term, other: Term) -> Term:
    return one[0] * other[0], one[1] * other[1]


def _scaled(term: Term, factor: int) -> Term:
    own = ExponentialRatio.constant(factor)
    return term[0] * own, term[1] * own


def open_exact_product(
    product: ProductProgram, claim: Claim, options: Options
) -> ExactProduct | None:
    """Open the closed forms of a product; None if the options forbid it or none can exist."""
    samples = (sample for states in product.states for sample in states.samples)
    closed = all(sample.family.is_exponential for sample in samples)
    if not closed or not options.compares_exactly:
        return None
    return ExactProduct(product, claim.eps, claim)


class ProductDetails(Record, eq=False):
    """The details of pairs by their losses; see `PairDetails`."""

    losses: Losses

    @enclosing
    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor:
        loss = sure(self.losses.of(pair, bits))
        lower = _solved(loss.below, delta)
        return LeastFactor(lower, _solved(loss.above, delta), None if lower != 1 else ())

    @if_enclosed
    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet:
        found = sure(self.losses.of(pair, bits)).certain(factor)
        examples = islice(self._exceeding(pair, factor, bits), 1)
        outputs = tuple(row.output for row in examples)
        return ExcessSet(found.first, found.second, outputs, found.outputs, found.outputs > 0)

    def _exceeding(self, pair: Pair, factor: Factor, bits: int) -> Iterator[WitnessRow]:
        """Yield outputs that are certainly more than e^eps_prv times as likely, likely ones
        first."""
        for each in islice(self.losses.source.likeliest(*pair, bits), MOST_LISTED):
            row = WitnessRow(*each)
            if factor.upper is None and row.adjacent_probability.upper:
                continue
            if difference_of([row], factor).lower > 0:
                yield row

    @if_enclosed
    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """See `PairDetails`. The outputs are always all that exceed."""
        delta = sure(self.losses.of(pair, bits)).delta(factor)
        return self.describe(Attempt(pair, bits, delta, factor), None)

    @if_enclosed
    def describe(self, attempt: Attempt, delta: Fraction | None) -> Witness | None:
        """See `PairDetails`; None if nothing is known to tell the pair apart.

        Where there are few outputs, all that exceed are listed. Otherwise likely ones that together
        violate the claim, if a few thousand do; else an example. The delta of the attempt encloses
        that of the set of all outputs of a ratio above e^eps_prv.
        """
        pair, factor, bits = attempt.pair, attempt.factor, attempt.bits
        listed = self._listed(attempt, delta)
        if listed is not None:
            return listed
        number = sure(self.losses.of(pair, bits)).certain(factor).outputs
        rows: list[WitnessRow] = []
        total = Fraction(0)
        for row in self._exceeding(pair, factor, bits):
            rows.append(row)
            if delta is None:
                break
            total += difference_of([row], factor).lower
            if total > delta:
                return Witness.of(pair, rows, factor)
        argument = None
        if attempt.proof is not None and delta is not None and attempt.delta.lower <= delta:
            argument = attempt.proof.argument
        return Witness(*pair, tuple(rows[:1]), attempt.delta, argument, number)

    @if_enclosed
    def _listed(self, attempt: Attempt, delta: Fraction | None) -> Witness | None:
        source = self.losses.source
        first, second = map(sure, source.distributions(attempt.pair, attempt.bits))
        whole = replace(attempt, first=first, second=second, proof=None)
        found = witness_over(source.outputs, whole, delta)
        if found is None or (delta is not None and found.delta_enclosure.lower <= delta):
            return None  # the roundings are not those of the attempt
        return found


def _solved(atoms: ProductAtoms, delta: Fraction) -> Fraction | None:
    """Return the least x >= 1 with sum max(P - x Q, 0) <= delta; None if there is none.

    Newton's method from below on a convex function of finitely many pieces: every step but the
    last enters another piece, so it ends, with the exact solution.
    """
    if atoms.excess(None).first > delta:
        return None
    x = Fraction(1)
    while True:
        excess = atoms.excess(x)
        if excess.at(x) <= delta or not excess.second:
            return x
        x = (excess.first - delta) / excess.second
