"""A run of a machine with rounds, all of it over the same atoms: samples, and inputs."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.expressions import form_of
from dipapprox.kernel.measures import Form, only
from dipapprox.kernel.paths import Held, Read, Sample, over
from dipapprox.kernel.runs import Turn
from dipapprox.kernel.walk import Guard

MOST_SAMPLES = 400
"""Of a run."""

INPUTS = 1_000_000
"""The number of the first input."""

_ZERO = Fraction(0)

Growth = Mapping[str, Sequence[Fraction]]
"""By input what its numbers grow by, in the order in which they are read."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A run, all of it over the same atoms: samples by number, inputs by name and turn.

    Where parts come again, cells that they change hold unknown numbers at both ends of them.

    Attributes:
        samples: All samples, and unknown numbers; means are forms over samples and inputs.
        free: Numbers of those whose noise must not count: unknown ones, and those outside parts.
        reads: (name, which of its numbers) of the inputs, which are numbered from `INPUTS` on.
        guards: For each turn its guards; then for each random number that is published two.
        cells: For each turn what cells hold afterwards.
    """

    samples: tuple[Sample, ...]
    free: frozenset[int]
    reads: tuple[tuple[str, int], ...]
    guards: tuple[tuple[Guard, ...], ...]
    said: tuple[Form, ...]
    cells: tuple[dict[str, Form], ...]


Part = tuple[int, int]
"""Turns of a run that may come again: the first, and the one behind the last."""


Shown = Mapping[int, Fraction]
"""Numbers that are published, by their places in what is."""


def shown_at(run: Sequence[Turn], whole: Whole, known: Mapping[int, Fraction]) -> Shown:
    """Return the numbers that a run publishes where its samples and inputs are known."""
    numbers = iter(whole.said)
    said = [value for turn in run for value in turn.path.said]
    return {k: value_at(next(numbers), known) for k, v in enumerate(said) if not isinstance(v, str)}


def whole_run(
    run: Sequence[Turn],
    shown: Shown = types.MappingProxyType({}),
    parts: Sequence[Part] = (),
    alike: Sequence[Sequence[Turn]] = (),
) -> Whole:
    """Return a run over the same atoms.

    Args:
        run: A run.
        shown: What numbers it is to publish.
        parts: What may come again.
        alike: Runs that publish the same, if something comes again: whose turns may take its place.
    """
    samples: list[Sample] = []
    free: set[int] = set()
    reads: list[tuple[str, int]] = []
    counts: dict[str, Iterator[int]] = {}
    starts, stops = dict(parts), {end: start for start, end in parts}
    inside = {k for start, end in parts for k in range(start, end)}
    cells: dict[str, Form] = {}
    after: list[dict[str, Form]] = []
    guards: list[tuple[Guard, ...]] = []
    all_said: list[Form] = []
    place = 0

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

    for number, turn in enumerate(run):
        if number in starts:
            cells = unknown(cells, number, starts[number])
        forms: list[Form] = []
        for atom in turn.path.atoms:
            match atom:
                case Held(cell):
                    forms.append(cells[cell])
                case Read(name):
                    forms.append(only(INPUTS + len(reads)))
                    reads.append((name, next(counts.setdefault(name, count()))))
                case Sample(family, mean, size):
                    sample = Sample(family, over(mean, forms), size)
                    forms.append(drawn(sample, bool(parts) and number not in inside))
        own = [(over(form, forms), strict) for form, strict in turn.path.guards]
        for said in turn.path.said:
            if not isinstance(said, str):
                form = over(form_of(said), forms)
                all_said.append(form)
                if place in shown:
                    apart = form.plus(Form(-shown[place]))
                    own += [(apart, False), (apart.scaled(Fraction(-1)), False)]
            place += 1
        guards.append(tuple(own))
        items = turn.path.store.items()
        cells = {name: over(form, forms) for name, form in items if isinstance(form, Form)}
        after.append(cells)
        if number + 1 in stops:
            start = stops[number + 1]
            cells = unknown(after[start - 1], start, number + 1)
    return Whole(
        tuple(samples),
        frozenset(free),
        tuple(reads),
        tuple(guards),
        tuple(all_said),
        tuple(after),
    )


_UNKNOWN = Sample("Lap", Form(_ZERO), Fraction(1))


def _keeps(turn: Turn, name: str) -> bool:
    """Whether a cell holds after a turn what it held before."""
    return name in turn.held and turn.path.store.get(name) == only(turn.held.index(name))


def value_at(form: Form, values: Mapping[int, Fraction]) -> Fraction:
    """Return the value of a form."""
    return form.constant + sum((c * values[atom] for atom, c in form.terms), _ZERO)


@dataclass(frozen=True, slots=True)
class InNoise:
    """A form in the noise of samples, and in inputs: the coefficients, and the constant."""

    noise: dict[int, Fraction]
    inputs: dict[int, Fraction]
    constant: Fraction


def in_noise(form: Form, whole: Whole) -> InNoise:
    """Return a form with samples as their means and noise."""
    left, noise, inputs = dict(form.terms), dict[int, Fraction](), dict[int, Fraction]()
    constant = form.constant
    while left:
        atom = max((a for a in left if a < INPUTS), default=None)
        if atom is None:
            inputs = left
            break
        factor = left.pop(atom)
        if factor:
            mean = whole.samples[atom].mean
            noise[atom], constant = factor, constant + factor * mean.constant
            for other, coefficient in mean.terms:
                left[other] = left.get(other, _ZERO) + factor * coefficient
    return InNoise(noise, inputs, constant)


def known_values(values: Sequence[Fraction], inputs: Sequence[Fraction]) -> dict[int, Fraction]:
    """Return the values of all atoms."""
    return {**dict(enumerate(values)), **{INPUTS + k: value for k, value in enumerate(inputs)}}
