"""What goes to standard output: complete, once, and never with a traceback.

A result is rendered in memory and written in one piece, so that an error on the way leaves
nothing behind on standard output; a reader that went away (`| head`) is no error.

Progress goes to standard error: only on a terminal, and only for runs longer than a second. What
draws the bar is loaded when it is first needed: most runs end before, and start-up counts.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

from dipapprox.cli import report as reports
from dipapprox.cli.command import REPORT, stop_watching
from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, NoCertificate, UserError
from dipapprox.limits import Progress, silent
from dipapprox.privacy import charts, page
from dipapprox.privacy import description as descriptions
from dipapprox.privacy import result as results
from dipapprox.source import HIDDEN, visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


CERTIFICATE = "--certificate"
Answered = TypeVar("Answered")


class Output:
    """Standard output, or another file; the console that lays out is loaded when it is needed.

    Args:
        width: Of a line; None for that of the terminal.
    """

    def __init__(self, file: TextIO, width: int | None = None) -> None:
        self.file, self._width = file, width

    @cached_property
    def console(self) -> Console:
        return reports.open_console(self.file, self._width)

    def show(self, *renderables: RenderableType) -> None:
        stop_watching()
        # rich turns a broken pipe into exit status 1, which would mean Not_DP: write it ourselves.
        with _writing(), self.console.capture() as capture:
            for renderable in renderables:
                self.console.print(renderable, markup=False, highlight=False, emoji=False)
        self._write(capture.get())

    def show_answer(self, answer: results.Result, *, json: bool, why: bool = False) -> None:
        """Write an answer, as one JSON object or laid out for people; and `why`, if asked."""
        stop_watching()
        if json:
            said = {"why": [each.fields() for each in answer.why()]} if why else {}
            self.show_json(answer.to_dict() | said)
        else:
            below = (descriptions.why_table(answer.why()),) if why and answer.why() else ()
            shown = answer.describe()
            self.show(reports.report(replace(shown, below=(*shown.below, *below))))

    def show_json(self, fields: dict[str, object]) -> None:
        text = json.dumps(fields, ensure_ascii=False)
        self.write(HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")

    def write(self, text: str) -> None:
        """Write text as it is, but for what steers terminals; quietly if nobody reads any more."""
        self._write(HIDDEN.sub("?", text))

    def _write(self, text: str) -> None:
        stop_watching()
        with _writing():
            self.file.write(text)
            self.file.flush()

    def write_new(self, path: Path, text: str) -> None:
        """Write a text file that must not exist yet, and say so."""
        page.write_new(path, text)
        self.write(f"wrote {visible(str(path))}\n")


def check_place(path: Path, flag: str) -> None:
    """Refuse a place where no file can be, before anything is computed."""
    if path.is_dir():
        raise UserError(f"{flag}: '{path}' is a directory")
    if str(path) == "-":
        raise UserError(f"{flag}: '-' is no file here", "give it a name")
    if not path.parent.is_dir():
        raise UserError(f"{flag}: there is no directory '{path.parent}'")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{flag}: cannot write in '{path.parent}'")


def check_report(path: Path) -> None:
    """Refuse a place where a page cannot be, or is already, before anything is computed."""
    charts.file_to_write(path, page.SUFFIX)
    check_place(path, REPORT)
    if path.exists():
        raise UserError(f"{REPORT}: '{path}' exists already", "choose another name")


def write_whole(path: Path, text: str, flag: str) -> None:
    """Write a text file whole or not at all."""
    stop_watching()
    unfinished = path.with_name(f"{path.name}.partial")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UserError(f"{flag}: cannot write '{path}': {error.strerror}") from None


def certified(
    found: Answered,
    path: Path,
    prove: Callable[[], Answered],
    record: Callable[[Answered], descriptions.Certificate],
) -> tuple[Answered, str | None]:
    """Return an answer with a proof that the kernel has replayed, and the digest of the file that
    is written then; None if there is none, which is said."""
    with EarlyEnd() as end:
        try:
            found = prove()
            certificate = record(found)
        except NoCertificate as none:
            print(none.message, file=sys.stderr)
        else:
            write_whole(path, certificate.to_json(), CERTIFICATE)
            return found, str(certificate.fields["digest"])
    if end.reason is not None:
        print(f"no certificate: {end.reason}", file=sys.stderr)
    return found, None


def make_folder(path: Path) -> None:
    """Make a folder to write to, before work begins that would be lost without it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make '{path}': {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise UserError(f"cannot write to '{path}': {os.strerror(errno.EACCES)}")


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # Python flushes standard output again at exit: let that succeed.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise UserError(f"cannot write the result: {error.strerror}") from None


_PATIENCE = 1.0  # seconds before a bar appears
_INTERVAL = 0.1  # seconds between two updates


@contextmanager
def reporting(unit: str = "pairs") -> Iterator[Progress]:
    """Yield what is told about progress; it opens a bar of `unit`s when the run turns out to be
    long."""
    bar: reports.ProgressBar | None = None
    due = time.monotonic() + _PATIENCE

    def report(done: int, total: int | None) -> None:
        nonlocal bar, due
        now = time.monotonic()
        if now < due:
            return
        due = now + _INTERVAL
        bar = bar or reports.ProgressBar(unit)
        bar.update(done, total)

    try:
        yield report if sys.stderr.isatty() else silent
    finally:
        if bar is not None:
            bar.close()
