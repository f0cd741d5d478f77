"""What a results file shows: groups of cases, tables, matrices and series. Data, not text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.experiments.sweep.case import PARTS

Record = Mapping[str, object]

_WORDS = {"private": "DP", "violated": "Not_DP", "unknown": "Unknown"}
"""The verdicts of `decide`, as those of `verify`."""

_QUANTITIES = {"eps_prv": "ε_prv", "eps": "ε", "delta": "δ"}
"""What numbers an answer can enclose, and how they are written."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its enclosure, to drawing accuracy.

    Attributes:
        quantity: "eps_prv" (the least budget), "eps" (the calibrated one) or "delta" (the least).
    """

    quantity: str
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Row:
    """One case.

    Attributes:
        values: Of the fields and parameters, as texts.
        answer: A word: the verdict, or the number that was asked for; "-" without an answer.
        detail: The enclosure behind it, or why there is no answer.
        number: What was asked for, if that is a number and finite.
        scope: The domains and pairs that the answer is about; "" without an answer.
        caveat: What it leaves out, or "".
    """

    values: Mapping[str, str]
    answer: str
    detail: str
    seconds: float
    number: Measured | None
    scope: str
    caveat: str


@dataclass(frozen=True, slots=True)
class Group:
    """The cases of one task and program.

    Attributes:
        fixed: What all have in common.
        varying: The names of the other fields, in the order of the spec.
        rows: By the values of `varying`, numbers by size.
    """

    task: str
    program: str
    fixed: Mapping[str, str]
    varying: tuple[str, ...]
    rows: tuple[Row, ...]

    def about(self) -> tuple[str, ...]:
        """Return the lines that name what the answers are about: the first and the last scope."""
        scopes = list(dict.fromkeys(row.scope for row in self.rows if row.scope))
        between = [f"… ({len(scopes) - 2} others)"] if len(scopes) > 2 else []
        shown = scopes if len(scopes) <= 2 else [scopes[0], *between, scopes[-1]]
        return (*shown, *dict.fromkeys(row.caveat for row in self.rows if row.caveat))

    def counts(self) -> Counter[str]:
        """Count the answers, those with numbers as one."""
        return Counter(row.answer if _is_word(row.answer) else "answered" for row in self.rows)


@dataclass(frozen=True, slots=True)
class Matrix:
    """The cases of a group in which just two fields vary, both numbers: None where there is none.

    Attributes:
        cells: One row for every value of `down`, one column for every value of `across`.
    """

    down: tuple[str, tuple[Fraction, ...]]
    across: tuple[str, tuple[Fraction, ...]]
    cells: tuple[tuple[Row | None, ...], ...]

    def turned(self) -> Matrix:
        """Return the same cases with columns for rows."""
        return Matrix(self.across, self.down, tuple(zip(*self.cells, strict=True)))


@dataclass(frozen=True, slots=True)
class Series:
    """Rows in order of one of the varying fields, a number; everything else is fixed."""

    label: str
    points: tuple[tuple[Fraction, Row], ...]


def groups_of(records: Iterable[Record]) -> tuple[Group, ...]:
    """Group the lines of a results file, in order of first appearance."""
    found: dict[tuple[str, str], list[Row]] = {}
    for record in records:
        key = str(record["task"]), str(record["program"])
        found.setdefault(key, []).append(_row(record))
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
    found: dict[tuple[str, ...], list[tuple[Fraction, Row]]] = {}
    for row in group.rows:
        value = _number(row.values.get(name, ""))
        if value is not None and row.answer != "-":
            key = tuple(row.values.get(other, "") for other in others)
            found.setdefault(key, []).append((value, row))
    return tuple(
        Series(
            ", ".join(f"{n} = {v}" for n, v in zip(others, key, strict=True) if v) or group.program,
            tuple(sorted(points, key=lambda point: point[0])),
        )
        for key, points in found.items()
        if len(points) > 1
    )


def numeric_fields(group: Group, whole: bool = False) -> tuple[str, ...]:
    """Return the varying fields that are numbers throughout, or whole ones such as N."""
    return tuple(
        name
        for name in group.varying
        if name not in ("precision", "max_precision", "width")
        and all(
            (value := _number(row.values.get(name, ""))) is not None
            and (value.denominator == 1 or not whole)
            for row in group.rows
        )
    )


def _row(record: Record) -> Row:
    parameters = record["params"]
    assert isinstance(parameters, dict)
    values = {str(k): str(v) for k, v in parameters.items()}
    values |= {k: str(v) for k, v in record.items() if k not in PARTS}
    seconds = record["seconds"]
    assert isinstance(seconds, int | float)
    answer, detail = _answer(record)
    scope, caveat = _about(record)
    return Row(values, answer, detail, float(seconds), _measured(record), scope, caveat)


def _about(record: Record) -> tuple[str, str]:
    result = record["result"]
    scope = result.get("scope") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(scope, dict):
        return "", ""  # no answer, or one of a version that did not say
    return str(scope.get("text", "")), str(result.get("caveat") or "")


def _answer(record: Record) -> tuple[str, str]:
    result = record["result"]
    if not isinstance(result, dict):
        return "-", str(record["failure"])
    if "verdict" in result:
        reason = result.get("reason")
        detail = str(reason) if reason else _interval("δ", result.get("delta_enclosure"))
        return _WORDS.get(str(result["verdict"]), str(result["verdict"])), detail
    for quantity, name in _QUANTITIES.items():
        ends = result.get(f"{quantity}_enclosure")
        if ends is not None:
            first = ends[0] if isinstance(ends, list) and ends[0] is not None else "-"
            return str(first), _interval(name, ends)
    return "-", "no answer"


def _measured(record: Record) -> Measured | None:
    result = record["result"]
    if not isinstance(result, dict) or "verdict" in result:
        return None
    for quantity in _QUANTITIES:
        ends = result.get(f"{quantity}_enclosure")
        if isinstance(ends, list):
            if None in ends or "inf" in ends:
                return None
            return Measured(quantity, float(Fraction(ends[0])), float(Fraction(ends[1])))
    return None


def _interval(name: str, ends: object) -> str:
    if not isinstance(ends, list):
        return ""
    lower, upper = ends
    return f"{name} = {lower}" if lower == upper else f"{name} in [{lower}, {upper}]"


def _group(task: str, program: str, rows: Sequence[Row]) -> Group:
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    taken = {name: {row.values.get(name, "") for row in rows} for name in names}
    varying = tuple(name for name in names if len(taken[name]) > 1)
    fixed = {name: next(iter(taken[name])) for name in names if len(taken[name]) == 1}
    ordered = sorted(rows, key=lambda row: [_key(row.values.get(name, "")) for name in varying])
    return Group(task, program, fixed, varying, tuple(ordered))


def _key(text: str) -> tuple[bool, Fraction, str]:
    number = _number(text)
    return number is None, number if number is not None else Fraction(0), text


def _order(number: Fraction | None) -> tuple[bool, Fraction]:
    return number is None, number if number is not None else Fraction(0)


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _is_word(answer: str) -> bool:
    return _number(answer) is None
