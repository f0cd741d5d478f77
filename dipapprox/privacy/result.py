"""What all answers are: frozen data with the fields of a JSON object."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod


class Result(ABC):
    """An answer; what its fields are called is a contract with other tools."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Return the fields of the JSON object."""

    def to_json(self) -> str:
        """Return `to_dict` as one line of JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)
