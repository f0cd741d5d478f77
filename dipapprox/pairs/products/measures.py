"""Products of pairs of output distributions, as far as the hockey-stick divergence sees them.

A pair of distributions p, q matters to

    delta(x) = sum over outputs o of max(p(o) - x q(o), 0),  x >= 1,

through its *atoms* only: weights (P_j, Q_j) with as many outputs as they stand for. Atoms are
*above* the pair if sum_j max(P_j - x Q_j, 0) >= delta(x) for all x >= 0, *below* it if <= holds.
P_j = ends of p above and Q_j = ends of q below give atoms above, the other ends atoms below. Atoms
of one ratio P : Q may be added up, which changes no sum: max is linear along a ray.

**Products.** Let atoms (P_j, Q_j) be above a pair (p, q), and (R_k, S_k) above (r, s). Then the
products (P_j R_k, Q_j S_k) are above the product of the pairs:

    sum_{o,w} max(p(o) r(w) - x q(o) s(w), 0)
      = sum_{o: p(o) > 0} p(o) sum_w max(r(w) - x q(o)/p(o) s(w), 0)           (r, s at x q(o)/p(o))
     <= sum_{o: p(o) > 0} p(o) sum_k max(R_k - x q(o)/p(o) S_k, 0)
      = sum_{k: R_k > 0} R_k sum_o max(p(o) - x S_k/R_k q(o), 0)               (p, q at x S_k/R_k)
     <= sum_k sum_j max(P_j R_k - x Q_j S_k, 0),

as terms with p(o) = 0 or R_k = 0 are 0. Below, the same with >=. Nothing is assumed of the sums of
the weights. Raising P_j or lowering Q_j keeps atoms above, the contrary keeps them below: so they
are rounded to multiples of 2^-scale, outward. Everything is in integers.

The n-th power of k atoms has an atom for every way to share n among k, with a multinomial number of
outputs each: C(n+k-1, k-1) atoms instead of k^n. And a sum over a product of two lists of atoms
needs no product: for each atom of the one, those of the other that count are the first ones in the
order of P : Q, whose weights are added up beforehand.

**Choices.** One list of atoms above several pairs is what an adversary can do who may choose among
them. The delta of a pair, from above, is a convex function of x >= 0 that consists of lines

    x -> sum of P_j over the first atoms - x * sum of Q_j over them,    atoms in the order of P : Q.

The largest of several such functions is the upper hull of all their lines; it is convex again, and
the differences of its neighbouring lines are its atoms. They are above every pair, so in a product
they stand for any choice. Exact, in integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, product
from math import comb

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.composition.divergences import lower_hull
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.pairs.divergence import Probabilities

_MOST_ATOMS = 2**17  # most atoms of a power, or of one half of a product
_TOO_MANY = f"loss limit: more than {_MOST_ATOMS} different privacy losses"
Atom = tuple[int, int, int]
"""Weights P and Q in units of 2^-scale, and the number of outputs that they stand for."""


class PairAtoms(Record):
    """Atoms above (`above`) or below a pair; those with P = 0 are left out."""

    atoms: tuple[Atom, ...]
    above: bool
    scale: int

    def __mul__(self, other: PairAtoms) -> PairAtoms:
        return replace(
            self, atoms=tuple(self._times(*each) for each in product(self.atoms, other.atoms))
        )

    def _times(self, a: Atom, b: Atom) -> Atom:
        shift = self.scale
        if self.above:
            return -(-a[0] * b[0] >> shift), a[1] * b[1] >> shift, a[2] * b[2]
        return a[0] * b[0] >> shift, -(-a[1] * b[1] >> shift), a[2] * b[2]

    def power(self, exponent: int) -> PairAtoms:
        """Return the atoms of so many independent copies, >= 1; `LimitReached` if too many."""
        if exponent == 1:
            return self
        kinds = len(self.atoms)
        if comb(exponent + kinds - 1, kinds - 1) > _MOST_ATOMS:
            raise LimitReached(_TOO_MANY)
        unit = 1 << self.scale
        # How many copies are left, how often the shares came about, and the weights so far.
        shared: list[tuple[int, int, Atom]] = [(exponent, 1, (unit, unit, 1))]
        for place, atom in enumerate(self.atoms):
            powers = list(accumulate([atom] * exponent, self._times, initial=(unit, unit, 1)))
            last = place == kinds - 1
            shared = [
                (left - own, ways * comb(left, own), self._times(weights, powers[own]))
                for left, ways, weights in shared
                for own in (range(left, left + 1) if last else range(left + 1))
            ]
        found = ((p * ways, q * ways, n * ways) for _, ways, (p, q, n) in shared)
        return _atoms(found, self.above, self.scale)


def atoms_of(first: Probabilities, second: Probabilities, above: bool, scale: int) -> PairAtoms:
    """Return atoms above or below the pair of two enclosed distributions."""
    unit = 1 << scale

    def ends(p: Enclosure, q: Enclosure) -> Atom:
        if above:
            return (p.upper * unit).__ceil__(), (q.lower * unit).__floor__(), 1
        return (p.lower * unit).__floor__(), (q.upper * unit).__ceil__(), 1

    return _atoms((ends(p, q) for p, q in zip(first, second, strict=True)), above, scale)


def one(above: bool, scale: int) -> PairAtoms:
    """Return the atoms of a pair that tells nothing."""
    return PairAtoms(((1 << scale, 1 << scale, 1),), above, scale)


def _atoms(found: Iterable[Atom], above: bool, scale: int) -> PairAtoms:
    """Add up what has one ratio, and put the largest ratios first."""
    rays: dict[Fraction | None, Atom] = {}
    for p, q, number in found:
        if p:
            ray = Fraction(p, q) if q else None
            before = rays.get(ray, (0, 0, 0))
            rays[ray] = before[0] + p, before[1] + q, before[2] + number
    return PairAtoms(_ordered(rays.values()), above, scale)


def _ordered(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Put the largest P : Q first.

    Different ratios P/Q differ by at least 1/(Q Q'), so they keep their order when they are
    multiplied by 4^b > Q Q' and rounded down.
    """
    found = list(atoms)
    shift = 2 * max((q.bit_length() for _, q, _ in found), default=0)
    infinite = max(((p << shift) for p, _, _ in found), default=0) + 1

    def ratio(atom: Atom) -> int:
        return (atom[0] << shift) // atom[1] if atom[1] else infinite

    return tuple(sorted(found, key=ratio, reverse=True))


