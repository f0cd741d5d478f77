"""Budgets that fail at one eps, or at a limit of it: what a program shows at two inputs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dipapprox.kernel.adjacency import Range
from dipapprox.kernel.errors import Refused
from dipapprox.kernel.forms import Form, over
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.likelier import lost
from dipapprox.kernel.paths import IMPOSSIBLE
from dipapprox.kernel.reading import as_list
from dipapprox.kernel.rounds import Rounds
from dipapprox.kernel.runs import STEPS, read_inputs
from dipapprox.kernel.services import Shown, read_seen
from dipapprox.kernel.signs import ALL, Signs


def chances(machine: Rounds, step: Mapping[str, Any]) -> Budgets:
    """What a program shows in the end is e^(b eps) times as likely at one input as at another one.

    Theorem (`likelier`): so no smaller budget serves.

    Step: "inputs" as of rays, without rounds; "seen" of what is published, "eps", "budget": as of
    traces.
    """
    if machine.round is not None or machine.whenever or not machine.ends:
        raise Refused("more is seen than what cells show in the end")
    inputs = read_inputs(machine, step["inputs"], large=True)
    listed = as_list(step["seen"], "what is seen", len(machine.first))
    cells = [(name, Range(None, None)) for name in machine.first]
    shown = Shown(cells, (), (), Signs(ALL), silent=None)
    totals = []
    for at in (0, 1):
        place = {STEPS: Form(Fraction(at))}
        store = {name: over(form, place).constant for name, (form,) in inputs.items()}
        found = shown.chances(machine.body, store, list(map(read_seen, listed)))
        totals.append(sum(found.values(), IMPOSSIBLE))
    return lost(step, *totals)
