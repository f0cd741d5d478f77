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
from dipapprox.kernel.paths import Follower, Guard, Held, Read, Sample
from dipapprox.kernel.rays import Runs, Turn
from dipapprox.kernel.rounds import Rounds
from dipapprox.limits import Limits
from dipapprox.linear_programme import LinearProgramme, Optimum, Side
from dipapprox.proof_steps.machines import Json, number_json
from dipapprox.proof_steps.orders import NOTHING, ends_of

MOST_SAMPLES = 400
"""Of a run."""

MOST_ALIKE = 200
"""Runs that publish the same."""

_ZERO = Fraction(0)

Growth = Mapping[str, Sequence[Fraction]]
"""By input what its numbers grow by, in the order in which they are read."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A run, all of it over the same atoms: samples by number, inputs by name and turn.

    Attributes:
        samples: All samples; their means are forms over samples and inputs.
        reads: (name, which of its numbers) of the inputs, which stand behind the samples.
        guards: For each turn its guards; then for each random number that is published two.
    """

    samples: tuple[Sample, ...]
    reads: tuple[tuple[str, int], ...]
    guards: tuple[tuple[Guard, ...], ...]
    said: tuple[Form, ...]


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
    runs = Runs(machine, Follower(machine, limits.check))
    run = runs.along(paths)
    word = runs.word(run)
    whole = _whole(run, {})
    values, inputs = _possible(whole, machine)
    known = [*values, *inputs]
    bounds: dict[int, tuple[Fraction, Fraction]] = {}
    shown = iter(whole.said)
    for place, value in enumerate(word):
        if isinstance(value, Form):
            middle = _at(next(shown), known)
            bounds[place] = middle - 1, middle + 1
    listed: list[Json] = []
    least: Fraction | None = None
    for other in runs.alike(word, len(paths)):
        limits.check()
        if len(listed) == MOST_ALIKE:
            raise NoCertificate("too many runs publish the same")
        rows, lost = _multipliers(_whole(other, bounds), grows, limits)
        listed.append(rows)
        least = lost if least is None or (lost is not None and lost < least) else least
    if least is not None and least <= 0:
        raise NoCertificate("nothing is lost on the ray that was found")
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
        "rule": "ray",
        "from": [],
        "paths": list(paths),
        "inputs": read,
        "samples": [number_json(value) for value in values],
        "shown": [[number_json(low), number_json(high)] for low, high in bounds.values()],
        "multipliers": listed,
    }, least


def _whole(run: Sequence[Turn], bounds: Mapping[int, tuple[Fraction, Fraction]]) -> Whole:
    samples: list[Sample] = []
    reads: dict[tuple[str, int], int] = {}
    counts: dict[str, Iterator[int]] = {}
    places = (turn.path.atoms for turn in run)
    total = sum(isinstance(atom, Sample) for atoms in places for atom in atoms)
    if total > MOST_SAMPLES:
        raise NoCertificate("the run is too long")
    cells: dict[str, Form] = {}
    guards: list[tuple[Guard, ...]] = []
    all_said: list[Form] = []
    place = 0
    for turn in run:
        forms: list[Form] = []
        for atom in turn.path.atoms:
            match atom:
                case Held(cell):
                    forms.append(cells[cell])
                case Read(name):
                    number = next(counts.setdefault(name, count()))
                    reads[name, number] = total + len(reads)
                    forms.append(_atom(reads[name, number]))
                case Sample(family, mean, size):
                    forms.append(_atom(len(samples)))
                    samples.append(Sample(family, _over(mean, forms), size))
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
        cells = {
            name: _over(value, forms)
            for name, value in turn.path.store.items()
            if isinstance(value, Form)
        }
    return Whole(tuple(samples), tuple(reads), tuple(guards), tuple(all_said))


def _atom(number: int) -> Form:
    return Form(_ZERO, ((number, Fraction(1)),))


def _over(form: Form, forms: Sequence[Form]) -> Form:
    found = Form(form.constant)
    for atom, coefficient in form.terms:
        found = found.plus(forms[atom].scaled(coefficient))
    return found


def _at(form: Form, values: Sequence[Fraction]) -> Fraction:
    return form.constant + sum((c * values[atom] for atom, c in form.terms), _ZERO)


# --- multipliers ---------------------------------------------------------------------------------


