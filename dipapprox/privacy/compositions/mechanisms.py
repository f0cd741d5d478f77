"""From a pipeline to mechanisms: the pairs of its programs, as accurate and as fine as is asked.

A program that publishes noise and nothing else has one pair in closed form that two adjacent inputs
have and that dominates any two; any other lies between two pairs (`real_programs`). On no
condition, independently, each adjacent pair publishes numbers with

    Gaussian noise only     of one variance each: N(m, 1) against N(0, 1), m² = Σ m_k² in deviations
    Laplace noise           of one scale, the two means t scales apart, in one number

and nothing else that differs. The profiles grow with m and with t: N(m', 1) against N(0, 1) is what
N(m, 1) against N(0, 1) becomes if it is scaled and more noise is added, m' < m; and for Laplace
noise H(α) = 1 - sqrt(α) e^(-t/2) where e^-t <= α <= e^t. So the greatest one dominates, in
compositions too; being symmetric, it does so either way round.

Source: Dong, Roth, Su, Gaussian differential privacy, 2022.

From a program that publishes real numbers, at one eps, to its worst pairs, ever finer.

Of an ordered pair (P, Q) of adjacent inputs the profile H(x) is enclosed, l <= H(x) <= u, at the
places e^(j h), j >= 0; below 1 by way of the reversed pair, which is adjacent, too. H is convex. So
the chords of the u are above it, to be run from above; and what `inner_hull` makes of all numbers
is below it, and a profile of what is left of (P, Q) after some post-processing (`real_programs`).

Pairs that look alike are looked at once. A pair is left out if another one's u are at least its
own, at all places: then its H is below the chords of that one. As long as its own chords of larger
steps show that, it is not looked at again. All others are what whoever runs the program may choose
from, in each run another one (`composition.adaptive`).

Numbers are whole, in units of 2^-160.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, islice
from math import exp
from typing import TypeVar

from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.composition.accountant import Composition
from dipapprox.composition.divergences import lower_hull
from dipapprox.composition.mechanisms import (
    Adjacency,
    Between,
    Gaussian,
    Laplace,
    Masses,
    Mechanism,
    Subsampled,
)
from dipapprox.composition.products import RepeatedRun
from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached, UserError
from dipapprox.laws.families import GAUSSIAN, LAPLACE
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.selections import AllPairs, Pair
from dipapprox.privacy.compositions.pipeline import Pipeline, PipelineRun, ProgramAt
from dipapprox.privacy.compositions.programs import (
    atoms_of_chain,
    bounds_of_program,
    ends_of,
    hull,
    require_symmetric,
    reversed_pair,
)
from dipapprox.privacy.compositions.real_programs import (
    Known,
    bounds_of_real_program,
    inner_hull_of,
)
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import Setting
from dipapprox.privacy.sources import open_published
from dipapprox.privacy.subjects import executed_for, open_subject
from dipapprox.semantics.execution import execute

_REAL_ACCURACY = Fraction(1, 2**34)  # of deltas of programs with real outputs, at least
_MOST_PAIRS = 2_000


class Mechanisms:
    """What is run, each program looked at once for all questions of about one accuracy."""

    def __init__(self, pipeline: Pipeline, options: Options) -> None:
        self._pipeline = pipeline
        self._options = options
        self._known: dict[tuple[ProgramAt, int], tuple[Fraction, Mechanism | RefinedPairs]] = {}

    def composition(self, accuracy: Fraction) -> Composition:
        """Return the runs as mechanisms.

        Args:
            accuracy: Wanted of the deltas of all runs together.

        Raises:
            UserError: If a program has no two adjacent inputs, or in one order only.
        """
        share = accuracy / (64 * self._pipeline.times)
        return Composition(
            tuple(
                RepeatedRun(self._mechanism(run, share), run.times) for run in self._pipeline.runs
            )
        )

    def refined(self) -> bool:
        """Look at the pairs of programs at more places; False if that is not possible."""
        finer = False
        for _, known in self._known.values():
            if isinstance(known, RefinedPairs):
                finer = known.refine() or finer
        return finer

    def _mechanism(self, run: PipelineRun, accuracy: Fraction) -> Mechanism:
        inner = run.what
        if isinstance(inner, ProgramAt):
            known = self._known.get((inner, run.times))
            if known is None or known[0] > accuracy:
                if inner.program.real_outputs:  # what is found then serves for a long time
                    accuracy = min(accuracy / 2**10, _REAL_ACCURACY)
                bounds = self._bounds(inner, run.times, accuracy)
                known = self._known[inner, run.times] = accuracy, bounds
            inner = known[1].between() if isinstance(known[1], RefinedPairs) else known[1]
        return inner if run.rate is None else Subsampled(inner, run.rate)

    def _bounds(self, run: ProgramAt, times: int, accuracy: Fraction) -> Mechanism | RefinedPairs:
        """Return a program's worst pair, or pairs that it lies between."""
        setting = Setting(run.program, AllPairs(), self._options)
        about = setting, run.eps, self._pipeline.adjacency
        if not run.program.real_outputs:
            return bounds_of_program(*about, times, accuracy)
        require_symmetric(run.program)
        if setting.is_real or len([*islice(setting.pairs(), _MOST_PAIRS + 1)]) > _MOST_PAIRS:
            return bounds_of_real_program(*about, accuracy)
        return worst_noise(*about) or RefinedPairs(*about, accuracy)


