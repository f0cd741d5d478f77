"""Final symbolic states: outputs, conditions on the inputs, guards on the samples.

This is the paper's (alpha, beta, G) (DiPApprox section 4.2) after the end of the program, with
beta already substituted into G: guards speak about independent samples only. Inputs are symbolic:
one `FinalStates` serves every input row and every epsilon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dipapprox.distributions import ChoiceLaw, Family, Scale
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
    line: int | None = field(default=None, compare=False)  # of the program, for people


@dataclass(frozen=True, slots=True)
class Choice:
    """An independent draw from finitely many outcomes, numbered from 0.

    Attributes:
        law: Closed: it depends on epsilon only. A choice whose law depends on inputs is one
            `Choice` for each law.
        site: Of the `Choose`; for a loop, of the first one in it.
        label: The variable that was assigned, for people.
    """

    law: ChoiceLaw
    site: int
    label: str


@dataclass(frozen=True, slots=True)
class Guard:
    """form <= 0, or form < 0 if `strict`; at least one sample occurs in `form`.

    `form` is over samples and input cells, `normalised()`. For continuous samples strictness does
    not change a probability; it is kept so that complements are exact. Between integer samples
    (discrete Laplace) the constant is moved to the middle of two neighbouring values of the form:
    z1 <= z2 is z1 - z2 - 1/2 <= 0 and z1 < z2 is z1 - z2 + 1/2 <= 0. No integer point lies on a
    boundary, so what holds up to null sets for the reals (complements, implication, an interior)
    holds exactly for integers.
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
        decisions: The conditions that were decided on the way, as written: numbers of the `If` or
            `While` and which branch was taken; an outcome of a random choice has a number of its
            own, and is taken. A compound condition is one decision. Finite-domain conditions that
            were constant are not decisions. Empty on merged states.
        choices: (index in `FinalStates.choices`, outcomes): the state needs every one of these
            independent choices to have one of its outcomes.
    """

    outputs: tuple[Value, ...]
    conditions: tuple[InputCondition, ...]
    path: Path | None
    decisions: tuple[tuple[int, bool], ...] = ()
    choices: tuple[tuple[int, frozenset[int]], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class FinalStates:
    """All final states of a program: for each input row, disjoint and of total probability 1.

    Attributes:
        samples: Guards refer to them by index.
        states: In the order of execution, then-branches first. States with equal outputs share
            one tuple object, so outputs may be told apart by identity.
        merged: Whether states were merged at join points (else: the paper's states).
        choices: States refer to them by index.
        laws: What must be a probability distribution for the program to make sense at an epsilon:
            the weights of every choice as they are written, and where every loop ends. More than
            `choices`: outcomes may be merged, or matter to no state.
    """

    program: Program
    samples: tuple[Sample, ...]
    states: tuple[FinalState, ...]
    merged: bool
    choices: tuple[Choice, ...] = ()
    laws: tuple[Choice, ...] = ()

    def outputs(self) -> tuple[tuple[Value, ...], ...]:
        """The distinct output valuations of the states, in order of first appearance."""
        # By identity: hashing a thousand fractions for each of a thousand states is slow.
        return tuple({id(state.outputs): state.outputs for state in self.states}.values())
