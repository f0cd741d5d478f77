"""Random questions about published numbers: sums, maxima, mixtures, guarded and several numbers.

The evaluator writes what an input publishes as masses of cells, the same cells for all inputs:
nodes of Gauss-Legendre panels between all means and thresholds, for each label, and atoms.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import pairwise, product
from math import exp, inf
from random import Random
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy import optimize, stats

from tests.random_questions import Question, told

LAWS = {"Gauss": stats.norm, "Gumbel": stats.gumbel_r, "Lap": stats.laplace}
LAWS |= {"Logistic": stats.logistic}
_AWAY = np.concatenate([np.arange(0.25, 3, 0.25), np.arange(3, 52, 2)])  # of tails, in scales
_MARKS = np.array([0, 0.5, 1, 2, 3, 4])  # means, thresholds and ends of clamped numbers


def _ends(scale: float, parts: float = 1) -> np.ndarray:
    """Return ends of panels, each of so many parts."""
    inner = [np.linspace(*each, 7) for each in pairwise(_MARKS)]
    ends = np.unique(np.concatenate([-_AWAY * scale, *inner, _MARKS[-1] + _AWAY * scale]))
    places = np.arange(len(ends))
    return np.interp(np.arange(0, places[-1] + 1e-9, 1 / parts), places, ends)


def _nodes(ends: np.ndarray, count: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the panels between ends, the last axis."""
    (x, w), half = leggauss(count), np.diff(ends)[..., None] / 2
    shape = (*ends.shape[:-1], -1)
    return (ends[..., :-1, None] + half * (1 + x)).reshape(shape), (half * w).reshape(shape)


def _sum(y: np.ndarray, a: Any, b: Any, above: float = -inf) -> np.ndarray:
    """Return the density at y of a + b, of a above a number only."""
    ends = np.tile(_ends(a.args[1]), (len(y), 1))
    x, w = _nodes(np.sort(np.column_stack([ends, y - b.args[0]])).clip(above), 12)
    return (a.pdf(x) * b.pdf(y[:, None] - x) * w).sum(axis=1)


def _mean(law: Any, *functions: Callable[[np.ndarray], np.ndarray]) -> float:
    x, w = _nodes(_ends(law.args[1]))
    return float(w @ reduce(np.multiply, [each(x) for each in functions], law.pdf(x)))


def _outer(y: np.ndarray, *laws: Any) -> np.ndarray:
    return reduce(np.multiply.outer, [law.pdf(y) for law in laws])


def _shared(y: np.ndarray, a: Any, b: Any, c: Any) -> list[np.ndarray]:
    x, w = _nodes(_ends(a.args[1], 8), 3)
    return [(b.pdf(y[:, None] - x) * a.pdf(x) * w) @ c.pdf(y[:, None] - x).T]


_IF = "if {} > {} then\n  {}\n  z <- {}\nend"
_ELSE = "if {} then\n  {}\nelse\n  {}\nend"
_CHOOSE = "k <- choose {{ 0 : 1/3, 1 : 2/3 }}\n" + _ELSE
_MIXED = _CHOOSE.format("k = 1", "y <- a", "y <- b")
_SPARSE = _ELSE.format("b > a", "z <- 1\n  y <- d", _IF.format("c", "a", "y <- e", 2))
# Of a form: what is done with draws a, b, …; densities at y for each label, and atoms.
_FORMS: dict[str, tuple[str, Callable[..., list[Any]]]] = {
    "sum": ("y <- a + b", lambda y, a, b: [_sum(y, a, b)]),
    "abs": ("y <- abs(a)", lambda y, a: [(a.pdf(y) + a.pdf(-y)) * (y > 0)]),
    "clamp": (
        "y <- clamp(a, 0, 2)",
        lambda y, a: [a.pdf(y) * (y > 0) * (y < 2), a.cdf(0), a.sf(2)],
    ),
    "mixture": (_MIXED, lambda y, a, b: [(2 * a.pdf(y) + b.pdf(y)) / 3]),
    "noisy mixture": (
        _ELSE.format("c > 1/2", "y <- a", "y <- b"),
        lambda y, a, b, c: [c.sf(0.5) * a.pdf(y) + c.cdf(0.5) * b.pdf(y)],
    ),
    "max": ("y <- max(a, b)", lambda y, a, b: [a.pdf(y) * b.cdf(y) + b.pdf(y) * a.cdf(y)]),
    "min": ("y <- min(a, b)", lambda y, a, b: [a.pdf(y) * b.sf(y) + b.pdf(y) * a.sf(y)]),
    "guarded": (
        "y <- 0\n" + _IF.format("a", "b", "y <- a", 1),
        lambda y, a, b: [_mean(b, a.cdf), a.pdf(y) * b.cdf(y)],
    ),
    "label": (
        "y <- a + b\nif a > 0 then\n  z <- 1\nend",
        lambda y, a, b: [own := _sum(y, a, b, 0), _sum(y, a, b) - own],
    ),
    "sparse vector": (
        "y <- 0\n" + _SPARSE,
        lambda y, a, b, c, d, e: [
            _mean(a, b.sf) * d.pdf(y),
            _mean(a, b.cdf, c.sf) * e.pdf(y),
            _mean(a, b.cdf, c.cdf),
        ],
    ),
    "two": ("y <- a\nx[1] <- b", lambda y, *laws: [_outer(y, *laws)]),
    "three": ("y <- a\nx[1] <- b\nx[2] <- c", lambda y, *laws: [_outer(y, *laws)]),
    "two or two": (
        _CHOOSE.format("k = 1", "y <- a\n  x[1] <- b", "y <- c\n  x[1] <- d"),
        lambda y, a, b, c, d: [(2 * _outer(y, a, b) + _outer(y, c, d)) / 3],
    ),
    "shared noise": ("y <- b + a\nx[1] <- c + a", _shared),
}
_GRIDS = dict.fromkeys(["two", "two or two", "shared noise"], (2, 3)) | {"three": (0.5, 2)}
"""Into how many parts panels are cut, and the nodes of each, where cells are many; else (8, 4)."""
_FINER = 8  # parts of a panel of one number: max(0, f - g) has a kink in one of them


