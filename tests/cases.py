"""Tests as tables, a row a case; what is refused, a line each."""

from collections.abc import Callable
from typing import Any

import pytest


def cases(names: str, *rows: object, ids: Any = None) -> pytest.MarkDecorator:
    """Ask a test once for each row: of values, in the order of their names, or of one value."""
    return pytest.mark.parametrize(names, rows, ids=ids)


def refuses(
    kind: Any, why: str | None, action: Callable[..., object], *given: Any, **named: Any
) -> None:
    """Want an error of a kind, with words that match, from an action on what it is given."""
    with pytest.raises(kind, match=why):
        action(*given, **named)
