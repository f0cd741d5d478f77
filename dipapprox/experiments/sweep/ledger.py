"""The results file: a heading, then one line of JSON for every finished case.

A case counts as done after its line is written and synced; what finished meanwhile is synced at
once. After a crash the last line may be torn: it is cut off, and its case runs again. One process
at a time may hold the file.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from dipapprox.errors import UserError, complaint

FORMAT = 1  # of the lines; in the heading
_NUMBER = r"^-?[0-9]+(/0*[1-9][0-9]*|(\.[0-9]+)?(e-?[0-9]{1,4})?)$|^inf$"
End = Annotated[str, Meta(pattern=_NUMBER)]
Ends = tuple[End | None, End | None]
"""Of an enclosure; None where none was found, "inf" if it has no upper end."""


class Heading(Struct, frozen=True):
    """The first line: the digest of all cases of the sweep, and their number."""

    sweep: int
    digest: str
    cases: int


class Key(Struct, frozen=True):
    """All that a resumed sweep reads of a line: which case is finished."""

    case: str


class About(Struct, frozen=True):
    text: str


class RecordedAnswer(Struct, frozen=True, kw_only=True):
    """What tables and plots show of an answer; each kind of question fills some of it."""

    verdict: str | None = None
    reason: str | None = None
    scope: About | None = None
    caveat: str | None = None
    eps_prv_enclosure: Ends | None = None
    eps_enclosure: Ends | None = None
    delta_enclosure: Ends | None = None


class _Parts(Struct, frozen=True):
    case: str
    task: str
    program: str
    params: dict[str, str]
    result: RecordedAnswer | None
    failure: str | None
    seconds: Annotated[float, Meta(ge=0)]


class FinishedCase(_Parts, frozen=True):
    """A finished case; its question's fields are texts: all other keys of the line."""

    asked: dict[str, str]


_PARTS = frozenset(_Parts.__struct_fields__)
_Part = TypeVar("_Part", Heading, Key)


@contextlib.contextmanager
def _complaining() -> Iterator[None]:
    """Say in a `ValueError` what is wrong with a line."""
    try:
        yield
    except msgspec.ValidationError as error:
        raise ValueError(complaint(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("not JSON") from None


def _read_part(line: bytes, kind: type[_Part]) -> _Part:
    with _complaining():
        return msgspec.json.decode(line, type=kind)


def read_line(line: bytes) -> FinishedCase:
    """Read the line of a finished case; a `ValueError` says what is wrong with it."""
    with _complaining():
        fields = msgspec.json.decode(line, type=dict[str, object])
        asked = {name: fields.pop(name) for name in list(fields) if name not in _PARTS}
        return msgspec.convert({**fields, "asked": asked}, FinishedCase)


class Ledger:
    """A results file that is open for appending; made if it does not exist.

    One of other cases, whose `digest` is another, is refused, and so is one that is damaged, held
    by another process or not writable. `size` is the number of cases.
    """

    def __init__(self, path: Path, digest: str, size: int) -> None:
        self.path = path
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise UserError(f"'{path}' is no regular file", "use another --out")
        try:
            # Without a buffer, nothing is left to be written later when the disk is full.
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise UserError(f"cannot write '{path}': {error.strerror}") from None
        try:
            self._hold()
            self.finished = self._read(digest, size)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()  # and lets the lock go

    def append(self, records: Sequence[Mapping[str, object]]) -> None:
        """Write the lines of cases, and wait until they are on the disk; if that is full, those
        that fit are kept."""
        self._write(*records)
        self.finished.update(str(record["case"]) for record in records)

    def _hold(self) -> None:
        fcntl = import_module("fcntl")  # who reads results needs no locks, and Windows has none
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait for it, or use another --out"
            raise UserError(f"'{self.path}' is in use by another process", hint) from None
        except OSError as error:
            raise UserError(f"cannot lock '{self.path}': {error.strerror}") from None

    def _read(self, digest: str, size: int) -> set[str]:
        """Return the keys of the finished cases; write the heading of a new file."""
        whole, keys = 0, list[str]()
        with self.path.open("rb") as file:
            for line, read in _lines(file, self.path, digest, lambda line: _read_part(line, Key)):
                whole += len(line)
                keys += [] if read is None else [read.case]
        if self._file.seek(0, os.SEEK_END) > whole:
            self._file.truncate(whole)
        if not whole:
            self._write({"sweep": FORMAT, "digest": digest, "cases": size})
        return set(keys)

    def _write(self, *records: Mapping[str, object]) -> None:
        lines = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()
        start = self._file.seek(0, os.SEEK_END)
        written = 0
        try:
            while written < len(lines):
                written += self._file.write(lines[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            whole = lines.rfind(b"\n", 0, written) + 1
            with contextlib.suppress(OSError):  # if not now, the next run cuts the line off
                self._file.truncate(start + whole)
            hint = "finished cases are kept: make room, then run the same command again"
            raise UserError(f"cannot write '{self.path}': {error.strerror}", hint) from None


def read_lines(path: Path) -> Iterator[FinishedCase]:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(f"'{path}' is no regular file")
    try:
        with path.open("rb") as file:
            for _, found in _lines(file, path, None, read_line):
                if found is not None:
                    yield found
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from None


_Read = TypeVar("_Read")


def _lines(
    file: Iterable[bytes], path: Path, digest: str | None, read: Callable[[bytes], _Read]
) -> Iterator[tuple[bytes, _Read | None]]:
    """Yield all whole lines, with what they are; the heading is checked, and None."""
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            return  # torn
        found = None
        try:
            if number == 1:
                _check_heading(line, digest, path)
            else:
                found = read(line)
        except ValueError as error:
            message = f"{path}:{number}: not a line of results: {error}"
            raise UserError(message, "the file was changed: use another --out") from None
        yield line, found


def _check_heading(line: bytes, digest: str | None, path: Path) -> None:
    heading = None
    with contextlib.suppress(ValueError):
        heading = _read_part(line, Heading)
    if heading is None or heading.sweep != FORMAT:
        raise UserError(f"'{path}' is not a results file of a sweep", "use another --out")
    if digest is not None and heading.digest != digest:
        message = f"'{path}' holds results of another sweep: the spec or a program has changed"
        raise UserError(message, "use another --out, or remove the file")
