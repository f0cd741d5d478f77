"""Machines in words: what proofs are about, as people read it.

Words are those of `.dpg` where there are some. In a `repeat` arrays may move on by one element a
turn; `forget` lets cells hold nothing, as nobody reads them any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.rounds import read_rounds
from dipapprox.kernel.services import read_service

_INDENT = "    "


def machine_text(json: Any) -> str:
    """Write a machine: with rounds, without, or a service."""
    if "calls" in json:
        return _service_text(json)
    if "round" in json:
        return _rounds_text(json)
    read_machine(json)
    lines = [f"input {_cell(each)}" for each in json["inputs"]]
    lines += [f"output {_cell(each)}" for each in json["outputs"]]
    lines += [f"output {name} in real" for name in json["reals"]]
    lines += [f"adjacent {_adjacency(json['adjacency'])}", "", *_block(json["body"], "")]
    return "".join(f"{line}\n" for line in lines)


def _rounds_text(json: Any) -> str:
    read_rounds(json)
    kind, shown = "integer" if json["whole"] else "real", json["published"]
    lines = [f"input {_cell(each, kind)}" for each in json["inputs"]]
    lines += [f"adjacent {_adjacency(json['adjacency'])}"]
    moments = {"whenever": "whenever it is set", "first": "after the body", "each": "every round"}
    for field, moment in moments.items():
        lines += [f"publishes {name} {moment}" for name in shown[field]]
    lines += ["publishes that it ends"] * shown["ends"]
    if shown["padding"] is not None:
        lines += [f"publishes {_tuple(shown['padding'])} every round after its end, instead"]
    lines += ["", *_block(json["body"], "")]
    if json["round"] is not None:
        lines += ["round", *_block(json["round"], _INDENT), "end"]
    return "".join(f"{line}\n" for line in lines)


def _service_text(json: Any) -> str:
    read_service(json)
    lines = [f"state {name} <- {_value(value)}" for name, value in json["cells"]]
    lines += [f"output {_cell(each, 'any')}" for each in json["replies"]]
    lines += [f"adjacent {json['change']}"]
    for call in json["calls"]:
        arguments = ", ".join(map(_cell, call["arguments"]))
        seen = "seen" if call["seen"] else "unseen"
        lines += ["", f"call {call['name']}({arguments}), {seen}", *_block(call["body"], _INDENT)]
        lines += ["end"]
    return "".join(f"{line}\n" for line in lines)


def _cell(json: Any, kind: str = "real") -> str:
    name, domain = json
    match domain:
        case {"from": low, "to": high}:
            return f"{name} in {low}..{high}"
        case {"low": None, "high": None}:
            return f"{name} in {kind}"
        case {"low": low, "high": high}:
            ends = ("" if end is None else str(end) for end in (low, high))
            return f"{name} in {kind} {'..'.join(ends)}"
    return f"{name} in {_set(domain)}"


def _set(values: Sequence[Any]) -> str:
    return f"{{{', '.join(map(_value, values))}}}"


def _tuple(values: Sequence[Any]) -> str:
    return f"({', '.join(map(_value, values))})"


def _value(json: Any) -> str:
    return str(json["name"]) if isinstance(json, dict) else str(json)


def _adjacency(json: Any) -> str:
    match json:
        case {"norm": norm, "radius": radius}:
            return f"{norm} {radius}"
        case {"norm": norm}:
            return str(norm)
    pairs = [
        " ~ ".join(f"({', '.join(map(_value, one))})" for one in each) for each in json["pairs"]
    ]
    return f"{{{'; '.join(pairs)}}}" + (" in this order only" if json["one way"] else "")


def _block(json: Sequence[Any], indent: str) -> Iterator[str]:
    for statement in json:
        yield from _statement(statement, indent)


def _statement(json: Any, indent: str) -> Iterator[str]:
    inner = indent + _INDENT
    match json:
        case "set", target, value:
            yield f"{indent}{_tree(target)} <- {_tree(value)}"
        case "draw", target, family, mean, scale:
            yield f"{indent}{_tree(target)} <- {family}({_tree(mean)}, {_scale(*scale)})"
        case "if", condition, then, otherwise:
            yield f"{indent}if {_tree(condition)} then"
            yield from _block(then, inner)
            if otherwise:
                yield f"{indent}else"
                yield from _block(otherwise, inner)
            yield f"{indent}end"
        case ("exit",):
            yield f"{indent}exit"
        case "choose", target, options, proportional:
            how = " in proportion" if proportional else ""
            yield f"{indent}{_tree(target)} <- choose{how}"
            for value, weight in options:
                yield f"{inner}{_tree(value)} with {_tree(weight)}"
            yield f"{indent}end"
        case "while", condition, body:
            yield f"{indent}while {_tree(condition)} do"
            yield from _block(body, inner)
            yield f"{indent}end"
        case "repeat", turns, body:
            yield f"{indent}repeat {turns} times"
            yield from _block(body, inner)
            yield f"{indent}end"
        case "forget", names:
            yield f"{indent}forget {', '.join(names)}"


def _scale(coefficient: Any, power: int) -> str:
    if not power:
        return str(coefficient)
    by = "/" if power < 0 else "*"
    return f"{coefficient} {by} eps" + (f"^{abs(power)}" if abs(power) > 1 else "")


def _tree(json: Any, inside: bool = False) -> str:
    """Write a value, a cell, an expression, a weight or a condition."""
    match json:
        case "cell", name:
            return str(name)
        case "moving", array, first:
            return f"{array}[{first} + turn]"
        case "element", array, size, index:
            return f"{array}[{_tree(index)} in 1..{size}]"
        case ("eps",):
            return "eps"
        case "inverse", operand:
            return f"1 / ({_tree(operand)})"
        case "exp", operand:
            return f"exp({_tree(operand)})"
        case [("and" | "or") as word, *parts]:
            text = f" {word} ".join(_tree(part, True) for part in parts)
        case [word, left, right]:
            text = f"{_tree(left, True)} {word} {_tree(right, True)}"
        case _:
            return _value(json)
    return f"({text})" if inside else text
