"""What a service does at a call, from one state: its outcomes, with exact probabilities.

A state is the values of the state cells, in the order of the declaration. In a *state by
differences* some cells have no values: what happens to them is a linear form over the values they
had, for values within ranges, and pairs of runs keep how far they are apart.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

from dipapprox.data_classes import Record, field
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Value
from dipapprox.language.services import Service
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm

State = tuple[Value | None, ...]
"""Values of the state cells; None for cells that are kept by differences."""

Forms = tuple[LinearForm, ...]
"""For each cell kept by differences its next value, over such cells and the data argument."""

Range = tuple[int, int]  # whole numbers, from the first to the last
Where = tuple[tuple[str, Range], ...]  # what cells hold
NOTHING = "no reply"  # what a reply cell holds that a query does not assign


class AskedService(Record):
    """What is asked about: an elaborated service, at every eps if `eps` is None."""

    service: Service
    limits: Limits = field(repr=False)
    eps: Fraction | None = None
    # Who looks, together; none: all queries and replies are seen.
    users: frozenset[str] = frozenset()


class Call(Record):
    """One call: the name of its handler, "data" or of the query, and what it carries."""

    handler: int  # its index; 0 brings a data point
    name: str
    # Of the arguments; () for data of any value, in states by differences.
    values: tuple[Value, ...]

    @property
    def is_data(self) -> bool:
        """Whether it brings a data point."""
        return not self.handler

    def text(self) -> str:
        """Write it as `unroll` reads it: "data 1", "count", "near(3)"."""
        if not self.values:
            return self.name
        listed = ", ".join(map(str, self.values))
        return f"{self.name} {listed}" if self.is_data else f"{self.name}({listed})"


class Published(Record):
    """A sample of its own that a reply cell shows, and nothing else sees."""

    family: Family
    mean: LinearForm  # over cells kept by differences and the data argument
    scale: Fraction  # g > 0 of the scale g / eps
    ends: tuple[int, int] | None  # what it is clamped to; None for no clamp


Replied = tuple[Value | Published, ...]
"""What the reply cells hold, each a sample of its own or a value."""


def row_text(values: State | Replied) -> str:
    """Write a state or a reply."""
    said = ("a sample" if isinstance(each, Published) else str(each) for each in values)
    return f"({', '.join(said)})"


class CallOutcome(Record):
    """One of the ways in which a call may end."""

    probability: ExponentialRatio  # a function of eps, not the zero function
    reply: Replied
    state: State
    forms: Forms = ()  # what happens to the cells that are kept by differences
    where: Where = ()  # what these have to hold for the call to end so; cells not named: anything

    @property
    def samples(self) -> list[Published]:
        """Those that are published."""
        return [each for each in self.reply if isinstance(each, Published)]

    @property
    def values(self) -> tuple[Value | None, ...]:
        """The values of the reply cells; None where a sample is published."""
        return tuple([None if isinstance(each, Published) else each for each in self.reply])

    @property
    def label(self) -> tuple[object, ...]:
        """What two replies must have in common to show the same, but for their means."""
        return tuple(
            [
                (each.family, each.scale, each.ends) if isinstance(each, Published) else each
                for each in self.reply
            ]
        )


class Arrival(Record):
    """How a state was first come to."""

    state: State
    call: Call
    outcome: CallOutcome


Step = tuple[CallOutcome, ...]
"""All outcomes of a call: of total probability 1, whatever cells without values hold."""


class _NeedsValues(Exception):
    """Something is not known of cells unless their values are: of these, as far as known."""

    def __init__(self, cells: Collection[str] = ()) -> None:
        super().__init__()
        self.cells = frozenset(cells)


class Untracked(_NeedsValues):
    """Two runs cannot be told apart by differences of cells; by values they may be."""


class Inexpressible(Exception):
    """A call has no outcomes in closed form; the reason is for the verdict."""


class NotPlain(_NeedsValues):
    """A handler does something that only all of its guards together tell."""
