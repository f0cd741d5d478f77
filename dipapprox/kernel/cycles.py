"""No budget at all: a ray along which parts of a run, taken again and again, lose without end.

Theorem. Let a run be possible, and let it tell its turns: no other path from where a turn begins
publishes what that turn does, or the beginning of it. Let some of its parts lead from a store to
the same store, with the same numbers at the values at which it is possible. Then each part may be
taken k times, for any k, and the run that does is possible, and the only one that publishes what it
does. Let multiples of the guards, once in every copy of a part, and k times outside, have a sum

    sum a_i z_i + k b t + d    over the noise z_i in the copies, |a_i| <= 1 / size_i, b < 0.

By the rule of rays no budget below k |b| serves, for any k. So none does.

How it is checked: backwards. Outside of parts multipliers leave no noise. In a part, begun with
nothing, they give coefficients to the cells at its beginning; these, and those that come from
behind the part, go through the part unchanged, as its cells hold at its end what they held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refuted
from dipapprox.kernel.judgements import Judgement, NoBudget
from dipapprox.kernel.measures import Form
from dipapprox.kernel.paths import Follower
from dipapprox.kernel.rays import (
    Pair,
    Runs,
    Turn,
    may_equal,
    parted,
    read_run,
    require_possible,
    require_price,
    summed,
)
from dipapprox.kernel.reading import as_integer, as_list
from dipapprox.kernel.regions import ZERO
from dipapprox.kernel.rounds import Rounds

Part = tuple[Turn, list[Pair], Sequence[Pair | None]]


def cycles(machine: Rounds, premises: Sequence[Judgement], step: Mapping[str, Any]) -> NoBudget:
    """Parts of a run that may be taken again and again lose more than any budget.

    Theorem (`cycles`): the run that takes each part k times is told by what it publishes, and
    loses k times what all parts lose.

    Step: "paths", "inputs", "samples", "shown" as of rays, "parts": [first turn, the one behind
    the last], "multipliers" of every turn.
    """
    if premises:
        raise BadProof("cycles have no premises")
    if machine.round is None or machine.adjacency.norm not in ("linf", "increasing", "decreasing"):
        raise Refuted("inputs of parts that come again do not change together")
    runs = Runs(machine, Follower(machine))
    run, inputs, limits = read_run(runs, machine, step)
    turns = parted(run, inputs, limits)
    held = require_possible(turns, as_list(step["samples"], "samples"))
    for number in range(len(run)):
        spend(10)
        _require_told(runs, run, number)
    ends: dict[int, int] = {}
    last = 1
    for each in as_list(step["parts"], "parts"):
        start, end = (as_integer(k, "a turn") for k in as_list(each, "a part", 2))
        if not last <= start < end <= len(run) or run[end - 1].path.ended:
            raise BadProof("parts follow each other behind the first turn")
        if _fixed(run[start - 1]) != _fixed(run[end - 1]) or held[start - 1] != held[end - 1]:
            raise Refuted("a part does not lead to where it began")
        ends[end], last = start, end
    rows = as_list(step["multipliers"], "multipliers", len(run))
    cells: dict[str, Fraction] = {}
    lost, number = ZERO, len(run)
    while number:
        start = ends.get(number, number - 1)
        own, listed = turns[start:number], rows[start:number]
        if number in ends:
            inner, gained, _ = _through(own, listed, {}, priced=True)
            lost += gained
            for name, factor in inner.items():
                cells[name] = cells.get(name, ZERO) + factor
            for known in (inner, cells):
                after, gained, silent = _through(own, [[]] * len(own), known, priced=False)
                if gained or not silent or after != {n: f for n, f in known.items() if f}:
                    raise Refuted("a part changes what lies behind it")
        else:
            cells, gained, silent = _through(own, listed, cells, priced=False)
            lost += gained
            if not silent:
                raise Refuted("noise outside of parts")
        number = start
    if lost <= 0:
        raise Refuted("nothing is lost in the parts")
    return NoBudget(None)


def _through(
    turns: Sequence[Part], rows: Sequence[object], cells: Mapping[str, Fraction], priced: bool
) -> tuple[dict[str, Fraction], Fraction, bool]:
    """Return the coefficients before some turns, what is lost in them, and if there is no noise."""
    known, lost, silent = dict(cells), ZERO, True
    for (turn, pairs, limits), json in zip(reversed(turns), reversed(rows), strict=True):
        found = summed(turn, pairs, limits, json, known)
        if priced:
            require_price(found)
        known, lost = found.cells, lost + found.lost
        silent &= not found.noise
    return known, lost, silent


def _fixed(turn: Turn) -> Mapping[str, object]:
    """What cells hold that hold nothing random, and which others there are."""
    store = turn.path.store
    return {name: None if isinstance(v, Form) else v for name, v in store.items()}


def _require_told(runs: Runs, run: Sequence[Turn], number: int) -> None:
    """Make sure that what a turn publishes is published by no other path from where it begins."""
    before = run[number - 1].path if number else None
    own = runs.word(run[number : number + 1])
    others = [turn for turn in runs.turns(before) if turn.path is not run[number].path]
    for other in others:
        if runs.is_lost(other):
            continue
        if all(map(may_equal, own, runs.word([other]))):
            raise Refuted(f"what turn {number} publishes does not tell it")
