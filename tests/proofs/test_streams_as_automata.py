"""Streams beside automata that were written as such, and beside `decide` on some rounds."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Answer, StreamProof
from dipapprox.automata.analysis import analyse
from dipapprox.automata.model import Automaton, OutputSample, Transition, members
from dipapprox.automata.stops import with_visible_stops
from dipapprox.limits import Limits
from tests.automata.examples import automaton
from tests.automata.random_automata import random_automaton
from tests.thorough import part


def as_stream(automaton: Automaton) -> str:
    """A program with a stream that does what an automaton does; it is seen where it stops."""
    shown = {t.output for t in automaton.transitions if isinstance(t.output, str)}
    head = [
        "stream q in real",
        f"publishes {{{', '.join(sorted(shown)) or 'none'}}}",
        "adjacent linf 1",
        "s <- 0",
        "forever do",
    ]
    return "\n".join([*head, *_states(automaton), "end"]) + "\n"


def _states(automaton: Automaton) -> Iterator[str]:
    leaving = automaton.leaving()
    for number, state in enumerate(automaton.states):
        yield f"{'elif' if number else 'if'} s = {number} then"
        if not leaving[number]:
            yield "exit"
            continue
        assert state.compared is not None
        read = "q + " if state.reads else ""
        if state.reads:
            yield "read q"
        yield f"r <- Lap({read}{state.compared.mean}, {1 / state.compared.rate} / eps)"
        for place, index in enumerate(leaving[number]):
            taken = automaton.transitions[index]
            yield f"{'elif' if place else 'if'} {_guard(automaton, taken)} then"
            match taken.output:
                case OutputSample.COMPARED:
                    yield "publish r"
                case OutputSample.FRESH:
                    assert state.fresh is not None
                    yield f"publish Lap({read}{state.fresh.mean}, {1 / state.fresh.rate} / eps)"
                case symbol:
                    yield f"publish {symbol}"
            yield from (f"{automaton.variables[x]} <- r" for x in members(taken.assigned))
            yield f"s <- {taken.target}"
        yield from ("else", "exit", "end")
    yield "end"


def _guard(automaton: Automaton, taken: Transition) -> str:
    atoms = [f"r >= {automaton.variables[x]}" for x in members(taken.above)]
    atoms += [f"r < {automaton.variables[x]}" for x in members(taken.below)]
    return " and ".join(atoms) or "true"


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("seed", part(range(15), 3))
def test_streams_have_the_budgets_of_their_automata(seed: int, distinct: bool) -> None:
    automaton = random_automaton(seed, distinct=distinct)
    proof = dipapprox.prove(dipapprox.parse(as_stream(automaton)))
    assert isinstance(proof, StreamProof)
    known = analyse(with_visible_stops(automaton), Limits())
    assert proof.upper == known.upper_bound
    if distinct:
        assert proof.has_none == known.unbounded
    else:  # stops are seen by another symbol there; that outputs tell runs apart may be missed
        assert known.unbounded or not proof.has_none
    if distinct and not proof.has_none:
        assert proof.lower == known.lower_bound
    assert proof.upper is None or proof.lower <= proof.upper


HALF_NOISE = """
(q0:non-input, 1/2, 0): x := insample; output ostart; goto q1
(q1, 1/2, 0): if (insample < x) then output obot; goto q1
              elseif (insample >= x) then output otop; goto q2
"""
"""Sparse vector with too little noise for a budget of 1."""

CHASE = """
(q0, 1/3, 0): x := insample; output ostart; goto q1
(q1, 1/2, 0): if (insample < x) then x := insample; output odown; goto q2
              elseif (insample >= x) then output oup; goto q3
(q2, 1, 0): if (insample >= x) then output ohigher; goto q3
"""
"""Its first two steps cost 1; that the third may find no guard costs more, as it is seen."""


@pytest.mark.parametrize(
    ("text", "budget", "first", "second"),
    part(
        [
            (CHASE, "5/3", (-4, -4, 4), (-5, -5, 5)),
            (HALF_NOISE, "3/2", (4, 4, -4, -4), (5, 5, -5, -5)),
        ],
        2,
    ),
)
def test_a_least_budget_is_that_of_enough_steps(
    text: str, budget: str, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    """It is a budget of the first steps; where they have the dearest run, hardly less is none."""
    stream, least = as_stream(automaton(text)), Fraction(budget)
    assert dipapprox.prove(dipapprox.parse(stream)).upper == least
    near, far = (
        dipapprox.parse(stream, rounds=len(first), values=values) for values in ("0..1", "-5..5")
    )
    assert dipapprox.decide(near, budget=least).answer is Answer.DP
    zeros = (0,) * (len(far.inputs) - len(first))
    pair = (*first, *zeros), (*second, *zeros)
    less = dipapprox.decide(far, budget=least - Fraction(1, 100), pairs=[pair])
    assert less.answer is Answer.NOT_DP
