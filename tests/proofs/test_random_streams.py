"""Random programs with streams: budgets for any number of rounds beside those of some rounds.

For some rounds final states and linear programmes bound the budget for all real inputs; they know
nothing of automata.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import dipapprox
from dipapprox import Limits, Options, RealProof, StreamProof, UserError
from dipapprox.automata.analysis import RunBound
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
def test_some_rounds_never_need_more(seed: int) -> None:
    adjacency = ("linf 1", "increasing 1", "decreasing 2")[seed % 3]
    text = Writer(seed).program().replace("linf 1", adjacency)
    proof = dipapprox.prove(dipapprox.parse(text), options=Options(limits=Limits(seconds=20)))
    assert isinstance(proof, StreamProof)
    for rounds in (1, 2, 3):
        some = of_rounds(text, rounds)
        if proof.upper is not None:
            assert some.lower <= proof.upper and not some.has_none


@pytest.mark.parametrize("seed", [0, 1, 4, 5, 8, 52, 61, 63, 75, 92])
def test_exact_budgets_are_needed_by_some_rounds(seed: int) -> None:
    """As many as the tight run takes: its word costs that much in the finite program, too."""
    text = Writer(seed).program()
    proof = dipapprox.prove(dipapprox.parse(text))
    if proof.is_exact and isinstance(proof.evidence, RunBound):
        rounds = min(6, len(proof.evidence.candidate.run))
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