def worst_noise(setting: Setting, eps: Fraction, adjacency: Adjacency) -> Mechanism | None:
    """Return the worst pair of a program of few inputs; None if it is of another kind."""
    published = open_subject(setting, executed_for(setting), eps).published
    shifts = None if published is None else published.shifts()
    if not shifts:
        return None
    families = {shift.family for shift, _ in shifts}
    most = max((shift for shift, _ in shifts), key=lambda shift: shift.square)
    if families == {GAUSSIAN}:
        return Gaussian(Fraction(1), None, adjacency, 1 / most.square)
    return Laplace(most.shift, Fraction(1), adjacency) if families == {LAPLACE} else None


_ZERO, _ONE = Fraction(0), Fraction(1)

_UNIT = 1 << 160
_PLACE_BITS = 40
_FIRST = Fraction(1, 16)
_FARTHEST = 40  # losses beyond this are not looked at

_FEW_PLACES, _MOST_PLACES = 80, 400
_MOST_KEPT = 64
_ALIKE = _UNIT >> 44  # pairs are not told apart by less
_FEWEST_BITS = 34
_LIKELY = _UNIT // 100  # A delta where the pair is looked for that is run alone
_T = TypeVar("_T")


class _Class(Record, frozen=False):
    pair: Pair
    reverse: int  # the number of the class of the reversed pairs
    lower: list[int | None]  # l at all places; None where nothing is known but chords
    upper: list[int]  # u, or chords


