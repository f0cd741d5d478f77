"""Certificates of budgets of automata, and of programs with rounds: `prove --certificate`.

What is stated are bounds of the least D for which the automaton is (D eps, 0)-private for every
eps > 0; budgets are multiples of eps. Evidence of the upper bound is a family of cost vectors that
no step leaves; of the lower bound a run with flows, or a word and two inputs; of there being no
budget at all a bad structure. Steps are numbered in the order of the file, from 0; where stops are
visible, those that are added follow.

A program that goes on for any number of rounds is an automaton (`rounds.compiled`): its steps are
those of that automaton, in which some guard always holds, and its budgets are those of the
automaton times how much a mean may change.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dipapprox.certificates.statement import (
    Computed,
    Count,
    Digest,
    Hash,
    Line,
    Statement,
    Text,
    check_params,
)

FORMAT = "dipapprox budget certificate"
VERSION = 1

Change = Literal[-1, 0, 1]


class RecordedAutomaton(Statement, frozen=True, tag_field="language", tag="dipa"):
    """An automaton's text and its hash."""

    name: Line
    text: str
    sha256: Hash

    @property
    def params(self) -> dict[str, Fraction]:
        """An automaton has none."""
        return {}


class RecordedRounds(Statement, frozen=True, tag_field="language", tag="dpg"):
    """The text of a program with rounds, its hash and its parameters.

    `for_all` is the parameter that may be any number; null for streams.
    """

    name: Line
    text: str
    sha256: Hash
    params: dict[str, Fraction]
    for_all: Text | None

    def __post_init__(self) -> None:
        check_params(self.params)


class HiddenStops(Statement, frozen=True, tag_field="kind", tag="hidden"):
    """That no guard holds is seen by nobody; `states` are those where it may happen."""

    states: tuple[Text, ...]


class Branch(Statement, frozen=True):
    """A step that is added to `state`: it shows a symbol of its own, and nothing follows."""

    state: Text
    at_least: tuple[Text, ...]
    less: tuple[Text, ...]


class VisibleStops(Statement, frozen=True, tag_field="kind", tag="visible"):
    """That no guard holds is an output; `branches` fill what the guards leave out."""

    branches: tuple[Branch, ...]


Stops = HiddenStops | VisibleStops


def unseen_stops(states: Iterable[str]) -> str:
    """Say what an answer leaves out that takes stops in some states as unseen."""
    return f"that it may stop in {', '.join(states)}, where no guard holds, is taken as unseen"


class BudgetClaimed(Statement, frozen=True):
    """(budget eps, 0)-privacy for every eps > 0; null: there is some budget, or none."""

    budget: Fraction | None

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 0:
            raise ValueError(".budget: expected a number >= 0")


class StatedBounds(Statement, frozen=True):
    """The least budget is at least `lower` and, if there is an upper bound, at most `upper`."""

    lower: Fraction
    upper: Fraction | None

    def __post_init__(self) -> None:
        if self.lower < 0 or (self.upper is not None and self.upper < self.lower):
            raise ValueError(".lower: expected a number >= 0, and not above the upper one")


# --- at most ------------------------------------------------------------------------------------


class Node(Statement, frozen=True):
    """A node of a graph that has all feasible runs among its walks; the first one is initial.

    Attributes:
        free: Stored values whose shift the cost vectors leave open; bit i of an index is the i-th.
        pinned: Those with one shift.
        steps: The steps that leave it, each with the number of the node that it leads to.
    """

    free: tuple[Text, ...]
    pinned: dict[Text, Change]
    steps: tuple[tuple[Count, Count], ...]


Cost = Annotated[Count | None, Meta(description="null: dearer than the upper bound")]


