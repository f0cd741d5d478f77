"""Small programs with and without structure, for the ways through many pairs."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

from dipapprox.language.core import Program
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from tests.texts import text_of

PROGRAMS = Path(__file__).parent.parent / "programs"

SPARSE_VECTOR_TWICE = """
param N = 3
input  q[N] in {0, 1}
output out[N] in {0, 1}
adjacent linf 1
for i in 1..N do out[i] <- 0 end
count <- 0
rT <- Gauss(0, 2 / eps)
for i in 1..N do
    r <- Gauss(q[i], 4 / eps)
    if r >= rT then
        out[i] <- 1
        count <- count + 1
        if count >= 2 then exit end
    end
end
"""
"""Stops after the second answer above the threshold."""

UNEVEN_MAX = """
param s = 3
input  q[4] in {0, 1}
output out in 1..4
adjacent linf 1
for i in 1..3 do v[i] <- Gauss(q[i], 4 / eps) end
v[4] <- Gauss(q[4], s / eps)
out <- argmax(v)
"""
"""Noisy max whose last query has a scale of its own."""

CONDITIONS = text_of("pairs/search_strategy-1")
"""A condition on a cell, a mean of two cells."""

PLAIN = """
input  q[4] in {0, 1}
output out[4] in {0, 1}
adjacent l0 2
for i in 1..4 do
    r <- Gauss(i * q[i], 2 / eps)
    if r >= 1 then out[i] <- 1 else out[i] <- 0 end
end
"""
"""Cells with different weights: no two are alike."""


def read(
    source: str, adjacency: str | None = None, domain: str | None = None, **parameters: int
) -> Program:
    """Read a text, or a shipped program by name; adjacency and domain of q may be replaced."""
    text = source if "\n" in source else (PROGRAMS / f"{source}.dpg").read_text(encoding="utf-8")
    lines = text.splitlines()
    for k, line in enumerate(lines):
        if line.startswith("adjacent") and adjacency is not None:
            lines[k] = f"adjacent {adjacency}"
        if line.startswith("input") and domain is not None:
            lines[k] = line[: line.index(" in ")] + f" in {domain}"
    values = {name: Fraction(value) for name, value in parameters.items()}
    return elaborate(parse("\n".join(lines) + "\n"), values, "program")


CASES: dict[str, Callable[[], Program]] = {
    "svt, N = 4": partial(read, "svt_gauss", N=4),
    "svt, three values": partial(read, "svt_gauss", domain="{-1, 0, 1}", N=3),
    "svt, l1": partial(read, "svt_gauss", "l1 1", N=4),
    "svt, l1 of fractions": partial(read, "svt_gauss", "l1 4/3", "{0, 1/2, 2/3}", N=3),
    "svt, l0": partial(read, "svt_gauss", "l0 2", N=4),
    "svt, increasing": partial(read, "svt_gauss", "increasing 1", "{-1, 0, 1}", N=3),
    "svt twice, decreasing": partial(read, SPARSE_VECTOR_TWICE, "decreasing 3/2", "{0, 1, 2}"),
    "svt, everyone": partial(read, "svt_gauss", "all", "{-1, 0, 1}", N=3),
    "svt laplace, l1": partial(read, "svt_laplace", "l1 2", "{-1, 0, 1}", N=3),
    "svt mix 1": partial(read, "svt_mix1", N=4),
    "svt mix 2, turned": partial(read, "svt_mix2_ge", N=4),
    "svt turned": partial(read, "svt_gauss_ge", N=4),
    "leaky 1": partial(read, "svt_gauss_leaky_1", N=4),
    "leaky 2, N = 4": partial(read, "svt_gauss_leaky_2", N=4),
    "leaky 5": partial(read, "svt_laplace_leaky_5", N=3),
    "svt twice": partial(read, SPARSE_VECTOR_TWICE),
    "svt twice, l1": partial(read, SPARSE_VECTOR_TWICE, "l1 2", "{0, 1, 2}"),
    "max": partial(read, "noisy_max_gauss", N=4),
    "max, three values": partial(read, "noisy_max_laplace", domain="{-1, 0, 1}", N=3),
    "min, l0": partial(read, "noisy_min_gauss", "l0 1", N=4),
    "k-min-max": partial(read, "k_min_max_gauss", N=3),
    "m-range": partial(read, "m_range_gauss", N=1),
    "uneven max": partial(read, UNEVEN_MAX),
    "conditions": partial(read, CONDITIONS),
    "plain": partial(read, PLAIN),
}
"""Programs small enough to check every pair."""

SCRAMBLED: dict[str, Callable[[], Program]] = {
    **CASES,
    "k-min-max, N = 5": partial(read, "k_min_max_gauss", N=5),
    "k-min-max, k = 3": partial(read, "k_min_max_laplace", N=4, k=3),
    "m-range, N = 2": partial(read, "m_range_gauss", N=2),
    "m-range, one stream": partial(read, "m_range_gauss", N=3, m=1),
    "m-range, again": partial(read, "m_range_laplace", N=2, fresh=0),
    "svt, N = 6": partial(read, "svt_gauss", N=6),
    "svt, N = 6, l1": partial(read, "svt_gauss", "l1 2", N=6),
    "svt twice, N = 5": partial(read, SPARSE_VECTOR_TWICE, N=5),
    "max, N = 6": partial(read, "noisy_max_gauss", N=6),
    "max, N = 6, l0": partial(read, "noisy_max_gauss", "l0 2", N=6),
    "max, decreasing": partial(read, "noisy_max_gauss", "decreasing 1", "{-1, 0, 1}", N=4),
    "max, everyone": partial(read, "noisy_max_gauss", "all", "{-1, 0, 1, 2}", N=3),
}
"""Programs whose structure is tested with made-up probabilities."""

QUANTILE = """
param n = 5
param rank = 3
input  x[n] in 1..5
output best in 1..5
adjacent l0 1
for v in 1..5 do
    below <- 0
    for i in 1..n do
        if x[i] <= v then below <- below + 1 end
    end
    score[v] <- -abs(below - rank)
end
best <- Exp(eps / 2, score)
"""
"""The candidate that about so many rows are below: the exponential mechanism."""
