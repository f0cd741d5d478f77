"""A verification leaves nothing for the garbage collector: states are many, and freed at once."""

from __future__ import annotations

import gc
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.language.load import load
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.verifier import verify

PROGRAMS = Path(__file__).parents[2] / "programs"
CLAIM = Claim(Fraction(1, 2), Fraction(1, 100), Fraction(124, 100))


@pytest.mark.parametrize("name", ["svt_gauss", "svt_laplace", "noisy_max_gauss"])
def test_no_state_is_part_of_a_cycle(name: str) -> None:
    program = load(PROGRAMS / f"{name}.dpg", {"N": Fraction(4)})
    verify(program, CLAIM, AllPairs(), Options())  # fills the caches of the process
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        verify(program, CLAIM, AllPairs(), Options())
        garbage = gc.collect()
    finally:
        if enabled:
            gc.enable()
    assert garbage < 20
