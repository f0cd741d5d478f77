"""Families by what they are."""

from dipapprox.laws.families import FAMILIES
from dipapprox.laws.family import RealFamily

REAL_FAMILIES = tuple([each for each in FAMILIES.values() if isinstance(each, RealFamily)])
"""Those with densities."""
