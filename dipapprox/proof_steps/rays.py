"""Rays of inputs that show that no smaller budget serves: multipliers and a possible run.

In: a run of a machine, by its paths, and what its inputs grow by. Out: a step of the rule `ray`.
For every run that publishes the same, multipliers are the flow of a linear programme: the least
that noise has to be moved by, weighed, so that the run is taken on and on along the ray.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import floor

from dipapprox.errors import NoCertificate
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.measures import Form
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.runs import Runs, Turn
from dipapprox.limits import Limits
from dipapprox.linear.differences import potentials
from dipapprox.linear.programme import LinearProgramme, Optimum, Side
from dipapprox.proof_steps.least_noise import along, at_inputs, never, solved
from dipapprox.proof_steps.machines import Json, number_json
from dipapprox.proof_steps.orders import NOTHING, ends_of
from dipapprox.proof_steps.whole_runs import (
    INPUTS,
    Growth,
    Part,
    Whole,
    known_values,
    shown_at,
    value_at,
    whole_run,
)

MOST_ALIKE = 200
"""Runs that publish the same."""

_ZERO = Fraction(0)


def ray_step(
    machine: Rounds,
    paths: Sequence[int],
    grows: Growth,
    limits: Limits,
    parts: Sequence[Part] = (),
) -> tuple[Json, Fraction | None]:
    """Return a step, and the budget below which it shows that none serves; None for all of them.

    Args:
        machine: The machine.
        paths: Of a run: of the body, and of every round.
        grows: What its inputs grow by.
        limits: Asked all the time.
        parts: What may come again.

    Raises:
        NoCertificate: If the run is not possible, or nothing is lost.
        NotProved: If the kernel cannot follow the runs.
    """
    runs = Runs(machine)
    run = runs.along(list(paths))
    whole = whole_run(run)
    values, inputs = _possible(whole, machine, _returning(whole, parts), limits)
    shown = shown_at(run, whole, known_values(values, inputs))
    alike: list[Sequence[Turn]] = []
    for other in runs.alike(run, {end: start for start, end in parts}):
        limits.check()
        if len(alike) == MOST_ALIKE:
            raise NoCertificate("too many runs publish the same")
        alike.append(other)
    starts = dict(zip(whole.reads, inputs, strict=True))
    listed: list[Json] = []
    least: Fraction | None = None
    for each in alike:
        own = whole_run(each, shown, parts, alike)
        found = solved(own, along(own, grows), limits)
        reason: Json = None
        if found.cost is not None and not parts:
            plain = whole_run(each)
            ray = along(plain, grows)
            # Those that are alike may read more: it is 0.
            reads = {INPUTS + k: starts.get(read, _ZERO) for k, read in enumerate(plain.reads)}
            rest = at_inputs(plain, reads, False)
            reason = never(plain, ray, rest, machine.whole, limits)
        listed.append(found.rows if reason is None else reason)
        if found.cost is not None and reason is None:
            least = found.cost if least is None else min(least, found.cost)
    if least is not None and least <= 0:
        raise NoCertificate("nothing is lost on the ray that was found")
    known = known_values(values, inputs)
    noise = [known[k] - value_at(each.mean, known) for k, each in enumerate(whole.samples)]
    pairs = [(value, _ZERO) for value in noise]
    fields = step_fields("every", paths, whole, grows, pairs, inputs)
    step: Json = {**fields, "parts": [list(part) for part in parts], "multipliers": listed}
    return step, None if parts else least


def step_fields(
    eps: str,
    paths: Sequence[int],
    whole: Whole,
    grows: Growth,
    values: Sequence[tuple[Fraction, Fraction]],
    inputs: Sequence[Fraction],
) -> dict[str, Json]:
    """Return the fields of a step, but for parts and multipliers."""
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
        "eps": eps,
        "paths": list(paths),
        "inputs": read,
        "noise": [[number_json(value), number_json(side)] for value, side in values],
    }


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
    whole: Whole, machine: Rounds, zero: Sequence[Form], limits: Limits
) -> tuple[list[Fraction], list[Fraction]]:
    """Return values of samples and of inputs at which all guards hold with something to spare.

    Some forms are to be 0.
    """
    margins = Fraction(1), Fraction(1, len(whole.samples) + 2)
    for find, margin in product((_values, _planned), margins):
        values = find(whole, machine, margin, zero, limits)
        if values is None:
            continue
        known = known_values(*values)
        for number, sample in enumerate(whole.samples):
            # One-sided noise: its input lies on the other side, if it has one.
            noise = known[number] - value_at(sample.mean, known)
            signs = FAMILIES[sample.family].shifts
            reads = [(a, c) for a, c in sample.mean.terms if a >= INPUTS]
            if len(signs) == 1 and noise * signs[0] <= 0 and reads:
                atom, coefficient = reads[0]
                known[atom] += (noise - signs[0]) / coefficient
        if _holds(whole, known) and all(not value_at(form, known) for form in zero):
            return values[0], [known[INPUTS + k] for k in range(len(whole.reads))]
    raise NoCertificate("no values were found at which the run is possible")


def _holds(whole: Whole, known: Mapping[int, Fraction]) -> bool:
    for number, sample in enumerate(whole.samples):
        noise, law = known[number] - value_at(sample.mean, known), FAMILIES[sample.family]
        if len(law.shifts) == 1 and noise * law.shifts[0] <= 0:
            return False
        if isinstance(law, IntegerFamily) and noise.denominator > 1:
            return False
    return all(value_at(form, known) > 0 for own in whole.guards for form, _ in own)


def _values(
    whole: Whole, machine: Rounds, margin: Fraction, zero: Sequence[Form], limits: Limits
) -> tuple[list[Fraction], list[Fraction]] | None:
    """Return values of samples and inputs that keep differences, x_i - x_j >= c and the margin.

    None if none do.
    """
    demands: list[tuple[int, int, Fraction]] = []  # of -x: where none is larger, x is least
    wanted = [(form, True) for own in whole.guards for form, _ in own]
    wanted += [(each, False) for form in zero for each in (form, form.scaled(Fraction(-1)))]
    for form, apart in wanted:
        ends = ends_of(form)
        if ends is not None:
            high, low, factor = ends
            least = -form.constant / factor
            spare = Fraction(floor(least) + 1) if machine.whole else least + margin
            demands.append((low, high, -spare if apart else -least))
    for number, sample in enumerate(whole.samples):
        signs = FAMILIES[sample.family].shifts
        if len(signs) == 1 and not sample.mean.terms:
            pair = (NOTHING, number) if signs[0] > 0 else (number, NOTHING)
            demands.append((*pair, -(signs[0] * sample.mean.constant + margin)))
    found = potentials(demands, _ZERO)
    if found is None:
        return None
    start = found.get(NOTHING, _ZERO)
    samples = [start - found.get(k, _ZERO) for k in range(len(whole.samples))]
    reads = range(INPUTS, INPUTS + len(whole.reads))
    return samples, [start - found.get(k, start) for k in reads]


def _planned(
    whole: Whole, machine: Rounds, margin: Fraction, zero: Sequence[Form], limits: Limits
) -> tuple[list[Fraction], list[Fraction]] | None:
    """Return small values of samples and inputs that keep all forms, by a linear programme."""
    wanted = [form.plus(Form(-margin)) for own in whole.guards for form, _ in own]
    wanted += [each for form in zero for each in (form, form.scaled(Fraction(-1)))]
    for number, sample in enumerate(whole.samples):
        signs = FAMILIES[sample.family].shifts
        if len(signs) == 1:
            noise = Form(_ZERO, ((number, Fraction(1)),)).plus(sample.mean.scaled(Fraction(-1)))
            wanted.append(noise.scaled(Fraction(signs[0])).plus(Form(-margin)))
    for place, (name, _) in enumerate(whole.reads):
        domain, value = machine.inputs[name], Form(_ZERO, ((INPUTS + place, Fraction(1)),))
        wanted += [] if domain.low is None else [value.plus(Form(-domain.low))]
        if domain.high is not None:
            wanted.append(value.scaled(Fraction(-1)).plus(Form(domain.high)))
    atoms = [*range(len(whole.samples)), *(INPUTS + k for k in range(len(whole.reads)))]
    rows = [[(atom, -c) for atom, c in form.terms] for form in wanted]
    sides = dict.fromkeys(atoms, Side.ANY)
    programme = LinearProgramme(rows, dict.fromkeys(atoms, 1), sides, limits)
    found = programme.solve([form.constant for form in wanted])
    if not isinstance(found, Optimum):
        return None
    values = list(found.shift.values())
    return values[: len(whole.samples)], values[len(whole.samples) :]
