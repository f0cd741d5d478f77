"""Random automata with running minima and maxima, and steps that nobody can tell apart."""

from __future__ import annotations

import random

from dipapprox.automata.description import automaton_of
from dipapprox.automata.model import Automaton
from dipapprox.language.dipa import parse_dipa

_RATES = ("1/4", "1/2", "1", "1/3", "2")


def random_text(seed: int) -> str:
    """Return a `.dipa` text: values are stored, kept least or largest, compared, stored anew."""
    chance = random.Random(seed)
    names = ["x", "y", "z"][: chance.randint(1, 3)]
    count = chance.randint(2, 5)
    return "\n".join([*_start(chance, names), *_rest(chance, names, count)])


def random_extremes(seed: int) -> tuple[str, Automaton]:
    """Return a text and its automaton."""
    text = random_text(seed)
    return text, automaton_of(parse_dipa(text))


def _start(chance: random.Random, names: list[str]) -> list[str]:
    if chance.random() < 0.5:
        stored = ", ".join(f"{name} := insample" for name in names)
        return [f"(qs0, {chance.choice(_RATES)}, 0): {stored}; output oi; goto q0"]
    lines = []
    for place, name in enumerate(names):
        kind = "" if chance.random() < 0.6 else ":non-input"
        target = f"qs{place + 1}" if place + 1 < len(names) else "q0"
        rate = chance.choice(_RATES)
        lines.append(f"(qs{place}{kind}, {rate}, 0): {name} := insample; output oi; goto {target}")
    return lines


def _rest(chance: random.Random, names: list[str], count: int) -> list[str]:
    lines = []
    for place in range(count):
        nearby = [place, place + 1, chance.randint(0, count)]
        target, other = (f"q{chance.choice(nearby)}" for _ in range(2))
        x, y = chance.choice(names), chance.choice(names)
        look = f"output o{chance.choice('ab')}; goto {target}"
        kinds = "least", "largest", "range", "unseen", "test", "test", "store", "both"
        match chance.choice(kinds):
            case "least":
                steps = [
                    (f"insample < {x}", f"{x} := insample; {look}"),
                    (f"insample >= {x}", look),
                ]
            case "largest":
                steps = [
                    (f"insample < {x}", look),
                    (f"insample >= {x}", f"{x} := insample; {look}"),
                ]
            case "range" if x != y:
                steps = [
                    (f"insample < {x} && insample < {y}", f"{x} := insample; {look}"),
                    (f"insample >= {x} && insample >= {y}", f"{y} := insample; {look}"),
                    (f"insample >= {x} && insample < {y}", look),
                ]
            case "unseen":
                steps = [(f"insample < {x}", look), (f"insample >= {x}", look)]
            case "store":
                steps = [("", f"{x} := insample; {look}")]
            case "both" if x != y:
                steps = [
                    (f"insample < {x}", f"{x} := insample, {y} := insample; {look}"),
                    (f"insample >= {x}", f"{y} := insample; {look}"),
                ]
            case _:
                steps = [
                    (f"insample < {x}", f"output oc; goto {target}"),
                    (f"insample >= {x}", f"output od; goto {other}"),
                ]
        body = " elseif ".join(f"if ({g}) then {s}" if g else s for g, s in steps)
        body = body.replace("elseif if", "elseif")
        lines.append(f"(q{place}, {chance.choice(_RATES)}, 0): {body}")
    return lines
