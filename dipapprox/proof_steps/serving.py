"""Budgets that serve: the step of a potential, and budgets of programs that publish little."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from dipapprox.errors import NoCertificate
from dipapprox.kernel.budget import budget as work
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.rounds import Rounds, read_rounds
from dipapprox.kernel.served import all_numbers
from dipapprox.language.core import Program
from dipapprox.limits import Limits
from dipapprox.proof_steps.machines import Json
from dipapprox.proof_steps.potentials import PotentialSearch
from dipapprox.proof_steps.rounds import rounds_json
from dipapprox.proof_steps.shifts import alone_step

MOST_ENTRIES = 20_000
"""Of vectors, where a proof or a walk is looked for that nobody has asked for."""

_MOST_WORK = 5_000_000
"""Of a search that nobody has asked for: some seconds."""

_MOST_KNOWN = Fraction(30)
"""A budget up to which one is looked for where none is known."""


def potential_step(machine: Rounds, budget: Fraction, limits: Limits) -> Json:
    """Return a step that proves that a budget serves.

    Raises:
        NoCertificate: If none is found.
        LimitReached: If a limit is reached.
    """
    if machine.round is None:
        return alone_step(machine, budget, limits.check)
    missing = NoCertificate("there is nothing to try")
    for quiet, facts in product((False, True), repeat=2):
        search = PotentialSearch(machine, budget, limits, facts, quiet)
        if quiet and not search.quiet:
            break
        try:
            return search.step()
        except NoCertificate as none:
            missing = none
    raise missing


def served_step(machine: Json, budget: Fraction, eps: Fraction | None) -> dict[str, Json]:
    """Return a step, but for the claim, that a budget of all numbers between the inputs serves.

    Args:
        machine: Of finite verdicts.
        budget: What may be needed.
        eps: Where; None for every ε.

    Raises:
        NoCertificate: If none is found with little work.
    """
    read = read_machine(machine)
    missing = "inputs are no numbers"
    for whole in (False, True):
        try:
            with work(_MOST_WORK):
                step = potential_step(all_numbers(read, whole, eps), budget, Limits())
        except (NoCertificate, NotProved) as obstacle:
            missing = str(obstacle)
        else:
            assert isinstance(step, dict)
            return {"rule": "served", "from": [], "whole": whole, "nodes": step["nodes"]}
    raise NoCertificate(missing)


def quiet_budget(program: Program, most: Fraction | None, limits: Limits) -> Fraction | None:
    """Return a budget, less than another, of a program whose runs may be quiet; None if none is.

    Args:
        program: With rounds.
        most: A budget that serves; None if none is known.

    Raises:
        LimitReached: If a limit is reached.
    """
    try:
        machine = read_rounds(rounds_json(program))
    except NoCertificate:
        return None
    cap = _MOST_KNOWN if most is None else most
    best = most
    for facts in (True, False):
        search = PotentialSearch(machine, cap, limits, facts, True, MOST_ENTRIES)
        if not search.quiet:
            break
        try:
            search.step()
        except NoCertificate:
            continue
        if best is None or search.least < best:
            best = search.least
    return None if best == most else best
