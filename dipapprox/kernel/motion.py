"""How the probabilities of outputs move with inputs that are real numbers.

A sample is c + a·u + z: u are the real inputs, a the slopes of its mean in them, c the rest of its
mean, z noise around 0. Noise that one and the same execution of a `draw` asks for is one, in
whatever run; what is chosen has weights that do not depend on u. `Motion` follows one run, or two
with the same noise, through all decisions that are not seen to be impossible together.

1. Directions. Let two runs differ in u_i, which is larger by d > 0 in the second. Let them end
   alike, but that the second may end with e, whatever the first ends with. Who ends with o != e in
   the second does so in the first: Pr[o] does not rise with u_i. So P_S falls, or stays, for every
   set S without e, and rises, or stays, for every S with e, being 1 - P_S' for the set S' of all
   others. Likewise if it is the first run that may end with e where they differ.
2. Curvature. Let u be in every form that is compared as a part of some a·u + z, with one a for each
   noise z. Then outputs are a function of all a·u + z and of choices, whatever else is known. Let
   p_u be the density of these. Its second derivative in u_i integrates to 0, so that of P_S, an
   integral of 0 <= f <= 1 by it, is at most half its L1 norm in modulus. With scales s_j, and norms
   n_j and m_j of the first two derivatives of the standard densities (`laws`), that is at most

       sum_j a_ji^2 m_j / s_j^2 + sum_(j != k) |a_ji a_ki| n_j n_k / (s_j s_k).
3. Shifts. Let real numbers be published, all else be decided by finite inputs, and let what is
   published be A u + b + w, where b depends on finite inputs, A and the law of w on nothing. Then
   delta is 1, or that of w and w + v for v = A (u' - u) + b' - b. If w is Gaussian, it depends on
   a norm of v (infinite where w has no share), and grows with it. If v is one number and w a sum of
   samples with log-concave densities, w has one, and the best S is a half-line (likelihood ratios
   are monotone), so delta grows with |v|. In either case sublevel sets are convex, in u' - u.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from dipapprox.kernel.errors import NotProved, Refused, spend
from dipapprox.kernel.forms import NOTHING, Form, Stored, copied, only
from dipapprox.kernel.laws import FAMILIES, RealFamily, cost_of
from dipapprox.kernel.machine import Machine, Number, Output, Range, Tree
from dipapprox.kernel.walk import Guard, Noise, Walk, Where, filled, form_of

MOST_STARTS = 20_000  # values of finite inputs


@dataclass(slots=True)
class Moved:
    """Where runs stand, and what was decided and chosen; of one that has ended, its output."""

    stores: tuple[dict[str, Stored], ...]
    outputs: tuple[Output | None, ...]
    side: int = 0
    guards: frozenset[Guard] = frozenset()
    chosen: frozenset[tuple[object, int]] = frozenset()

    @property
    def store(self) -> dict[str, Stored]:
        """Of the run whose turn it is."""
        return self.stores[self.side]

    def copy(self) -> Moved:
        """Return the same with stores of its own."""
        stores = tuple([copied(store) for store in self.stores])
        return Moved(stores, self.outputs, self.side, self.guards, self.chosen)


class Motion(Walk[Moved]):
    """How the real inputs of a machine, by their places among all inputs, move its outputs.

    That is told by all that one run may do; or two, of which the second has a larger input. Forms
    are over the inputs, d, and noise. `ends` are all that they can end with, and perhaps others.
    """

    def __init__(self, machine: Machine, larger: int | None = None) -> None:
        super().__init__()
        self.machine = machine
        # By the draw, the law around 0 and the slopes of its mean: the atom.
        self.noise: dict[tuple[Where, Noise, Form], int] = {}
        # All that is compared with 0, once.
        self.forms: dict[Form, None] = {}
        self._published: set[tuple[tuple[tuple[int, Number], ...], ...]] = set()
        self._chooses = False
        self._ordered: dict[int, bool] = {}
        self._d = len(machine.inputs)
        self._real: set[int] = set()
        self._sides = 1 if larger is None else 2
        self._inside = self._waits = False
        self._ended: list[Moved] = []
        self.ends = self._followed(larger)
        self._slopes = {atom: slopes for (_, _, slopes), atom in self.noise.items()}
        self._beside = self._taken_along()

    @property
    def is_translated(self) -> bool:
        """Whether all that u does is to move what is published: delta depends on u' - u alone."""
        return len(self._published) == 1 and not (self.forms or self._chooses)

    @property
    def is_shift(self) -> bool:
        """Whether it does, and its sublevel sets are convex: 3."""
        atoms = {atom for row in self._published for terms in row for atom, _ in terms}
        families = {noise[0] for (_, noise, _), atom in self.noise.items() if atom in atoms}
        known = families <= {"Gauss"} or (
            len(self.machine.reals) == 1
            and all(isinstance(FAMILIES[name], RealFamily) for name in families)
        )
        return known and self.is_translated

    def is_ordered(self, place: int) -> bool:
        """Whether every P_S moves in one direction with an input: 1."""
        if self.machine.reals:
            return self.is_shift
        if place not in self._ordered:
            ends = [pair for pair in Motion(self.machine, place).ends if len({*pair}) > 1]
            self._ordered[place] = any(len({pair[k] for pair in ends}) <= 1 for k in (0, 1))
        return self._ordered[place]

    def curvature(self, place: int, eps: Fraction) -> Fraction:
        """Return what the second derivatives of all P_S in an input are at most: 2."""
        if place in self._beside:
            raise Refused("an input is compared, not only the noise around it")
        first, second = Fraction(0), Fraction(0)
        for (_, (name, coefficient, power), _), atom in self.noise.items():
            slope = Fraction(dict(self._slopes[atom].terms).get(place, 0))
            steep = abs(slope) / (coefficient * eps**power)
            spend(4 + cost_of(steep))
            family = FAMILIES[name]
            if steep:
                if not isinstance(family, RealFamily) or family.norms is None:
                    raise Refused(f"no curvature of {name} is known")
                first += steep * family.norms[0]
                second += steep * steep * (family.norms[1] - family.norms[0] ** 2)
        return (first * first + second) / 2

    def _followed(self, larger: int | None) -> set[tuple[Output, ...]]:
        names = [name for name, _ in self.machine.inputs]
        values: list[Sequence[Stored]] = [
            [only(number)] if isinstance(domain, Range) else domain
            for number, domain in enumerate(self.machine.domains)
        ]
        if prod(map(len, values)) > MOST_STARTS:
            raise Refused("more values of finite inputs than the kernel follows")
        second = {} if larger is None else {names[larger]: only(larger).plus(only(self._d))}
        states = []
        for own in product(*values):
            first = dict(zip(names, own, strict=True))
            states.append(Moved((first, {**first, **second})[: self._sides], (None,) * self._sides))
        found = self._block((*self.machine.body, ("exit",)), states)
        return {tuple([each for each in state.outputs if each is not None]) for state in found}

    def _statement(self, statement: Tree, states: list[Moved], where: Where) -> list[Moved]:
        """A statement of the body is taken by the first run, whatever it does, then by the second.

        What is known is not given up in between (`_waits`).
        """
        if self._inside or statement[0] == "repeat":
            return super()._statement(statement, states, where)
        self._inside = True
        for side in range(self._sides):
            self._waits = side + 1 < self._sides
            for state in states:
                state.side = side
            self._ended = [state for state in states if state.outputs[side] is not None]
            going = [state for state in states if state.outputs[side] is None]
            states = super()._statement(statement, going, where) + self._ended
        self._inside = False
        for state in states:
            state.chosen = frozenset()
        return states

    def _joined(self, states: list[Moved]) -> list[Moved]:
        """Let states with the same stores be one, with what is known of both."""
        if self._waits:
            return states
        found: dict[object, Moved] = {}
        for state in states:
            key = *(frozenset(store.items()) for store in state.stores), state.outputs, state.chosen
            alike = found.setdefault(key, state)
            alike.guards &= state.guards
        return list(found.values())

    def _sample(self, state: Moved, noise: Noise, mean: Number | Form, where: Where) -> Form:
        form = form_of(mean)
        spend(50 + len(form.terms))
        if any(atom > self._d for atom, _ in form.terms):
            raise NotProved("a mean that is random")
        is_real = isinstance(FAMILIES[noise[0]], RealFamily)
        if not is_real and (form.terms or form.constant.denominator != 1):
            raise NotProved("integer noise around a number that is none")
        slopes = Form(0, tuple([term for term in form.terms if term[0] < self._d]))
        atom = self.noise.setdefault((where, noise, slopes), self._d + 1 + len(self.noise))
        if is_real:
            self._real.add(atom)
        return form.plus(only(atom))

    def _choose(
        self, state: Moved, target: Tree, options: Sequence[Tree], proportional: bool, where: Where
    ) -> list[Moved]:
        self._chooses = True
        own = where, *[filled(weight, state.store, self._turn) for _, _, weight in options]
        known = [number for other, number in state.chosen if other == own]
        found = []
        for number in known or range(len(options)):
            after = state.copy()
            if self._waits:
                after.chosen |= {(own, number)}
            value = self._value(options[number][1], after)
            self._assign(after, self._name(target, after), value)
            found.append(after)
        return found

    def _split(self, state: Moved, form: Form, relation: str) -> tuple[list[Moved], list[Moved]]:
        if all(atom <= self._d for atom, _ in form.terms):
            raise NotProved("inputs are compared without noise")
        self.forms[form] = None
        return super()._split(state, form, relation)

    def _guarded(self, state: Moved, guards: Sequence[Guard]) -> Moved | None:
        """Return a copy where these hold, up to null sets; None if that is seen to be impossible.

        So it is if a sum of one of them and at most two others is <= 0, and > 0.
        """
        real = any(atom in self._real for atom, _ in guards[0][0].terms)
        own = frozenset([(form, strict or real) for form, strict in guards])
        known = state.guards | own
        spend((4 + sum([2 + len(form.terms) for form, _ in known])) * (len(known) + 1))
        d, all_known = self._d, ((NOTHING, False), *known)
        others = [(f, strict, [(a, -c) for a, c in f.terms if a != d]) for f, strict in all_known]
        for (form, once), (number, (one, twice, _)) in product(own, enumerate(others)):
            both = form.plus(one)
            noise = [(a, c) for a, c in both.terms if a != d]
            for other, thrice, opposite in others[: number + 1]:
                if noise == opposite:
                    total = both.plus(other)
                    # A number and a multiple of d > 0.
                    numbers = [total.constant, *(slope for _, slope in total.terms)]
                    is_strict = once or twice or thrice or min(numbers) < 0
                    if is_strict and max(numbers) <= 0:
                        return None
        after = state.copy()
        after.guards = known
        return after

    def _end(self, state: Moved) -> None:
        output = []
        for name, domain in self.machine.outputs:
            value = state.store.get(name)
            if value is None or isinstance(value, Form) or value not in domain:
                raise NotProved(f"'{name}' ends without a value of its domain")
            output.append(value)
        numbers = [state.store.get(name) for name in self.machine.reals]
        known = [value for value in numbers if value is not None and not isinstance(value, str)]
        if len(known) < len(numbers):
            raise NotProved("a real output ends without a number")
        self._published.add(tuple([form_of(value).terms for value in known]))
        outputs = list(state.outputs)
        outputs[state.side] = tuple(output)
        state.outputs = tuple(outputs)
        state.store.clear()
        self._ended.append(state)

    def _taken_along(self) -> set[int]:
        """Let noise around 0 take along what is added to it; return what is compared beside noise.

        Slopes are changed of noise that was not compared before, and is compared least often.
        """
        free = {atom for atom, slopes in self._slopes.items() if not slopes.terms}
        often = Counter(atom for form in self.forms for atom, _ in form.terms)
        found: set[int] = set()
        for form in self.forms:
            noise = [(atom, c) for atom, c in form.terms if atom > self._d]
            rest = Form(0, tuple([term for term in form.terms if term[0] < self._d]))
            for atom, c in noise:
                spend(1 + len(self._slopes[atom].terms) * len(rest.terms))
                rest = rest.plus(self._slopes[atom].scaled(-c))
            takes = [(atom, c) for atom, c in noise if atom in free]
            if rest.terms and takes:
                atom, c = min(takes, key=lambda taken: often[taken[0]])
                self._slopes[atom], rest = rest.scaled(1 / Fraction(c)), NOTHING
            free -= {atom for atom, _ in noise}
            found |= {atom for atom, _ in rest.terms}
        return found


def is_moved(machine: Machine) -> bool:
    """Whether inputs are numbers that do nothing but move what is published: then delta depends on
    u' - u alone (3)."""
    found = list[tuple[str, Range]]()
    for (name, _), values in zip(machine.inputs, machine.finite, strict=True):
        numbers = [Fraction(value) for value in values if not isinstance(value, str)]
        if len(numbers) < len(values):
            return False
        found.append((name, Range(min(numbers), max(numbers))))
    try:
        return Motion(machine._replace(inputs=tuple(found))).is_translated
    except NotProved:
        return False
