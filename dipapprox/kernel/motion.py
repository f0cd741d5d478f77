"""How the probabilities of outputs move with inputs that are real numbers.

A sample is c + a·u + z: u are the real inputs, a the slopes of its mean in them, c the rest of its
mean, z noise of the mean 0. Noise that one and the same execution of a `draw` asks for is one, in
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
4. Shrinking. Let all noise have a density and a scale s_j / eps, let no weight read eps, and let
   every form that is compared be 0 at u = v, but for its noise: so it is k·(u - v) plus a sum of
   c_j s_j Z_j / eps with standard Z_j. Times eps / eps', that is the form at eps' and the input
   v + (u - v) eps / eps'. So the same Z lead to the same output in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product

from dipapprox.kernel.adjacency import Range, Value
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.expressions import (
    NEGATED,
    compared,
    divided,
    form_of,
    name_of,
    number_of,
    value_of,
)
from dipapprox.kernel.laws import FAMILIES, RealFamily
from dipapprox.kernel.machine import Block, Machine, Tree
from dipapprox.kernel.measures import Form
from dipapprox.kernel.states import Stored, copied

MOST_COURSES = 20_000
"""Most states at a time."""

Guard = tuple[Form, bool]
"""A form that is > 0 (True), or >= 0. Atoms are inputs, d, noise."""

Sides = tuple[int, ...]
"""Which of the runs."""

Output = tuple[Value, ...]

Noise = tuple[int, str, Fraction, int, Form]
"""Which draw, the family, coefficient and power of the scale, the slopes of the mean."""

NOTHING = Form(Fraction(0))


@dataclass(slots=True)
class Runs:
    """Where runs stand, and what was decided; of one that has ended, its output."""

    stores: tuple[dict[str, Stored], ...]
    outputs: tuple[Output | None, ...]
    guards: frozenset[Guard] = frozenset()

    def copy(self) -> Runs:
        """Return the same with stores of its own."""
        return Runs(tuple([copied(store) for store in self.stores]), self.outputs, self.guards)


class Motion:
    """How the real inputs of a machine, by their places among all inputs, move its outputs.

    Attributes:
        outputs: All that a run can end with, and perhaps others.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._turn = 0
        self._draws = 0
        self._inputs = range(len(machine.inputs))
        # d, too, is no noise; the slopes of its place are not used.
        self._noise: dict[Noise, int] = {}
        self._slopes: list[Form] = []
        self._real: set[int] = set()
        self._free: set[int] = set()
        self._compared: set[int] = set()
        self._still: set[Form] = set()
        self._reads_eps = False
        self._ordered: dict[int, bool] = {}
        self._published: set[tuple[Form, ...]] = set()
        self._is_straight = True
        self.outputs = {output for (output,) in self._ends(None)}
        # Of one run; two have more noise, where they part.
        self._around = list(zip(self._noise, self._slopes, strict=True))
        self._alone = frozenset(self._compared)
        self._ties = frozenset(self._still)

    @property
    def is_shift(self) -> bool:
        """Whether delta depends on u' - u alone, and its sublevel sets are convex: 3."""
        atoms = {atom for row in self._published for form in row for atom, _ in form.terms}
        families = {key[1] for key, atom in self._noise.items() if atom in atoms}
        known = families <= {"Gauss"} or (
            len(self.machine.reals) == 1
            and all(isinstance(FAMILIES[name], RealFamily) for name in families)
        )
        return self._is_straight and len(self._published) == 1 and known

    def is_ordered(self, place: int) -> bool:
        """Whether every P_S moves in one direction with an input: 1."""
        if self.machine.reals:
            return self.is_shift
        if place not in self._ordered:
            ends = [(one, other) for one, other in self._ends(place) if one != other]
            self._ordered[place] = any(len({end[k] for end in ends}) <= 1 for k in (0, 1))
        return self._ordered[place]

    def curvature(self, place: int, eps: Fraction) -> Fraction:
        """Return what the second derivatives of all P_S in an input are at most: 2."""
        if place in self._alone:
            raise Refused("an input is compared, not only the noise around it")
        first, second = Fraction(0), Fraction(0)
        spend(4 * len(self._around))
        for (_, name, coefficient, power, _), slopes in self._around:
            steep = abs(dict(slopes.terms).get(place, Fraction(0))) / (coefficient * eps**power)
            family = FAMILIES[name]
            if steep:
                if not isinstance(family, RealFamily) or family.norms is None:
                    raise Refused(f"no curvature of {name} is known")
                first += steep * family.norms[0]
                second += steep * steep * (family.norms[1] - family.norms[0] ** 2)
        return (first * first + second) / 2

    def shrinks(self, point: Mapping[int, Fraction]) -> bool:
        """Whether less noise at inputs nearer to a point makes no difference: 4."""
        noise = all(
            power == -1 and isinstance(FAMILIES[name], RealFamily)
            for (_, name, _, power, _), _ in self._around
        )
        ties = all(
            form.constant + sum(slope * point[place] for place, slope in form.terms) == 0
            for form in self._ties
        )
        return noise and ties and not self._reads_eps and not self.machine.reals

    def _ends(self, place: int | None) -> set[tuple[Output, ...]]:
        """Return the outputs of one run; or of two, of which an input is larger in the second."""
        starts: list[dict[str, Stored]] = [{}]
        for number, (name, domain) in enumerate(self.machine.inputs):
            form = Form(Fraction(0), ((number, Fraction(1)),))
            values = [form] if isinstance(domain, Range) else domain
            if len(starts) * len(values) > MOST_COURSES:
                raise Refused("more values of finite inputs than the kernel follows")
            starts = [{**start, name: value} for start, value in product(starts, values)]
        self._draws = 0
        if place is None:
            runs = [Runs((start,), (None,)) for start in starts]
        else:
            name = self.machine.inputs[place][0]
            d = Form(Fraction(0), ((place, Fraction(1)), (len(self._inputs), Fraction(1))))
            runs = [Runs((start, {**start, name: d}), (None, None)) for start in starts]
        sides = tuple(range(1 if place is None else 2))
        ended = self._ended(self._block(self.machine.body, runs, sides), sides)
        return {tuple([output for output in each.outputs if output is not None]) for each in ended}

    def _ended(self, states: list[Runs], sides: Sides) -> list[Runs]:
        for state, side in self._running(states, sides):
            output = []
            for name, domain in self.machine.outputs:
                value = state.stores[side].get(name)
                if value is None or isinstance(value, Form) or value not in domain:
                    raise NotProved(f"'{name}' ends without a value of its domain")
                output.append(value)
            numbers = [state.stores[side].get(name) for name in self.machine.reals]
            known = [value for value in numbers if value is not None and not isinstance(value, str)]
            if len(known) < len(numbers):
                raise NotProved("a real output ends without a number")
            self._published.add(tuple([Form(Fraction(0), form_of(value).terms) for value in known]))
            state.stores[side].clear()
            outputs = list(state.outputs)
            outputs[side] = tuple(output)
            state.outputs = tuple(outputs)
        return states

    def _running(self, states: list[Runs], sides: Sides) -> Iterable[tuple[Runs, int]]:
        for state in states:
            spend(8 + sum(map(len, state.stores)))
            for side in sides:
                if state.outputs[side] is None:
                    yield state, side

    def _block(self, block: Block, states: list[Runs], sides: Sides) -> list[Runs]:
        spend(4)
        for statement in block if states else ():
            states = self._joined(self._statement(statement, states, sides))
            if len(states) > MOST_COURSES:
                raise Refused("more courses of runs than the kernel follows")
        return states

    def _statement(self, statement: Tree, states: list[Runs], sides: Sides) -> list[Runs]:
        match statement:
            case "set", target, tree:
                for state, side in self._running(states, sides):
                    self._assign(state, side, target, tree)
            case "draw", target, family, mean, scale:
                self._draws += 1
                for state, side in self._running(states, sides):
                    store = state.stores[side]
                    sample = self._sample(family, value_of(mean, store, self._turn), scale)
                    store[name_of(target, store, self._turn)] = sample
            case "if", condition, then, otherwise:
                parts: list[tuple[Sides, list[Runs]]] = [((), states)]
                for side in sides:
                    compare = partial(self._compare, side=side)
                    split = [(yes, divided(condition, own, compare)) for yes, own in parts]
                    parts = [((*yes, side), holds) for yes, (holds, _) in split]
                    parts += [(yes, fails) for yes, (_, fails) in split]
                states = []
                for yes, own in parts:
                    own = self._block(then, own, yes) if yes else own
                    no = tuple([side for side in sides if side not in yes])
                    states += self._block(otherwise, own, no) if no else own
            case ("exit",):
                return self._ended(states, sides)
            case ("choose", *_):
                undecided, states = states, []
                for each in undecided:
                    states += self._chosen(each, sides, *statement)
            case "repeat", turns, _, _, body:
                before = self._turn
                for self._turn in range(turns):
                    states = self._block(body, states, sides)
                self._turn = before
            case "forget", names:
                for state, side in self._running(states, sides):
                    for name in names:
                        state.stores[side].pop(name, None)
            case _:
                raise Refused("loops that end by chance, beside real inputs")
        return states

    def _assign(self, state: Runs, side: int, target: Tree, tree: Tree) -> None:
        store = state.stores[side]
        value = value_of(tree, store, self._turn)
        if isinstance(value, Form) and sum(a > len(self._inputs) for a, _ in value.terms) == 1:
            self._apart(value)
        store[name_of(target, store, self._turn)] = value

    def _sample(self, family: str, mean: Stored, scale: tuple[Fraction, int]) -> Form:
        if isinstance(mean, str):
            raise NotProved("a mean that is no number")
        form = form_of(mean)
        spend(50 + len(form.terms))
        if any(atom > len(self._inputs) for atom, _ in form.terms):
            raise NotProved("a mean that is random")
        is_real = isinstance(FAMILIES[family], RealFamily)
        if not is_real and (form.terms or form.constant.denominator != 1):
            raise NotProved("integer noise around a number that is none")
        slopes = Form(Fraction(0), tuple([term for term in form.terms if term[0] in self._inputs]))
        key = self._draws, family, *scale, slopes
        if key not in self._noise:
            self._noise[key] = len(self._inputs) + 1 + len(self._slopes)
            self._slopes.append(slopes)
            if not slopes.terms:
                self._free.add(self._noise[key])
            if is_real:
                self._real.add(self._noise[key])
        return form.plus(Form(Fraction(0), ((self._noise[key], Fraction(1)),)))

    def _chosen(
        self, state: Runs, sides: Sides, _: str, target: Tree, options: Tree, __: bool
    ) -> list[Runs]:
        """Let runs choose: alike if their weights are, else apart."""
        active = [side for _, side in self._running([state], sides)]
        weights = [
            [self._weight(weight, state.stores[side]) for _, _, weight in options]
            for side in active
        ]
        together = [tuple(active)] if weights[1:] == weights[:-1] else [(s,) for s in active]
        self._is_straight = self._is_straight and len(options) == 1
        found = [state]
        for group in together:
            spend(100 * len(found) * len(options))
            before, found = found, []
            for each, (_, tree, _) in product(before, options):
                after = each.copy()
                for side in group:
                    self._assign(after, side, target, tree)
                found.append(after)
        return found

    def _weight(self, weight: Tree, store: dict[str, Stored]) -> object:
        """Return a weight with the numbers that it reads."""
        match weight:
            case ("eps",):
                self._reads_eps = True
                return weight
            case ("inverse" | "exp" | "+" | "*") as word, *parts:
                return word, *[self._weight(part, store) for part in parts]
        return number_of(weight, store, self._turn)

    def _compare(
        self, relation: str, left: Tree, right: Tree, state: Runs, side: int
    ) -> tuple[list[Runs], list[Runs]]:
        if state.outputs[side] is not None:
            return [], [state]
        one, other = (value_of(each, state.stores[side], self._turn) for each in (left, right))
        form = compared(relation, one, other)
        if isinstance(form, bool):
            return ([state], []) if form else ([], [state])
        self._note(form)
        self._is_straight = False
        found: tuple[list[Runs], list[Runs]] = ([], [])
        for each, own in zip((relation, NEGATED[relation]), found, strict=True):
            guards = self._guards(each, form)
            if self._may_hold(state.guards, guards):
                after = state.copy()
                after.guards |= frozenset(guards)
                own.append(after)
        return found

    def _note(self, form: Form) -> None:
        """Note the inputs that are compared otherwise than with their noise."""
        if all(atom <= len(self._inputs) for atom, _ in form.terms):
            raise NotProved("inputs are compared without noise")
        inputs = tuple([term for term in form.terms if term[0] in self._inputs])
        self._still.add(Form(form.constant, inputs))
        self._compared |= {atom for atom, _ in self._apart(form).terms}
        self._free -= {atom for atom, _ in form.terms}

    def _apart(self, form: Form) -> Form:
        """The inputs in a form beside those of its noise; what is free takes them along."""
        first = len(self._inputs) + 1
        rest, free = form, None
        for atom, coefficient in form.terms:
            if atom >= first:
                spend(1 + len(self._slopes[atom - first].terms) * len(rest.terms))
                rest = rest.plus(self._slopes[atom - first].scaled(-coefficient))
                free = (atom, coefficient) if atom in self._free else free
        rest = Form(Fraction(0), tuple([term for term in rest.terms if term[0] in self._inputs]))
        if rest.terms and free is not None:
            self._free.remove(free[0])
            self._slopes[free[0] - first] = rest.scaled(1 / free[1])
            rest = NOTHING
        return rest

    def _guards(self, relation: str, form: Form) -> list[Guard]:
        """What has to be > 0 or >= 0, up to null sets, where form relation 0."""
        null = any(atom in self._real for atom, _ in form.terms)
        found = []
        if relation in (">", ">=", "="):
            found.append((form, null or relation == ">"))
        if relation in ("<", "<=", "="):
            found.append((form.scaled(Fraction(-1)), null or relation == "<"))
        return found

    def _may_hold(self, known: frozenset[Guard], guards: list[Guard]) -> bool:
        """Whether no sum of one of some guards and at most two known ones is seen to be <= 0."""
        size = sum([2 + len(form.terms) for form, _ in (*known, *guards)])
        spend((4 + size) * (len(known) + 1))
        others = [(NOTHING, False), *known]
        for guard in guards:
            for number, first in enumerate(others):
                once = guard[0].plus(first[0])
                for second in others[: number + 1]:
                    total = once.plus(second[0])
                    moving = [slope for _, slope in total.terms]
                    if any(atom != len(self._inputs) for atom, _ in total.terms):
                        continue
                    strict = guard[1] or first[1] or second[1]
                    strict = strict or bool(moving) or total.constant < 0
                    if strict and total.constant <= 0 and all(slope < 0 for slope in moving):
                        return False
        return True

    def _joined(self, states: Sequence[Runs]) -> list[Runs]:
        """Let states with the same stores be one, with what is known of both."""
        found: dict[object, Runs] = {}
        for state in states:
            key = tuple([frozenset(store.items()) for store in state.stores]), state.outputs
            alike = found.setdefault(key, state)
            if alike is not state:
                alike.guards &= state.guards
        return list(found.values())
