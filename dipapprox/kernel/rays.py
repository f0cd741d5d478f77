"""Budgets that no machine can keep: the rule of rays.

Inputs u are read in turn, u_t = u + t w, where u and u_1 are adjacent. S says what a run publishes
in so many rounds, where the noise of its samples is z; numbers within a small h > 0 of it.

Theorem. Let the run be possible at u, as close to z as wanted. On every run that publishes what S
says, let a sum of multiples >= 0 of guards and of what S says be a form

    sum of a_i z_i - c t + d    over the noise z_i (samples less their means)

with sign * a_i size_i <= 1 for the signs of the shifts of z_i (`laws`); left out are a_i z_i that
cannot be > 0. No budget B < c serves at any eps > 0, where c is the least of all these runs; and no
budget B < e - p serves every eps, where e is the least c - d, and p the sum of |z_i| / size_i at z.
Where all noise is light, c > 0 and c - d > 0 stand for any number; where there is none, d < 0 = c
does, too, and of guards alone, one of which is > 0, c = d = 0, or c - d = 0.

Proof. On S the sum is >= 0, or -M h. So sum of a_i z_i >= c t - d - M h at u_t, for one of
finitely many runs. Noise that can be shifted has E exp(theta eps a_i z_i) <= K for theta < 1 and
all eps that are large, or one (`laws`), so Pr[S | u_t] <= K exp(-theta eps (c t - d - M h))
(Markov; with another K). If B served, Pr[S | u] <= e^(B eps t) Pr[S | u_t] for all t. At one eps
the right side goes to 0 for B / c < theta < 1, as t grows, but Pr[S | u] > 0. As eps grows, t = 1,
Pr[S | u] is at least exp(-eps sum of |z_i| / size_i) times a power of eps: densities are no less
on a ball of a radius proportional to 1 / eps around a point whose distance from z is, too. Then
theta goes to 1 and h to 0. Light noise has such a K for any multiple; at z it is 0 as eps grows.
What stands for any number may be multiplied by it; without noise Pr[S | u_t] = 0.

Other scales. z_i of scale size_i eps^k, k != -1, may have any a_i, without parts and at one eps.
If k > -1 for all of them, N a_i is small enough, for any N, as eps goes to 0; if k < -1, as it
grows. So where a sum has no z_i of scale size_i / eps, c > 0 stands for any number at some eps.

The run is possible close to z if all guards are > 0, and one-sided noise is on its side, at z + s y
for all small s > 0: densities are > 0 and continuous around. If all samples and all that cells hold
are integers, guards have to hold at z; and a form > 0 of multiples of 1 / l is at least 1 / l.

Parts. Let some parts of the run lead from a store to the same store, with the same numbers at z,
and what is published tell more: up to the last part, every run that publishes so far what it does,
publishes and reads in each turn as much, and is behind a part in the store in which it was before.
Then each part may be taken k times, and a run that publishes the same takes k parts for each, out
of those that such runs have there. Let no noise be left in the sums but in parts, and let what sums
say of cells at the ends of a part pass unchanged through all that may be taken in its place. Then
the sums of the runs that take one of the k add up to one of the whole run, and no budget below k c
serves, for any k: none serves, at any eps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from dipapprox.kernel import runs
from dipapprox.kernel.errors import Refused, Refuted, spend
from dipapprox.kernel.forms import Form, over
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.laws import FAMILIES, IntegerFamily
from dipapprox.kernel.paths import Path, Sample
from dipapprox.kernel.reading import as_list, as_word
from dipapprox.kernel.regions import ZERO, combined
from dipapprox.kernel.rounds import Rounds


def ray(machine: Rounds, step: Mapping[str, Any]) -> Budgets:
    """Along a ray of inputs, or as eps grows, what is published becomes exponentially unlikely.

    Theorem (`rays`): Pr[S | u_t] <= K e^(-theta eps (c t - d)) for every theta < 1, u and u_1 are
    adjacent, and S is possible at u.

    Step: "eps": "every", or "large" (then nothing moves further than to u_1); "paths" of a run,
    "noise" [z, y] at which it is possible, "inputs", "parts" [first turn, the one behind the
    last], "multipliers" of all turns of every run that publishes the same.
    """
    followed = runs.Runs(machine)
    run = followed.along(step["paths"])
    large = as_word(step["eps"], "eps", ("every", "large")) == "large"
    parts = runs.read_parts(step["parts"], run)
    if parts and (large or machine.adjacency.norm not in ("linf", "increasing", "decreasing")):
        raise Refuted("inputs of parts that come again do not change together")
    inputs = runs.read_inputs(machine, step["inputs"], large)
    alike = list(followed.alike(run, parts))
    turns = {id(turn): turn for each in alike for turn in each}
    integers = machine.whole and runs.is_whole([*turns.values()])
    others = {a.power for t in turns.values() for a in t.atoms if isinstance(a, Sample)} - {-1}
    if others and (large or parts or min(others) < -1 < max(others)):
        raise Refused("a scale that is no multiple of 1 / eps")
    first = runs.flat(run, inputs, integers)
    noise = runs.as_pairs(as_list(step["noise"], "noise", len(first.samples)), "noise")
    require_possible(first, noise, large, integers)
    near = near_noise(noise)
    held = [{name: over(form, near) for name, form in own.items()} for own in first.cells]
    if any(held[start - 1] != held[end - 1] for end, start in parts.items()):
        raise Refuted("a part does not lead to where it began")
    forms = [form for own in first.said for form in own]
    said = [None if form is None else over(form, near).constant for form in forms]
    price = sum([abs(z) / s.size for s, (z, _) in zip(first.samples, noise, strict=True)], ZERO)
    rows = as_list(step["multipliers"], "multipliers", len(alike))
    ways = Alike(alike, inputs, integers, said, parts)
    losses = []
    for each, json in zip(alike, rows, strict=True):
        spend(10)
        found = ways.lost(each, as_list(json, "multipliers", len(each)))
        lost, rest = (found.lost - found.rest, ZERO) if large else (found.lost, found.rest)
        noisy = any(not FAMILIES[s.family].is_light for s, _ in found.noise if s.power == -1)
        any_number = not (found.noise or lost) and rest <= 0 and (rest < 0 or found.strict)
        if not any_number and (noisy or lost <= 0):
            losses.append(lost - price if large else lost)
    if not alike or (losses and min(losses) <= 0):
        raise Refuted("nothing is lost on the ray")
    return Budgets(None, None if parts or not losses else min(losses), not (large or others))


def require_possible(
    run: runs.Flat, noise: Sequence[runs.Pair], large: bool, integers: bool
) -> None:
    """Make sure that a run is possible at the first inputs, close to this noise."""
    for sample, (value, side) in zip(run.samples, noise, strict=True):
        law = FAMILIES[sample.family]
        whole = not isinstance(law, IntegerFamily) or (value.denominator == 1 and not side)
        if not whole or not (law.shifts or law.is_light) or (large and law.is_light and value):
            raise Refuted(f"such noise of {sample.family} is not known to be possible")
        if len(law.shifts) == 1 and (law.shifts[0] * value, law.shifts[0] * side) <= (ZERO, ZERO):
            raise Refuted("noise on the wrong side")
    near = near_noise(noise)
    for form, strict in (guard for own in run.guards for guard in own):
        found = over(form, near)
        spare = found.constant or dict(found.terms).get(0, ZERO)
        if spare < 0 or (not spare and (strict or not integers)):
            raise Refuted("a guard does not hold")


def near_noise(noise: Sequence[runs.Pair]) -> list[Form]:
    """Return noise as forms over s, and as the last one the number of steps on the ray: 0."""
    return [*(runs.line(pair, 0) for pair in noise), Form(ZERO)]


@dataclass(frozen=True, slots=True)
class Summed:
    """A sum of multiples of guards, of some turns and of those after them."""

    cells: Mapping[str, Fraction]  # the coefficients, not 0, of what cells held before the turns
    lost: Fraction = ZERO  # what inputs add for every step on the ray, with a minus
    rest: Fraction = ZERO  # what is added else
    noise: tuple[tuple[Sample, Fraction], ...] = ()  # coefficients, not 0, of that of samples
    strict: bool = False  # whether the sum is > 0, up to a set of probability 0


@dataclass(frozen=True, slots=True)
class Alike:
    """Runs that publish the same: `said`, in which None stands for a name."""

    alike: Sequence[Sequence[Path]]
    inputs: runs.Inputs
    integers: bool
    said: Sequence[Fraction | None]
    parts: runs.Parts

    def lost(self, run: Sequence[Path], rows: Sequence[object]) -> Summed:
        """Add multiples of the guards of a run; with parts, of those that are one of several."""
        if not self.parts:
            return self._summed(run, rows, {}, 0)
        found, number = Summed({}), len(run)
        while number:
            start = self.parts.get(number, number - 1)
            own_rows = rows[start:number]
            cells: Mapping[str, Fraction]
            if number in self.parts:
                own = self._summed(run[:number], own_rows, {}, start)
                begun = run[start - 1].fixed
                nothing: list[list[object]] = [[]] * len(own_rows)
                alike = [each[:number] for each in self.alike if each[start - 1].fixed == begun]
                for other, known in product(alike, (own.cells, found.cells)):
                    if self._summed(other, nothing, known, start) != Summed(known):
                        raise Refuted("a part changes what lies behind it")
                both = {n: own.cells.get(n, ZERO) + c for n, c in found.cells.items()}
                cells = {n: c for n, c in {**own.cells, **both}.items() if c}
            else:
                own = self._summed(run[:number], own_rows, found.cells, start)
                cells = own.cells
                if own.noise:
                    raise Refuted("noise outside of parts")
            lost, rest = found.lost + own.lost, found.rest + own.rest
            found, number = Summed(cells, lost, rest, (*found.noise, *own.noise)), start
        return found

    def _summed(
        self, run: Sequence[Path], rows: Sequence[object], cells: Mapping[str, Fraction], start: int
    ) -> Summed:
        """Add multiples of guards from a turn on, and what later ones say of the cells behind."""
        turns = runs.flat(run, self.inputs, self.integers, start)
        place = sum(len(turn.said) for turn in run[:start])
        total, strict, close = Form(ZERO), False, False
        for guards, said, json in zip(turns.guards, turns.said, rows, strict=True):
            known = list(guards)
            for form, number in zip(said, self.said[place:], strict=False):
                if form is not None and number is not None:
                    apart = form.plus(Form(-number))
                    known += [(apart, False), (apart.scaled(Fraction(-1)), False)]
            own, above = combined(json, known)
            total, strict = total.plus(own), strict or above
            # Numbers that are published are close to others, which is no > 0.
            close |= any(number >= len(guards) for number, _ in as_list(json, "multipliers"))
            place += len(said)
        for name, factor in cells.items():
            total = total.plus(turns.cells[-1][name].scaled(factor))
        before, noise, lost = {}, [], ZERO
        for atom, factor in total.terms:
            if atom == runs.STEPS:
                lost = -factor
            elif atom < 0:
                before[turns.held[atom]] = factor
            else:
                sample = turns.samples[atom]
                law, worth = FAMILIES[sample.family], factor * sample.size
                dear = sample.power == -1 and any(sign * worth > 1 for sign in law.shifts)
                if (dear or not law.shifts) and not law.is_light:
                    raise Refuted("noise is worth less than the multipliers say")
                if any(side * factor > 0 for side in law.sides):
                    noise.append((sample, factor))
        return Summed(before, lost, total.constant, tuple(noise), strict and not close)
