"""Final symbolic states: outputs, conditions on the inputs, guards on the samples.

This is the paper's (alpha, beta, G) (DiPApprox section 4.2) after the end of the program, with
beta already substituted into G: guards speak about independent samples only. Inputs are symbolic:
one `FinalStates` serves every input row and every epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dipapprox.distributions import Family, Scale
from dipapprox.language.core import Program, Value
from dipapprox.semantics.linear import LinearForm


@dataclass(frozen=True, slots=True)
class Sample:
    """An independent draw. `mean` is a form over input cells only; `site` is its `Draw.site`."""

    family: Family
    mean: LinearForm
    scale: Scale
    site: int
    label: str  # the variable it was first assigned to, for people


@dataclass(frozen=True, slots=True)
class Guard:
    """form <= 0, or form < 0 if `strict`; at least one sample occurs in `form`.

    `form` is over samples and input cells, `normalised()`. For continuous samples strictness does
    not change a probability; it is kept so that complements are exact.
    """

    form: LinearForm
    strict: bool


@dataclass(frozen=True, slots=True)
class InputCondition:
    """A condition on the inputs alone.

    Either `form` (over input cells) is compared with 0 — <= 0, or < 0 if `strict` — or, when
    `values` is not None, the single cell `cell` has one of `values`.
    """

    form: LinearForm | None = None
    strict: bool = False
    cell: str | None = None
    values: frozenset[Value] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A persistent list of guards: states that share a prefix share the objects.

    Compared by identity. `length` counts the guards up to and including this one.
    """

    parent: Path | None
    guard: Guard
    length: int

    def guards(self) -> Iterator[Guard]:
        """Yield the guards, newest first."""
        node: Path | None = self
        while node is not None:
            yield node.guard
            node = node.parent


def guards_of(path: Path | None) -> tuple[Guard, ...]:
    """Return the guards of a path, oldest first; an empty path has none."""
    return () if path is None else tuple(path.guards())[::-1]


@dataclass(frozen=True, slots=True, eq=False)
class FinalState:
    """One final state.

    Attributes:
        outputs: Values of the output cells, in the order of `Program.outputs`.
        conditions: The state exists only for inputs that meet all of them.
        path: Guards on the samples; None when there are none.
        decisions: The conditions that were decided on the way, as written: numbers of the `If`
            and which branch was taken. A compound condition is one decision. Finite-domain
            conditions that were constant are not decisions. Empty on merged states.
    """

    outputs: tuple[Value, ...]
    conditions: tuple[InputCondition, ...]
    path: Path | None
    decisions: tuple[tuple[int, bool], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class FinalStates:
    """All final states of a program: for each input row, disjoint and of total probability 1.

    Attributes:
        samples: Guards refer to them by index.
        states: In the order of execution, then-branches first. States with equal outputs share
            one tuple object, so outputs may be told apart by identity.
        merged: Whether states were merged at join points (else: the paper's states).
    """

    program: Program
    samples: tuple[Sample, ...]
    states: tuple[FinalState, ...]
    merged: bool

    def outputs(self) -> tuple[tuple[Value, ...], ...]:
        """The distinct output valuations of the states, in order of first appearance."""
        # By identity: hashing a thousand fractions for each of a thousand states is slow.
        return tuple({id(state.outputs): state.outputs for state in self.states}.values())
