"""What the kernel concludes, in words for people: nothing rests on them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, assert_never

from dipapprox.kernel import mechanisms
from dipapprox.kernel.judgements import (
    Budgets,
    Change,
    Distributions,
    ExactDistributions,
    Judgement,
    LossesOf,
    Of,
    Private,
    Violated,
)
from dipapprox.kernel.machine import Machine, Value
from dipapprox.kernel.signs import Epsilons
from dipapprox.privacy.description import count


def words_of(said: Judgement) -> str:
    """Write what a step concludes."""
    match said:
        case Distributions(eps, places, outputs, bounds):
            return (
                f"at eps = {eps} the probabilities of {count(len(outputs), 'output')} "
                f"for {count(len(bounds), 'input')}, within multiples of 2^-{places}"
            )
        case ExactDistributions(epsilons, outputs, _, values):
            found = f"the probabilities of {len(outputs)} outputs for {len(values)} inputs"
            return f"for {interval_text(epsilons)} {found}, as closed forms"
        case Private(None):
            return f"whatever the pipeline runs, it is {_privacy(said)}"
        case Private(eps, _, _, listed, number, in_sets):
            which = "adjacent" if listed is None else "listed"
            pairs = f"each of the {number} {which} ordered pairs (u, u')"
            if in_sets or not number:
                sets = f", bounded on {number} sets of them," if number else ""
                pairs = f"all {which} pairs (u, u'){sets}"
            compared = _compared(said, "<=", "+") + _at(eps, "all ")
            return f"for {pairs} and every set S of outputs, {compared}"
        case Violated(eps, pair=pair, outputs=outputs):
            if eps is None or pair is None:
                return f"the pipeline may run what is not {_privacy(said)}"
            some = ", ".join(map(_values, outputs or ()))
            which = "some set S" if outputs is None else f"S = {{{some}}}"
            named = f"for u = {_values(pair[0])}, u' = {_values(pair[1])} and {which}"
            if said.eps_prv is None:
                named = f"at every eps_prv, {named}"
            return f"{named}, {_compared(said, '-', '>')}{_at(eps, 'one of ')}"
        case Budgets():
            return "; and ".join(_budgets(said))
        case Of(machine, judgement):
            return f"of {_name(machine)}: {words_of(judgement)}"
        case LossesOf(times, losses):
            runs = " and ".join(f"{n} times {_change(what)}" for what, n in times.items())
            side = "all that they reveal is" if losses.above else "what they may reveal is"
            end = "above" if losses.above else "below"
            return f"{runs}: {side} bounded from {end} at losses {losses.step} apart"
        case _:
            assert_never(said)


def interval_text(on: Epsilons) -> str:
    """Write which eps are meant."""
    if on.point is not None:
        return f"eps = {on.point}"
    left = f"{on.lower} <= " if on.lower else "0 < "
    return f"{left}eps" + ("" if on.upper is None else f" <= {on.upper}")


def _budgets(said: Budgets) -> list[str]:
    every = "for all ordered pairs of adjacent inputs and every set S of publications"
    at, found = "every eps > 0" if said.eps is None else f"eps = {said.eps}", list[str]()
    if said.budget is not None:
        found.append(
            f"for {at}, any number of rounds or calls and all ordered pairs of "
            f"adjacent inputs u, u', Pr[S | u] <= e^({said.budget} eps) Pr[S | u'] for every "
            "set S of publications"
        )
    if said.budget is None or said.below is not None:
        which = "no B" if said.below is None else f"no B < {said.below}"
        when = f"for no eps > 0 and {which}" if said.at_any else f"for {which} at {at}"
        found.append(f"{when} is Pr[S | u] <= e^(B eps) Pr[S | u'] {every}")
    return found


def _change(said: Change) -> str:
    found = [_name(said.what)] + ([] if said.eps is None else [f"at eps = {said.eps}"])
    if said.pairs is not None:
        some = sorted(said.pairs, key=repr)[:2]
        told = ", ".join(f"{_values(u)} to {_values(v)}" for u, v in some)
        more = f" or in one of {len(said.pairs) - 2} other ways" if len(said.pairs) > 2 else ""
        found.append(f"where its inputs change from {told}{more}")
    if said.sample is not None:
        found.append(f"on a sample of rate {said.sample[0]}")
        found.append("to which a record is added" if said.sample[1] else "without a record")
    return " ".join(found)


def _name(what: Machine | mechanisms.Mechanism) -> str:
    if not isinstance(what, Machine):
        return f"{what.name} {what.values}"
    names = [name for name, _ in (*what.inputs, *what.outputs)] + list(what.reals)
    return f"the machine of {', '.join(names)}"


def _compared(said: Private | Violated, first: str, then: str) -> str:
    growth = "eps_prv" if said.eps_prv is None else tree_text(said.eps_prv)
    delta = tree_text(said.delta)
    return f"Pr[S | u] {first} e^({growth}) Pr[S | u'] {then} {delta}"


def _privacy(said: Private | Violated) -> str:
    if said.eps_prv is None:
        return f"(eps_prv, {said.delta})-differentially private for any eps_prv"
    return f"({said.eps_prv}, {said.delta})-differentially private"


def _values(values: Sequence[Value]) -> str:
    return f"({', '.join(map(str, values))})"


def _at(eps: Fraction | Epsilons | None, some: str) -> str:
    return f", at {some}{interval_text(eps)}" if isinstance(eps, Epsilons) else f", at eps = {eps}"


def tree_text(json: Any, inside: bool = False) -> str:
    """Write a value, a cell, an expression, a weight or a condition."""
    match json:
        case "cell", name:
            return str(name)
        case "moving", array, first:
            return f"{array}[{first} + turn]"
        case "element", array, size, index:
            return f"{array}[{tree_text(index)} in 1..{size}]"
        case ("eps",):
            return "eps"
        case "inverse", operand:
            return f"1 / ({tree_text(operand)})"
        case ("exp" | "sqrt" | "log") as word, operand:
            return f"{word}({tree_text(operand)})"
        case [("and" | "or") as word, *parts]:
            text = f" {word} ".join(tree_text(part, True) for part in parts)
        case [word, left, right]:
            text = f"{tree_text(left, True)} {word} {tree_text(right, True)}"
        case _:
            return value_text(json)
    return f"({text})" if inside else text


def value_text(json: Any) -> str:
    return str(json["name"]) if isinstance(json, dict) else str(json)
