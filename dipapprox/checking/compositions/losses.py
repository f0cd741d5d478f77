"""The checker's loss distributions: masses on a grid, compared with pairs, and their products.

Masses m_j >= 0 at losses ℓ_j, and m_∞, stand for H(x) = Σ m_j (1 - x e^-ℓ_j)₊ + m_∞, which is
linear between the a_j = e^ℓ_j.

From above. The H of a pair is convex, non-increasing, and 1 at 0. So the masses are above it if
they are at every a_j, with all mass at 0, and with m_∞ at the last one.

From below. On a piece [a_i, a_(i+1)], H is A - x G with A and G the sums of m and of m e^-ℓ beyond;
it is below that of a pair if it is below one line P(S) - x Q(S) at both ends. The set is guessed
from G, which is nearly Q(S); a piece that is below no single line is halved. Before the first
a_j the line is that of everything, after the last one that of what Q lacks.

A unit of doubt. Comparisons are up to 2^-bits. If H is off by u in one factor of a product, the
product is off by at most u times all mass of the others; so n factors are off by at most n u M, for
M the product of all that is more than 1 of their masses.

Products. Masses are digits of one large integer each; the product of the integers has the masses
of the product, as no digit overflows. They are rounded up or down to the unit, and what is next to
nothing at either end is moved: up from above, left out from below.

H grows with every mass and loss, products grow with their factors: see Sommer, Meiser, Mohammadi,
Privacy loss classes, 2019.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from flint import arb, fmpz

from dipapprox.certificates.compositions import Masses
from dipapprox.checking.compositions.pairs import Pair
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits, asking


@dataclass(frozen=True, slots=True)
class Scale:
    """What places and masses stand for; to be used at one working precision.

    Attributes:
        half: Half a step.
        bits: Of the unit of masses.
    """

    half: arb
    bits: int

    def factor(self, halves: int) -> arb:
        """e to the loss at so many half steps."""
        return (self.half * halves).exp()

    @property
    def unit(self) -> arb:
        """2^-bits."""
        return arb(2) ** -self.bits


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison tells.

    Attributes:
        false: Where the masses surely are on the wrong side, in words; None if nowhere.
        open: Where that is not told; None if all is told.
    """

    false: str | None
    open: str | None


_RIGHT = Compared(None, None)


