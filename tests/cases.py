"""Tests as tables: a row a case."""

from typing import Any

import pytest


def cases(names: str, *rows: object, ids: Any = None) -> pytest.MarkDecorator:
    """Ask a test once for each row: of values, in the order of their names, or of one value."""
    return pytest.mark.parametrize(names, rows, ids=ids)