class VectorPair(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Cost vectors at a node, in units, by the shifts of the free values: [shift >= 0], [= 1]."""

    node: Count
    lower: tuple[Cost, ...]
    upper: tuple[Cost, ...]


class VectorFamily(Statement, frozen=True, tag_field="kind", tag="vectors"):
    """The empty run's vectors first, each other one made by a step from one before it."""

    unit: Fraction
    nodes: Annotated[tuple[Node, ...], Meta(min_length=1)]
    vectors: Annotated[tuple[VectorPair, ...], Meta(min_length=1)]


class CellFamily(Statement, frozen=True, tag_field="kind", tag="cell vectors"):
    """As `VectorFamily`, of the automaton of coarser cells.

    Where words fit several runs, samples can be parted into fewer cells than runs: steps that look
    alike are one where a value becomes the lesser, or larger, of itself and the sample
    (`automata.cells`, `checking.budgets.cells`; steps are numbered there in the same way). A cell
    is given by an order of the samples and of separators that cost nothing, as a run is.
    """

    unit: Fraction
    nodes: Annotated[tuple[Node, ...], Meta(min_length=1)]
    vectors: Annotated[tuple[VectorPair, ...], Meta(min_length=1)]


class JoinedCells(Statement, frozen=True, tag_field="kind", tag="joined cell vectors"):
    """For each node of the automaton of coarser cells the largest of the costs of all walks to it.

    By the shifts of the free values: digit i of an index in base 3 is 1 + the shift of the i-th.
    """

    unit: Fraction
    nodes: Annotated[tuple[Node, ...], Meta(min_length=1)]
    vectors: tuple[tuple[Cost, ...], ...]


# --- at least -----------------------------------------------------------------------------------


class RunStep(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A step, the change of its input, and what comes in less what goes out in either flow."""

    step: Count
    change: Change
    lower: Fraction
    upper: Fraction


class FlowArc(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The flows along an edge of the dependency graph: sample `below` is less than `above`."""

    below: Count
    above: Count
    lower: Fraction
    upper: Fraction


class RecordedRun(Statement, frozen=True, tag_field="kind", tag="run"):
    """A run that its word determines; arcs without flow are left out."""

    steps: tuple[RunStep, ...]
    flow: tuple[FlowArc, ...]


class SeenSymbol(Statement, frozen=True, tag_field="kind", tag="symbol"):
    """An output symbol."""

    name: Text


class SeenNearZero(Statement, frozen=True, tag_field="kind", tag="near zero"):
    """A real number in (0, η), for η → 0."""


class SeenBeyond(Statement, frozen=True, tag_field="kind", tag="beyond"):
    """A real number above (direction 1) or below (-1) `end`."""

    end: Fraction
    direction: Literal[-1, 1]


class SeenStop(Statement, frozen=True, tag_field="kind", tag="stop"):
    """No guard holds, where that is visible."""


Seen = SeenSymbol | SeenNearZero | SeenBeyond | SeenStop


class WordLetter(Statement, frozen=True):
    """One input of either run, null where none is read, and what is seen."""

    first: Fraction | None
    second: Fraction | None
    seen: Seen


class RecordedWord(Statement, frozen=True, tag_field="kind", tag="word"):
    """As eps grows, the word's probabilities differ by the factor e^(lower eps)."""

    letters: tuple[WordLetter, ...]


# --- no budget ----------------------------------------------------------------------------------


class Part(Statement, frozen=True):
    """Steps that are taken once, or any number of times."""

    steps: Annotated[tuple[Count, ...], Meta(min_length=1)]
    repeated: bool


class RecordedStructure(Statement, frozen=True):
    """A run with a bad structure; which path and which values is for the reader to find."""

    kind: Literal["LC", "LP", "DC", "PV"]
    parts: tuple[Part, ...]


class BudgetEvidence(Statement, frozen=True):
    """What proves the bounds; null for a bound that needs no proof, or is not stated."""

    upper: VectorFamily | CellFamily | JoinedCells | None
    lower: RecordedRun | RecordedWord | None
    structure: RecordedStructure | None


class BudgetCertificate(Statement, frozen=True):
    """What a proof states, and its evidence."""

    format: Literal["dipapprox budget certificate"]
    version: Literal[1]
    program: RecordedAutomaton | RecordedRounds
    stops: Stops
    claim: BudgetClaimed
    least_budget: StatedBounds
    evidence: BudgetEvidence
    computed: Computed
    digest: Digest

    def __post_init__(self) -> None:
        evidence, bounds = self.evidence, self.least_budget
        if (evidence.upper is None) != (bounds.upper is None):
            raise ValueError(".evidence.upper: expected it where an upper bound is stated")
        if (evidence.lower is None) != (bounds.lower == 0):
            raise ValueError(".evidence.lower: expected it where a lower bound above 0 is stated")
        if isinstance(self.program, RecordedRounds) and self.stops != VisibleStops(branches=()):
            raise ValueError(".stops: expected none: in a program one guard always holds")


class CertificateOfBudget(BudgetCertificate, frozen=True):
    """There is a budget, and the claimed one is one."""

    verdict: Literal["DP"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evidence.upper is None or self.evidence.structure is not None:
            raise ValueError(".evidence: expected that of an upper bound, and no structure")


class CertificateAgainstBudget(BudgetCertificate, frozen=True):
    """There is no budget, or the claimed one is less than the lower bound."""

    verdict: Literal["Not_DP"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evidence.structure is None and self.claim.budget is None:
            raise ValueError(".claim.budget: expected a number, as no structure is stated")
        if self.evidence.structure is not None and self.evidence.upper is not None:
            raise ValueError(".evidence.upper: expected null beside a structure")
