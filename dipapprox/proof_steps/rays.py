"""Rays of inputs that show that no smaller budget serves: multipliers and a possible run.

In: a run of a machine, by its paths, and what its inputs grow by. Out: a step of the rule `ray`.
For every run that publishes the same, multipliers are the flow of a linear programme: the least
that noise has to be moved by, weighed, so that the run is taken on and on along the ray.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count
from math import floor, lcm

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.expressions import form_of
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.measures import Form
from dipapprox.kernel.paths import Follower, Held, Read, Sample
from dipapprox.kernel.rays import Runs, Turn, Word
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.walk import Guard
from dipapprox.limits import Limits
from dipapprox.linear_programme import LinearProgramme, Optimum, Side
from dipapprox.proof_steps.machines import Json, number_json
from dipapprox.proof_steps.orders import NOTHING, ends_of

MOST_SAMPLES = 400
"""Of a run."""

MOST_ALIKE = 200
"""Runs that publish the same."""

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


def cycles_step(
    machine: Rounds, paths: Sequence[int], grows: Growth, parts: Sequence[Part], limits: Limits
) -> Json:
    """Return a step of the rule `cycles`: no budget serves.

    Args:
        machine: The machine.
        paths: Of a run: of the body, and of every round.
        grows: What its inputs grow by.
        parts: What may come again.
        limits: Asked all the time.

    Raises:
        NoCertificate: If the run is not possible, or nothing is lost.
        NotProved: If the kernel cannot follow the run.
    """
    runs = Runs(machine, Follower(machine))
    run = runs.along(paths)
    whole = _whole(run, {}, ())
    values, inputs = _possible(whole, machine, _returning(whole, parts))
    bounds = _bounds(runs.word(run), whole, _known(values, inputs))
    rows, lost = _multipliers(_whole(run, bounds, parts), grows, limits)
    if lost is None or lost <= 0:
        raise NoCertificate("nothing is lost in the parts that come again")
    fields = _fields(paths, whole, grows, values, inputs, bounds)
    listed: list[Json] = [[start, end] for start, end in parts]
    return {"rule": "cycles", **fields, "parts": listed, "multipliers": rows}


def ray_step(
    machine: Rounds, paths: Sequence[int], grows: Growth, limits: Limits
) -> tuple[Json, Fraction | None]:
    """Return a step, and the budget below which it shows that none serves; None for all of them.

    Args:
        machine: The machine.
        paths: Of a run: of the body, and of every round.
        grows: What its inputs grow by.
        limits: Asked all the time.

    Raises:
        NoCertificate: If the run is not possible, or nothing is lost.
        NotProved: If the kernel cannot follow the runs.
    """
    runs = Runs(machine, Follower(machine))
    run = runs.along(paths)
    word = runs.word(run)
    whole = _whole(run, {}, ())
    values, inputs = _possible(whole, machine, ())
    bounds = _bounds(word, whole, _known(values, inputs))
    listed: list[Json] = []
    least: Fraction | None = None
    for other in runs.alike(word, len(paths)):
        limits.check()
        if len(listed) == MOST_ALIKE:
            raise NoCertificate("too many runs publish the same")
        rows, lost = _multipliers(_whole(other, bounds, ()), grows, limits)
        listed.append(rows)
        least = lost if least is None or (lost is not None and lost < least) else least
    if least is not None and least <= 0:
        raise NoCertificate("nothing is lost on the ray that was found")
    fields = _fields(paths, whole, grows, values, inputs, bounds)
    return {"rule": "ray", **fields, "multipliers": listed}, least


Bounds = Mapping[int, tuple[Fraction, Fraction]]
"""Of random numbers that are published, by their places in what is."""


def _bounds(word: Word, whole: Whole, known: Mapping[int, Fraction]) -> Bounds:
    found: dict[int, tuple[Fraction, Fraction]] = {}
    shown = iter(whole.said)
    for place, value in enumerate(word):
        if isinstance(value, Form):
            middle = _at(next(shown), known)
            found[place] = middle - 1, middle + 1
    return found


def _fields(
    paths: Sequence[int],
    whole: Whole,
    grows: Growth,
    values: Sequence[Fraction],
    inputs: Sequence[Fraction],
    bounds: Bounds,
) -> dict[str, Json]:
    starts = dict(zip(whole.reads, inputs, strict=True))
    read: list[Json] = []
    for name in dict.fromkeys([*(each for each, _ in whole.reads), *grows]):
        steps = grows.get(name, ())
        size = max(len(steps), sum(each == name for each, _ in whole.reads))
        numbers: list[Json] = []
        for k in range(size):
            grown = steps[k] if k < len(steps) else _ZERO
            numbers.append([number_json(starts.get((name, k), _ZERO)), number_json(grown)])
        read.append([name, numbers])
    return {
        "from": [],
        "paths": list(paths),
        "inputs": read,
        "samples": [number_json(value) for value in values],
        "shown": [[number_json(low), number_json(high)] for low, high in bounds.values()],
    }


def _whole(run: Sequence[Turn], bounds: Bounds, parts: Sequence[Part]) -> Whole:
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
        return _atom(len(samples) - 1)

    def unknown(before: Mapping[str, Form], start: int, end: int) -> dict[str, Form]:
        found = {}
        for name in cells:
            kept = all(_keeps(run[k], name) for k in range(start, end))
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
                    forms.append(_atom(INPUTS + len(reads)))
                    reads.append((name, next(counts.setdefault(name, count()))))
                case Sample(family, mean, size):
                    sample = Sample(family, _over(mean, forms), size)
                    forms.append(drawn(sample, bool(parts) and number not in inside))
        own = [(_over(form, forms), strict) for form, strict in turn.path.guards]
        for said in turn.path.said:
            if not isinstance(said, str):
                form = _over(form_of(said), forms)
                if isinstance(said, Form):
                    all_said.append(form)
                if place in bounds:
                    low, high = bounds[place]
                    own.append((form.plus(Form(-low)), False))
                    own.append((form.scaled(Fraction(-1)).plus(Form(high)), False))
            place += 1
        guards.append(tuple(own))
        items = turn.path.store.items()
        cells = {name: _over(form, forms) for name, form in items if isinstance(form, Form)}
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
    return name in turn.held and turn.path.store.get(name) == _atom(turn.held.index(name))


def _atom(number: int) -> Form:
    return Form(_ZERO, ((number, Fraction(1)),))


def _over(form: Form, forms: Sequence[Form]) -> Form:
    found = Form(form.constant)
    for atom, coefficient in form.terms:
        found = found.plus(forms[atom].scaled(coefficient))
    return found


def _at(form: Form, values: Mapping[int, Fraction]) -> Fraction:
    return form.constant + sum((c * values[atom] for atom, c in form.terms), _ZERO)


# --- multipliers ---------------------------------------------------------------------------------


def _multipliers(whole: Whole, grows: Growth, limits: Limits) -> tuple[Json, Fraction | None]:
    """Return multipliers for every turn of a run, and what is lost; None if it is impossible."""
    rows: list[dict[int, int]] = []
    right: list[Fraction] = []
    scales: list[int] = []
    forms = [form for own in whole.guards for form, _ in own]
    for form in forms:
        noise, rest = _in_noise(form, whole)
        # Along the ray noise moves by x >= 0 times t: coefficients * x + growth >= 0.
        scale = lcm(*(c.denominator for c in noise.values()))
        rows.append({number: int(-c * scale) for number, c in noise.items()})
        grown = _ZERO
        for atom, coefficient in rest.items():
            name, number = whole.reads[atom - INPUTS]
            steps = grows.get(name, ())
            grown += coefficient * (steps[number] if number < len(steps) else _ZERO)
        right.append(grown * scale)
        scales.append(scale)
    unit = lcm(*(sample.size.numerator for sample in whole.samples))
    rates = [
        None if is_light(sample) else 0 if number in whole.free else int(unit / sample.size)
        for number, sample in enumerate(whole.samples)
    ]
    sides = [_side(sample.family) for sample in whole.samples]
    common = lcm(*(value.denominator for value in right))
    solved = LinearProgramme(rows, rates, sides, limits).solve([int(v * common) for v in right])
    factors = [y * scale / unit for y, scale in zip(solved.flow, scales, strict=True)]
    lost: Fraction | None = -sum(
        (
            factor / scale * value
            for factor, scale, value in zip(factors, scales, right, strict=True)
        ),
        _ZERO,
    )
    if not isinstance(solved, Optimum):
        lost = None  # no noise makes it possible far out on the ray
    listed: list[Json] = []
    left = iter(factors)
    for own in whole.guards:
        chosen: list[Json] = []
        for number, factor in enumerate([next(left) for _ in own]):
            if factor:
                chosen.append([number, number_json(factor)])
        listed.append(chosen)
    return listed, lost


def _in_noise(form: Form, whole: Whole) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """Return the coefficients of a form in the noise of samples, and in inputs."""
    left, noise, inputs = dict(form.terms), dict[int, Fraction](), dict[int, Fraction]()
    while left:
        atom = max((a for a in left if a < INPUTS), default=None)
        if atom is None:
            inputs = left
            break
        factor = left.pop(atom)
        if factor:
            noise[atom] = factor
            for other, coefficient in whole.samples[atom].mean.terms:
                left[other] = left.get(other, _ZERO) + factor * coefficient
    return noise, inputs


def is_light(sample: Sample) -> bool:
    """Whether noise far out is so unlikely that no multiplier is too large."""
    return FAMILIES[sample.family].is_light


def _side(family: str) -> Side:
    if FAMILIES[family].is_light:
        return Side.ANY
    match FAMILIES[family].shifts:
        case (1, -1) | (-1, 1):
            return Side.ANY
        case (1,):
            return Side.AT_LEAST_ZERO
        case (-1,):
            return Side.AT_MOST_ZERO
        case _:
            raise NoCertificate(f"{family} noise has no price")


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
    whole: Whole, machine: Rounds, zero: Sequence[Form]
) -> tuple[list[Fraction], list[Fraction]]:
    """Return values of samples and of inputs at which all guards hold with something to spare.

    Some forms are to be 0.
    """
    for margin in (Fraction(1), Fraction(1, len(whole.samples) + 2)):
        values = _values(whole, machine, margin, zero)
        if values is None:
            continue
        known = _known(*values)
        for number, sample in enumerate(whole.samples):
            # One-sided noise: its input lies on the other side, if it has one.
            noise = known[number] - _at(sample.mean, known)
            signs = FAMILIES[sample.family].shifts
            reads = [(a, c) for a, c in sample.mean.terms if a >= INPUTS]
            if len(signs) == 1 and noise * signs[0] <= 0 and reads:
                atom, coefficient = reads[0]
                known[atom] += (noise - signs[0]) / coefficient
        if _holds(whole, known) and all(not _at(form, known) for form in zero):
            return values[0], [known[INPUTS + k] for k in range(len(whole.reads))]
    raise NoCertificate("no values were found at which the run is possible")


def _known(values: Sequence[Fraction], inputs: Sequence[Fraction]) -> dict[int, Fraction]:
    return {**dict(enumerate(values)), **{INPUTS + k: value for k, value in enumerate(inputs)}}


def _holds(whole: Whole, known: Mapping[int, Fraction]) -> bool:
    for number, sample in enumerate(whole.samples):
        noise, law = known[number] - _at(sample.mean, known), FAMILIES[sample.family]
        if len(law.shifts) == 1 and noise * law.shifts[0] <= 0:
            return False
        if isinstance(law, IntegerFamily) and noise.denominator > 1:
            return False
    return all(_at(form, known) > 0 for own in whole.guards for form, _ in own)


def _values(
    whole: Whole, machine: Rounds, margin: Fraction, zero: Sequence[Form]
) -> tuple[list[Fraction], list[Fraction]] | None:
    """Return values of samples and inputs that keep differences, x_i - x_j >= c and the margin.

    None if none do.
    """
    demands: list[tuple[int, int, Fraction]] = []
    wanted = [(form, True) for own in whole.guards for form, _ in own]
    wanted += [(each, False) for form in zero for each in (form, form.scaled(Fraction(-1)))]
    for form, apart in wanted:
        ends = ends_of(form)
        if ends is not None:
            high, low, factor = ends
            least = -form.constant / factor
            spare = Fraction(floor(least) + 1) if machine.whole else least + margin
            demands.append((high, low, spare if apart else least))
    for number, sample in enumerate(whole.samples):
        signs = FAMILIES[sample.family].shifts
        if len(signs) == 1 and not sample.mean.terms:
            pair = (number, NOTHING) if signs[0] > 0 else (NOTHING, number)
            demands.append((*pair, signs[0] * sample.mean.constant + margin))
    places = {place for high, low, _ in demands for place in (high, low)}
    found = dict.fromkeys([NOTHING, *range(len(whole.samples)), *sorted(places)], _ZERO)
    for _ in range(len(found) + 1):
        grown = False
        for high, low, least in demands:
            if found[high] < found[low] + least:
                found[high], grown = found[low] + least, True
        if not grown:
            samples = [found[k] - found[NOTHING] for k in range(len(whole.samples))]
            reads = range(INPUTS, INPUTS + len(whole.reads))
            return samples, [found[k] - found[NOTHING] if k in places else _ZERO for k in reads]
    return None