class Excess(Record):
    """The atoms of a product with P > x Q: the sums of P and of Q, exact, and how many outputs."""

    first: Fraction
    second: Fraction
    outputs: int

    def at(self, factor: Fraction) -> Fraction:
        return self.first - factor * self.second


class ProductAtoms:
    """A product of atoms, for sums at many x.

    Args:
        factors: All above or all below, of one scale; at least one.

    Raises:
        LimitReached: If there are too many.
    """

    def __init__(self, factors: Sequence[PairAtoms]) -> None:
        self._above, self._scale = factors[0].above, factors[0].scale
        halves = [one(self._above, self._scale)] * 2
        for factor in sorted(factors, key=lambda each: len(each.atoms), reverse=True):
            halves.sort(key=lambda half: len(half.atoms))
            if len(halves[0].atoms) * len(factor.atoms) > _MOST_ATOMS:
                raise LimitReached(_TOO_MANY)
            halves[0] = halves[0] * factor
        self._outer, self._inner = (_ordered(half.atoms) for half in halves)
        columns = zip(*self._inner, strict=True) if self._inner else ((), (), ())
        self._sums = [list(accumulate(column, initial=0)) for column in columns]

    def excess(self, factor: Fraction | None) -> Excess:
        """Sum over the atoms with P > factor * Q; None stands for infinity."""
        above, below = (1, 0) if factor is None else (factor.denominator, factor.numerator)
        first = second = outputs = 0
        count = 0
        for p, q, number in reversed(self._outer):
            # The larger P : Q of the outer atom, the more of the inner atoms count.
            while count < len(self._inner):
                own, other, _ = self._inner[count]
                excess = p * own * above - q * other * below
                if excess <= 0 or (factor is None and q * other):
                    break
                count += 1
            if count:
                first += p * self._sums[0][count]
                second += q * self._sums[1][count]
                outputs += number * self._sums[2][count]
        unit = 1 << 2 * self._scale
        return Excess(Fraction(first, unit), Fraction(second, unit), outputs)


def envelope(choices: Iterable[PairAtoms]) -> PairAtoms:
    """Return atoms above all pairs of some choices, all of one scale; they count no outputs."""
    lines = {(0, 0)}  # Q and -P
    scale = 0
    for choice in choices:
        scale, ordered = choice.scale, _ordered(choice.atoms)
        first = accumulate(-p for p, _, _ in ordered)
        second = accumulate(q for _, q, _ in ordered)
        lines.update(zip(second, first, strict=True))
    hull = pairwise([(0, 0), *lower_hull(lines)])
    return PairAtoms(tuple((b - d, c - a, 0) for (a, b), (c, d) in hull if d < b), True, scale)
