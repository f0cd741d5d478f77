"""Programs in compositions: the pairs of all their adjacent inputs, derived by the check itself.

What is recorded of a program is a pair (P, Q) that is to dominate all of them, and two inputs that
have one of them. With D(τ) the largest Σ max(0, p - τ q) of all ordered pairs of adjacent inputs,
(P, Q) dominates if H >= D. H is linear between the ratios of its outcomes, and D is convex: it is
enough to look at these ratios, as both are 1 at 0, and beyond the last one H is constant and D does
not increase. This is looked at up to a unit, and of the samples, where samples are taken.

Adjacency is asked to be symmetric: then D is that of either order. Outcomes of one ratio, as far as
balls tell, are merged, which is post-processing. Of real outputs D is enclosed at the ratios, on no
samples and with no unit (`published`): what dominates them does so on samples, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import arb

from dipapprox.certificates.compositions import ProgramRun
from dipapprox.certificates.digest import text_hash
from dipapprox.certificates.widened import widening_of
from dipapprox.checking import pairs
from dipapprox.checking.compositions.pairs import FinitePair, Pair, sampled
from dipapprox.checking.compositions.published import PublishedPairs
from dipapprox.checking.distributions import Bounds, DistributionBounds, Distributions
from dipapprox.checking.inputs import inputs_to_derive, pair_text, values_of
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.programs import read_program
from dipapprox.checking.values import Stuck
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.numerics.precision import to_ball

Masses = list[tuple[arb, arb]]

_NOTHING = (0, 0)
_ALIKE = arb(2) ** -40
_GREATER = "two adjacent inputs have a greater profile"


class ProgramPairs:
    """What the check knows of one program; to be used at one working precision.

    Args:
        run: Of the file.
        where: Its place there.
        bits: How accurate probabilities shall be, much more than a unit.
        partial: Where differences are noted.
        limits: Asked throughout.

    Raises:
        Stuck, NoBounds: If the check cannot follow the program.
        LimitReached: If the limits run out.
    """

    def __init__(
        self, run: ProgramRun, where: str, bits: int, partial: PartialResult, limits: Limits
    ) -> None:
        self._where = where
        self._partial = partial
        self._limits = limits
        self._all: list[Masses] = []
        self._above = [(to_ball(mass.p), to_ball(mass.q)) for mass in run.dominating]
        self._below: Pair = FinitePair(self._above)
        if text_hash(run.program.text) != run.program.sha256:
            partial.differ(f"{where}.program.sha256", "it is not the hash of the program's text")
            return
        widening = widening_of(run.widened)
        program = read_program(run.program, run.params, widening, partial, f"{where}.")
        try:
            if program is not None:
                self._derive(run, program, bits)
        except UserError as error:  # an input that is none, or infinitely many of them
            partial.differ(where, error.message)

    def above(self, rate: arb, unit: arb, *, added: bool) -> FinitePair:
        """Return the recorded pair that dominates, for one direction, after a comparison."""
        found = sampled(FinitePair(self._above), rate, added=added)
        assert isinstance(found, FinitePair)
        every = [sampled(FinitePair(each), rate, added=added) for each in self._all]
        for p, q in found.masses:
            self._limits.check()
            if p.is_zero() or q.is_zero():
                continue
            ratio = p / q
            own = found.most(ratio)
            for each in every:
                true = each.most(ratio)
                if own.lower() + unit >= true.upper():
                    continue
                if own.upper() + unit < true.lower():
                    self._partial.differ(f"{self._where}.dominating", _GREATER)
                else:
                    self._not_told()
                break
        found.tight = False
        return found

    def below(self, rate: arb, *, added: bool) -> Pair:
        """Return the pair of the two inputs that are named, for one direction."""
        return sampled(self._below, rate, added=added)

    def _derive(self, run: ProgramRun, program: Program, bits: int) -> None:
        inputs = inputs_to_derive(program, None)
        adjacent = {
            (inputs[first], inputs[int(second)])
            for first, mask in pairs.adjacent_indices(program, inputs)
            for second in mask.nonzero()[0]
        }
        if any((second, first) not in adjacent for first, second in adjacent):
            raise Stuck("inputs that are adjacent in one order only")
        one, other = (values_of(each, program.inputs) for each in run.attained)
        chosen = one, other
        if chosen not in adjacent:
            self._partial.differ(f"{self._where}.attained", f"{pair_text(chosen)} is not adjacent")
            return
        derived = Distributions(program, run.eps, self._limits)
        if program.real_outputs:
            self._derive_published(run, PublishedPairs(derived, adjacent, self._limits), chosen)
            return
        bounds = derived.at(bits)
        known = {}
        for input in inputs:
            known[input] = bounds.for_input(input)
        distinct: dict[tuple[tuple[Bounds, Bounds], ...], None] = {}
        for first, second in sorted(adjacent):
            distinct[_together(known[first], known[second])] = None
        self._all = [list(_balls(each, bounds)) for each in distinct]
        together = _together(known[chosen[0]], known[chosen[1]])
        self._below = FinitePair(_merged(list(_balls(together, bounds))))

    def _derive_published(
        self, run: ProgramRun, published: PublishedPairs, chosen: pairs.Pair
    ) -> None:
        told = published.dominated(run.dominating)
        if told is False:
            self._partial.differ(f"{self._where}.dominating", _GREATER)
        elif told is None:
            self._not_told()
        self._below = published.pair(chosen)

    def _not_told(self) -> None:
        reason = f"{self._where}.dominating: not told to dominate"
        self._partial.reason = self._partial.reason or reason


def _together(
    first: pairs.Distribution, second: pairs.Distribution
) -> tuple[tuple[Bounds, Bounds], ...]:
    """Bounds of both probabilities of every output, in an order of their own."""
    outputs = dict.fromkeys((*first, *second))
    return tuple(sorted((first.get(o, _NOTHING), second.get(o, _NOTHING)) for o in outputs))


def _balls(
    together: Sequence[tuple[Bounds, Bounds]], bounds: DistributionBounds
) -> Iterator[tuple[arb, arb]]:
    def ball(low: int, high: int) -> arb:
        ends = [to_ball(Fraction(end, 1 << bounds.unit)) for end in (low, high)]
        return ends[0].union(ends[1]) if high else arb(0)

    for p, q in together:
        yield ball(*p), ball(*q)


def _merged(masses: Masses) -> Masses:
    """Merge outcomes of nearly one ratio."""
    known = [(p, q) for p, q in masses if p > 0 and q > 0]
    rest = [(p, q) for p, q in masses if not (p > 0 and q > 0)]
    known.sort(key=lambda each: (each[0] / each[1]).mid())
    found: Masses = []
    for p, q in known:
        if found and abs(found[-1][0] * q / (found[-1][1] * p) - 1) < _ALIKE:
            p, q = found[-1][0] + p, found[-1][1] + q
            found.pop()
        found.append((p, q))
    return [*found, *rest]
