"""Rays of inputs that show that no smaller budget serves: multipliers and a possible run.

In: a run of a machine, by its paths, and what its inputs grow by. Out: a step of the rule `ray`.
For every run that publishes the same, multipliers are the flow of a linear programme: the least
that noise has to be moved by, weighed, so that the run is taken on and on along the ray.

A whole run is one over the noise of its samples, and what is not known of its inputs. The least
noise with which it is taken is proved by multipliers of its guards.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, zip_longest
from math import ceil, lcm

from dipapprox.data_classes import Record
from dipapprox.errors import NoCertificate
from dipapprox.kernel.forms import Form, only, over
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.machine import Number
from dipapprox.kernel.paths import Path, Sample
from dipapprox.kernel.rays import (
    STEPS,
    Inputs,
    Pair,
    along,
    flat,
    guards_of,
    is_whole,
    on_ray,
    runs_alike,
)
from dipapprox.kernel.rounds import Follower, Rounds
from dipapprox.kernel.walk import Guard, form_of
from dipapprox.limits import check_limits
from dipapprox.linear.programme import SIDES, LinearProgramme, Optimum, UnknownSide
from dipapprox.proof_steps.machines import Json, number_json

MOST_SAMPLES = 1000  # of a run
INPUTS = 1_000_000  # the number of the first input that is not known
_ZERO = Fraction(0)
Growth = Mapping[str, Sequence[Fraction]]
"""By input what its numbers grow by, in the order in which they are read."""


class Whole(Record):
    """A run, all of it over the noise of samples, by number, and what inputs are.

    Where parts come again, cells that they change hold unknown numbers at both ends of them.
    """

    samples: tuple[Sample, ...]  # all samples, and unknown numbers
    # Numbers of those that must not count: unknown ones, and samples outside parts.
    free: frozenset[int]
    # For each turn its guards; then for each random number that is published two.
    guards: tuple[tuple[Guard, ...], ...]
    said: tuple[Form | None, ...]  # what is published; None stands for a name
    # For each turn what cells hold afterwards that hold something random.
    cells: tuple[dict[str, Form], ...]

    @property
    def forms(self) -> list[Form]:
        """Those that are >= 0 on the run."""
        return [form for own in self.guards for form, _ in own]

    def noise_of(self, form: Form) -> list[tuple[int, Number]]:
        """Return the coefficients of the noise of samples."""
        return [(atom, c) for atom, c in form.terms if 0 <= atom < len(self.samples)]


Part = tuple[int, int]  # turns of a run that may come again: the first, and the one behind the last
Shown = Mapping[int, Fraction]  # numbers that are published, by their places in what is


def shown_at(whole: Whole, known: Mapping[int, Fraction]) -> Shown:
    """Return the numbers that a run publishes where its noise and inputs are known."""
    return {k: value_at(form, known) for k, form in enumerate(whole.said) if form is not None}


def ray_of(
    reads: Sequence[str], starts: Sequence[Fraction], grows: Growth
) -> dict[str, list[Pair]]:
    """Return where inputs begin, and what they grow by."""
    found: dict[str, list[Pair]] = {}
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
        own = flat(run[:stop], inputs, start)
        is_free = bool(parts) and start not in starts
        atoms = {number: drawn(sample, is_free) for number, sample in enumerate(own.samples)}
        atoms |= {**known, **{atom: cells[name] for atom, name in own.held.items()}}
        for turn, images, left in zip(run[start:stop], own.atoms, own.cells, strict=True):
            # Without parts samples and inputs have their numbers already.
            places = [over(form, atoms) for form in images] if parts else images
            conditions = [
                (over(form, places), strict) for form, strict in guards_of(turn, integers)
            ]
            for each in turn.said:
                form = None if isinstance(each, str) else over(form_of(each), places)
                if form is not None and len(all_said) in shown:
                    apart = form.plus(Form(-shown[len(all_said)]))
                    conditions += [(apart, False), (apart.scaled(Fraction(-1)), False)]
                all_said.append(form)
            guards.append(tuple(conditions))
            after.append({n: over(form, atoms) for n, form in left.items()} if parts else left)
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


class Solved(Record):
    """The least noise with which a run is taken, and multipliers that show it."""

    rows: Json  # for every turn, as the step has them
    cost: Fraction | None  # what the noise is worth; None if no noise is enough
    noise: tuple[Fraction, ...]  # of all samples; none if there is none


def solved(whole: Whole, every_step: bool = False) -> Solved:
    """Return the least noise with which all guards of a run are >= 0.

    Or, for `every_step` on a ray, that makes up for what each of them loses.
    """
    forms = whole.forms
    rates = {
        number: None
        if FAMILIES[sample.family].is_light or sample.power != -1
        else _ZERO
        if number in whole.free
        else 1 / sample.size
        for number, sample in enumerate(whole.samples)
    }
    sides = {number: _side(sample.family) for number, sample in enumerate(whole.samples)}
    rows = [[(number, -c) for number, c in whole.noise_of(form)] for form in forms]
    rest = [_grown(form) if every_step else form.constant for form in forms]
    found = LinearProgramme(rows, rates, sides).solve(rest)
    listed = _listed(whole, found.flow)
    if not isinstance(found, Optimum):
        return Solved(listed, None, ())
    return Solved(listed, found.value, tuple(found.shift.values()))


def never(whole: Whole, integers: bool) -> Json:
    """Return multipliers, as `solved`, that show that a run is never taken; None if none do.

    Args:
        whole: A run, without what it publishes, and as if numbers were not whole.
        integers: Whether ties of samples are possible.
    """
    rows: list[list[tuple[int, Number]]] = []
    count, forms = len(whole.samples), whole.forms
    for form in forms:
        known = [*whole.noise_of(form), (count, _grown(form)), (count + 1, form.constant)]
        rows.append([(number, -c) for number, c in known])
    own = [SIDES[tuple(sorted(FAMILIES[sample.family].sides))] for sample in whole.samples]
    sides = dict(enumerate([*own, UnknownSide.ANY, UnknownSide.AT_LEAST_ZERO]))
    found = LinearProgramme(rows, dict.fromkeys(sides, 1), sides).solve([-1] * len(rows))
    if isinstance(found, Optimum):
        return None
    stricts = [strict for guards in whole.guards for _, strict in guards]
    if integers and not any(y and strict for y, strict in zip(found.flow, stricts, strict=True)):
        return None
    return _listed(whole, found.flow)


def _grown(form: Form) -> Number:
    """Return what a form gains by every step on a ray."""
    return dict(form.terms).get(STEPS, _ZERO)


def _listed(whole: Whole, factors: Sequence[Fraction]) -> list[Json]:
    """Return multipliers of guards by turn."""
    listed: list[Json] = []
    left = iter(factors)
    for own in whole.guards:
        chosen: list[Json] = [
            [k, number_json(y)] for k, y in enumerate([next(left) for _ in own]) if y
        ]
        listed.append(chosen)
    return listed


def _side(family: str) -> UnknownSide:
    if FAMILIES[family].is_light:
        return UnknownSide.ANY
    side = SIDES.get(tuple(sorted(FAMILIES[family].shifts)))
    if side is None:
        raise NoCertificate(f"{family} noise has no price")
    return side


MOST_ALIKE = 200  # runs that publish the same
Ray = Mapping[str, Sequence[Pair]]
"""By input the numbers that are read of it, each with what it grows by."""


def ray_step(
    machine: Rounds, paths: Sequence[int], grows: Growth, parts: Sequence[Part] = ()
) -> tuple[Json, Fraction | None]:
    """Return a step, of a run by its paths, of the body and of every round, and the budget below
    which it shows that none serves; None for all of them."""
    runs = machine.follower
    run = along(runs, list(paths))
    reads = [name for turn in run for name in turn.reads]
    known: dict[str, list[Form]] = {}
    for number, name in enumerate(reads):
        known.setdefault(name, []).append(only(INPUTS + number))
    whole = whole_run(run, known)
    noise, starts = _possible(whole, reads, machine, _returning(whole, parts))
    shown = shown_at(whole, known_values(noise, starts))
    ray = ray_of(reads, starts, grows)
    ends = ((machine.inputs[name], by) for name, pairs in ray.items() for _, by in pairs if by)
    if any((own.high if by > 0 else own.low) is not None for own, by in ends):
        raise NoCertificate("the ray that was found leaves the bounds of an input")
    listed, least = needed(runs, run, on_ray(ray), shown, parts, every_step=True)
    if least is not None and least <= 0:
        raise NoCertificate("nothing is lost on the ray that was found")
    pairs = [(value, _ZERO) for value in noise]
    endless = parts or machine.adjacency.is_free
    return written_ray("every", paths, ray, pairs, listed, parts), None if endless else least


def needed(
    runs: Follower,
    run: Sequence[Path],
    inputs: Inputs,
    shown: Shown,
    parts: Sequence[Part] = (),
    *,
    every_step: bool,
) -> tuple[list[Json], Fraction | None]:
    """Return multipliers for all runs that publish the same, and what the cheapest costs.

    None if none of them is ever taken. `every_step` says that inputs are those of a ray.
    """
    alike: list[Sequence[Path]] = []
    for other in runs_alike(runs, run, {end: start for start, end in parts}):
        check_limits()
        if len(alike) == MOST_ALIKE:
            raise NoCertificate("too many runs publish the same")
        alike.append(other)
    integers = runs.machine.whole and not every_step and all(map(is_whole, alike))
    wholes = (whole_run(each, inputs, integers, shown, parts, alike) for each in alike)
    found = [solved(each, every_step) for each in wholes]
    listed = [each.rows for each in found]
    for number in sorted(range(len(found)), key=lambda k: found[k].cost or _ZERO):
        cost = found[number].cost
        if cost is None:
            continue
        reason: Json = None
        if not parts:
            reason = never(whole_run(alike[number], inputs), runs.machine.whole)
        if reason is None:
            return listed, cost
        listed[number] = reason
    return listed, None


def written_ray(
    eps: str,
    paths: Sequence[int],
    ray: Ray,
    noise: Sequence[Pair],
    rows: list[Json],
    parts: Sequence[Part] = (),
) -> Json:
    """Return a step."""
    return {
        "rule": "ray",
        "from": [],
        "eps": eps,
        "paths": list(paths),
        "inputs": [[name, _pairs_json(own)] for name, own in ray.items()],
        "noise": _pairs_json(noise),
        "parts": [list(part) for part in parts],
        "multipliers": rows,
    }


def _pairs_json(pairs: Sequence[Pair]) -> Json:
    return [[number_json(value), number_json(side)] for value, side in pairs]


# --- a possible run ------------------------------------------------------------------------------


def _returning(whole: Whole, parts: Sequence[Part]) -> list[Form]:
    """Return forms that are 0 if parts lead to where they began."""
    found = []
    for start, end in parts:
        before, after = whole.cells[start - 1], whole.cells[end - 1]
        if before.keys() != after.keys():
            raise NoCertificate("a part does not lead to where it began")
        found += [after[name].plus(before[name].scaled(Fraction(-1))) for name in before]
    return [form for form in found if form != Form(_ZERO)]


def _possible(
    whole: Whole, reads: Sequence[str], machine: Rounds, zero: Sequence[Form]
) -> tuple[list[Fraction], list[Fraction]]:
    """Return small noise and inputs where all guards hold with something to spare.

    Some forms are to be 0.
    """
    count = len(whole.samples)
    atoms = [*range(count), *(INPUTS + k for k in range(len(reads)))]
    fixed = [each for form in zero for each in (form, form.scaled(Fraction(-1)))]
    for place, name in enumerate(reads):
        domain, value = machine.inputs[name], only(INPUTS + place)
        fixed += [] if domain.low is None else [value.plus(Form(-domain.low))]
        if domain.high is not None:
            fixed.append(value.scaled(Fraction(-1)).plus(Form(domain.high)))
    open_ = [*whole.forms]
    for number, sample in enumerate(whole.samples):
        signs = FAMILIES[sample.family].shifts
        if len(signs) == 1:
            open_.append(only(number).scaled(Fraction(signs[0])))
    for margin in (Fraction(1), Fraction(1, count + 2)):
        wanted = [*fixed, *(_spared(form, margin, machine.whole) for form in open_)]
        rows = [[(atom, -c) for atom, c in form.terms] for form in wanted]
        sides = dict.fromkeys(atoms, UnknownSide.ANY)
        programme = LinearProgramme(rows, dict.fromkeys(atoms, 1), sides)
        found = programme.solve([form.constant for form in wanted])
        if isinstance(found, Optimum):
            values = list(found.shift.values())
            if all(
                value.denominator == 1 or not isinstance(FAMILIES[sample.family], IntegerFamily)
                for sample, value in zip(whole.samples, values, strict=False)
            ):
                return values[:count], values[count:]
    raise NoCertificate("no values were found at which the run is possible")


def _spared(form: Form, margin: Fraction, integers: bool) -> Form:
    """Return a form that is >= 0 where another one is at least a margin; of integers, > 0."""
    if not integers:
        return form.plus(Form(-margin))
    whole = form.scaled(Fraction(lcm(*(c.denominator for _, c in form.terms))))
    return Form(Fraction(ceil(whole.constant) - 1), whole.terms)
