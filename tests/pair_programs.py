"""Small programs with and without structure, for the ways through many pairs."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

from dipapprox.language.core import Program
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from tests.cases import text_of

PROGRAMS = Path(__file__).parent.parent / "programs"

SPARSE_VECTOR_TWICE = text_of("tests/pair_programs-sparse_vector_twice")
"""Stops after the second answer above the threshold."""

UNEVEN_MAX = text_of("tests/pair_programs-uneven_max")
"""Noisy max whose last query has a scale of its own."""

CONDITIONS = text_of("pairs/search_strategy-1")
"""A condition on a cell, a mean of two cells."""

PLAIN = text_of("tests/pair_programs-plain")
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

QUANTILE = text_of("tests/pair_programs-quantile")
"""The candidate that about so many rows are below: the exponential mechanism."""
