"""What all answers are: frozen data with the fields of a JSON object, and no truth value."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar, NoReturn

from dipapprox.errors import NoTruth
from dipapprox.privacy.charts import Chart
from dipapprox.privacy.description import Description, html, text


class Result(ABC):
    """An answer; what its fields are called is a contract with other tools."""

    __slots__ = ()

    asked: ClassVar[str] = "look at its fields"
    """What to write in a condition."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Return the fields of the JSON object."""

    def to_json(self) -> str:
        """Return `to_dict` as one line of JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @abstractmethod
    def describe(self) -> Description:
        """Return what people see of it."""

    def charts(self) -> tuple[Chart, ...]:
        """Return pictures of it: none, if there is nothing to draw."""
        return ()

    def __str__(self) -> str:
        """Return what people see of it, as lines of text."""
        return text(self.describe())

    def _repr_html_(self) -> str:
        return html(self.describe())

    def __bool__(self) -> NoReturn:
        """Refuse: `assert verify(…)` would pass for Not_DP.

        Raises:
            NoTruth: Always.
        """
        raise NoTruth(f"a {type(self).__name__}", self.asked)


class Word(Enum):
    """The words that an answer is one of; no truth value either."""

    def __bool__(self) -> NoReturn:
        """Refuse: `if answer:` would hold for every answer.

        Raises:
            NoTruth: Always.
        """
        first = next(iter(type(self)))
        raise NoTruth(str(self), f"compare it: … is {first}")
