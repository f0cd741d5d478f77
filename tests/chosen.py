"""Sets of outcomes of one choice, as events."""

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.events.circuits import Circuit, chances_of
from dipapprox.events.event import Chosen
from dipapprox.laws.distribution import ChoiceLaw, count_outcomes
from dipapprox.semantics.outcomes import ALWAYS, Node, OutcomeSets
from dipapprox.semantics.state import Choice


def chosen(law: ChoiceLaw, outcomes: Iterable[int], eps: Fraction | int = 1) -> Chosen:
    """A choice has one of some outcomes."""
    sets = OutcomeSets()
    single = sets.split(ALWAYS, 0, count_outcomes(law))
    wanted = sets.union(single[outcome] for outcome in outcomes)
    circuit, (root,) = circuit_of([Choice(law, 0, "x")], sets.nodes, [wanted])
    return Chosen(circuit, root, Fraction(eps))


def circuit_of(
    choices: Sequence[Choice], nodes: Sequence[Node], sets: Sequence[int]
) -> tuple[Circuit, tuple[int, ...]]:
    """Return a circuit for the probabilities of sets without readings, and the node of each."""
    chances = chances_of(choices, (), nodes, sets)
    assert chances.diagrams is None
    return chances.circuit, chances.sets
