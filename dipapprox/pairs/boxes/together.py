"""All pairs of a program with real inputs at once: `Together` by branch and bound (`search`).

More bits make single pairs' deltas sharper, and nothing else: polynomials are those of doubles. So
they help only where all that is left are single pairs, which is usual: largest deltas lie at
corners.

**Regions**, of pairs together with outputs that are taken, or left: there all signs are known.
delta_{u,u'} = max over sets S of outputs of f_S(u, u') = P_S(u) - E P_S(u'). So the largest delta
of all is the largest over S of the largest f_S, and for each S another part of the pairs counts. No
output, or all of them, gain nothing, as E >= 1.

**Lemma (sets of outputs).** Let P_o never fall as input i rises, for every o in S: then P_S does
not. Let P_o never rise for every o outside S: then P_S = 1 - Σ P_o does not fall, either. The same
the other way round. Let P_S never fall as u_i rises: then f_S never falls as u_i rises, or as u'_i
falls. So it is largest on edges and corners where neither is possible (`cells`). Where distances
have a budget, u'_i > u_i can be moved to u_i, which needs less of it: one side of u_i = u'_i is
enough.

Guards tell how the P_o move (`movement`): in the sparse vector technique, and for the largest of
noisy numbers, every S has all signs. Then u - u' is fixed, but at the ends of ranges, and half of
the unknowns are gone. Where a sign is not known, nothing is done to that input.

**Symmetric inputs.** If exchanging two real inputs, in u and u' alike, permutes the outputs
(`events.symmetry`), then it turns f_S into f_π(S); adjacencies do not tell inputs apart. So of the
sets of outputs that become each other one is enough.

**Translations.** If every guard stays what it is when all real inputs move by the same number, then
so does delta_{u,u'} when those of u and u' do, and u - u' stays. So every pair can be moved down,
without changing delta, until some u_i or u'_i is at its lower end: the sets where one is hold all
values of delta. Sets of adjacent pairs contain what they are moved to: they are bounded by the
ranges of inputs and by differences. Where differences are as free as the ranges, corners tell as
much, and that is not done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import product

import numpy as np

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, if_enclosed, short, sure
from dipapprox.arithmetic.extended import BY_ENCLOSURES, GivenBy
from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.language.traversal import reachable
from dipapprox.numerics.powers import logarithm
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.boxes.bounds import PairRegion, SetChoice, Taken
from dipapprox.pairs.boxes.cells import (
    PairSet,
    X,
    Y,
    boxes,
    cut,
    extent,
    on_faces,
    pairs_of,
    real_places,
    rectangle,
)
from dipapprox.pairs.boxes.corners import CORNERS, LARGEST_FACTOR, CornerSearch, in_turn
from dipapprox.pairs.boxes.dearest import PURE, PureBudget, PureSearch, pure_search
from dipapprox.pairs.boxes.models import OutputModels
from dipapprox.pairs.boxes.movement import DerivativeSigns, OutOfReach, is_free, with_ends
from dipapprox.pairs.boxes.one_by_one import OneByOne, one_by_one
from dipapprox.pairs.boxes.search import (
    BoxSearch,
    BoxSearchResult,
    Enough,
    SetSearch,
    candidates,
    corners,
)
from dipapprox.pairs.divergence import Factor, Search, divergence
from dipapprox.pairs.maximum import Maximum, Together
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates

TRANSLATIONS = "translations"
SYMMETRY = "symmetric inputs"
MONOTONE = "monotone guards"
OUTPUTS = "sets of outputs"
LIMITS = "limits at infinity"  # the words in reports
LEMMAS = frozenset({TRANSLATIONS, SYMMETRY, OUTPUTS})
"""Those that are used where they are asked for."""

MOST_SETS = 20_000  # looked at for one eps_prv
_PATIENCE = ((1_000, 40), (4_000, 30), (MOST_SETS, 20))
"""Up to so many sets a largest delta is wanted to so many bits. Where it lies at corners a few
hundred sets give all bits; elsewhere each further bit costs as much as all before."""

_ENOUGH_SETS = 1_000  # looked at where only a violation could decide a claim
_FARTHER = (Fraction(3, 2), Fraction(3))
"""Times the ends of inputs without bounds, where violations of a small δ are looked for."""

_FAR_BITS = 320  # for pairs there


class RealPairs(Together):
    """The adjacent pairs of a program with real inputs: one set of infinitely many.

    Args:
        source: Probabilities of outputs at rational inputs.
        lemmas: By what sets may be left out (see the module).
        patient: Whether a limit that ends a search is told by `undecided`, and bounds are returned.

    Attributes:
        known: What the last search found; None before the first.
    """

    def __init__(
        self,
        states: FinalStates,
        eps: Fraction,
        source: OutputProbabilities,
        *,
        lemmas: frozenset[str] = LEMMAS,
        patient: bool = False,
    ) -> None:
        super().__init__(None)
        self._patient, self.is_coarse = patient, True
        cells = states.program.inputs
        self._free = frozenset(k for k, cell in enumerate(cells) if is_free(cell))
        states, self._moved = with_ends(states, eps)
        self._program, self._states, self._eps = states.program, states, eps
        self._source = source
        self._roots = pairs_of(states.program)
        self._refutable = False
        self.known: BoxSearchResult | None = None
        self._factor: Factor | None = None
        self._models: OutputModels | None = None
        try:
            self._models = OutputModels(states, eps, source)
        except OutOfReach as reached:
            self.obstacle = reached.reason
        self._used: dict[str, None] = {LIMITS: None} if self._moved else {}
        self._regions: list[PairRegion] = []
        self._corners: OneByOne | None = None
        if self._models is not None:
            self._regions, used = regions_of(states, self._roots, self._models, lemmas)
            self._used.update(dict.fromkeys(used))
            if not self._free:
                self._corners = one_by_one(states, eps, self._roots)

    @property
    def name(self) -> str:
        if PURE in self._used and not (self.known and self.known.sets):
            return PURE
        if CORNERS in self._used:
            return f"{self._source.name} + {CORNERS}"
        forms = () if self._models is None else (self._models.forms,)
        return " + ".join((self._source.name, *forms, *self._used))

    @property
    def _by(self) -> GivenBy:
        """A pair gives the lower end; sets of pairs give the upper one."""
        if PURE in self._used and not (self.known and self.known.sets):
            return BY_ENCLOSURES[0], PURE
        return BY_ENCLOSURES[0], CORNERS if CORNERS in self._used else "boxes of pairs"

    @property
    def blocked(self) -> bool:
        """See `Together`: sets of pairs are left, not just single ones."""
        return self._models is None or (self.known is not None and self.known.left is not None)

    def at(self, factor: Factor, bits: int) -> Maximum:
        known = self.known
        held = self._factor is not None and self._factor.covers(factor)
        if known is None or not held or known.left is None:
            self._factor = factor
            known = self.known = self._search(factor, bits)
            told = self._patient and known.pair is not None
            if known.ended is not None and self.obstacle is None and not told:
                raise LimitReached(known.ended)
        delta = self._everywhere(known.delta, factor)
        return Maximum(delta, known.pair, bits, known.pair, self._by)

    def _everywhere(self, delta: Enclosure, factor: Factor) -> Enclosure:
        """Widen what is known of inputs between ends to inputs beyond (`movement`)."""
        if not self._moved:
            return delta
        if factor.upper is None:
            return Enclosure(delta.lower, UNIT.upper)
        upper = delta.upper + self._moved * (1 + factor.upper)
        return Enclosure(delta.lower, min(upper, UNIT.upper))

    def _search(self, factor: Factor, bits: int) -> BoxSearchResult:
        @if_enclosed
        def enclosed(pair: Pair, bits: int) -> Enclosure:
            first, second = map(sure, self._source.distributions(pair, bits))
            return divergence(first, second, factor)

        def exact(pair: Pair, bits: int = bits) -> Enclosure:
            return Enclosure.exact(0) if pair[0] == pair[1] else enclosed(pair, bits) or UNIT

        nothing = self._everywhere(Enclosure.exact(0), factor)
        self._refutable = self._delta_asked is not None and nothing.upper > self._delta_asked

        def enough(delta: Enclosure, sets: int) -> bool:
            claimed = self._delta_asked
            if claimed is not None:
                delta = self._everywhere(delta, factor)
                if delta.upper <= claimed or delta.lower > claimed:
                    return True
                return sets >= (_ENOUGH_SETS if self._refutable else MOST_SETS)
            return delta.width <= _tolerance(delta.upper, sets, bits) or sets >= MOST_SETS

        def refuted(delta: Enclosure, _: int) -> bool:
            return self._delta_asked is not None and delta.lower > self._delta_asked

        ways = exact, factor
        search = SetSearch(*ways, next(iter(self._roots), None))
        if self._delta_asked == 0 and (told := self._by_budget(factor, exact, bits)) is not None:
            self._used[PURE] = None
            return told
        turns: Iterable[tuple[SetSearch, Enough]] = ()
        if self._models is not None:
            chords = partial(BoxSearch, self._regions, self._models, *ways)
            alone = len(real_places(self._program.inputs)) == 1
            asked = self._delta_asked
            turns = in_turn(chords, self._corners, *ways, asked, enough, alone=alone)
        ended: str | None = None
        try:
            try:
                for turn, own in turns:
                    turn.follow(search)
                    search = turn
                    self._used.pop(CORNERS, None)
                    self._used.update(dict.fromkeys([CORNERS] * isinstance(turn, CornerSearch)))
                    try:
                        search.run(own)
                    except OutOfReach:
                        if self._corners is None or factor.lower > LARGEST_FACTOR:
                            raise  # else corners have told something, or will
                    if enough(search.found().delta, _ENOUGH_SETS):
                        break
                if self._refutable:
                    search.try_pairs(self._farther(), refuted, partial(exact, bits=_FAR_BITS))
            except OutOfReach as reached:
                self._models, self.obstacle = None, reached.reason
            if self._models is None:
                ended = self.obstacle
                search.try_pairs(candidates(self._roots, exact), enough)
        except LimitReached as reached:
            if self._models is None and search.found().pair is None:
                raise
            ended = reached.reason
        return replace(search.found(), ended=ended)

    @cached_property
    def _pure(self) -> PureSearch | None:
        if self._moved:
            return None
        return pure_search(self._states, self._eps, self._roots, self._source)

    def pure_budget(self, asked: Enclosure | None = None) -> PureBudget | None:
        """Bound what is needed for δ = 0, or tell whether it is more than asked; None if nothing is
        known."""
        found = None if self._pure is None else self._pure.bounds(asked)
        if found is not None:
            self._used[PURE] = None
        return found

    def _by_budget(
        self, factor: Factor, exact: Callable[[Pair, int], Enclosure], bits: int
    ) -> BoxSearchResult | None:
        """Say whether δ is 0 by what is known of the least ε_prv for that; None if that is open."""
        low = logarithm(factor.lower, bits).lower
        high = logarithm(factor.upper or factor.lower, bits).upper
        known = None if self._pure is None else self._pure.bounds(Enclosure(low, high))
        if known is None or known.pair is None:
            return None
        told = known.told
        if told.upper is not None and told.upper <= low:
            return BoxSearchResult(Enclosure.exact(0), known.pair, None, 0)
        if factor.upper is None or told.lower is None or told.lower <= high:
            return None
        tries = (exact(known.pair, more) for more in (bits, _FAR_BITS))  # δ may be tiny
        delta = next((each.lower for each in tries if each.lower), None)
        if delta is None:
            return None
        return BoxSearchResult(Enclosure(delta, UNIT.upper), known.pair, None, 0)

    def _farther(self) -> Iterator[Pair]:
        """Yield pairs beyond the ends of inputs without bounds."""
        for times, each in product(_FARTHER, self._regions):
            for root in each.sets[:1]:
                for first, second in corners(root):
                    x, y = list(first), list(second)
                    for k in self._free:  # away from 0, and neighbours with them
                        beyond = times * Fraction(first[k])
                        x[k], y[k] = beyond, beyond + Fraction(second[k]) - Fraction(first[k])
                    yield tuple(x), tuple(y)

    def decide(self, search: Search) -> None:
        try:
            super().decide(search)
        finally:  # what a search has found that a limit ended, too
            if self.known is not None and search.violation is None:
                search.cover(0 if search.checked else 1, self._told(self.known), self._by)

    def _told(self, known: BoxSearchResult) -> Enclosure:
        return UNIT if self._factor is None else self._everywhere(known.delta, self._factor)

    def undecided(self) -> str:
        """See `Together`: both bounds, and where the largest delta may be."""
        known = self.known
        if known is None:
            return ""
        lower, upper = short(self._told(known))
        text = f"the largest δ lies in [{lower}, {upper}]"
        if self.obstacle is not None:
            return f"{text}: {self.obstacle}"
        if self._patient and known.ended is not None:
            text = f"{known.ended}: {text}"
        if known.left is not None:
            text += f", the upper bound for {self._box_text(known.left)}"
        if self._refutable:
            text += (
                "; inputs without bounds add to every δ that is bounded here, so this one can only "
                "be refuted (for δ = 0 there is 'prove')"
            )
        return text

    def _box_text(self, pairs: PairSet) -> str:
        cells, parts = self._program.inputs, []
        for place, *ends in zip(real_places(cells), *boxes(pairs), strict=True):
            texts = (f"[{float(low):.6g}, {float(high):.6g}]" for low, high in ends)
            parts.append(f"{cells[place].name} in {' ~ '.join(texts)}")
        return ", ".join(parts)


def _tolerance(upper: Fraction, sets: int, bits: int) -> Fraction:
    """Return the width that is wanted of the largest delta after so many sets."""
    wanted = next((own for most, own in _PATIENCE if sets < most), 0)
    if wanted == _PATIENCE[0][1]:
        return Fraction(1, 2**bits)
    return upper / Fraction(2**wanted)


def regions_of(
    states: FinalStates, roots: Sequence[PairSet], models: OutputModels, lemmas: frozenset[str]
) -> tuple[list[PairRegion], list[str]]:
    """Leave out pairs that others stand for, and say by which lemmas; `roots` hold all pairs."""
    # Translations tell nothing where no inputs of u and u' are kept closer than their ranges.
    moves = models.still and TRANSLATIONS in lemmas
    moves = moves and any(
        root.is_bound or polygon != rectangle(*extent(polygon, X))
        for root in roots
        for polygon in root.polygons
    )
    used = [MONOTONE] * models.monotone + [TRANSLATIONS] * moves
    if OUTPUTS in lemmas:
        alike = _exchanges(states) if SYMMETRY in lemmas else []
        found = _divided(roots, models.signs, alike, moves)
        if found:  # else some pair is to be looked at
            return found, used + [SYMMETRY] * bool(alike) + [OUTPUTS]
    # Nothing is taken or left before its sign is known.
    none = np.zeros(models.outputs, dtype=np.bool_)
    return [PairRegion(tuple(lowest(roots) if moves else roots), SetChoice(none, none))], used


def lowest(roots: Sequence[PairSet]) -> list[PairSet]:
    """Return the parts of sets of pairs where some real input that moves is at its lower end."""
    found: dict[PairSet, None] = {}
    for root in roots:
        moving = [axis for axis, polygon in enumerate(root.polygons) if len(polygon) > 1]
        if not moving:
            found[root] = None
        for axis in moving:
            polygon = root.polygons[axis]
            for coordinate in (X, Y):
                face, *_ = cut(polygon, coordinate, extent(polygon, coordinate)[0])
                polygons = (*root.polygons[:axis], face, *root.polygons[axis + 1 :])
                found[replace(root, polygons=polygons)] = None
    return list(found)


def _exchanges(states: FinalStates) -> list[tuple[int, ...]]:
    """Return exchanges of two real inputs of which all others are made: what outputs become."""
    symmetry, places = CellSymmetry(states), real_places(states.program.inputs)
    found = []
    for number, place in enumerate(places):
        for other in places[:number]:
            swap = symmetry.swap(other, place)
            if swap is not None and all(swap.matched):
                found.append(swap.partners)
                break
    return found


_MOST_REGIONS = 1100  # sets of outputs times sets of pairs


def _divided(
    roots: Sequence[PairSet],
    signs: DerivativeSigns,
    exchanges: Sequence[Sequence[int]],
    moves: bool,
) -> list[PairRegion] | None:
    """Return regions, one for each set of outputs that may be best; None if they are too many, or
    nothing is known of some input.

    Args:
        roots: Sets that hold all pairs; what `exchanges` make of each is among them, too.
        exchanges: What each output becomes where two real inputs are exchanged.
        moves: Whether delta stays when all inputs of u and u' are moved, and that leaves out some
            pairs (see the module).
    """
    outputs = len(signs.rising)
    if outputs > 30 or len(roots) * 2**outputs > _MOST_REGIONS:
        return None
    if outputs > 2 * signs.rising.shape[1] + 2 and not exchanges:
        return None  # few inputs are cut sooner than many sets of outputs are gone through
    if not (signs.rising | signs.falling).any(axis=0).all():
        return None
    return [
        PairRegion(tuple(_shortened(roots, signs.of(taken), moves)), SetChoice(taken, ~taken))
        for taken in _sets_of_outputs(outputs, exchanges)
    ]


def _shortened(roots: Sequence[PairSet], signs: Sequence[int], moves: bool) -> list[PairSet]:
    """Return where f_S is largest."""
    sets = [part for root in roots for part in on_faces(root, signs)]
    if not moves:
        return sets
    every = [polygon for each in sets for polygon in each.polygons]
    if all(len(own) == 2 and len({x - y for x, y in own}) == 1 for own in every):
        # A move leaves these sets, which are diagonal, only where an input is at its lower end.
        return lowest(sets)
    return [part for root in lowest(roots) for part in on_faces(root, signs)]


def _sets_of_outputs(outputs: int, exchanges: Sequence[Sequence[int]]) -> Iterator[Taken]:
    """Yield sets of outputs, neither empty nor of all, of which every one is an image of one."""

    def images(of: int) -> Iterator[int]:
        return (sum(1 << to[o] for o in range(outputs) if of >> o & 1) for to in exchanges)

    seen: set[int] = set()
    for number in range(1, 2**outputs - 1):
        if number in seen:
            continue
        seen |= reachable([number], images)
        yield np.array([bool(number >> o & 1) for o in range(outputs)])
