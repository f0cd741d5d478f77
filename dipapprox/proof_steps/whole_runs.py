"""A run of a machine with rounds, all of it over the noise of samples, and what is not known."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, zip_longest

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.forms import Form, only, over
from dipapprox.kernel.paths import Path, Sample
from dipapprox.kernel.runs import Inputs, Pair, flat
from dipapprox.kernel.walk import Guard

MOST_SAMPLES = 1000  # of a run
INPUTS = 1_000_000  # the number of the first input that is not known
_ZERO = Fraction(0)

Growth = Mapping[str, Sequence[Fraction]]
"""By input what its numbers grow by, in the order in which they are read."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A run, all of it over the noise of samples, by number, and what inputs are.

    Where parts come again, cells that they change hold unknown numbers at both ends of them.

    Attributes:
        free: Numbers of those that must not count: unknown ones, and samples outside parts.
        guards: For each turn its guards; then for each random number that is published two.
        cells: For each turn what cells hold afterwards that hold something random.
    """

    samples: tuple[Sample, ...]  # all samples, and unknown numbers
    free: frozenset[int]
    guards: tuple[tuple[Guard, ...], ...]
    said: tuple[Form | None, ...]  # what is published; None stands for a name
    cells: tuple[dict[str, Form], ...]

    @property
    def forms(self) -> list[Form]:
        """Those that are >= 0 on the run."""
        return [form for own in self.guards for form, _ in own]

    def noise_of(self, form: Form) -> list[tuple[int, Fraction]]:
        """Return the coefficients of the noise of samples."""
        return [(atom, c) for atom, c in form.terms if 0 <= atom < len(self.samples)]


Part = tuple[int, int]
"""Turns of a run that may come again: the first, and the one behind the last."""


Shown = Mapping[int, Fraction]
"""Numbers that are published, by their places in what is."""


def shown_at(whole: Whole, known: Mapping[int, Fraction]) -> Shown:
    """Return the numbers that a run publishes where its noise and inputs are known."""
    return {k: value_at(form, known) for k, form in enumerate(whole.said) if form is not None}


def ray_of(
    reads: Sequence[str], starts: Sequence[Fraction], grows: Growth
) -> dict[str, list[Pair]]:
    """Return where inputs begin, and what they grow by."""
    found = {}
    for name in dict.fromkeys([*reads, *grows]):
        own = [start for read, start in zip(reads, starts, strict=True) if read == name]
        found[name] = list(zip_longest(own, grows.get(name, ()), fillvalue=_ZERO))
    return found


def whole_run(
    run: Sequence[Path],
    inputs: Inputs,
    integers: bool = False,
    shown: Shown = types.MappingProxyType({}),
    parts: Sequence[Part] = (),
    alike: Sequence[Sequence[Path]] = (),
) -> Whole:
    """Return a run over the same atoms.

    Args:
        integers: Whether all numbers are whole.
        shown: What numbers it is to publish.
        alike: Runs that publish the same, if something comes again: whose turns may take its place.
    """
    samples: list[Sample] = []
    free: set[int] = set()
    starts, stops = dict(parts), {end: start for start, end in parts}
    cells: dict[str, Form] = {}
    after: list[dict[str, Form]] = []
    guards: list[tuple[Guard, ...]] = []
    all_said: list[Form | None] = []
    known = {atom: only(atom) for own in inputs.values() for form in own for atom, _ in form.terms}

    def drawn(sample: Sample, is_free: bool) -> Form:
        if len(samples) == MOST_SAMPLES:
            raise NoCertificate("the run is too long")
        samples.append(sample)
        if is_free:
            free.add(len(samples) - 1)
        return only(len(samples) - 1)

    def unknown(before: Mapping[str, Form], start: int, end: int) -> dict[str, Form]:
        found = {}
        for name in cells:
            kept = all(_keeps(each[k], name) for each in alike for k in range(start, end))
            found[name] = before[name] if kept else drawn(_UNKNOWN, True)
        return found

    for start, stop in pairwise(sorted({0, len(run), *starts, *stops})):
        if start in starts:
            cells = unknown(cells, start, starts[start])
        own = flat(run[:stop], inputs, integers, start)
        is_free = bool(parts) and start not in starts
        atoms = {number: drawn(sample, is_free) for number, sample in enumerate(own.samples)}
        atoms |= {**known, **{atom: cells[name] for atom, name in own.held.items()}}
        for turn, said, left in zip(own.guards, own.said, own.cells, strict=True):
            conditions = [(over(form, atoms), strict) for form, strict in turn]
            for each in said:
                form = None if each is None else over(each, atoms)
                if form is not None and len(all_said) in shown:
                    apart = form.plus(Form(-shown[len(all_said)]))
                    conditions += [(apart, False), (apart.scaled(Fraction(-1)), False)]
                all_said.append(form)
            guards.append(tuple(conditions))
            after.append({name: over(form, atoms) for name, form in left.items()})
        cells = after[-1]
        if stop in stops:
            cells = unknown(after[stops[stop] - 1], stops[stop], stop)
    return Whole(tuple(samples), frozenset(free), tuple(guards), tuple(all_said), tuple(after))


_UNKNOWN = Sample("Lap", Form(_ZERO), Fraction(1))


def _keeps(turn: Path, name: str) -> bool:
    """Whether a cell holds after a turn what it held before."""
    return name in turn.held and turn.store.get(name) == only(turn.held.index(name))


def value_at(form: Form, values: Mapping[int, Fraction]) -> Fraction:
    """Return the value of a form."""
    return form.constant + sum((c * values[atom] for atom, c in form.terms), _ZERO)


def known_values(noise: Sequence[Fraction], inputs: Sequence[Fraction] = ()) -> dict[int, Fraction]:
    """Return the values of all atoms."""
    return {**dict(enumerate(noise)), **{INPUTS + k: value for k, value in enumerate(inputs)}}