class Distribution:
    """Recorded masses, with their sums from the greatest loss down.

    Args:
        masses: Of the file.
        scale: Theirs.
        slip: By how much true losses are less than the grid's.
    """

    def __init__(self, masses: Masses, scale: Scale, slip: arb) -> None:
        self.places = [atom.place for atom in masses.atoms]
        self.masses = [int(atom.mass, 16) for atom in masses.atoms]
        self.infinite = int(masses.infinite, 16)
        self.total = sum(self.masses) + self.infinite
        self._scale = scale
        self._less = (-slip).exp()
        unit = scale.unit
        beyond, weighted = arb(self.infinite) * unit, arb(0)
        self._alphas = [self._alpha(place) for place in asking(self.places)]
        sums = [(beyond, weighted)]
        both = zip(reversed(self.masses), reversed(self._alphas), strict=True)
        for mass, alpha in asking(both):
            beyond = beyond + arb(mass) * unit
            weighted = weighted + arb(mass) * unit / alpha
            sums.append((beyond, weighted))
        # Of what lies beyond the place before the k-th.
        self._sums = sums[::-1]

    def is_above(self, pair: Pair, limits: Limits) -> Compared:
        """Whether the masses are above a pair, up to a unit."""
        unit = self._scale.unit
        if self.total < 1 << self._scale.bits:
            return Compared("their sum is less than 1", None)
        doubt: str | None = None
        for k, alpha in enumerate(asking(self._alphas)):
            beyond, weighted = self._sums[k + 1]
            own, true = beyond - alpha * weighted + unit, pair.most(alpha)
            if not own >= true.upper():
                where = f"at {self.places[k]} half steps"
                if pair.tight and own < true.lower():
                    return Compared(f"{where} the profile of the run is greater", None)
                doubt = doubt or where
        if not self.places and self.infinite < 1 << self._scale.bits:
            return Compared("there is no loss", None)
        return Compared(None, doubt)

    def is_below(self, pair: Pair, limits: Limits) -> Compared:
        """Whether the masses are below a pair, up to a unit."""
        known, unit = pair.known, self._scale.unit
        if self.total > 1 << self._scale.bits:
            return Compared("their sum is more than 1", None)
        if not arb(self.infinite) * unit <= known.infinite.lower() + unit:
            return Compared(None, "at infinity")
        if not self.places:
            return _RIGHT
        found = self._first_piece(pair)
        if found is not _RIGHT:
            return found
        for k in asking(range(len(self.places) - 1)):
            found = self._piece(pair, *self._sums[k + 1], self.places[k], self.places[k + 1])
            if found is not _RIGHT:
                return found
        return _RIGHT

    def _first_piece(self, pair: Pair) -> Compared:
        """Compare the first line: near 0 with that of everything, and then as any other."""
        whole, weighted = self._sums[0]
        certain, high = 1 - pair.known.lost, self.places[0]
        for span in (0, *(2 << k for k in range(_FAR_BITS))):
            alpha = self._alpha(high - span)
            if whole - alpha * weighted <= 1 - alpha * certain + self._scale.unit:
                return self._piece(pair, whole, weighted, high - span, high) if span else _RIGHT
        return Compared(None, "at the least losses")

    def _piece(self, pair: Pair, beyond: arb, weighted: arb, low: int, high: int) -> Compared:
        """Compare the line A - x G between two places."""
        unit = self._scale.unit
        ends = self._alpha(low), self._alpha(high)
        for place in self._likely(pair, weighted, range(low + 1, high, 2)):
            first, second = pair.set_at(self._scale.factor(place))
            if all(beyond - x * weighted <= first - x * second + unit for x in ends):
                return _RIGHT
        if high - low <= 2:
            for place, alpha in zip((low, high), ends, strict=True):
                if beyond - alpha * weighted > pair.most(alpha).upper() + unit:
                    return Compared(f"at {place} half steps the profile of the run is less", None)
            return Compared(None, f"at {high} half steps")
        middle = (low + high) // 4 * 2
        found = self._piece(pair, beyond, weighted, low, middle)
        if found is _RIGHT:
            found = self._piece(pair, beyond, weighted, middle, high)
        return found

    def _likely(self, pair: Pair, weighted: arb, odd: Sequence[int]) -> Iterator[int]:
        """Yield places where the line may be that of a set: the middle ones, which are the cheaper
        guess, and those where Q(S), which falls with the threshold of S, is about G."""
        middle = len(odd) // 2
        tried = odd[max(middle - 1, 0) : middle + 2]
        yield from sorted(tried, key=lambda place: abs(place - odd[middle]))
        near = bisect_left(odd, -weighted.mid(), key=lambda k: -self._mass(pair, k).mid())
        yield from (each for each in odd[max(near - 1, 0) : near + 2] if each not in tried)

    def _alpha(self, place: int) -> arb:
        return self._scale.factor(place) * self._less

    def _mass(self, pair: Pair, place: int) -> arb:
        return pair.set_at(self._scale.factor(place))[1]


_FAR_BITS = 40
"""How far below the first loss pieces are looked for: steps, as a power of 2."""


_LONG = 32
"""Bytes of a loss with its mass, beyond which it counts as several: a product is one step."""