def _multipliers(whole: Whole, grows: Growth, limits: Limits) -> tuple[Json, Fraction | None]:
    """Return multipliers for every turn of a run, and what is lost; None if it is impossible."""
    rows: list[dict[int, int]] = []
    right: list[Fraction] = []
    scales: list[int] = []
    forms = [form for own in whole.guards for form, _ in own]
    first = len(whole.samples)
    for form in forms:
        noise, rest = _in_noise(form, whole)
        # Along the ray noise moves by x >= 0 times t: coefficients * x + growth >= 0.
        scale = lcm(*(c.denominator for c in noise.values()))
        rows.append({number: int(-c * scale) for number, c in noise.items()})
        grown = _ZERO
        for atom, coefficient in rest.items():
            name, number = whole.reads[atom - first]
            steps = grows.get(name, ())
            grown += coefficient * (steps[number] if number < len(steps) else _ZERO)
        right.append(grown * scale)
        scales.append(scale)
    unit = lcm(*(sample.size.numerator for sample in whole.samples))
    rates = [int(unit / sample.size) for sample in whole.samples]
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
        atom = max((a for a in left if a < len(whole.samples)), default=None)
        if atom is None:
            inputs = left
            break
        factor = left.pop(atom)
        if factor:
            noise[atom] = factor
            for other, coefficient in whole.samples[atom].mean.terms:
                left[other] = left.get(other, _ZERO) + factor * coefficient
    return noise, inputs


def _side(family: str) -> Side:
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


def _possible(whole: Whole, machine: Rounds) -> tuple[list[Fraction], list[Fraction]]:
    """Return values of samples and of inputs at which all guards hold with something to spare."""
    for margin in _margins(len(whole.samples)):
        values = _values(whole, machine, margin)
        if values is None:
            continue
        inputs = [_ZERO] * len(whole.reads)
        known = [*values, *inputs]
        for number, sample in enumerate(whole.samples):
            # One-sided noise: its input lies on the other side, if it has one.
            noise = values[number] - _at(sample.mean, known)
            signs = FAMILIES[sample.family].shifts
            reads = [(a, c) for a, c in sample.mean.terms if a >= len(values)]
            if len(signs) == 1 and noise * signs[0] <= 0 and reads:
                atom, coefficient = reads[0]
                known[atom] += (noise - signs[0]) / coefficient
        inputs = known[len(values) :]
        if _holds(whole, known):
            return values, inputs
    raise NoCertificate("no values were found at which the run is possible")


def _margins(size: int) -> list[Fraction]:
    return [Fraction(1), Fraction(1, size + 2)]


def _holds(whole: Whole, known: Sequence[Fraction]) -> bool:
    for number, sample in enumerate(whole.samples):
        noise, law = known[number] - _at(sample.mean, known), FAMILIES[sample.family]
        if len(law.shifts) == 1 and noise * law.shifts[0] <= 0:
            return False
        if isinstance(law, IntegerFamily) and noise.denominator > 1:
            return False
    return all(_at(form, known) > 0 for own in whole.guards for form, _ in own)


def _values(whole: Whole, machine: Rounds, margin: Fraction) -> list[Fraction] | None:
    """Return values that keep differences, x_i - x_j >= c and the margin; None if none do."""
    demands: list[tuple[int, int, Fraction]] = []
    for own in whole.guards:
        for form, _ in own:
            ends = ends_of(form)
            if ends is None:
                continue
            high, low, factor = ends
            least = -form.constant / factor
            spare = Fraction(floor(least) + 1) if machine.whole else least + margin
            demands.append((high, low, spare))
    for number, sample in enumerate(whole.samples):
        signs = FAMILIES[sample.family].shifts
        if len(signs) == 1 and not sample.mean.terms:
            pair = (number, NOTHING) if signs[0] > 0 else (NOTHING, number)
            demands.append((*pair, signs[0] * sample.mean.constant + margin))
    found = dict.fromkeys([NOTHING, *range(len(whole.samples) + len(whole.reads))], _ZERO)
    for _ in range(len(found) + 1):
        grown = False
        for high, low, least in demands:
            if found[high] < found[low] + least:
                found[high], grown = found[low] + least, True
        if not grown:
            return [found[k] - found[NOTHING] for k in range(len(whole.samples))]
    return None
