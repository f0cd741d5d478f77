"""Automaton descriptions to `.dipa` text: the inverse of `dipapprox.language.dipa`."""

from __future__ import annotations

from dipapprox.language.automata import INSAMPLE, AutomatonText, Location, StatedTransition


def print_dipa(automaton: AutomatonText) -> str:
    """Return the text of an automaton, one line a state; reading it gives the same automaton."""
    return "".join(f"{_print_location(location)}\n" for location in automaton.locations)


def _print_location(location: Location) -> str:
    kind = "" if location.reads else ":non-input"
    noises = [location.insample]
    if location.insample_prime is not None:
        noises.append(location.insample_prime)
    numbers = ", ".join(f"{noise.rate}, {noise.mean}" for noise in noises)
    steps = [_print_step(step) for step in location.steps]
    return f"({location.name}{kind}, {numbers}): {' else'.join(steps)}"


def _print_step(step: StatedTransition) -> str:
    guard = " && ".join(
        f"{INSAMPLE} {'>=' if atom.at_least else '<'} {atom.variable}" for atom in step.guard
    )
    assigned = ", ".join(f"{variable} := {INSAMPLE}" for variable in step.assigned)
    action = f"output {step.output}; goto {step.target}"
    if assigned:
        action = f"{assigned}; {action}"
    return f"if ({guard}) then {action}" if guard else action
