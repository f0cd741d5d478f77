"""What a composition of runs costs: certified intervals of ε for δ, and of δ for ε.

            step, bits
                │
    every run: profile ─ knots ─┬─ from above ─ power ─┐
                                └─ from below ─ power ─┤  product of all runs, for both sides
                                                       │
        interval, met with the last one  ◄─────────────┘  H at ε, or where it falls to δ
                │
        narrow enough?  else a finer step, until a limit ends it

Directions. For add/remove adjacency all runs are on the same two data sets: one of them has a
record more, in all runs. So the removal pairs are composed, and the addition pairs are; the cost
is the greater of the two. A direction whose upper end is below the other one's lower end is not
looked at again. Where all pairs are symmetric, one composition is enough.

What the numbers are of. Upper ends hold for all mechanisms that are as they are described, chosen
adaptively or not, in any order; but runs of mechanisms with several worst pairs come in the order
in which they are listed. Lower ends are attained: by noise about two numbers at the full distance,
by the worst mechanism that a statement allows, run independently, and after all these by several
worst pairs, chosen adaptively, as are those of the runs of one exponential mechanism; or where
these are very many by one pair, run independently (`products`). Of others that may have many pairs,
none of which attains a profile (Rényi, zCDP, several exponential ones), one run has the worst after
all others, if no pairs are chosen; these have some pair, and where they are several the interval
stays wide. What is known in one way (`PairWay`) is met with the others.

What has one profile, as few outcomes together have, is asked there; noise of Gauss and Laplace, and
nothing else (`products`), names no grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil, inf

from flint import arb

from dipapprox.arithmetic.extended import Extended, are_finite, gain, greatest_of, matters
from dipapprox.arithmetic.precision import precision
from dipapprox.composition.catalogue import is_symmetric, profile_of
from dipapprox.composition.chosen_runs import chosen_pairs, resolution_of
from dipapprox.composition.grid import COARSEST, GridStep, first_step, have_lattices, refined
from dipapprox.composition.losses import BoundSide, GridLosses, deltas, least_epsilon
from dipapprox.composition.mechanisms import Gaussian, Laplace
from dipapprox.composition.powers import (
    LossGrid,
    PairWay,
    Steepness,
    product,
    share_of,
    steepness_of,
)
from dipapprox.composition.products import (
    RepeatedRun,
    are_attained,
    counts_of,
    factors_of,
    pair_ways,
    pieces_of,
    summed_profile,
    working_bits,
)
from dipapprox.composition.profile import BallProfile, deltas_of, epsilon_of
from dipapprox.data_classes import Record, replace
from dipapprox.errors import INTERRUPTED, EarlyEnd, UserError
from dipapprox.limits import Progress, silent

_ZERO, _ONE = Fraction(0), Fraction(1)
_CLOSE = Fraction(1, 2**64)  # how narrow intervals of an ε are that has one value
_CLOSELY = Fraction(1, 100)  # of an end: of less, divergences that add up hardly tell more
_LEAST_GAIN = 0.1
_TINY = 1e-300
_STEEP = 16.0  # of a δ that falls more steeply the same width needs less accuracy
_MOST_IDLE = 4  # steps in a row that narrow an interval by less than a tenth end the search
_FINER = Fraction(4)  # of steps, where the last division was of no use, or is far off
_MUCH = 2  # intervals that are so many times wider are not so for lack of accuracy
_NEAR = 24.0  # steps are divided by this at most where the division is thought to be the last one
_VERY_MANY = 10_000  # runs of which it is looked at how far losses are apart
_CHEAP = Fraction(1, 320)
"""Searches begin with steps of the size that is thought to be fine enough, if it is not less."""

_ROUGHLY = Fraction(1, 64), Fraction(1, 10)
"""Else, and where δ is asked, with steps on which ε would be about so accurate."""

_UNATTAINED = "no pair is known that attains the upper end"
STUCK = "the interval gets no narrower"  # what reasons begin with where finer grids are of no use
_NO_PAIR = f"{STUCK}: {_UNATTAINED}"
_NO_GAIN = f"{STUCK} on finer grids"
_STUCK = _NO_PAIR, _NO_GAIN
_ROUGH = "what is run is not known accurately enough"

COST, GRID, PROFILE = "what the runs cost", "losses on a grid", "profile of one run"
"""What is bounded, and by which methods."""

_MOST_OF_GRID = 1_000
"""Of an interval that no grid makes narrower, what one costs is no more than this part."""

_FINE = 3  # grids finer than the resolution of what is run by this tell hardly more of it


class CompositionAnswer(Record):
    """What was asked of a composition."""

    bounds: tuple[Extended, ...]
    grid: LossGrid | None = None  # the finest grid that was used; None if none was
    atoms: int = 0  # how many losses the widest composition on it has
    reason: str | None = None
    # How accurate the δ of runs have to be to go on, all together; None if that is not the matter.
    accuracy: Fraction | None = None


class Composition(Record):
    """Runs on the same data; their order matters between mechanisms with several worst pairs.

    Raises:
        UserError: If there are none, or they are stated for different adjacencies.
    """

    runs: tuple[RepeatedRun, ...]
    accuracy: Fraction = _ZERO  # of the δ of all runs, together; 0: they are exact

    def __post_init__(self) -> None:
        if not self.runs:
            raise UserError("a composition needs a run")
        adjacencies = {run.mechanism.adjacency.value for run in self.runs}
        if len(adjacencies) > 1:
            raise UserError(
                f"runs are stated for different adjacencies: {' and '.join(sorted(adjacencies))}",
                "privacy adds up for one relation of data sets: state all runs for the same one",
            )

    def epsilon(
        self,
        delta: Fraction,
        width: Fraction,
        progress: Progress = silent,
        known: CompositionAnswer | None = None,
    ) -> CompositionAnswer:
        """Enclose the least ε >= 0 for which the composition is (ε, delta)-private.

        Args:
            delta: In (0, 1).
            width: How narrow the interval is to be, > 0.
            known: What was answered before: the search goes on from there.

        Raises:
            UserError: If delta or width are out of range.
        """
        if not 0 < delta < 1:
            raise UserError(f"delta must be in (0, 1), got {delta}")
        return self._found(_Question(width, _ZERO, delta), progress, known)

    def delta(
        self,
        budgets: Sequence[Fraction],
        width: Fraction,
        progress: Progress = silent,
        known: CompositionAnswer | None = None,
        share: Fraction = _ZERO,
    ) -> CompositionAnswer:
        """Enclose the least δ for which the composition is (ε, δ)-private, for every ε given.

        Args:
            budgets: The ε, each >= 0, at least one.
            width: How narrow every interval is to be, > 0.
            known: What was answered before: the search goes on from there.
            share: As wide as that part of its upper end an interval may be as well.

        Raises:
            UserError: If a budget or the width are out of range.
        """
        if not budgets or min(budgets) < 0:
            raise UserError(f"budgets must be >= 0, got {min(budgets, default='none')}")
        return self._found(_Question(width, share, None, tuple(budgets)), progress, known)

    def _found(
        self, asked: _Question, progress: Progress, known: CompositionAnswer | None
    ) -> CompositionAnswer:
        if asked.width <= 0:
            raise UserError(f"width must be > 0, got {asked.width}")
        found = known or CompositionAnswer(asked.start(summed_profile(self.runs)))
        for way in pair_ways(self.runs):
            close = all(each.is_within((each.upper or _ZERO) * _CLOSELY) for each in found.bounds)
            if way is PairWay.PAIRS and found is not known and found.reason and close:
                continue
            begun = replace(found, grid=None) if found.reason in _STUCK else found
            found = _Search(self, asked, progress, begun, way).run()
            if found.reason not in _STUCK:
                break
        return found

    def dominating(self, step: GridStep, accuracy: Fraction, *, added: bool = False) -> GridLosses:
        """Return losses on a grid that dominate the composition.

        Args:
            accuracy: How accurate H is to be, besides what the grid costs.
            added: Whether for the adding of a record, not the removal.
        """
        share = share_of(accuracy, counts_of(self.runs))
        grid = LossGrid(step, share, accuracy=accuracy, exact=True, weight=accuracy)
        with precision(working_bits(grid)):
            pieces = pieces_of(self.runs, grid, added=added)
            (above,) = factors_of(pieces, grid, [BoundSide.ABOVE]).values()
        return product(above, grid)


class _Question(Record):
    """The least ε for a δ, or the least δ for every ε given, so narrow, or by so much of it."""

    width: Fraction
    share: Fraction
    delta: Fraction | None  # None if it is what is asked
    budgets: tuple[Fraction, ...] = ()

    def start(self, above: BallProfile | None) -> tuple[Extended, ...]:
        """What is known beforehand, perhaps of a profile that is above the runs."""
        if above is not None:
            with precision(64):
                return tuple(Extended.at_most(end, PROFILE) for _, end in self.of_profile(above))
        if self.delta is not None:
            return (Extended(_ZERO, None),)
        return tuple(Extended(_ZERO, Fraction(1)) for _ in self.budgets)

    @property
    def about(self) -> tuple[float | None, float | None]:
        """ε or δ, if one is given."""
        budget = float(self.budgets[0]) if len(self.budgets) == 1 else None
        return budget, None if self.delta is None else float(self.delta)

    def allowed(self, known: Extended) -> Fraction:
        """How wide an interval may be."""
        return max(self.width, self.share * (known.upper or _ZERO))

    def accuracy(self, known: Sequence[Extended], likely: Fraction, steep: float) -> Fraction:
        """How accurate δ must be for that, about, if it is about so much, and falls so steeply."""
        if self.delta is not None:
            return self.delta * min(self.width * Fraction(max(steep / _STEEP, 1.0)), _ONE)
        ends = ((each.lower or _ZERO, each.upper or _ONE) for each in known)
        least = min(max(lower, min(upper, likely)) for lower, upper in ends)
        return min(max(self.width, self.share * least), _ONE)

    def of_losses(self, losses: GridLosses) -> Sequence[Fraction | None]:
        """Bound the answers, greater for greater H."""
        if self.delta is None:
            return deltas(losses, self.budgets)
        return [least_epsilon(losses, self.delta)]

    def of_profile(self, profile: BallProfile) -> Sequence[tuple[Fraction | None, Fraction | None]]:
        """Bound the answers from below and from above."""
        if self.delta is None:
            return deltas_of(profile, self.budgets)
        return epsilon_of(profile, self.delta, min(self.width / 2**16, _CLOSE))


class _Search:
    """Finer and finer grids."""

    def __init__(
        self,
        composition: Composition,
        asked: _Question,
        progress: Progress,
        known: CompositionAnswer,
        way: PairWay,
    ) -> None:
        self._progress, self._start, self._way = progress, known.bounds, way
        self._done = 0
        self._runs, self._counts = composition.runs, counts_of(composition.runs)
        self._asked, self._delta, self._least = asked, asked.delta, composition.accuracy
        self._accuracy = asked.accuracy(known.bounds, _ONE, _STEEP)
        self._mechanisms = [run.mechanism for run in self._runs]
        rest = [each for each in self._mechanisms if not chosen_pairs(each, way)]
        if way is PairWay.RANGES and not have_lattices(rest):  # beside these finer grids are needed
            self._mechanisms = rest  # those whose pairs are chosen have no atoms
        self._attained = are_attained(self._runs, way)
        resolutions = [resolution_of(run.mechanism, run.times, way) for run in self._runs]
        # Pairs are known at losses so far apart; finer steps tell hardly more.
        self._resolution = min(filter(None, resolutions), default=0.0)
        self._resolved = None not in resolutions
        if (grid := known.grid) is not None:
            size = grid.step.unit if grid.step.base is None else Fraction(float(grid.step.loss(1)))
        else:
            # For a δ that is asked, it is not known beforehand which step is fine enough.
            size = self._size(_ROUGHLY[0] if asked.delta is None else asked.width)
            if asked.delta is not None and size < _CHEAP:
                size = self._size(max(asked.width, _ROUGHLY[1]))
        self._first, self._exact = first_step(self._mechanisms, size)
        self._stays = self._exact or have_lattices(self._mechanisms)
        self._steepness = {False: 0.0, True: 0.0}
        self._likely = {False: 1.0, True: 1.0}  # H where it is asked, roughly
        self._number = 1
        self._atoms = 0
        self._single = self._closed = True

    def run(self) -> CompositionAnswer:
        symmetric = all(is_symmetric(run.mechanism) for run in self._runs)
        # What is known of the greater one bounds both from above alone.
        start = tuple(Extended.at_most(each.upper, each.most_by) for each in self._start)
        found = dict.fromkeys((False,) if symmetric else (False, True), start)
        step, used, idle, begun = self._first, None, 0, True
        while True:
            before = self._greatest(found)
            grid = self._grid(step, before)
            with EarlyEnd() as end:
                for added, known in found.items():
                    if matters(known, self._greatest(found)):
                        now = self._bounds(grid, added, known[0].upper)
                        self._done += 1
                        self._progress(self._done, None)
                        found[added] = tuple(
                            old.meet(new, COST) for old, new in zip(known, now, strict=True)
                        )
                used = None if self._closed else grid
            after = self._greatest(found)
            told = CompositionAnswer(after, used, self._atoms)
            if all(each.is_within(self._asked.allowed(each)) for each in after):
                return told
            if (reason := end.reason) is not None:
                # Runs of one statement are gone through with pairs of two outcomes from below.
                attained = self._attained and self._way is not PairWay.STATED
                if reason != INTERRUPTED and not attained:
                    reason += f"; {_UNATTAINED}"
                return replace(told, reason=reason)
            mattering = [k for k, own in found.items() if matters(own, after)]
            likely = Fraction(max(self._likely[k] for k in mattering))
            steepness = max(self._steepness[k] for k in mattering)
            accuracy = self._asked.accuracy(after, likely, steepness)
            accuracy = accuracy if begun else min(accuracy, self._accuracy)
            # At first it is not known where a δ is, and chords are long.
            blind = begun and self._delta is not None
            if not (self._attained or blind) and self._is_told(step, after):
                return replace(told, reason=_NO_PAIR)
            if accuracy < self._least:
                return replace(told, reason=_ROUGH, accuracy=accuracy)
            widest = max(each.width or _ZERO for each in after)
            rough = _FINER * accuracy < self._accuracy and widest < _MUCH * self._accuracy
            self._accuracy = accuracy
            few = gain(before, after) <= _LEAST_GAIN and not begun and not rough
            idle, begun = idle + 1 if few else 0, False
            fine = float(step.loss(1)) * _FINE <= self._resolution
            if fine and (idle or self._resolved or not self._attained):
                return replace(told, reason=_NO_GAIN)
            enough = 1 if self._single else 2  # from one side the grid does not matter
            if idle == _MOST_IDLE or (idle == enough and not self._attained and are_finite(after)):
                return replace(told, reason=_NO_GAIN if self._attained else _NO_PAIR)
            if idle:
                self._accuracy /= 2**16
            if not self._exact:
                hurry = self._attained and idle > 0
                parts = _FINER if hurry else self._parts(step, after, steepness, rough=rough)
                step = refined(self._mechanisms, step, parts)

    def _greatest(self, found: Mapping[bool, Sequence[Extended]]) -> tuple[Extended, ...]:
        """Return what is known of the greater of two directions."""
        greatest = greatest_of(found.values())
        return tuple(old.meet(new, COST) for old, new in zip(self._start, greatest, strict=True))

    def _is_told(self, step: GridStep, known: Sequence[Extended]) -> bool:
        """Whether what the grid costs is next to nothing of how wide intervals are (`_parts`)."""
        steepness = max(self._steepness.values())
        cost = self._number * steepness * float(step.loss(1)) ** 2 / 6
        if self._delta is None:  # of δ it is that part
            cost *= steepness * max(float(each.upper or 0) for each in known)
        return 0 < cost < float(min(each.width or 0 for each in known)) / _MOST_OF_GRID

    def _bounds(self, grid: LossGrid, added: bool, most: Fraction | None) -> list[Extended]:
        """Bound what is asked on one grid, for the adding or the removal of a record."""
        weight = min(grid.weight / Fraction(self._likely[added]), _ONE)
        known = inf if most is None else float(most)
        grid = replace(grid, steepness=self._steepness[added], weight=weight, most=known)
        read, method = dict[BoundSide, Sequence[Fraction | None]](), dict[BoundSide, str]()
        with precision(working_bits(grid)):
            pieces = pieces_of(self._runs, grid, added=added)
            for side in BoundSide:
                own = [each for each in pieces if side in each.sides]
                if len(own) == 1 and own[0].times == 1:
                    both = self._asked.of_profile(own[0].profile)
                    read[side] = [ends[side is BoundSide.ABOVE] for ends in both]
                    method[side] = PROFILE
            factors = factors_of(pieces, grid, [side for side in BoundSide if side not in read])
        noise = all(isinstance(run.mechanism, Gaussian | Laplace) for run in self._runs)
        self._single, self._closed = bool(read), noise and not factors
        steep: Steepness | None = None
        for side, several in factors.items():
            steep = steep or steepness_of(several, grid)  # of that from above, if there is one
            losses = product(several, grid, steep)
            self._atoms = max(self._atoms, losses.atoms)
            read[side], method[side] = self._asked.of_losses(losses), GRID
            self._steepness[added], self._likely[added] = steep.size, max(steep.likely, _TINY)
            self._number = sum(times for _, times in several)
        low, high = (read[side] for side in (BoundSide.BELOW, BoundSide.ABOVE))
        methods = method[BoundSide.BELOW], method[BoundSide.ABOVE]
        return [Extended(*ends, *methods) for ends in zip(low, high, strict=True)]

    def _grid(self, step: GridStep, known: Sequence[Extended]) -> LossGrid:
        lows = [each.lower or _ZERO for each in known]
        weight = self._delta or max(self._accuracy, min(lows, default=_ZERO))
        share = share_of(self._accuracy, self._counts)
        given = step, share, *self._asked.about, self._accuracy, self._stays, weight
        return LossGrid(*given, way=self._way, part=float(self._asked.share))

    def _parts(
        self, step: GridStep, known: Sequence[Extended], steepness: float, *, rough: bool
    ) -> Fraction:
        """By how much to divide the step: widths go like its square, and a little is to spare.

        A step h adds h²/6 to the variance of the losses of a run when bounding from above, and
        takes as much when bounding from below. That moves the ε where H is δ by half of it times
        the steepness λ of ln H, so that the interval is about λ h²/6 wide for every run,
        if its losses are many; and that of ln δ is λ times as wide.

        Args:
            rough: Whether δ are less accurate than has turned out to be wanted: then widths do not
                tell.
        """
        allowed = [self._asked.allowed(each) for each in known]
        both = [(each.width, width) for each, width in zip(known, allowed, strict=True)]
        excess = max(float("inf") if w is None else float(w / width) for w, width in both)
        wanted = 1.15 * excess**0.5
        if steepness:
            width = float(allowed[0])
            if self._delta is None:  # the only one
                width /= steepness * max(float(known[0].upper or 0), _TINY)
            size = (6 * width / (self._number * steepness)) ** 0.5
            enough = 1.1 * float(step.loss(1)) / size
            if rough:  # where pairs are chosen, fine grids cost too much to be guessed
                most = float(_FINER) if self._resolution else _NEAR
                return Fraction(ceil(16 * max(min(enough, most), 1.0)), 16)
            if any(each.lower for each in known):  # then its width tells, too
                enough *= max(wanted / enough, 1.0) ** 0.4
            wanted = min(wanted, max(enough, float(_FINER)))
        elif wanted > _FINER:
            wanted = float(_FINER)
        return Fraction(ceil(16 * max(wanted if wanted <= _NEAR else _FINER, 1.25)), 16)

    def _size(self, width: Fraction) -> Fraction:
        """Return a size of steps to begin with (see `_parts`).

        That is for λ = 4; less, if losses of very many runs add up to so much that H falls slowly:
        by e as they grow by their deviation, which is at least about √T times the δ of one run at
        ε = 0.
        """
        steepness, most = 4.0, max(self._runs, key=lambda run: run.times)
        if most.times > _VERY_MANY:
            with precision(64):
                one = float(profile_of(most.mechanism, 64).at(arb(1)).bound.mid())
            steepness = min(steepness, 6 / max(one * most.times**0.5, 1.0))
        least = 16 * ceil((96 * 16 * float(width) / sum(self._counts) / steepness) ** -0.5)
        return min(Fraction(1, least), COARSEST)
