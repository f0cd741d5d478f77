"""Two inputs between which an output loses much: a step of the rules `ray` and `trace`.

As eps grows: in, a machine, how many turns are taken, and what is read in them. Of all runs of so
many turns that publish the same, the one that needs the least noise at the first inputs is the
one that is possible there; multipliers show what all of them need at the second. At one eps, or as
it vanishes, the kernel finds how likely an output is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import budget as bounded
from dipapprox.kernel.forms import Form
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.paths import Path
from dipapprox.kernel.rays import Inputs, Runs, is_whole
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.traces import trace
from dipapprox.language.core import Value
from dipapprox.limits import Limits
from dipapprox.linear.programme import LinearProgramme, Optimum, UnknownSide
from dipapprox.proof_steps import rays
from dipapprox.proof_steps.machines import Json, number_json, value_json

MOST_RUNS = 1_000  # of so many turns
MOST_WORDS = 20  # of which it is looked at what they lose
Numbers = Mapping[str, Sequence[Fraction]]  # by input what is read of it, in turn
_ZERO = Fraction(0)


def large_step(
    machine: Rounds,
    turns: int,
    places: tuple[Numbers, Numbers],
    is_meant: Callable[[Sequence[Path]], bool],
    numbers: rays.Shown,
    limits: Limits,
    said: int = 0,
) -> tuple[Json, Fraction | None]:
    """Return a step, and the budget below which it shows that none serves; None for all of them.

    Args:
        turns: How many are taken: the body is one.
        places: What is read: first where the output is likelier, then where it is not.
        is_meant: Whether what a run has published may be the output.
        numbers: Those that are published close to others.
        said: How much is published, at least.
    """
    runs = Runs(machine)
    first, second = places
    known: list[tuple[Fraction, int, list[int], list[Path], rays.Solved]] = []
    for paths, run in runs_of(runs, turns, is_meant):
        limits.check()
        if sum(len(turn.said) for turn in run) < said:
            continue
        bound = rays.whole_run(run, _at(first), machine.whole and is_whole(run), numbers)
        found = rays.solved(bound, limits)
        if found.cost is not None:
            known.append((found.cost, len(known), paths, run, found))
    best: tuple[Json, Fraction] | None = None
    words = set[object]()
    for cost, _, paths, run, found in sorted(known, key=lambda each: each[:2]):
        word = tuple([v if isinstance(v, str) else None for t in run for v in t.said])
        if (word, run[-1].ended) in words or len(words) == MOST_WORDS:
            continue
        whole, noise = rays.whole_run(run, _at(first)), rays.known_values(found.noise)
        toward = _inwards(machine, whole, noise, limits)
        if toward is None:
            continue
        words.add((word, run[-1].ended))
        shown = rays.shown_at(whole, noise)
        rows, least = rays.needed(runs, machine, run, _at(second), shown, limits, every_step=False)
        if least is not None and (least <= cost or (best is not None and best[1] >= least - cost)):
            continue
        pairs = list(zip(found.noise, toward, strict=True))
        step = rays.written_ray("large", paths, _ray(*places), pairs, rows)
        if least is None:
            return step, None
        best = step, least - cost
    if best is None:
        raise NoCertificate("nothing is lost between the inputs that were found")
    return best


def trace_step(
    machine: Rounds,
    places: tuple[Numbers, Numbers],
    output: Mapping[str, Value],
    eps: Fraction,
    budget: Fraction | None,
) -> Json:
    """Return a step: at this eps no budget serves that is less.

    Args:
        output: What is published, by name.
        eps: Where, or 0 where it vanishes.
        budget: What is lost; None for more than any number.
    """
    if not set(machine.first) <= output.keys():
        raise NoCertificate("random numbers are published")
    inputs = [[number_json(own[name][0]) for name in machine.inputs] for own in places]
    seen = [value_json(output[name]) for name in machine.first]
    step: dict[str, Json] = {
        "rule": "trace",
        "from": [],
        "events": [[*inputs, seen]],
        "budget": None if budget is None else number_json(budget),
        "eps": number_json(eps),
    }
    with bounded():
        trace(machine, step)
    return step


def _ray(first: Numbers, second: Numbers) -> rays.Ray:
    return {
        name: [(a, b - a) for a, b in zip(values, second[name], strict=True)]
        for name, values in first.items()
    }


def runs_of(
    runs: Runs, turns: int, is_meant: Callable[[Sequence[Path]], bool]
) -> Iterator[tuple[list[int], list[Path]]]:
    """Yield runs with the numbers of their paths."""
    waiting: list[tuple[list[int], list[Path]]] = [([], [])]
    count = 0
    while waiting:
        numbers, run = waiting.pop()
        if len(run) == turns:
            yield numbers, run
            continue
        for number, turn in enumerate(runs.turns(run[-1] if run else None)):
            count += 1
            if count > MOST_RUNS:
                raise NoCertificate("too many runs")
            if is_meant([*run, turn]):
                waiting.append(([*numbers, number], [*run, turn]))


def _at(numbers: Numbers) -> Inputs:
    return {name: [Form(value) for value in values] for name, values in numbers.items()}


def _inwards(
    machine: Rounds, whole: rays.Whole, noise: Mapping[int, Fraction], limits: Limits
) -> list[Fraction] | None:
    """Return where noise may be moved, so that all guards hold with something to spare.

    None if they do not: then the run has the probability 0.
    """
    if machine.whole and all(isinstance(FAMILIES[s.family], IntegerFamily) for s in whole.samples):
        return [_ZERO] * len(whole.samples)
    rows = [
        [(k, -c) for k, c in whole.noise_of(form)]
        for form in whole.forms
        if not rays.value_at(form, noise)
    ]
    for number, sample in enumerate(whole.samples):
        shifts = FAMILIES[sample.family].shifts
        if len(shifts) == 1 and not FAMILIES[sample.family].is_light and not noise[number]:
            rows.append([(number, Fraction(-shifts[0]))])
    sides = dict.fromkeys(range(len(whole.samples)), UnknownSide.ANY)
    moved = LinearProgramme(rows, dict.fromkeys(sides, 1), sides, limits).solve([-1] * len(rows))
    return list(moved.shift.values()) if isinstance(moved, Optimum) else None
