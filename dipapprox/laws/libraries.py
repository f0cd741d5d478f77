"""What laws compute with, loaded when it is first used: facts about families need none of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dipapprox.arithmetic import boxes, double_functions, enclosure, precision, rounding

if TYPE_CHECKING:
    import flint
    import numpy as np
else:

    class _Late:
        """A module that is not ours, by name."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> object:
            found = getattr(import_module(self._name), attribute)
            setattr(self, attribute, found)  # which is not asked for again
            return found

    flint, np = _Late("flint"), _Late("numpy")

__all__ = ["boxes", "double_functions", "enclosure", "flint", "np", "precision", "rounding"]
