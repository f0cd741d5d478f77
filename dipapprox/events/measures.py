"""Final states, eps and an input in; out, what is published: for each outcome a measure.

The real outputs of a final state are forms f_1, …, f_m over its samples and the inputs. Those that
are no combinations of earlier ones and constants are the *coordinates* of the outcome; all others
are written in terms of them (`Outcome.reals`). The numbers that a state publishes fill an affine
space; so

- states with equal finite outputs and equal spaces have equal outcomes, for which numbers are
  coordinates, and with which coefficients and constants the others depend on them, is read off the
  space alone; their densities over the coordinates add up;
- measures of different outcomes are singular to each other: two different affine spaces meet in a
  null set of the one that is not smaller.

Samples are connected by guards and by coordinates; a group with one coordinate is a `Marginal`, one
with none an event. Where a group has several coordinates other combinations are tried: those of the
reduced echelon form of the coefficients, as for x and x + y, of which y - x is the other, and then,
for Gaussian noise, those that are orthogonal (below). That is a linear bijection of what
is published, the same for all inputs, and changes no divergence. Where this does not part them
either there is no product, and the answer says so.

Gaussian forms without conditions that are uncorrelated are independent, though they share samples:
each of them is a marginal with samples of its own.

Jointly Gaussian forms are independent if and only if they are uncorrelated. By elimination without
square roots, L D L' of their covariance, forms f_1, …, f_m become

    g_k = f_k - Σ_{j<k} l_kj g_j,   l_kj = Cov(f_k, g_j) / Var(g_j),

which are uncorrelated: a bijection with exact rational coefficients, which depends on the variances
of the samples and on the coefficients of the forms alone (Golub and Van Loan, Matrix Computations,
section 4.1.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from dipapprox import graphs
from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.events.canonical import canonical
from dipapprox.events.event import Connected, Event, Marginal, Part, PublishedOutcome
from dipapprox.events.instantiate import Instantiator
from dipapprox.events.reduce import as_comparisons, connected_samples, is_possible, restricted
from dipapprox.language.core import Input
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import FormSpan, LinearForm, Matrix, Symbol, solved, vector_of
from dipapprox.linear.half_spaces import irredundant
from dipapprox.semantics.state import FinalState, FinalStates, guards_of

_NO_MEAN = Fraction(0)


def orthogonalised(
    forms: Sequence[LinearForm], variances: Mapping[int, Fraction]
) -> list[list[Fraction]]:
    """Return an invertible matrix: uncorrelated combinations of linearly independent forms.

    Forms with samples that have no variance, which are not Gaussian, stay as they are.
    """
    size = len(forms)
    rows = [[Fraction(i == j) for j in range(size)] for i in range(size)]
    found = list(forms)
    gaussian = [all(sample in variances for sample in form.samples()) for form in forms]
    for k in range(size):
        for j in range(k):
            if not (gaussian[k] and gaussian[j]):
                continue
            shared = covariance(forms[k], found[j], variances)
            if shared:
                factor = shared / covariance(found[j], found[j], variances)
                found[k] = found[k] - found[j].scaled(factor)
                rows[k] = [c - factor * d for c, d in zip(rows[k], rows[j], strict=True)]
    return rows


def covariance(left: LinearForm, right: LinearForm, variances: Mapping[int, Fraction]) -> Fraction:
    """Return that of the parts of two forms in samples with known variances."""
    shares = (
        c * right.coefficient(sample) * variances[sample]
        for sample, c in left.terms
        if isinstance(sample, int) and sample in variances
    )
    return sum(shares, _NO_MEAN)


Measures = Mapping[PublishedOutcome, tuple[Part, ...]]
"""For one input: what is published, outcome by outcome; `NotEnclosed` where it is no product of
measures on lines, as far as is known."""


class Measuring:
    """Makes the measures of a program at one eps, input by input; `names` are of real outputs."""

    def __init__(self, states: FinalStates, eps: Fraction) -> None:
        self.states, self.eps = states, eps
        self._instantiator = Instantiator(states, eps)
        self._bases = _bases(states, eps)
        numbered = list(zip(self._bases, states.states, strict=True))
        self._coordinates = [basis.coordinates(state) for basis, state in numbered]
        self._reals = [basis.reals(state) for basis, state in numbered]
        self.names = tuple(cell.name for cell in states.program.real_outputs)

    def at(self, input: Input) -> Measures | NotEnclosed:
        """Return the measure of every outcome that the input may have.

        The total mass is 1. Parts of one outcome add up.
        """
        numbers = self._instantiator.numbers(input)
        laws = self._instantiator.laws(numbers)
        found: dict[PublishedOutcome, list[Part]] = {}
        for number in self._instantiator.admitted(input, numbers):
            made = self._part(number, numbers, laws)
            if isinstance(made, NotEnclosed):
                return made
            if made is not None:
                chosen = self._instantiator.chosen(number)
                if chosen is not None:
                    made = Part((*made.events, chosen), made.marginals)
                reals = tuple([form.at(numbers) for form in self._reals[number]])
                outputs = tuple(self.states.states[number].outputs)
                outcome = PublishedOutcome(outputs, reals)
                found.setdefault(outcome, []).append(made)
        return {outcome: tuple(parts) for outcome, parts in found.items()}

    def _part(
        self, number: int, numbers: Mapping[Symbol, Fraction], laws: Sequence[Distribution]
    ) -> Part | NotEnclosed | None:
        """Return the product that a state is; None if it has probability 0."""
        path = self.states.states[number].path
        guards = tuple(guard.form.at(numbers) for guard in guards_of(path))
        forms = [form.at(numbers) for form in self._coordinates[number]]
        mentioned = {sample for form in (*guards, *forms) for sample in form.samples()}
        samples = sorted(mentioned)
        whole = restricted(Event(tuple(laws), ()), samples, (*guards, *forms))
        published = whole.guards[len(guards) :]
        conditions = irredundant(whole.guards[: len(guards)])
        if conditions is None:
            return None
        place = {id(form): k for k, form in enumerate(published)}
        groups = [
            (
                group,
                [form for form in own if id(form) not in place],
                [place[id(form)] for form in own if id(form) in place],
            )
            for group, own in connected_samples(len(samples), (*conditions, *published))
        ]
        if not all(is_possible(restricted(whole, group, own)) for group, own, _ in groups):
            return None
        events: list[Connected] = []
        marginals: dict[int, Marginal] = {}
        for group, own_guards, which in groups:
            if len(which) > 1:
                together = [published[k] for k in which]
                variances = {s: whole.samples[s].scale ** 2 for s in group}
                if (
                    own_guards
                    or not all(whole.samples[sample].family.is_normal for sample in group)
                    or any(covariance(f, g, variances) for f, g in combinations(together, 2))
                ):
                    pivots = self._bases[number].pivots
                    *others, last = [f"'{self.names[pivots[k]]}'" for k in which]
                    return NotEnclosed(
                        f"the real outputs {', '.join(others)} and {last} depend on one another: "
                        "their joint density is out of reach"
                    )
                for k in which:
                    marginals[k] = _marginal(whole, published[k].samples(), (), published[k])
            elif which:
                marginals[which[0]] = _marginal(whole, group, own_guards, published[which[0]])
            else:
                events.append(canonical(as_comparisons(restricted(whole, group, own_guards))))
        return Part(tuple(events), tuple(marginals[k] for k in range(len(published))))


class _Basis(Record):
    """How the real outputs of a state are written in terms of coordinates."""

    pivots: tuple[int, ...]  # places of the outputs that are no combinations of earlier ones
    change: Matrix  # the coordinates as combinations of the pivots: an invertible matrix
    rows: Matrix  # for every output its coefficients over the coordinates

    def coordinates(self, state: FinalState) -> list[LinearForm]:
        """Return the coordinates as forms over samples and inputs."""
        pivots = [state.reals[k] for k in self.pivots]
        return [_combined(row, pivots) for row in self.change]

    def reals(self, state: FinalState) -> list[LinearForm]:
        """Return the outputs as forms over the coordinates and inputs."""
        own = self.coordinates(state)
        found = []
        for form, row in zip(state.reals, self.rows, strict=True):
            rest = form - _combined(row, own)
            if rest.samples():
                raise BrokenInvariant("a real output is no combination of coordinates")
            found.append(LinearForm.of(dict(enumerate(row))) + rest)
        return found

    def changed(self, combinations: Sequence[Sequence[Fraction]]) -> _Basis:
        """Return the same outputs over combinations of the coordinates, an invertible matrix."""
        rows = solved(combinations, self.rows)
        if rows is None:
            raise BrokenInvariant("coordinates of real outputs depend on each other")
        change = [
            tuple(
                sum((c * d for c, d in zip(own, column, strict=True)), Fraction(0))
                for column in zip(*self.change, strict=True)
            )
            for own in combinations
        ]
        return _Basis(self.pivots, tuple(change), rows)


def _combined(row: Iterable[Fraction], forms: Iterable[LinearForm]) -> LinearForm:
    terms = zip(row, forms, strict=True)
    return sum((form.scaled(c) for c, form in terms if c), LinearForm.constant_form(0))


def _marginal(
    event: Event, group: Sequence[int], guards: Iterable[LinearForm], form: LinearForm
) -> Marginal:
    """What a form over samples of a group is, given its guards."""
    found = restricted(event, group, (*guards, form))
    return Marginal(Event(found.samples, found.guards[:-1]), found.guards[-1])


# --- bases ----------------------------------------------------------------------------------------


def _bases(states: FinalStates, eps: Fraction) -> list[_Basis]:
    """Return the basis of every state; states that may have equal outcomes share the change."""
    variances = {
        place: sample.scale.at(eps) ** 2
        for place, sample in enumerate(states.samples)
        if sample.family.is_normal
    }
    found = [_own_basis(state) for state in states.states]
    alike: dict[tuple[int, _Basis], list[int]] = {}
    for number, (state, basis) in enumerate(zip(states.states, found, strict=True)):
        alike.setdefault((id(state.outputs), basis), []).append(number)
    for (_, basis), numbers in alike.items():
        own = [states.states[number] for number in numbers]
        if all(_parts_coordinates(state, basis) for state in own):
            continue
        changed = set()
        for state in own:
            echelon = basis.changed(_echelon(state, basis))
            changed.add(echelon.changed(orthogonalised(echelon.coordinates(state), variances)))
        if len(changed) == 1:
            for number in numbers:
                found[number] = next(iter(changed))
    return found


def _noise(form: LinearForm) -> LinearForm:
    return LinearForm(tuple([term for term in form.terms if isinstance(term[0], int)]), Fraction(0))


def _own_basis(state: FinalState) -> _Basis:
    """Find the outputs that are no combinations of earlier ones."""
    span = FormSpan()
    told = [span.put(_noise(form), place) for place, form in enumerate(state.reals)]
    pivots = tuple([place for place, relation in enumerate(told) if relation is None])
    forms = (LinearForm.symbol(k) if each is None else each for k, each in enumerate(told))
    unit = [tuple([Fraction(i == j) for j in pivots]) for i in pivots]
    rows = [tuple([form.coefficient(k) for k in pivots]) for form in forms]
    return _Basis(pivots, tuple(unit), tuple(rows))


def _parts_coordinates(state: FinalState, basis: _Basis) -> bool:
    """Whether guards and coordinates, as they stand, connect no two coordinates."""
    forms = basis.coordinates(state)
    connected = [guard.form.samples() for guard in guards_of(state.path)]
    connected += [form.samples() for form in forms]
    size = 1 + max((s for own in connected for s in own), default=-1)
    edges = [(own[0], other) for own in connected for other in own[1:]]
    home = {s: k for k, group in enumerate(graphs.components(size, edges)) for s in group}
    return len({home[form.samples()[0]] for form in forms}) == len(forms)


def _echelon(state: FinalState, basis: _Basis) -> Matrix:
    """Return the reduced echelon form of the pivots, as combinations of them."""
    span = FormSpan()
    for number, place in enumerate(basis.pivots):
        span.put(_noise(state.reals[place]), number)
    size = len(basis.pivots)
    return tuple([vector_of(own, size) for _, own in span.rows.values()])
