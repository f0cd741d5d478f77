"""The results file: a heading, then one line of JSON for every finished case.

A case counts as done after its line is written and synced; what finished meanwhile is synced at
once. After a crash the last line may be torn: it is cut off, and its case runs again. One process
at a time may hold the file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from dipapprox.errors import UserError
from dipapprox.experiments.sweep.lines import (
    FORMAT,
    FinishedCase,
    Heading,
    Key,
    read_line,
    read_part,
)


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
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait for it, or use another --out"
            raise UserError(f"'{self.path}' is in use by another process", hint) from None
        except OSError as error:
            raise UserError(f"cannot lock '{self.path}': {error.strerror}") from None

    def _read(self, digest: str, size: int) -> set[str]:
        """Return the keys of the finished cases; write the heading of a new file."""
        whole = 0
        finished: set[str] = set()
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith(b"\n"):
                    break  # torn
                if number == 1:
                    _check_heading(line, digest, self.path)
                else:
                    try:
                        finished.add(read_part(line, Key).case)
                    except ValueError as error:
                        raise _damaged(self.path, number, error) from None
                whole += len(line)
        if self._file.seek(0, os.SEEK_END) > whole:
            self._file.truncate(whole)
        if not whole:
            self._write({"sweep": FORMAT, "digest": digest, "cases": size})
        return finished

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
    """Yield the lines of finished cases."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UserError(f"'{path}' is no regular file")
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                if number == 1:
                    _check_heading(line, None, path)
                    continue
                try:
                    found = read_line(line)
                except ValueError as error:
                    raise _damaged(path, number, error) from None
                yield found
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from None


def _damaged(path: Path, number: int, error: ValueError) -> UserError:
    message = f"{path}:{number}: not a line of results: {error}"
    return UserError(message, "the file was changed: use another --out")


def _check_heading(line: bytes, digest: str | None, path: Path) -> None:
    try:
        heading = read_part(line, Heading)
    except ValueError:
        heading = None
    if heading is None or heading.sweep != FORMAT:
        raise UserError(f"'{path}' is not a results file of a sweep", "use another --out")
    if digest is not None and heading.digest != digest:
        message = f"'{path}' holds results of another sweep: the spec or a program has changed"
        raise UserError(message, "use another --out, or remove the file")
