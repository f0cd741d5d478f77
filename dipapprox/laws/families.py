"""All families of noise by name, `INTEGERS` of integers: each is loaded when somebody asks for it.

FAMILIES["Gauss"]       families.GAUSSIAN       the instance itself
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from dipapprox.laws import discrete, exponential, gaussian, gumbel, logistic
from dipapprox.laws.family import Family

_HOMES: Mapping[str, tuple[ModuleType, str]] = {
    "Gauss": (gaussian, "GAUSSIAN"),
    "Lap": (exponential, "LAPLACE"),
    "LapPlus": (exponential, "EXPONENTIAL"),
    "LapMinus": (exponential, "REFLECTED_EXPONENTIAL"),
    "DLap": (discrete, "DISCRETE_LAPLACE"),
    "DGauss": (discrete, "DISCRETE_GAUSSIAN"),
    "Logistic": (logistic, "LOGISTIC"),
    "Gumbel": (gumbel, "GUMBEL"),
    "GumbelMinus": (gumbel, "REFLECTED_GUMBEL"),
}
"""A new family is a file and a line here."""


class _Families(Mapping[str, Family]):
    def __getitem__(self, name: str) -> Family:
        home, constant = _HOMES[name]
        found: Family = getattr(home, constant)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


FAMILIES: Mapping[str, Family] = _Families()
INTEGERS = tuple(name for name, (home, _) in _HOMES.items() if home is discrete)


def __getattr__(constant: str) -> Family:
    for name, (_, own) in _HOMES.items():
        if own == constant:
            return FAMILIES[name]
    raise AttributeError(f"there is no family {constant}")
