"""What laws compute with, loaded when it is first used: facts about families need none of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred

if TYPE_CHECKING:
    import flint
    import numpy as np

    from dipapprox.arithmetic import boxes, double_functions, enclosure, precision, rounding
else:
    flint = Deferred("flint")
    np = Deferred("numpy")
    boxes = Deferred("dipapprox.arithmetic.boxes")
    double_functions = Deferred("dipapprox.arithmetic.double_functions")
    enclosure = Deferred("dipapprox.arithmetic.enclosure")
    precision = Deferred("dipapprox.arithmetic.precision")
    rounding = Deferred("dipapprox.arithmetic.rounding")

__all__ = ["boxes", "double_functions", "enclosure", "flint", "np", "precision", "rounding"]