class RefinedPairs:
    """The pairs of a program, at ever more places.

    Args:
        setting: A program with real outputs, and finitely many inputs in a symmetric adjacency.
        accuracy: Deltas below that are none.

    Raises:
        UserError: If no two inputs are adjacent.
    """

    @sound_arithmetic()
    def __init__(
        self, setting: Setting, eps: Fraction, adjacency: Adjacency, accuracy: Fraction
    ) -> None:
        program, options = setting.program, setting.options
        self._adjacency, self._limits = adjacency, options.limits
        self._bits = max(_FEWEST_BITS, (1 / accuracy).__ceil__().bit_length())
        states = execute(program, options.merge, self._limits, real_outputs=True)
        self._divergences = open_published(states, eps, options)
        self._couplings = Couplings(states, eps, self._limits) if options.compares_exactly else None
        numbers: dict[object, int] = {}
        found: list[Pair] = []
        for pair in setting.pairs():
            self._limits.check()
            if numbers.setdefault(self._divergences.terms(pair), len(found)) == len(found):
                found.append(pair)
        if not found:
            raise UserError(f"'{program.name}': no two different inputs are adjacent")
        self._classes = [
            _Class(pair, numbers[self._divergences.terms((pair[1], pair[0]))], [], [])
            for pair in found
        ]
        self.step = _FIRST
        self._places: list[Fraction] = []
        self._start(accuracy)
        self._kept = self._undominated()

    def _start(self, accuracy: Fraction) -> None:
        every = range(len(self._classes))
        negligible = max((accuracy * _UNIT).__ceil__(), 2 * _UNIT >> self._bits)
        while True:
            place = _place(self.step * len(self._places))
            values = self._values(every, place)
            self._places.append(place)
            for each, (low, high) in zip(self._classes, values, strict=True):
                each.lower.append(low)
                each.upper.append(min([high, *each.upper[-1:]]))
            far = self.step * len(self._places) > _FARTHEST
            if len(self._places) > 2 and (far or max(u for _, u in values) <= negligible):
                return
            if len(self._places) > _FEW_PLACES:  # every second one will do
                self.step *= 2
                del self._places[1::2]
                for each in self._classes:
                    del each.lower[1::2], each.upper[1::2]

    def _values(self, numbers: Sequence[int], place: Fraction) -> list[tuple[int, int]]:
        wanted = [self._classes[k].pair for k in numbers]
        together = PublishedPairs(
            self._divergences, wanted, len(wanted), self._limits, self._couplings
        )
        together.at(Factor(place, place), self._bits)
        if together.obstacle is not None:
            raise LimitReached(f"no enclosure: {together.obstacle}")
        known = dict(together.deltas)
        found = [known[pair] for pair in wanted]
        return [
            ((each.lower * _UNIT).__floor__(), (each.upper * _UNIT).__ceil__()) for each in found
        ]

    @sound_arithmetic()
    def refine(self) -> bool:
        """Halve the step; False if there are too many places."""
        old = self._places
        if 2 * len(old) > _MOST_PLACES:
            return False
        step = self.step / 2
        new = [_place(step * (2 * k + 1)) for k in range(len(old) - 1)]
        needed = {k for k in self._kept for k in (k, self._classes[k].reverse)}
        looked: set[int] = set()
        values: dict[int, list[tuple[int, int]]] = {}
        while needed - looked:
            numbers = sorted(needed - looked)
            rows = [self._values(numbers, place) for place in new]
            for at, k in enumerate(numbers):
                values[k] = [row[at] for row in rows]
            looked |= needed
            chords = {k: self._chords(k, new) for k in range(len(self._classes)) if k not in looked}
            for k in range(len(self._classes)):
                pair = (k, self._classes[k].reverse)
                own = [chords[c] if c in chords else [u for _, u in values[c]] for c in pair]
                if all(c in looked for c in pair):
                    continue
                if not any(self._covers(other, own, values) for other in self._kept):
                    needed |= set(pair)
        for k, each in enumerate(self._classes):
            known: Sequence[tuple[int | None, int]] = (
                values[k] if k in values else [(None, u) for u in chords[k]]
            )
            each.lower = _woven(each.lower, [low for low, _ in known])
            # H does not increase; enclosures may.
            each.upper = [*accumulate(_woven(each.upper, [high for _, high in known]), min)]
        self._places, self.step = _woven(old, new), step
        self._kept = self._undominated()
        return True

    def _covers(
        self, number: int, own: Sequence[Sequence[int]], values: dict[int, list[tuple[int, int]]]
    ) -> bool:
        """Whether at new places a class that is kept is above given bounds, both ways round."""
        for mine, theirs in zip(own, (number, self._classes[number].reverse), strict=True):
            if any(u > most + _ALIKE for u, (_, most) in zip(mine, values[theirs], strict=True)):
                return False
        return True

    def _chords(self, number: int, new: Sequence[Fraction]) -> list[int]:
        upper, old = self._classes[number].upper, self._places
        found = []
        for k, place in enumerate(new):
            share = (place - old[k]) / (old[k + 1] - old[k])
            found.append((upper[k] + share * (upper[k + 1] - upper[k])).__ceil__())
        return found

    def _both(self, number: int) -> list[int]:
        """u of a class and of its reverse, at all places."""
        own = self._classes[number]
        return [*own.upper, *self._classes[own.reverse].upper]

    def _undominated(self) -> list[int]:
        """Choose classes one of which is above each of all, but for next to nothing."""
        left = sorted(range(len(self._classes)), key=lambda k: sum(self._both(k)), reverse=True)
        kept: list[int] = []
        for k in left:
            own = self._both(k)
            if not any(_is_above(self._both(other), own) for other in kept):
                kept.append(k)
        return kept

    def between(self) -> Between:
        """Return what is known of the program.

        Raises:
            LimitReached: If there are too many worst pairs.
        """
        if len(self._kept) > _MOST_KEPT:
            raise LimitReached(f"more than {_MOST_KEPT} worst pairs")
        tops = [max(each.upper[j] for each in self._classes) for j in range(len(self._places))]
        above = hull([(x, Fraction(u, _UNIT)) for x, u in zip(self._places, tops, strict=True)])
        likely = min(range(len(tops)), key=lambda j: abs(tops[j] - _LIKELY))
        alone = max(self._kept, key=lambda k: self._classes[k].upper[likely])
        return Between(
            *ends_of(above, self._below(alone), self._adjacency),
            tuple(self._above(k) for k in self._kept),
            tuple(self._below(k) for k in self._kept),
            resolution=float(self.step),
        )

    def _above(self, number: int) -> Masses:
        """Atoms above a class and all that it stands for."""
        own, other = (
            [min(Fraction(u + _ALIKE, _UNIT), _ONE) for u in self._classes[k].upper]
            for k in (number, self._classes[number].reverse)
        )
        ahead, back = (list(zip(self._places, each, strict=True)) for each in (own, other))
        return atoms_of_chain(lower_hull([(_ZERO, _ONE), *reversed_pair(back), *ahead]))

    def _below(self, number: int) -> Masses:
        return inner_hull_of(self._known(number), self._known(self._classes[number].reverse))

    def _known(self, number: int) -> list[Known]:
        own = self._classes[number]
        return [
            (x, Fraction(max(low or 0, 0), _UNIT), Fraction(high, _UNIT))
            for x, low, high in zip(self._places, own.lower, own.upper, strict=True)
        ]


def _is_above(one: Sequence[int], two: Sequence[int]) -> bool:
    return all(u <= most + _ALIKE for u, most in zip(two, one, strict=True))


def _place(loss: Fraction) -> Fraction:
    return Fraction(round(Fraction(exp(loss)) * 2**_PLACE_BITS), 2**_PLACE_BITS)


def _woven(old: Sequence[_T], new: Sequence[_T]) -> list[_T]:
    """The old ones, with new ones between them."""
    found = list(old[:1])
    for each, other in zip(new, old[1:], strict=True):
        found += [each, other]
    return found
