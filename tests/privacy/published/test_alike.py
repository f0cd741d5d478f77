"""Pairs that differ by shifts: what is remembered of one is the normal form of the other."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

import dipapprox
from dipapprox.events.measures import NoProduct
from dipapprox.language import core
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.published.divergences import PublishedDivergences
from dipapprox.pairs.published.normal_form import MeasureSides, normal_form
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_published
from dipapprox.semantics.execution import execute

TEXTS = [
    "y <- {0}(q, 2 / eps)\nz <- {1}({2} * q + t, 1)",
    "a <- {0}({2} * q, 2)\ny <- 5 - 2 * a\nb <- {1}(t, 1)\nif t = 1 then z <- q else z <- b end",
    "y <- 0\nz <- {0}(3 * t - q, 1 / eps)\na <- {1}(q, 1)\nif a >= {2} then y <- a end",
    "z <- 1\nif q = 0 then y <- {0}(t, 1) else y <- {1}({2} - t, 2) end",
    "a <- choose {{ 0 : 1/3, 1 : 2/3 }}\nz <- 0\n"
    "if a = 1 then y <- {0}(q, 1) else y <- {1}(0, 1) end",
]

NOISY_MAX = Path(dipapprox.__file__).parents[1] / "programs/numbers/noisy_max_with_gap.dpg"


def opened(text: str) -> tuple[core.Program, PublishedDivergences]:
    program = dipapprox.parse(text)
    options = Options()
    states = execute(program, True, options.limits, real_outputs=True)
    return program, open_published(states, Fraction(1, 2), options)


@pytest.mark.parametrize("body", TEXTS)
@pytest.mark.parametrize("seed", range(2))
def test_remembered_forms_are_those_of_the_measures(body: str, seed: int) -> None:
    random = Random(seed)
    noise = [random.choice(["Lap", "Gauss"]) for _ in range(2)]
    head = "input q in 0..2\ninput t in {0, 1}\noutput y, z in real\nadjacent all\n"
    program, found = opened(head + body.format(*noise, random.choice([-1, 1, 2])) + "\n")
    pairs = list(select_pairs(program, AllPairs()))
    random.shuffle(pairs)
    for u, v in pairs:
        first, second, known = found.measures(u), found.measures(v), found.sides((u, v))
        if isinstance(first, NoProduct) or isinstance(second, NoProduct):
            assert isinstance(known, NoProduct)
            continue
        assert not isinstance(known, NoProduct)
        assert [outcome for outcome, _ in known] == list(first)
        for outcome, form in known:
            assert form == normal_form(MeasureSides(first[outcome], second.get(outcome, ())))


def test_measures_that_differ_by_names_of_samples_are_one() -> None:
    """A noisy maximum with its gap: what counts of an input is how its numbers lie to the largest.

    The largest query is one of 2 values above, with or below two others: at most 6 measures a side.
    """
    program, found = opened(NOISY_MAX.read_text(encoding="utf-8"))
    forms = [
        form.sides
        for pair in select_pairs(program, AllPairs())
        for _, form in found.sides(pair)  # type: ignore[union-attr]  # a product
    ]
    assert len(forms) == 56 * 3
    assert len(set(forms)) <= 6 * 6
