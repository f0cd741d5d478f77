"""Whole commands: what finding an answer, finding and proving it, and checking its proof take.

The questions are claims in the headers of the programs that ship, the first of each kind, and what
is asked of every program alike. A command starts a Python of its own. What counts is the time that
processors spend on it, which other work disturbs little.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.rows import Figure, Row, Rows, Table, largest_file, of, proving, taken
from bench.timing import (
    NoAnswer,
    Patience,
    Run,
    Timing,
    environment,
    processor_time,
    ratio,
    side_by_side,
)
from dipapprox.errors import LimitReached

FOUND, PROVED, CHECKED = "found", "found and proved", "check"

VERIFY, DECIDE, PROVE, PROFILE, COMPOSE = "verify", "decide", "prove", "profile", "compose"
COMMANDS = (VERIFY, DECIDE, PROVE, PROFILE, COMPOSE)

_ALIKE = {
    PROFILE: ("--eps", "1/2", "--delta", "1/100"),
    COMPOSE: ("--eps", "1/2", "--times", "3", "--delta", "1/1000"),
}
"""What is asked of every program without calls and streams."""

_CLAIMS = {
    VERIFY: re.compile(r"^# expected: (?:DP|Not_DP)() at (?P<settings>.*)$", re.MULTILINE),
    DECIDE: re.compile(
        r"^# decide: (?:DP|Not_DP)(?: for eps in (?P<interval>\S+))?(?: at (?P<settings>.*))?$",
        re.MULTILINE,
    ),
    PROVE: re.compile(
        r"^# prove: (?:DP|Not_DP)[^\n]*?(?: for (?:(?P<reals>real inputs)|all (?P<all>\w+)))?"
        r"(?: at (?P<settings>.*))?$",
        re.MULTILINE,
    ),
}

_FLAGS = {
    VERIFY: ("eps", "eps_prv", "delta", "pairs"),
    DECIDE: ("budget", "delta", "pairs"),
    PROVE: (),
}
"""Settings that are no parameters of the program."""

MANY_QUERIES = (
    *(VERIFY, "svt_gauss.dpg", "-p", "N=1000", "--pairs", "single"),
    *("--eps", "1/2", "--eps-prv", "31/25", "--delta", "1/100"),
)
"""Its proof is among the largest."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of a command; the second is a file, below the folder of programs."""

    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        return " ".join(self.words)


def proved_commands(programs: Path, share: int = 1) -> tuple[Asked, ...]:
    """Return all commands, or those of every so many programs."""
    files = sorted(file for file in programs.rglob("*") if file.suffix in (".dpg", ".dipa"))
    asked = (words for file in files[::share] for words in _asked(file, programs))
    return tuple(Asked(words) for words in (*asked, MANY_QUERIES))


def _asked(path: Path, programs: Path) -> Iterator[tuple[str, ...]]:
    text, file = path.read_text(encoding="utf-8"), str(path.relative_to(programs))
    for command, claim in _CLAIMS.items():
        made = [found.groupdict() for found in claim.finditer(text)]
        # One about any number of inputs is of another kind.
        kinds = {bool(found.get("all")): found for found in reversed(made)}
        yield from ((command, file, *_words(command, found)) for found in kinds.values())
    if path.suffix == ".dpg" and path.parent.name not in ("services", "streams"):
        yield from ((command, file, *words) for command, words in _ALIKE.items())


def _words(command: str, found: Mapping[str, str | None]) -> Iterator[str]:
    for each in (found.get("settings") or "").split(","):
        name, equals, value = (part.strip() for part in each.partition("="))
        if equals and name in _FLAGS[command]:
            yield from (f"--{name.replace('_', '-')}", value)
        elif equals:
            yield from ("-p", f"{name}={value}")
    if found.get("interval"):
        yield from ("--interval", str(found["interval"]))
    if found.get("reals"):
        yield "--reals"
    if found.get("all"):
        yield from ("--for-all", str(found["all"]))


def measure_proved_command(asked: Asked, programs: Path, patience: Patience) -> Row:
    """Measure a command, the same with its proof, and `check` of that; profiles have no file."""
    command, file, *more = asked.words
    with tempfile.TemporaryDirectory() as folder:
        proof = Path(folder) / "proof.json"
        found = [command, str(programs / file), *more]
        wanted = ["--proved"] if command == PROFILE else ["--certificate", str(proof)]
        runs = {
            FOUND: _run(found),
            PROVED: _run([*found, *wanted]),
            CHECKED: _run(["check", str(proof)]),
        }
        timings = side_by_side(runs, patience, processor_time)
        if not proof.exists():
            del timings[CHECKED]
        size = proof.stat().st_size if proof.exists() else 0
    return command_row(asked, timings, size)


def command_row(asked: Asked, timings: Mapping[str, Timing], size: int) -> Row:
    """Return what was measured.

    Args:
        asked: The command.
        timings: Seconds of processors, FOUND and PROVED; CHECKED where there is a file.
        size: Of the file, in bytes; 0 if there is none.
    """
    both, checked = ratio(timings[PROVED], timings[FOUND]), timings.get(CHECKED)
    return Row(
        asked,
        {
            "timings": timings,
            "proving": None if both is None else both.value - 1,
            "checking": None if checked is None else ratio(checked, timings[FOUND]),
            "bytes": size,
        },
    )


def _run(words: list[str]) -> Run:
    answers = (0,) if words[0] == "check" else (0, 1)

    def run(cap: float) -> None:
        command = [sys.executable, "-m", "dipapprox", *words]
        try:
            done = subprocess.run(
                command, check=False, timeout=cap, capture_output=True, text=True, env=environment()
            )
        except subprocess.TimeoutExpired:
            raise LimitReached(f"time limit: {cap:g} s") from None
        if done.returncode not in answers:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise NoAnswer(said[-1] if said else f"exit status {done.returncode}")

    return run


def _figures(rows: Rows) -> list[Figure]:
    figures = []
    for command in COMMANDS:
        measured = [row for row in rows if row.case.words[0] == command]
        replayed, written = proving(f"whole commands, {command}", measured, "proving", "checking")
        figures += [*written, *replayed]
    return [*figures, *largest_file(rows)]


def _added(row: Row) -> str | None:
    added = row.found["proving"]
    return None if added is None else f"{added:.2g}"


PROVED_COMMANDS = Table(
    "proof of a command",
    """## Whole commands with proofs

An answer, the same with the proof that the kernel has replayed, and `check` of its file; profiles
have no file. Processor time, the start of Python included. "added": what proving adds, in times of
finding; "times": how many times longer checking took than finding.""",
    (
        *(("command", lambda row: row.name), *taken(FOUND, PROVED), ("added", _added)),
        *(*taken(CHECKED), ("times", of("checking"))),
        ("bytes", lambda row: row.found["bytes"] or None),
    ),
    _figures,
)
