"""A plugin of pytest: programs with claims are collected as tests, one for each claim.

    pytest svt.dpg mechanisms/            files of the patterns `dpg_files`, by default *.dpg

Installed with dipapprox; `-p no:dipapprox` leaves it out. A claim that is Unknown fails, too: it
was not shown. For functions in Python there is `dipapprox.assert_private`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dipapprox.deferred import Deferred
from dipapprox.errors import UserError

if TYPE_CHECKING:
    from dipapprox.privacy import options
    from dipapprox.questions import claims
else:  # who has no programs does not wait for them
    claims = Deferred("dipapprox.questions.claims")
    options = Deferred("dipapprox.privacy.options")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting `dpg_files`."""
    parser.addini(
        "dpg_files", "patterns of programs whose claims are tests", type="args", default=["*.dpg"]
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ProgramFile | None:
    """Collect a program that has a name of the patterns."""
    if any(fnmatch(file_path.name, pattern) for pattern in parent.config.getini("dpg_files")):
        return ProgramFile.from_parent(parent, path=file_path)
    return None


class ProgramFile(pytest.File):
    """A program."""

    def collect(self) -> Iterator[ClaimItem]:
        """Yield its claims."""
        try:
            found = claims.claims_in(self.path)
        except UserError as error:
            raise self.CollectError(error.render()) from None
        for claim in found[self.path]:
            yield ClaimItem.from_parent(self, name=claim.text, claim=claim)


class ClaimItem(pytest.Item):
    """One claim."""

    def __init__(self, claim: claims.Claim, **named: Any) -> None:
        """Make a test of a claim."""
        super().__init__(**named)
        self.claim = claim

    def runtest(self) -> None:
        """Ask whether it holds."""
        tested = claims.try_claim(self.claim, self.path, options.Options())
        if tested.outcome is not claims.Outcome.HOLDS:
            raise NotShown(f"{tested.outcome.value}: {self.claim.text}\n{tested.message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the answer instead of where the exception was raised."""
        if isinstance(excinfo.value, NotShown):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the claim stands, from line 0."""
        return self.path, self.claim.span.line - 1, f"claim: {self.claim.text}"


class NotShown(Exception):
    """A claim is false, unknown, or makes no sense."""
