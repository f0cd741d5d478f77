"""All families of noise, by their names in programs."""

from __future__ import annotations

from collections.abc import Mapping

from dipapprox.laws.discrete import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dipapprox.laws.exponential import EXPONENTIAL, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.laws.family import Family
from dipapprox.laws.gaussian import GAUSSIAN
from dipapprox.laws.gumbel import GUMBEL, REFLECTED_GUMBEL
from dipapprox.laws.logistic import LOGISTIC

__all__ = [
    "DISCRETE_GAUSSIAN",
    "DISCRETE_LAPLACE",
    "EXPONENTIAL",
    "FAMILIES",
    "GAUSSIAN",
    "GUMBEL",
    "LAPLACE",
    "LOGISTIC",
    "REFLECTED_EXPONENTIAL",
    "REFLECTED_GUMBEL",
]

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        GAUSSIAN,
        LAPLACE,
        EXPONENTIAL,
        REFLECTED_EXPONENTIAL,
        DISCRETE_LAPLACE,
        DISCRETE_GAUSSIAN,
        LOGISTIC,
        GUMBEL,
        REFLECTED_GUMBEL,
    )
}
"""A new family is a file and a line here."""
