"""What a results file shows: groups of cases, tables, matrices and series. Data, not text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf, isfinite, log10

from dipapprox.data_classes import Record
from dipapprox.experiments.sweep.ledger import Ends, FinishedCase, RecordedAnswer

_LARGE = 10**15  # numbers from here on are written out
_QUANTITIES = {"eps_prv": "ε_prv", "eps": "ε", "delta": "δ"}
"""What numbers an answer can enclose, and how they are written."""


SYMBOLS = {"DP": "✓", "Not_DP": "✗", "Unknown": "?", "-": "–"}
"""What stands for an answer in a cell."""

MEANING = "✓ DP  ✗ Not_DP  ? Unknown"
FULL = 3.0  # margins are not told apart beyond a factor of a thousand


class Measured(Record):
    """A number with its enclosure, to drawing accuracy: "eps_prv" (the least), "eps" (the
    calibrated one) or "delta" (the least)."""

    quantity: str
    lower: float
    upper: float


class CaseRow(Record):
    values: Mapping[str, str]  # of the fields and parameters, as texts
    answer: str  # a word: the verdict, or the number that was asked for; "-" without an answer
    detail: str  # the enclosure behind it, or why there is no answer
    seconds: float
    number: Measured | None  # what was asked for, if that is a number and finite
    # For a verdict the logarithm, base 10, of the claimed δ over the needed one, within `FULL`
    # either way, to drawing accuracy; None where it is not known.
    margin: float | None
    scope: str  # the domains and pairs that the answer is about; "" without an answer
    caveat: str  # what it leaves out, or ""


class Group(Record):
    task: str
    program: str
    fixed: Mapping[str, str]  # what all have in common
    varying: tuple[str, ...]  # the names of the other fields, in the order of the spec
    rows: tuple[CaseRow, ...]  # by the values of `varying`, numbers by size

    def about(self) -> tuple[str, ...]:
        """Return the lines that name what the answers are about: the first and the last scope."""
        scopes = list(dict.fromkeys(row.scope for row in self.rows if row.scope))
        left = len(scopes) - 2
        between = [f"… ({left} other{'s' if left > 1 else ''})"] if left > 0 else []
        shown = [*scopes[:1], *between, *scopes[1:][-1:]]
        return (*shown, *dict.fromkeys(row.caveat for row in self.rows if row.caveat))

    def fixed_text(self) -> str:
        return ", ".join(f"{name} = {readable_text(v)}" for name, v in self.fixed.items() if v)

    def counts(self) -> Counter[str]:
        """Count the answers, those with numbers as one."""
        answers = (row.answer for row in self.rows)
        return Counter(each if _number(each) is None else "answered" for each in answers)


class Matrix(Record):
    """The cases of a group in which just two fields vary, both numbers: a row for every value of
    `down`, a column for every value of `across`; None where there is none."""

    down: tuple[str, tuple[Fraction, ...]]
    across: tuple[str, tuple[Fraction, ...]]
    cells: tuple[tuple[CaseRow | None, ...], ...]

    @property
    def rows(self) -> list[CaseRow]:
        return [row for line in self.cells for row in line if row is not None]

    @property
    def has_verdicts(self) -> bool:
        """Whether what was asked for are verdicts, not numbers."""
        return any(row.answer in SYMBOLS and row.answer != "-" for row in self.rows)

    def turned(self) -> Matrix:
        return Matrix(self.across, self.down, tuple(zip(*self.cells, strict=True)))


class Series(Record):
    """Rows in order of one of the varying fields, a number; everything else is fixed."""

    label: str
    points: tuple[tuple[Fraction, CaseRow], ...]


def groups_of(lines: Iterable[FinishedCase]) -> tuple[Group, ...]:
    """Group the lines of a results file, in order of first appearance."""
    found: dict[tuple[str, str], list[CaseRow]] = {}
    for line in lines:
        found.setdefault((line.task, line.program), []).append(_row(line))
    return tuple(_group(task, program, rows) for (task, program), rows in found.items())


def matrix_of(group: Group) -> Matrix | None:
    """Arrange a group in two dimensions, if it has them; eps_prv that follows eps counts as one."""
    if len(group.varying) != 2:
        return None
    down, across = group.varying
    ends = [
        sorted({_number(row.values.get(name, "")) for row in group.rows}, key=_order)
        for name in (down, across)
    ]
    if any(None in values for values in ends):
        return None
    places = {(_number(r.values[down]), _number(r.values[across])): r for r in group.rows}
    rows, columns = (tuple(v for v in values if v is not None) for values in ends)
    cells = tuple(tuple(places.get((d, a)) for a in columns) for d in rows)
    return Matrix((down, rows), (across, columns), cells)


def series_of(group: Group, name: str) -> tuple[Series, ...]:
    """Return the answered rows of a group along one of its varying fields; two or more each."""
    others = tuple(other for other in group.varying if other != name)
    found: dict[tuple[str, ...], list[tuple[Fraction, CaseRow]]] = {}
    for row in group.rows:
        value = _number(row.values.get(name, ""))
        if value is not None and row.answer != "-":
            key = tuple(row.values.get(other, "") for other in others)
            found.setdefault(key, []).append((value, row))
    series = []
    for key, points in found.items():
        named = zip(others, key, strict=True)
        label = ", ".join(f"{name} = {readable_text(v)}" for name, v in named if v)
        ordered = tuple(sorted(points, key=lambda point: point[0]))
        series += [Series(label or group.program, ordered)] * (len(points) > 1)
    return tuple(series)


def numeric_fields(group: Group, whole: bool = False) -> tuple[str, ...]:
    """Return the varying fields that are numbers throughout, or whole ones such as N."""
    names = [n for n in group.varying if n not in ("precision", "max_precision", "width")]
    values = {name: [_number(row.values.get(name, "")) for row in group.rows] for name in names}
    return tuple(
        name
        for name, known in values.items()
        if all(v is not None and (v.denominator == 1 or not whole) for v in known)
    )


def _row(line: FinishedCase) -> CaseRow:
    answer, detail, number = "-", str(line.failure), None
    scope = caveat = ""
    margin = None
    if line.result is not None:
        answer, detail, number = _shown(line.result)
        scope = "" if line.result.scope is None else line.result.scope.text
        caveat = line.result.caveat or ""
        margin = _margin(line.result, line.asked.get("delta"))
    values = {**line.params, **line.asked}
    return CaseRow(values, answer, detail, line.seconds, number, margin, scope, caveat)


def _margin(result: RecordedAnswer, claimed: str | None) -> float | None:
    """Compare the claimed δ with what is needed: for Not_DP the violating pair's, at least."""
    delta = None if claimed is None else _number(claimed)
    if delta is None or delta < 0 or result.delta_enclosure is None:
        return None
    if result.verdict not in ("DP", "Not_DP"):
        return None
    # The end that the verdict rests on.
    lower, upper = map(_float, result.delta_enclosure)
    needed = upper if result.verdict == "DP" else lower
    if not isfinite(needed):
        return None
    if needed <= 0 or not delta:
        return 0.0 if needed <= 0 and not delta else FULL if delta else -FULL
    # Numbers too small for a drawing are at one end.
    found = log10(float(delta) / needed) if float(delta) else -FULL
    return min(max(found, 0.0), FULL) if result.verdict == "DP" else max(min(found, 0.0), -FULL)


