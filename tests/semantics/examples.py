"""Core programs written by hand, and short names for their parts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.language import core
from dipapprox.language.core import Relation
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import GAUSSIAN
from dipapprox.laws.family import Family

UNIT = Scale(Fraction(1), -1)

Operand = int | str | Fraction | core.Expression
"""What stands for an expression: a name is a variable, a number a constant."""


def constant(value: int | str | Fraction) -> core.Constant:
    return core.Constant(value if isinstance(value, str) else Fraction(value))


def expression(item: Operand) -> core.Expression:
    match item:
        case str():
            return core.Variable(item)
        case int() | Fraction():
            return constant(item)
        case _:
            return item


def compare(left: Operand, relation: str, right: Operand) -> core.Comparison:
    return core.Comparison(expression(left), Relation(relation), expression(right))


def assign(name: str, value: Operand) -> core.Assign:
    return core.Assign(core.Variable(name), expression(value))


def draw(
    name: str, mean: Operand, site: int, scale: Scale = UNIT, family: Family = GAUSSIAN
) -> core.Draw:
    return core.Draw(core.Variable(name), family, expression(mean), scale, site)


def choose(
    condition: core.Condition,
    then: Sequence[core.Statement] = (),
    otherwise: Sequence[core.Statement] = (),
) -> core.If:
    return core.If(condition, tuple(then), tuple(otherwise))


def cells(name: str, size: int, domain: Sequence[int | str]) -> tuple[core.Cell, ...]:
    values = tuple(v if isinstance(v, str) else Fraction(v) for v in domain)
    return tuple(core.Cell(f"{name}[{i}]", name, i, values) for i in range(1, size + 1))


def program(
    inputs: tuple[core.Cell, ...],
    outputs: tuple[core.Cell, ...],
    body: Sequence[core.Statement],
) -> core.Program:
    return core.Program("example", {}, inputs, outputs, tuple(body), core.Everyone())


def sparse_vector(
    size: int,
    test: str = ">=",
    noisy_threshold: bool = True,
    noisy_queries: bool = True,
) -> core.Program:
    """SVT with exit at the first positive answer (spec 7.1)."""
    body: list[core.Statement] = [assign(f"out[{i}]", 0) for i in range(1, size + 1)]
    body.append(draw("rT", 0, 0) if noisy_threshold else assign("rT", 0))
    for i in range(1, size + 1):
        body.append(draw("r", f"q[{i}]", i) if noisy_queries else assign("r", f"q[{i}]"))
        positive = [assign(f"out[{i}]", 1), core.Exit()]
        body.append(choose(compare("r", test, "rT"), positive))
    return program(cells("q", size, (0, 1)), cells("out", size, (0, 1)), body)


def noisy_extreme(size: int, test: str = ">") -> core.Program:
    """Noisy-Max (`>`) or Noisy-Min (`<`) as an if-chain (spec 7.3)."""
    body: list[core.Statement] = [draw(f"v[{i}]", f"q[{i}]", i) for i in range(1, size + 1)]
    body += [assign("best", "v[1]"), assign("out[1]", 1)]
    for i in range(2, size + 1):
        better = [assign("best", f"v[{i}]"), assign("out[1]", i)]
        body.append(choose(compare(f"v[{i}]", test, "best"), better))
    return program(cells("q", size, (0, 1)), cells("out", 1, range(1, size + 1)), body)


def min_max(size: int) -> core.Program:
    """k-Min-Max with k = 2: every test a full nested branch of two comparisons (spec 9.3)."""
    body: list[core.Statement] = [assign(f"out[{i}]", "NONE") for i in range(1, size + 1)]
    body += [draw("first", "q[1]", 0), assign("min", "first"), assign("max", "first")]
    body += [assign("out[1]", "READ"), draw("r", "q[2]", 1)]
    above = choose(compare("r", ">", "min"), [assign("max", "r")])
    below = choose(compare("r", "<", "min"), [assign("min", "r")])
    body += [choose(compare("r", ">", "max"), [above], [below]), assign("out[2]", "READ")]
    for i in range(3, size + 1):
        named = {v: assign(f"out[{i}]", constant(v)) for v in ("TOP", "BOT")}
        inside = choose(compare("r", "<", "max"), [named["BOT"]], [named["TOP"], core.Exit()])
        outside = choose(compare("r", "<", "max"), [named["BOT"], core.Exit()], [core.Exit()])
        body += [
            draw("r", f"q[{i}]", i),
            choose(compare("r", ">=", "min"), [inside], [outside]),
        ]
    body = [
        assign(s.target.name, constant(s.value.name))
        if isinstance(s, core.Assign)
        and isinstance(s.value, core.Variable)
        and isinstance(s.target, core.Variable)
        and s.value.name in ("NONE", "READ")
        else s
        for s in body
    ]
    return program(
        cells("q", size, (0, 1)), cells("out", size, ("NONE", "READ", "TOP", "BOT")), body
    )


def range_monitor(size: int) -> core.Program:
    """m-Range with m = 2 as if / elif / elif / else with conjunctions (spec 9.3)."""
    count = 2 * size
    body: list[core.Statement] = []
    for i in range(1, count + 1):
        body.append(assign(f"out[{i}]", constant("NONE")))
    for j in (1, 2):
        body += [draw(f"low[{j}]", 0, -2 * j), draw(f"high[{j}]", 1, -2 * j - 1)]
    for k in range(1, count + 1):
        low, high = f"low[{2 - k % 2}]", f"high[{2 - k % 2}]"
        test = {
            (a, b): core.All((compare("r", a, low), compare("r", b, high)))
            for a in ("<", ">=")
            for b in ("<", ">=")
        }
        answers = {v: assign(f"out[{k}]", constant(v)) for v in ("CONT", "TOP", "BOT")}
        third = choose(test["<", "<"], [answers["BOT"], core.Exit()], [core.Exit()])
        second = choose(test[">=", ">="], [answers["TOP"], core.Exit()], [third])
        body += [
            draw("r", f"q[{k}]", k),
            choose(test[">=", "<"], [answers["CONT"]], [second]),
        ]
    return program(
        cells("q", count, (0, 1)), cells("out", count, ("NONE", "CONT", "TOP", "BOT")), body
    )
