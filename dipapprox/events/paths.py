"""Paths of final states in, the stars that they are out; what paths share is read once.

The states of a sparse vector hold N²/2 guards, but their paths form a tree of 2N nodes. A path is
a *star* if all its guards compare one sample, the centre c, each with a sample of its own:

    a·c + b·x + w + inputs <= 0   says   c <= y (a > 0) or y <= c (a < 0)
    for the leaf y = -(b·x + w + inputs) / a,

whose law is a shifted, scaled and perhaps mirrored image of that of x. A leaf of integers lies
half-way between two of them, or it is none. No guard of a star is implied by the others, and only
one-sided laws can make it impossible. Every node of a path adds one leaf to the node before it; an
`Extreme` is a star of its own, whose leaves are all of a group but its centre.

Variables of events are samples after a change, with their laws as tables over inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import Record
from dipapprox.events.canonical import Solutions
from dipapprox.events.columns import CellTable, Image, Inputs, numeric
from dipapprox.language.core import Value
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import Family
from dipapprox.linear.form import LinearForm, are_opposite
from dipapprox.semantics.state import Constraint, Extreme, Path, Sample, SampleComparison, newest


class SampleChange(Record):
    """The sample y = factor·x[sample] + shift; `shift` is over input cells."""

    sample: int
    factor: Fraction
    shift: LinearForm


class ComparedSamples(Record, eq=False):
    """Samples of which one is compared with all others."""

    samples: frozenset[int]
    numbers: tuple[int, ...]


class GroupStar(Record, eq=False):
    """A star of a whole group of samples, its centre compared with all others."""

    centre: int
    centre_number: int
    group: ComparedSamples
    above: bool
    largest: int


class PathStar(Record, frozen=False, eq=False):
    """A star and how it grew: one leaf more, the newest, than its parent.

    Never changed; not frozen, for a run makes hundreds of thousands.
    """

    parent: PathStar | GroupStar | None
    centre: int
    centre_number: int
    leaf: int
    above: bool
    newest: int
    largest: int


AnyStar = PathStar | GroupStar


def _has(star: AnyStar, sample: int) -> bool:
    """Whether a sample has a leaf. Most are new, and larger than those that have."""
    if sample > star.largest:
        return False
    node: AnyStar | None = star
    while isinstance(node, PathStar):
        if sample == node.newest:
            return True
        node = node.parent
    return node is not None and sample in node.group.samples


class Variables:
    """Samples after changes, numbered, equal ones alike; and the stars of them that paths are.

    It refers to nothing that refers to it: a thousand states are freed as soon as nobody needs
    them, and not when the garbage collector comes by. For each variable there is a table of laws.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        scales: Sequence[Fraction],
        inputs: Inputs,
        solutions: Solutions,
    ) -> None:
        self._samples = samples
        self._scales = scales
        self._inputs = inputs
        self._solutions = solutions
        self._numbers: dict[SampleChange, int] = {}
        self._kinds: dict[object, tuple[Image, dict[int, int]]] = {}
        self._found: dict[int, AnyStar | None] = {}
        self._groups: dict[tuple[int, ...], ComparedSamples] = {}
        self._plain: dict[int, int] = {}  # by sample, the number of its unchanged self
        self._single: dict[tuple[int, int], PathStar] = {}
        self._paths: list[Path] = []  # keeps the identities in `_found` alive
        self.tables: list[CellTable] = []
        self.integers = frozenset(k for k, s in enumerate(samples) if s.family.is_discrete)

    # --- variables ------------------------------------------------------------------------------

    def number(self, change: SampleChange) -> int:
        """Number a sample after a change, and tabulate its law over the inputs."""
        if change.factor == 1 and not change.shift.terms and not change.shift.constant:
            return self._unchanged(change.sample)
        number = self._numbers.setdefault(change, len(self.tables))
        if number == len(self.tables):
            sample, scale = self._samples[change.sample], self._scales[change.sample]
            mean = sample.mean.scaled(change.factor) + change.shift
            family = sample.family.mirror if change.factor < 0 else sample.family
            law = self._law_of(family, mean, scale * abs(change.factor))
            self.tables.append(self._inputs.table(mean.inputs(), law))
        return number

    def _unchanged(self, number: int) -> int:
        """The same for a sample as it is: nearly all are, and are found at once."""
        found = self._plain.get(number)
        if found is None:
            found = self._plain[number] = len(self.tables)
            sample, scale = self._samples[number], self._scales[number]
            mean, family = sample.mean, sample.family
            # By identity: samples and scales are kept alive, and fractions hash slowly.
            terms = tuple([id(slope) for _, slope in mean.terms])
            kind = family, terms, id(mean.constant), id(scale)
            if kind not in self._kinds:
                self._kinds[kind] = self._law_of(family, mean, scale), {}
            self.tables.append(self._inputs.table(mean.inputs(), *self._kinds[kind]))
        return found

    def _law_of(self, family: Family, mean: LinearForm, scale: Fraction) -> Image:
        """Number a law by the values of the cells that its mean is of."""
        slopes, constant = [slope for _, slope in mean.terms], mean.constant
        solutions = self._solutions

        def law(values: tuple[Value, ...]) -> int:
            numbers = zip(slopes, numeric(values), strict=True)
            value = sum([slope * number for slope, number in numbers], constant)
            return solutions.law(Distribution(family, value, scale))

        return law

    # --- stars ----------------------------------------------------------------------------------

    def star(self, path: Path | None) -> AnyStar | None:
        """Return the star of a path of at least two guards; None if it is none."""
        if path is None or path.length < 2:
            return None
        found, waiting, node = self._found, [], path.parent
        while node is not None and node.length >= 2 and id(node) not in found:
            waiting.append(node)
            node = node.parent
        self._paths += waiting
        while waiting:
            node = waiting.pop()
            found[id(node)] = self._read(node)
        # What others begin with is kept; a state's own path ends with it.
        return found[id(path)] if id(path) in found else self._read(path)

    def _read(self, node: Path) -> AnyStar | None:
        """Read a node whose parent has been read."""
        constraint, parent = node.step, self._found.get(id(node.parent))
        if isinstance(constraint, Extreme):
            return self._whole(constraint) if node.parent is None else None
        ends = _ends(constraint)
        if ends is None:
            return None
        if parent is not None:
            return self._grown(parent, constraint, ends)
        assert node.parent is not None
        if node.length > 2:
            return None
        # The second guard decides which sample of the first one is the centre.
        (only,) = newest(node.parent)
        first = _ends(only)
        if first is None:
            return None
        common = set(ends) & set(first)
        if len(common) != 1:
            return None
        (centre,) = common
        root = self._root(node.parent, only, centre, first)
        return None if root is None else self._grown(root, constraint, ends)

    def _whole(self, extreme: Extreme) -> GroupStar | None:
        group = self._groups.get(extreme.group)
        if group is None:
            if not self.integers.isdisjoint(extreme.group):
                return None
            numbers = tuple(map(self._unchanged, extreme.group))
            group = ComparedSamples(frozenset(extreme.group), numbers)
            self._groups[extreme.group] = group
        centre = extreme.best
        above, largest = not extreme.largest, extreme.group[-1]
        return GroupStar(centre, self._unchanged(centre), group, above, largest)

    def _root(
        self, node: Path, constraint: Constraint, centre: int, ends: tuple[int, int]
    ) -> PathStar | None:
        key = id(node), centre
        if key not in self._single:
            sample = ends[0] if ends[1] == centre else ends[1]
            found = self._leaf(constraint, centre, sample)
            if found is None:
                return None
            leaf, above = found
            centre_number = self._unchanged(centre)
            self._single[key] = PathStar(None, centre, centre_number, leaf, above, sample, sample)
            self._paths.append(node)
        return self._single[key]

    def _grown(
        self, parent: AnyStar, constraint: Constraint, ends: tuple[int, int]
    ) -> PathStar | None:
        centre, largest = parent.centre, parent.largest
        if centre not in ends:
            return None
        sample = ends[0] if ends[1] == centre else ends[1]
        if sample > largest:
            largest = sample
        elif _has(parent, sample):
            return None
        found = self._leaf(constraint, centre, sample)
        if found is None:
            return None
        return PathStar(parent, centre, parent.centre_number, *found, sample, largest)

    def _leaf(self, constraint: Constraint, centre: int, sample: int) -> tuple[int, bool] | None:
        """Number the leaf that a sample is, and tell whether it lies above the centre."""
        if isinstance(constraint, SampleComparison):
            return self._unchanged(sample), constraint.small == centre
        form = constraint.form
        a, b = form.coefficient(centre), form.coefficient(sample)
        above = a.numerator > 0
        if len(form.terms) == 2 and are_opposite(a, b) and not form.constant:
            return self._unchanged(sample), above
        inputs = tuple(term for term in form.terms if isinstance(term[0], str))
        shift = LinearForm(inputs, form.constant).scaled(-1 / a)
        if centre in self.integers and (abs(a) != abs(b) or shift.constant.denominator != 2):
            return None
        return self.number(SampleChange(sample, -b / a, shift)), above


def _ends(constraint: Constraint) -> tuple[int, int] | None:
    """The two samples of a guard; None if it has not two."""
    if isinstance(constraint, SampleComparison):
        return constraint.small, constraint.large
    samples = constraint.form.samples()
    return (samples[0], samples[1]) if len(samples) == 2 else None
