"""Random questions about real inputs, beside a search among many pairs of them.

A program draws noise around linear forms of its inputs and publishes between which cuts it lies, or
which noise is above. The evaluator looks at pairs of inputs, many of them at ends and cuts, then at
others next to the best: its supremum is a lower bound that is nearly attained.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from math import inf
from random import Random
from typing import Any

import numpy as np
from scipy.interpolate import RegularGridInterpolator
from scipy.stats import gumbel_r, laplace, logistic, norm

from tests.random_questions import Question, told

Array = np.ndarray
Logs = Callable[[Array], Array]
"""From inputs (input, pair) to the logarithms of the probabilities of outputs (output, pair)."""
LAWS = {"Lap": laplace, "Gauss": norm, "Logistic": logistic, "Gumbel": gumbel_r}
TWO = [(1, 0), (0, 1)]
ROWS = {"one threshold": [(1,)], "levels": [(1,)], "interval": [(1,)], "one input": [(1,), (1,)]}
ROWS |= dict.fromkeys(("independent parts", "levels and a part", "xor", "two noises"), TWO)
ROWS |= dict.fromkeys(("choice", "weight", "clamped input", "sparse vector"), TWO)
ROWS |= {"three inputs": [(1, 0, 0), (0, 1, 0), (0, 0, 1)], "difference": [(1, -1), (1, 0)]}
ROWS |= {"sum": [(1, 1), (0, 1)], "difference and sum": [(1, -1), (1, 1)], "one noise": [(1, -1)]}
IF, COIN = "if {} then\n{}\nelse\n{}\nend", "c <- choose {0 : 1/4, 1 : 3/4}\n"
TOLD: dict[str, tuple[str, Callable[[tuple[int, ...]], object]]] = {  # the rest tells all cells
    "interval": (IF.format("l1 = 1", "out <- 1", "out <- 0"), lambda l1: l1 == (1,)),
    "xor": (IF.format("l1 = l2", "out <- 0", "out <- 1"), lambda both: both[0] == both[1]),
    "choice": (COIN + IF.format("c = 0", "out <- l1", "out <- l2 + 2"), lambda c: (c[2], c[c[2]])),
    "weight": (COIN + IF.format("c = 0", "l1 <- 1 - l1", "skip") + "\nout <- l1 + 3 * l2",
               lambda cells: (cells[0] == cells[2], cells[1])),
}  # fmt: skip


def between(family: str, ends: list[Array]) -> Array:
    """Return the logarithms of what noise has between ends in ascending order."""
    below, above = (getattr(LAWS[family], way)(np.array(ends)) for way in ("logcdf", "logsf"))
    found = [below[0]]
    for (a, b), (c, d) in zip(pairwise(below), pairwise(above), strict=True):
        found.append(np.where(a < -0.7, b + np.log1p(-np.exp(a - b)), c + np.log1p(-np.exp(d - c))))
    return np.array([*found, above[-1]])


def thresholds(random: Random, form: str, unit: Fraction, _: int) -> tuple[str, Logs]:
    """Return a program without its head, and what its outputs have; scales are in halves of it."""
    text, parts = "", []
    for k, row in enumerate(ROWS[form], 1):
        several = form in ("interval", "levels") or (form == "levels and a part" and k == 1)
        cuts = sorted(random.sample(range(-2, 4), 1 + several))
        family, scale = random.choice(["Lap", *LAWS]), random.choice([1, 2, 3, 4]) * unit / 2
        mean = " + ".join(f"{c} * q[{i}]" for i, c in enumerate(row, 1) if c)
        mean = "clamp(q[1], 0, 1)" if form == "clamped input" and k == 1 else mean
        text += f"x <- {family}({mean}, {scale} / eps)\nl{k} <- 0\n"
        text += "".join(f"if x > {c}/2 then\nl{k} <- {n}\nend\n" for n, c in enumerate(cuts, 1))
        parts.append((family, float(scale), np.array(row), [cut / 2 for cut in cuts]))
    every = "out <- l1", "out <- l1 + 3 * l2", "out <- l1 + 3 * l2 + 9 * l3"
    last, told = TOLD.get(form, (every[len(parts) - 1], lambda cells: cells))

    def logs(q: Array) -> Array:
        if form == "clamped input":
            q = np.array([q[0].clip(0, 1), q[1]])
        own = [between(f, [(cut - row @ q) / s for cut in cuts]) for f, s, row, cuts in parts]
        own += [np.log([[0.25], [0.75]])] * last.startswith(COIN)
        found = dict[object, Array]()
        for cells in product(*(range(len(each)) for each in own)):
            mass = sum(each[cell] for each, cell in zip(own, cells, strict=True))
            found[told(cells)] = np.logaddexp(found.get(told(cells), -inf), mass)
        return np.array(list(found.values()))

    return text + last, logs


def comparisons(random: Random, form: str, unit: Fraction, high: int) -> tuple[str, Logs]:
    """Return the same of samples that are compared with each other."""
    (f, first), (g, second) = (random.choice(list(LAWS.items())) for _ in range(2))
    s, t = (random.choice([1, 2, 3, 4]) * unit / 2 for _ in range(2))
    text = f"x <- {f}(q[1], {s} / eps)\ny <- {g}(q[2], {t} / eps)\n"
    text += IF.format("x > y", "out <- 1", "out <- 0")
    if form == "sparse vector":
        each = f"x <- {g}(q[%d], {t} / eps)\nif x >= T then\nout <- %d\nexit\nend"
        text = f"T <- {f}(1/2, {s} / eps)\nout <- 0\n{each % (1, 1)}\n{each % (2, 2)}"
    nodes, sparse = np.linspace(-40, 40, 4001), form == "sparse vector"
    weights = first.pdf(nodes) / first.pdf(nodes).sum()
    # Of q[i] - 1/2, or of q[2] - q[1]; logarithms are smooth between 1000 places.
    means = np.linspace(-0.5 if sparse else -high, high, 1001)
    sides = (nodes * float(s) - means[:, None]) / float(t)
    below, above = second.cdf(sides), second.sf(sides)
    if sparse:
        alone = np.tile((above @ weights)[:, None], len(means))
        tables = [alone, *((below * weights) @ other.T for other in (above, below))]
    else:
        tables = [(way @ weights) for way in (above, below)]
    grid = (means,) * (1 + sparse)
    found = [RegularGridInterpolator(grid, np.log(np.maximum(own, 1e-300))) for own in tables]

    def logs(q: Array) -> Array:
        moved = q - 0.5 if sparse else q[1:] - q[:1]
        return np.array([own(moved.T) for own in found])

    return text, logs


def supremum(value: Callable[[Array, Array], Array], inputs: int, high: int, *rule: Any) -> float:
    """Return about the largest value of a pair, from below."""
    rng, size = np.random.default_rng(1), (inputs, 3000)
    marks = np.unique(np.clip([*np.arange(0, 3.1, 0.5), high - 1, high - 0.5, high], 0, high))
    places = [marks] * inputs, [np.linspace(-1, 1, 5 if inputs < 3 else 3)] * inputs
    corners = [np.stack(np.meshgrid(*each)).reshape(inputs, -1) for each in places]
    u = np.repeat(corners[0], corners[1].shape[1], axis=1)
    moves = np.tile(corners[1], corners[0].shape[1])
    u = np.column_stack([u, high * rng.random(size) ** 3])
    moves = np.column_stack([moves, rng.uniform(-1, 1, size)])
    for step in range(30):
        u, moves = u.clip(0, high), moves.clip(-1, 1)
        match rule:
            case "l0", _:
                one = np.arange(inputs)[:, None] == abs(moves).argmax(axis=0)
                change = moves * one * high
            case "l1", radius:
                change = radius * moves / np.maximum(abs(moves).sum(axis=0), 1)
            case _, radius:
                change = radius * moves
        values = value(u, (u + change).clip(0, high))
        best = np.argsort(-np.nan_to_num(values, nan=-1))[:50]
        near = 0.5 * 0.7**step * rng.normal(size=(2, inputs, 30, 50))
        near[:, :, 0] = 0
        u = (u[:, None, best] + max(high / 3, 1) * near[0]).reshape(inputs, -1)
        moves = (moves[:, None, best] + near[1]).reshape(inputs, -1)
    return float(values[best[0]])


def draw(random: Random) -> Question:
    """Draw one question: δ at an ε_prv, ε_prv at a δ, and claims a hair inside or outside."""
    form, pick = random.choice(list(ROWS)), random.choice
    what = pick(["δ", "ε", "ε at 0", "claim", "claim at 0"])
    rule, inputs = pick([("linf", 1), ("linf", 0.5), ("l1", 1), ("l0", 1)]), len(ROWS[form][0])
    high = random.choice([1, 2, 3, 10, 100] if inputs < 3 else [1, 2])
    unit = random.choice([Fraction(1, 2), Fraction(1), Fraction(2)]) * (10 if high > 10 else 1)
    budget, delta = random.choice([0.25, 0.5, 1]), random.choice([1e-2, 1e-1, 1e-5])
    program = comparisons if form in ("two noises", "sparse vector") else thresholds
    text, logs = program(random, form, unit, high)
    head = f"input q[{inputs}] in real 0..{high}\noutput out in 0..26\nadjacent %s %s\n" % rule
    text = head + text

    def need(u: Array, v: Array) -> Array:
        return np.fmax.reduce(logs(u) - logs(v), axis=0)

    def gain(u: Array, v: Array) -> Array:
        return above(logs(u), logs(v), budget)

    def above(p: Array, q: Array, at: Any) -> Array:
        return np.fmax(np.exp(p) - np.exp(q + at), 0).sum(axis=0)

    def least(u: Array, v: Array) -> Array:
        p, q = logs(u), logs(v)
        low, most = np.zeros(u.shape[1]), np.fmax.reduce(p - q, axis=0).clip(0)
        for _ in range(40):
            middle = (low + most) / 2
            fails = above(p, q, middle) > delta
            low, most = np.where(fails, middle, low), np.where(fails, most, middle)
        return low

    value = need if what.endswith("0") else least if what == "ε" else gain
    with np.errstate(all="ignore"):
        found = supremum(value, inputs, high, *rule)
    holds = found < 1e-6 or random.random() < 0.5
    claimed = found * (1.01 if holds else 0.999) + 1e-6 * holds
    claimed = claimed if what.endswith("0") else min(claimed, 1.0)  # of a δ
    least_delta = 0.0 if what.endswith("0") else claimed if what == "claim" else delta
    asked = {} if what == "δ" else {"delta": Fraction(str(least_delta))}
    if what == "δ" or what.startswith("claim"):
        asked["eps_prv"] = Fraction(str(claimed if what.endswith("0") else budget))
    truth = (found * 0.999 - 1e-6, found * 1.001 + 1e-5)
    truth = (holds, holds) if what.startswith("claim") else truth
    ask, said = partial(told, text, "1", asked), f"{text}\n{asked}"
    return Question(f"{form}, {what}", said, ask, lambda: truth)