def readable(number: Fraction) -> str:
    """Write a number as people do: 0.5, 1e-6, 2500; exactly, so 1/3 stays what it is."""
    if abs(number) >= _LARGE:
        return str(number)
    text = f"{float(number):.6g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return text if Fraction(text) == number else str(number)


def readable_text(text: str) -> str:
    number = _number(text)
    return text if number is None else readable(number)


def _shown(result: RecordedAnswer) -> tuple[str, str, Measured | None]:
    if result.verdict is not None:
        detail = result.reason or _interval("δ", result.delta_enclosure)
        return result.verdict, detail, None
    enclosures = {
        "eps_prv": result.eps_prv_enclosure,
        "eps": result.eps_enclosure,
        "delta": result.delta_enclosure,
    }
    for quantity, ends in enclosures.items():
        if ends is not None:
            lower, upper = ends
            measured = Measured(quantity, _float(lower), _float(upper))
            drawn = measured if isfinite(measured.lower + measured.upper) else None
            return lower or "-", _interval(_QUANTITIES[quantity], ends), drawn
    return "-", "no answer", None


def _float(end: str | None) -> float:
    """Return an end for drawing, not exactly; what is missing or too long is infinite."""
    try:
        return inf if end is None or end == "inf" else float(Fraction(end))
    except (OverflowError, ValueError):
        return inf


def _interval(name: str, ends: Ends | None) -> str:
    if ends is None:
        return ""
    lower, upper = ends
    return f"{name} = {lower}" if lower == upper else f"{name} in [{lower}, {upper}]"


def _group(task: str, program: str, rows: Sequence[CaseRow]) -> Group:
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    taken = {name: {row.values.get(name, "") for row in rows} for name in names}
    varying = tuple(name for name in names if len(taken[name]) > 1)
    fixed = {name: next(iter(taken[name])) for name in names if len(taken[name]) == 1}
    ordered = sorted(rows, key=lambda row: [_key(row.values.get(name, "")) for name in varying])
    return Group(task, program, fixed, varying, tuple(ordered))


def _key(text: str) -> tuple[bool, Fraction, str]:
    return *_order(_number(text)), text


def _order(number: Fraction | None) -> tuple[bool, Fraction]:
    return number is None, number if number is not None else Fraction(0)


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None