def _finer(density: np.ndarray, size: int) -> np.ndarray:
    """Return the density at two nodes in each part of the panels whose `size` nodes it is at."""
    nodes, places = leggauss(size)[0], _nodes(np.linspace(-1, 1, _FINER + 1), 2)[0]
    between = np.vander(places, size) @ np.linalg.inv(np.vander(nodes, size))
    logarithms = np.log(np.maximum(density, 1e-300)).reshape(-1, size)  # tails are straight
    most = logarithms.max(axis=1, keepdims=True) + 1  # where doubles have no more of a tail
    return np.asarray(np.exp(np.minimum(logarithms @ between.T, most)).ravel())


def draw(random: Random) -> Question:
    """Draw a mechanism and what is asked: δ, ε_prv, or a claim a hair from the truth."""
    form, eps, pick = random.choice(list(_FORMS)), random.choice(["1/2", "1", "2"]), random.choice
    (body, densities), families = _FORMS[form], [pick(list(LAWS)), pick(list(LAWS))]
    count, most, norm, scale = pick([1, 2]), pick([1, 1, 2]), pick(["linf", "l1"]), pick("1123")
    means = {"q[1]": (1, 0), "2 * q[1]": (2, 0), f"q[{count}]": (2 - count, count - 1), "0": (0, 0)}
    draws = [
        (name, pick(families), pick(list(means)[: 2 if name == "a" else 4]))
        for name in sorted(set(re.findall(r"\b[a-e]\b", body)))
    ]
    more = len(set(re.findall(r"x\[\d", body)))
    outputs = ["y in real", "z in 0..2", *[f"x[{more}] in real"] * (more > 0)]
    lines = [f"input q[{count}] in 0..{most}", f"adjacent {norm} 1"]
    lines += [*(f"output {o}" for o in outputs), "z <- 0"]
    lines += [f"{n} <- {law}({mean}, {scale} / eps)" for n, law, mean in draws]
    text = "\n".join([*lines, body, ""])
    width = float(scale) / float(Fraction(eps))
    cut, size = _GRIDS.get(form, (8, 4))
    y, w = _nodes(_ends(width, cut), size)
    line = form not in _GRIDS
    w = _nodes(_ends(width, cut * _FINER), 2)[1] if line else w

    @cache
    def masses(q: tuple[int, ...]) -> np.ndarray:
        laws = [LAWS[law](np.dot(means[mean][:count], q), width) for _, law, mean in draws]
        parts = [np.asarray(part) for part in densities(y, *laws)]
        parts = [_finer(part, size) if part.ndim and line else part for part in parts]
        return np.concatenate(
            [(p * reduce(np.multiply.outer, [w] * p.ndim, np.ones(()))).ravel() for p in parts]
        )

    every, step = product(range(most + 1), repeat=count), {"l1": sum, "linf": max}[norm]
    pairs = [(u, v) for u, v in product(every, repeat=2) if step(np.abs(np.subtract(u, v))) == 1]

    def delta(budget: float) -> float:
        return max(
            float(np.maximum(masses(u) - exp(budget) * masses(v), 0).sum()) for u, v in pairs
        )

    def least(most: float) -> float:
        if delta(0) <= most:
            return 0.0
        if delta(90) >= most:
            return inf
        return float(optimize.brentq(lambda budget: delta(budget) - most, 0, 90))

    def supremum() -> float:
        """Return the largest loss that is seen: at least so much is needed at δ = 0."""
        both = [(masses(u), masses(v)) for u, v in pairs]
        seen = [(p, q, (p > 1e-20) & (q > 1e-20)) for p, q in both]
        return max(float(np.log(p[k] / q[k]).max()) for p, q, k in seen)

    asked = pick(["δ", "ε_prv", "pure ε_prv", "claim", "pure claim"])
    near, inside = {8: 3e-5, 2: 5e-3, 0.5: 4e-2}[cut], pick([True, False])
    tail = near * 1e-3  # what is less likely is known less well
    hair = 1 + max(1e-3, 3 * near) * (1 if inside else -1)
    budget, at = pick(["0", "1/4", "1/2", "1", "2", "5", "40"]), pick([1e-6, 1e-2])
    about, ends = {"eps_prv": budget}, (0.0, inf)
    if asked in ("δ", "claim"):
        own = delta(float(Fraction(budget)))
        ends = own * (1 - near) - tail, own * (1 + near) + tail
        if asked == "claim":
            about["delta"], known = f"{own * hair:.6g}", own > 1e3 * tail
            ends = inside and known, inside or not known
    elif asked == "ε_prv":
        about = {"delta": f"{at:g}"}
        ends = least(at * (1 + near) + tail), least(at * (1 - near) - tail)
    else:
        own, about = supremum(), {"delta": "0"}
        ends = own * (1 - 1e-6), inf
        if asked == "pure claim":  # a supremum that is seen is a bound from below
            about["eps_prv"], ends = f"{own * hair:.6g}", (0, inside)
    ask, said = partial(told, text, eps, about), f"{text}--eps {eps} {about}"
    return Question(f"{form}: {asked}", said, ask, lambda: ends)
