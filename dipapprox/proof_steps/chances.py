"""Two inputs between which much is lost at one eps, or as it vanishes: a step of `chances`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from dipapprox.errors import NoCertificate
from dipapprox.kernel.budget import budget as bounded
from dipapprox.kernel.chances import chances
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.measures import Form
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.runs import Runs, Turn
from dipapprox.proof_steps.large import Numbers, runs_of
from dipapprox.proof_steps.machines import Json, number_json

MOST_WORDS = 20
"""Of which it is looked at what they lose."""


def chances_step(
    machine: Rounds,
    turns: int,
    places: tuple[Numbers, Numbers],
    is_meant: Callable[[Sequence[Turn]], bool],
    eps: Fraction,
    budget: Fraction | None,
) -> Json:
    """Return a step: at this eps no budget serves that is less.

    Args:
        machine: The machine.
        turns: How many are taken: the body is one.
        places: What is read: first where the output is likelier, then where it is not.
        is_meant: Whether what a run has published may be the output.
        eps: Where, or 0 where it vanishes.
        budget: What is lost; None for more than any number.

    Raises:
        NoCertificate: If none is found.
        NotProved: If the kernel cannot follow the runs.
    """
    first, second = places
    inputs: list[Json] = []
    for name, values in first.items():
        pairs = zip(values, second[name], strict=True)
        inputs.append([name, [[number_json(a), number_json(b - a)] for a, b in pairs]])
    words = set[object]()
    missing: NotProved | None = None
    for paths, run in runs_of(Runs(machine), turns, is_meant):
        said = [value for turn in run for value in turn.path.said]
        if any(isinstance(value, Form) for value in said):
            raise NoCertificate("random numbers are published")
        word = tuple(said), run[-1].path.ended
        if word in words:
            continue
        words.add(word)
        if len(words) > MOST_WORDS:
            break
        step: dict[str, Json] = {
            "rule": "chances",
            "from": [],
            "eps": number_json(eps),
            "paths": list(paths),
            "inputs": inputs,
            "shown": [],
            "budget": None if budget is None else number_json(budget),
        }
        try:
            with bounded():
                chances(machine, step)
        except NotProved as none:
            missing = none
        else:
            return step
    raise missing or NoCertificate("no run publishes the output")
