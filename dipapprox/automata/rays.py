"""Inputs far apart: those for which a run loses all that its cheapest shift costs, as ε grows.

The means of the first input's samples are -t·Δ, those of the second -(t - 1)·Δ. The rate of a run
at some means m is the least of Σ d_j |z_j - m_j| over the samples z that respect its edges and are
0 where they are shown: convex and piecewise linear in t, so from some t on it falls by W(Δ) from
the first to the second (`shifts.py`, Theorem B). That t is looked for.

A rate is a sum of cuts: |z - m| is the integral over all levels θ of |1[z > θ] - 1[m > θ]|, and
which positions prefer to be above θ changes at the means and at 0 only.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import lcm

from dipapprox.automata.model import Automaton, OutputSample
from dipapprox.automata.runs import Run, dependencies
from dipapprox.automata.shifts import Changes, RunCost, least_cut
from dipapprox.automata.words import HalfLine, Letters, NearZero, Seen, SeenSymbol, WordBound
from dipapprox.limits import Limits

_TIMES = (1, 2, 4, 8, 16, 64, 256)


def inputs_at(
    automaton: Automaton, run: Run, means: tuple[Fraction, ...], changes: Changes
) -> tuple[Letters, Letters, tuple[Seen, ...]]:
    """Return the inputs of a run with some means, those after the changes, and a word to see.

    Samples that are shown are seen close to 0, fresh ones beyond their second mean.
    """
    first: list[Fraction | None] = []
    second: list[Fraction | None] = []
    word: list[Seen] = []
    for index, mean, change in zip(run, means, changes, strict=True):
        transition = automaton.transitions[index]
        state = automaton.states[transition.source]
        if state.reads:
            letter = mean - (state.compared.mean if state.compared is not None else 0)
            first.append(letter)
            second.append(letter + change)
        else:
            first.append(None)
            second.append(None)
        if transition.output is OutputSample.COMPARED:
            word.append(NearZero())
        elif transition.output is OutputSample.FRESH:
            fresh = state.fresh.mean if state.fresh is not None else Fraction(0)
            word.append(HalfLine(fresh + (second[-1] or 0), change >= 0))
        else:
            word.append(SeenSymbol(str(transition.output)))
    return tuple(first), tuple(second), tuple(word)


def ray_of(automaton: Automaton, known: RunCost, limits: Limits) -> WordBound | None:
    """Return inputs for which a feasible run loses what it costs as ε grows; None if none are
    near."""
    run, changes = known.run, known.changes
    fresh = [
        automaton.fresh_cost(automaton.transitions[index]) * abs(change)
        for index, change in zip(run, changes, strict=True)
    ]
    for times in _TIMES:
        means = tuple(Fraction(-change * times) for change in changes)
        first, second, word = inputs_at(automaton, run, means, changes)
        loss = run_rate(automaton, run, first, limits) - run_rate(automaton, run, second, limits)
        if loss + sum(fresh) == known.value:
            return WordBound(first, second, word, known.value)
    return None


def run_rate(automaton: Automaton, run: Run, letters: Letters, limits: Limits) -> Fraction:
    """Return the rate of a run for some inputs, without its fresh samples."""
    transitions = [automaton.transitions[index] for index in run]
    means, rates = [], []
    for transition, letter in zip(transitions, letters, strict=True):
        noise = automaton.states[transition.source].compared
        means.append((noise.mean if noise is not None else 0) + (letter or Fraction(0)))
        rates.append(automaton.rate(transition))
    scale = lcm(*(rate.denominator for rate in rates))
    whole = [int(rate * scale) for rate in rates]
    shown = [t.output is OutputSample.COMPARED for t in transitions]
    # i → j puts z_i below z_j: where z_i is above a level, so is z_j.
    arcs = [(head, tail) for tail, head in dependencies(automaton, run)]
    given = zip(means, whole, shown, strict=True)
    rate = sum((cost * abs(mean) for mean, cost, seen in given if seen), Fraction(0))
    for low, high in pairwise(sorted({Fraction(0), *means})):
        limits.check()
        above = [mean > low for mean in means]
        rate += (high - low) * least_cut(arcs, whole, above, shown, forced=low < 0).value
    return rate / scale
