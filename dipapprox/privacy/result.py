"""What all answers are: frozen data with the fields of a JSON object, and no truth value.

From its description a terminal, a notebook and a page are drawn.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, NoReturn

from dipapprox.errors import NoTruth
from dipapprox.privacy import charts as pictures
from dipapprox.privacy import page
from dipapprox.privacy.description import Certificate, Description, End, html, text


class Result(ABC):
    """An answer; what its fields are called is a contract with other tools."""

    __slots__ = ()

    asked: ClassVar[str] = "look at its fields"
    """What to write in a condition."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Return the fields of what its command prints with --json: a contract with other tools."""

    def to_json(self) -> str:
        """Return `to_dict` as one line of JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @abstractmethod
    def describe(self) -> Description:
        """Return what people see of it."""

    def why(self) -> tuple[End, ...]:
        """Return who gave each end of it: none, if it has no ends."""
        return ()

    def charts(self) -> tuple[pictures.Chart, ...]:
        """Return pictures of it: none, if there is nothing to draw."""
        return ()

    def report(self, path: str | Path, certificate: Certificate | None = None) -> None:
        """Write it as a page to hand to a reviewer: one HTML file that needs nothing else.

            verdict.report("svt.html", dipapprox.certify(program, text, verdict))

        Args:
            path: Of a file that is not there yet; its name ends in .html.
            certificate: Of this answer: the page shows its digest, and the program's text with it.

        Raises:
            UserError: If it cannot be written, or the certificate is that of another answer.
        """
        said = self.to_dict()
        page.write_report(self.describe(), self.charts(), said, path, certificate)

    def __str__(self) -> str:
        """Return what people see of it, as lines of text."""
        return text(self.describe())

    def _repr_html_(self) -> str:
        return html(self.describe())

    def __bool__(self) -> NoReturn:
        """Refuse: `assert verify(…)` would pass for Not_DP."""
        name = type(self).__name__
        raise NoTruth(f"{'an' if name[0] in 'AEIOU' else 'a'} {name}", self.asked)
