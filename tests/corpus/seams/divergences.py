"""From two measures on finitely many outcomes to an enclosure of δ at an ε_prv."""

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.pairs.divergence import divergence, eps_prv_factor
from tests.corpus.seams.events import printed

Ends = tuple[str, str]

BITS = 80


def adapted(first: Sequence[Ends], second: Sequence[Ends], eps_prv: str) -> Ends:
    """Enclose δ = Σ max(p - e^ε_prv q, 0).

    Args:
        first: Ends of the enclosures of every p; equal ends are the number.
        second: Of every q, likewise.
        eps_prv: Exact and at least 0.
    """
    found = divergence(
        [Enclosure(Fraction(low), Fraction(high)) for low, high in first],
        [Enclosure(Fraction(low), Fraction(high)) for low, high in second],
        eps_prv_factor(Fraction(eps_prv), BITS),
    )
    return printed(found.lower, found.upper)
