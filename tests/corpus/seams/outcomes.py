"""From a program and one input to its outcomes."""

import json
from fractions import Fraction
from typing import Any

import dipapprox
from dipapprox import Enclosure, Limits, Options, Program
from dipapprox.events.instantiate import Instantiator, holds
from dipapprox.linear.form import LinearForm
from dipapprox.privacy.subjects import check_laws, open_method
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import guards_of
from tests.corpus.seams import events

Plain = dict[str, Any]
"""One outcome: {"out": finite outputs, "reals": forms, "weight": ends, "event": an event}.

The weight is the probability of the random choices that lead there; the event and the weight are
independent. A form is of a real output, over the samples of "laws", its constant last.
"""

MOST_STATES = 300


def adapted(program: Program, eps: Fraction, row: tuple[Any, ...]) -> list[Plain]:
    """Return the outcomes of a program for one input, in their normal form, in order.

    No states are merged: those of `--no-merge`. Those that say the same are one: weights add up.

    Raises:
        UserError, LimitReached: As the commands do; of more than `MOST_STATES` states, too.
    """
    states = execute(program, False, Limits(states=MOST_STATES), real_outputs=True)
    check_laws(states, eps, Options())
    instantiator = Instantiator(states, eps)
    numbers = instantiator.numbers(row)
    values = dict(zip((cell.name for cell in program.inputs), row, strict=True))
    laws = [f"{law.family.name} {law.mean} {law.scale}" for law in instantiator.laws(numbers)]

    def dense(form: LinearForm) -> events.Row:
        return (*(form.coefficient(k) for k in range(len(laws))), form.constant)

    found: dict[str, tuple[Plain, Fraction, Fraction]] = {}
    for number, state in enumerate(states.states):
        if not all(holds(condition, values, numbers) for condition in state.conditions):
            continue
        chosen = instantiator.chosen(number)
        lower = upper = Fraction(1)
        if chosen is not None:
            options = Options()
            (weight,) = open_method(options).enclose((chosen,), 60, options.limits)
            if not isinstance(weight, Enclosure):
                raise dipapprox.LimitReached(weight.reason)
            lower, upper = weight.lower, weight.upper
        guards = [dense(guard.form.at(numbers)) for guard in guards_of(state.path)]
        outcome = {
            "out": [str(value) for value in state.outputs],
            "reals": [_text(dense(form.at(numbers)), laws) for form in state.reals],
            "event": events.plain(laws, guards),
        }
        key = json.dumps(outcome)
        _, low, high = found.get(key, (outcome, Fraction(0), Fraction(0)))
        found[key] = outcome, low + lower, high + upper
    return [
        {**outcome, "weight": events.printed(low, high)}
        for _, (outcome, low, high) in sorted(found.items())
    ]


def _text(form: events.Row, laws: list[str]) -> str:
    """Write a form of a real output: its samples by their laws."""
    terms = sorted(f"{c} ({law})" for c, law in zip(form, laws, strict=False) if c)
    return " + ".join([*terms, str(form[-1])])


def masses(outcomes: list[Plain]) -> dict[str, tuple[Fraction, Fraction]] | None:
    """Enclose the mass of every output; None if some event has no enclosure."""
    found: dict[str, tuple[Fraction, Fraction]] = {}
    for outcome in outcomes:
        ends = events.adapted(outcome["event"])
        if ends is None:
            return None
        key = ",".join(outcome["out"])
        low, high = found.get(key, (Fraction(0), Fraction(0)))
        lower, upper = (
            Fraction(p) * Fraction(w) for p, w in zip(ends, outcome["weight"], strict=True)
        )
        found[key] = low + lower, high + upper
    return found
