"""Random programs with streams: budgets for any number of rounds beside those of some rounds.

For some rounds final states and linear programmes bound the budget for all real inputs; they know
nothing of automata.
"""

import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

import dipapprox
from dipapprox import Answer, Limits, Options, Outcome, RealProof, StreamProof, UserError
from dipapprox.automata.analysis import analyse
from dipapprox.automata.model import Automaton, OutputSample, Transition, members
from dipapprox.automata.runs import RunCost
from dipapprox.automata.unfolding import with_visible_stops
from tests.automata.examples import automaton
from tests.automata.random_automata import random_automaton
from tests.texts import text_of
from tests.thorough import part

SCALES = ("1 / eps", "2 / eps", "4 / eps", "1/2 / eps")


class Writer:
    """Writes a program with a stream: stored samples, nested comparisons, now and then an end.

    Where two samples are drawn in a round, the first is compared after the second one is drawn.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._noise = "DLap" if self._chance.random() < 0.2 else "Lap"
        self._stored = self._chance.sample(["x", "y"], self._chance.randint(1, 2))
        self._samples = ["r"] if self._chance.random() < 0.7 else ["r", "s"]

    def program(self) -> str:
        offset = self._chance.choice(["", " + 1"])
        return "\n".join(
            [
                "stream q in real",
                "publishes {a, b, c, d}",
                "adjacent linf 1",
                *(self._draw(x, str(self._chance.randint(-1, 1))) for x in self._stored),
                "n <- 0",
                "forever do",
                *(line for r in self._samples for line in ("read q", self._draw(r, f"q{offset}"))),
                *self._tree(self._chance.randint(1, 2)),
                "end\n",
            ]
        )

    def _draw(self, name: str, mean: str) -> str:
        return f"{name} <- {self._noise}({mean}, {self._chance.choice(SCALES)})"

    def _tree(self, depth: int) -> Iterator[str]:
        if not depth or self._chance.random() < 0.2:
            yield from self._leaf()
        elif self._chance.random() < 0.15:
            yield from ("read q", self._draw("r", "q"), *self._tree(depth - 1))
        else:
            condition = self._comparison()
            if self._chance.random() < 0.25:
                condition += self._chance.choice([" and ", " or "]) + self._comparison()
            yield f"if {condition} then"
            yield from self._tree(depth - 1)
            yield "else"
            yield from self._tree(depth - 1)
            yield "end"

    def _comparison(self) -> str:
        below, above = ("<", ">=") if self._noise == "DLap" else ("<=", ">")
        sign = self._chance.choice(["<", ">=", below, above])
        numbers = ["0", "2"]
        other = self._chance.choice(self._stored if self._chance.random() < 0.7 else numbers)
        return f"{self._chance.choice(self._samples)} {sign} {other}"

    def _leaf(self) -> Iterator[str]:
        yield "skip"
        if self._chance.random() < 0.85:
            yield f"publish {self._chance.choice('abcd')}"
        if self._chance.random() < 0.12:
            yield f"{self._chance.choice(self._stored)} <- r"
        if self._chance.random() < 0.15:
            yield self._draw(self._chance.choice(self._stored), "0")
        yield from self._end(0.35, 0.5)

    def _end(self, at_once: float, ever: float) -> Iterator[str]:
        """Perhaps end, or at the second time."""
        last = self._chance.random()
        if last < at_once:
            yield "exit"
        elif last < ever:
            yield "n <- n + 1"
            yield "if n = 2 then exit end"


@pytest.mark.parametrize("seed", part(range(18), 3))
def test_some_rounds_never_need_more(seed) -> None:
    adjacency = ("linf 1", "increasing 1", "decreasing 2")[seed % 3]
    text = Writer(seed).program().replace("linf 1", adjacency)
    proof = dipapprox.prove(dipapprox.parse(text), options=Options(limits=Limits(seconds=20)))
    for rounds in (1, 2, 3):
        some = of_rounds(text, rounds)
        if proof.upper is not None:
            assert some.lower <= proof.upper and not some.has_none


@pytest.mark.parametrize("seed", [0, 1, 4, 5, 8, 52, 61, 63, 75, 92])
def test_exact_budgets_are_needed_by_some_rounds(seed) -> None:
    """As many as the tight run takes: its word costs that much in the finite program, too."""
    text = Writer(seed).program()
    proof = dipapprox.prove(dipapprox.parse(text))
    if proof.is_exact and isinstance(proof.evidence, RunCost):
        rounds = min(6, len(proof.evidence.run))
        some = of_rounds(text, rounds)
        assert some.upper is None or some.upper <= proof.upper
        assert rounds == 6 or some.lower == proof.lower


def of_rounds(text: str, rounds: int) -> RealProof:
    try:
        program = dipapprox.parse(text, rounds=rounds, values="0..1")
    except UserError as error:
        pytest.fail(error.render())
    limits = Limits(seconds=20)
    found = dipapprox.prove(program, reals=True, options=Options(limits=limits))
    assert isinstance(found, RealProof)
    return found


# --- rounds that are written out ------------------------------------------------------------------

SILENT = text_of("proofs/random_streams-silent")


@pytest.mark.parametrize("above", ["publish no", ""])
def test_the_end_is_seen_in_some_rounds(above) -> None:
    text = SILENT.replace("ABOVE", above)
    rounds = dipapprox.parse(text, rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget="1/2").answer is Answer.DP
    assert dipapprox.decide(rounds, budget="9/20").answer is Answer.NOT_DP
    shown = dipapprox.probability(rounds, eps=1, input="8,8")
    symbols = [word for word in (above.removeprefix("publish "), "ended") if word]
    nothing = ["nothing"] * len(symbols)
    assert {each.output[: len(symbols)] for each in shown.outputs} == {
        tuple(symbols),
        tuple(nothing),
    }


def test_a_claim_below_what_some_rounds_need_is_refuted() -> None:
    text = SILENT.replace("ABOVE", "publish no")
    program = dipapprox.parse(text)
    proof = dipapprox.prove(program, budget="1/4")
    assert proof.answer is Answer.NOT_DP
    assert "2 rounds, written out" in str(proof.describe())
    assert "at any" not in str(proof.describe())
    certificate = dipapprox.certify(program, text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED
    rounds = dipapprox.parse(text, rounds=2, values="{-9, -8, 8, 9}")
    assert dipapprox.decide(rounds, budget="1/4").answer is Answer.NOT_DP


@pytest.mark.parametrize("seed", [27, 84])
def test_silent_rounds_lose_again_and_again(seed) -> None:
    """What is published tells no step, but all runs that publish nothing need more and more."""
    text = Writer(seed).program()
    proof = dipapprox.prove(dipapprox.parse(text))
    assert isinstance(proof, StreamProof) and proof.again is not None
    assert proof.has_none
    assert of_rounds(text, 1).lower < of_rounds(text, 2).lower < of_rounds(text, 3).lower
    certificate = dipapprox.certify(proof.subject, text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED


# --- streams that were automata -------------------------------------------------------------------


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
def test_streams_have_the_budgets_of_their_automata(seed, distinct) -> None:
    automaton = random_automaton(seed, distinct=distinct)
    proof = dipapprox.prove(dipapprox.parse(as_stream(automaton)))
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
def test_a_least_budget_is_that_of_enough_steps(text, budget, first, second) -> None:
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
