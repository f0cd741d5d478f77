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


DEAR = """
stream q in real
publishes {bot, top}
adjacent linf 1
rT <- Lap(0, 4 / eps)
forever do
    read q
    r <- Lap(q, 2 / eps)
    if r >= rT then publish top; exit end
    publish bot
end
"""
TWICE = """
stream q in real
publishes {a, b, c}
adjacent linf 1
x <- Lap(1, 1 / eps)
forever do
    read q
    if Lap(q, 3 / eps) >= x then publish a; publish b else publish c end
    x <- Lap(1, 1 / eps)
    exit
end
"""


@pytest.mark.parametrize(("text", "rounds", "budget"), [(DEAR, 3, "5/4"), (TWICE, 1, "1/3")])
def test_decide_agrees_on_some_rounds_from_both_sides(text: str, rounds: int, budget: str) -> None:
    proof = dipapprox.prove(dipapprox.parse(text))
    assert proof.is_exact and proof.upper == Fraction(budget)
    near = dipapprox.parse(text, rounds=rounds, values="0..1")
    assert dipapprox.decide(near, budget=budget).answer is Answer.DP
    far = dipapprox.parse(text, rounds=rounds, values="{-9, -8, 8, 9}")
    below = str(Fraction(budget) * Fraction(19, 20))
    assert dipapprox.decide(far, budget=below).answer is Answer.NOT_DP


def test_some_rounds_publish_what_the_stream_does() -> None:
    program = dipapprox.parse(DEAR, rounds=2, values="{0, 5}")
    shown = dipapprox.probability(program, eps=1, input="0,5")
    seen = {each.output for each in shown.outputs}
    assert seen == {("top", "nothing"), ("bot", "top"), ("bot", "bot")}
    assert {cell.name for cell in program.outputs} == {"out[1]", "out[2]"}
    assert program.outputs[0].domain == ("bot", "top", "nothing")
