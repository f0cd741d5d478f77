"""A plugin of pytest: programs with claims are collected as tests, one for each claim.

    pytest svt.dpg mechanisms/       files of the patterns `dpg_files`, by default *.dpg and *.py

Of a file of Python, which is read and not run, the claims in docstrings of mechanisms are. A claim
that is Unknown fails, too: it was not shown. Installed with dipapprox; `-p no:dipapprox` leaves it
out.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import dipapprox.deferred  # noqa: F401 -- who has no programs does not wait for the rest
from dipapprox.errors import UserError
from dipapprox.privacy import run as options
from dipapprox.questions import claim_lines, claims


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting `dpg_files`."""
    help = "patterns of files whose claims are tests"
    parser.addini("dpg_files", help, type="args", default=["*.dpg", "*.py"])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ProgramFile | None:
    """Collect a program that has a name of the patterns."""
    if not any(fnmatch(file_path.name, each) for each in parent.config.getini("dpg_files")):
        return None
    if file_path.suffix == ".py" and not claim_lines.has_claims(file_path):
        return None
    return ProgramFile.from_parent(parent, path=file_path)


class ProgramFile(pytest.File):
    """A program, or a file of Python with mechanisms."""

    def collect(self) -> Iterator[ClaimItem]:
        """Yield its claims."""
        try:
            found = claims.claims_in(self.path)
        except UserError as error:
            raise self.CollectError(error.render()) from None
        for program, asked in found.items():
            function = str(program).removeprefix(str(self.path)).removeprefix(":")
            for claim in asked:
                name = f"{function}: {claim.text}" if function else claim.text
                yield ClaimItem.from_parent(self, name=name, claim=claim, program=program)


class ClaimItem(pytest.Item):
    """One claim."""

    def __init__(self, claim: claims.StatedClaim, program: Path, **named: Any) -> None:
        """Make a test of a claim about a program, or a function in a file."""
        super().__init__(**named)
        self.claim, self.program = claim, program

    def runtest(self) -> None:
        """Ask whether it holds."""
        tested = claims.try_claim(self.claim, self.program, options.Options())
        if tested.outcome is not claims.ClaimOutcome.HOLDS:
            raise NotShown(f"{tested.outcome.value}: {self.claim.text}\n{tested.message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the answer instead of where the exception was raised."""
        if isinstance(excinfo.value, NotShown):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the claim stands, from line 0, where its file is the program."""
        line = self.claim.span.line - 1 if self.program == self.path else None
        return self.path, line, f"claim: {self.name}"


class NotShown(Exception):
    """A claim is false, unknown, or makes no sense."""
