"""Who gave each end of an answer: the method, and the pair and the outputs that show it.

Ends come with the words of their methods from where they are found (`arithmetic.extended`); here
they become what `--why` shows. An end that says nothing (δ >= 0, no upper one) has no method.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended
from dipapprox.data_classes import dataclass
from dipapprox.privacy.description import Table


@dataclass(frozen=True, slots=True)
class End:
    """One end of what an answer says."""

    of: str  # of which number: "largest δ"
    least: bool
    value: str  # a decimal, rounded outward, a formula, or "inf"
    by: str
    # The inputs that show a lower end; None where no pair does alone.
    pair: tuple[str, str] | None = None
    outputs: str = ""  # the set that tells them apart, for people; "" if none is known
    brief: str = ""  # the value with few digits, rounded outward; "" for the value itself

    def fields(self) -> dict[str, object]:
        """Return its fields in JSON."""
        return {
            "of": self.of,
            "end": "least" if self.least else "most",
            "value": self.value,
            "by": self.by,
            "pair": None if self.pair is None else list(self.pair),
            "outputs": self.outputs or None,
        }

    def row(self) -> tuple[str, ...]:
        """Return its row in a table."""
        pair = "" if self.pair is None else " against ".join(self.pair)
        sign = "≥" if self.least else "≤"
        return f"{self.of} {sign} {self.brief or self.value}", self.by, pair, self.outputs


def why_table(ends: Sequence[End]) -> Table:
    """Lay out the ends of an answer for people."""
    return Table("Why", ("end", "by", "pair", "outputs"), tuple(each.row() for each in ends))


def ends_of(
    of: str,
    told: Extended | None,
    engine: str = "",
    pair: tuple[str, str] | None = None,
    outputs: str = "",
    trivial: Fraction | None = None,
) -> tuple[End, ...]:
    """Return the ends of bounds that say something.

    Args:
        engine: What encloses probabilities: said where enclosures gave an end.
        trivial: An upper end that says nothing.
    """
    if told is None:
        return ()
    lower, upper = told.ends()
    brief = lower, upper
    if told.lower is not None and told.upper is not None:
        brief = short(Enclosure(told.lower, told.upper))

    def word(by: str) -> str:
        return f"{by}: {engine}" if by == BY_ENCLOSURES[0] and engine else by

    found = []
    if told.lower is None or told.lower > 0:
        found.append(End(of, True, lower, word(told.least_by), pair, outputs, brief[0]))
    if told.upper is not None and told.upper != trivial:
        found.append(End(of, False, upper, word(told.most_by), brief=brief[1]))
    return tuple(found)