_COPIES = 8
"""How many times over a product is in memory: as factors, digits and masses."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A loss distribution on all places from one on, whole steps apart.

    Attributes:
        start: The first place, in half steps.
        masses: In units of 2^-bits.
        infinite: Likewise.
        bits: Of the unit.
        above: From where it bounds.
    """

    start: int
    masses: Sequence[int]
    infinite: int
    bits: int
    above: bool

    @property
    def total(self) -> int:
        """All mass."""
        return sum(self.masses) + self.infinite

    def times(self, other: Whole, cut: int, limits: Limits) -> Whole:
        """Compose two of one unit."""
        limits.check()
        one, two = self.total, other.total
        infinite = self.infinite * two + (one - self.infinite) * other.infinite
        # Where one has no mass the product is 0, but the masses of the other are digits, too.
        size = (max(one * two, one, two).bit_length() + 8) // 8
        length = size * (len(self.masses) + len(other.masses))
        limits.check_atoms(max(len(self.masses) + len(other.masses), length // _LONG))
        limits.check_room(_COPIES * length)
        number = _packed(self.masses, size)
        square = number * (number if other is self else _packed(other.masses, size))
        count = len(self.masses) + len(other.masses) - 1
        if not self.masses or not other.masses:
            count = 0
        digits = int(square).to_bytes(size * count + 1, "little")
        up = (1 << self.bits) - 1 if self.above else 0
        masses = [
            int.from_bytes(digits[at : at + size], "little") + up >> self.bits
            for at in asking(range(0, size * count, size))
        ]
        return _trimmed(
            Whole(
                self.start + other.start, masses, infinite + up >> self.bits, self.bits, self.above
            ),
            cut,
        )

    def power(self, times: int, cut: int, limits: Limits) -> Whole:
        """Compose with itself."""
        found = self
        for digit in bin(times)[3:]:
            found = found.times(found, cut, limits)
            if digit == "1":
                found = found.times(self, cut, limits)
        return found

    def at(self, budget: arb, slip: arb, scale: Scale) -> arb:
        """Enclose H(e^budget), of losses that are less by slip."""
        place = budget + slip
        beyond, weighted, near = self.infinite, arb(0), arb(0)
        step = scale.factor(-2)
        first = len(self.masses)
        for k in asking(range(first - 1, -1, -1)):
            loss = scale.half * (self.start + 2 * k)
            if loss > place:
                beyond += self.masses[k]
                weighted = weighted * step + self.masses[k]
                first = k
            elif loss < place:
                break
            else:  # balls leave open whether it counts
                near += (self.masses[k] * (1 - (place - loss).exp())).max(arb(0))
        least = scale.half * (self.start + 2 * first)
        return (beyond - (place - least).exp() * weighted + near) * arb(2) ** -self.bits


def spread(losses: Distribution, scale: Scale, spare: int, *, above: bool) -> Whole:
    """Put recorded masses on all places, in a unit that is finer by spare bits."""
    if not losses.places:
        return Whole(0, (), losses.infinite << spare, scale.bits + spare, above)
    first = losses.places[0]
    masses = [0] * ((losses.places[-1] - first) // 2 + 1)
    for place, mass in zip(losses.places, losses.masses, strict=True):
        masses[(place - first) // 2] = mass << spare
    return Whole(first, masses, losses.infinite << spare, scale.bits + spare, above)


def _packed(masses: Sequence[int], size: int) -> fmpz:
    digits = b"".join(mass.to_bytes(size, "little") for mass in masses)
    return fmpz(int.from_bytes(digits, "little"))


def _trimmed(whole: Whole, cut: int) -> Whole:
    """Move what is next to nothing at either end."""
    masses = list(whole.masses)
    low, high, below, beyond = 0, len(masses), 0, 0
    while low < high - 1 and below + masses[low] <= cut:
        below += masses[low]
        low += 1
    while low < high - 1 and beyond + masses[high - 1] <= cut:
        beyond += masses[high - 1]
        high -= 1
    kept = masses[low:high]
    infinite = whole.infinite
    if whole.above:
        infinite += beyond
        if kept:
            kept[0] += below
    return Whole(whole.start + 2 * low, kept, infinite, whole.bits, whole.above)
