"""Proved budgets of automata against `decide` on the programs that their first steps are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Answer
from dipapprox.automata.model import Automaton, members
from tests.automata.examples import automaton
from tests.thorough import part


def unrolled(text: Automaton, steps: int, domain: str) -> str:
    """A program that takes the first steps of an automaton which shows symbols only.

    Step i reads q[i], if the state does; what is seen of it is out[i], "nothing" once it stopped.
    """
    shown = sorted({str(transition.output) for transition in text.transitions})
    head = [
        f"input q[{steps}] in {domain}",
        f"output out[{steps}] in {{nothing, {', '.join(shown)}}}",
        "adjacent linf 1",
        *(f"out[{i}] <- nothing" for i in range(1, steps + 1)),
    ]
    return "\n".join([*head, *_step(text, 0, 1, steps, {})]) + "\n"


def _step(
    text: Automaton, number: int, i: int, steps: int, stored: Mapping[int, str]
) -> Iterator[str]:
    state, leaving = text.states[number], text.leaving()[number]
    if i > steps or not leaving:
        return
    assert state.compared is not None
    mean = f"q[{i}] + {state.compared.mean}" if state.reads else str(state.compared.mean)
    fresh = f"r{i}"
    yield f"{fresh} <- Lap({mean}, {1 / state.compared.rate} / eps)"
    for index in leaving:
        taken = text.transitions[index]
        guards = [f"{fresh} >= {stored[x]}" for x in members(taken.above)]
        guards += [f"{fresh} < {stored[x]}" for x in members(taken.below)]
        for guard in guards:
            yield f"if {guard} then"
        yield f"out[{i}] <- {taken.output}"
        after = {**stored, **dict.fromkeys(members(taken.assigned), fresh)}
        yield from _step(text, taken.target, i + 1, steps, after)
        yield from ("end" for _ in guards)


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
"""Its first two steps cost 1; that the third may find no guard costs more, if it is seen."""


FAR = "{-5, -4, 4, 5}"
"""Inputs far enough apart for the loss to be near its supremum at some eps."""

LITTLE = Fraction(1, 100)


def answer(text: Automaton, steps: int, budget: Fraction, domain: str = FAR) -> Answer:
    program = dipapprox.parse(unrolled(text, steps, domain))
    return dipapprox.decide(program, budget=budget).answer


@pytest.mark.parametrize(
    ("text", "steps", "budget"), part([(CHASE, 3, "5/3"), (HALF_NOISE, 4, "3/2")], 2)
)
def test_a_least_budget_is_that_of_enough_steps(text: str, steps: int, budget: str) -> None:
    """It is a budget of the first steps; where they have the dearest run, hardly less is none."""
    proof = dipapprox.prove(automaton(text), stops="visible")
    assert (proof.upper, proof.is_exact) == (Fraction(budget), True)
    assert answer(proof.automaton, steps, proof.upper, "0..1") is Answer.DP
    assert answer(proof.automaton, steps, proof.upper - LITTLE) is Answer.NOT_DP
