"""Functions of the kernel by name, loaded when first wanted: a proof rests on what it uses.

Names are constants of the kernel; none of them is read from a proof.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def named(name: str) -> Any:
    """Return what "module.function" names."""
    module, function = name.split(".")
    return getattr(import_module(f"dipapprox.kernel.{module}"), function)
