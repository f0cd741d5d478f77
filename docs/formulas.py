"""The site's formulas: LaTeX of `math` blocks becomes MathML, which browsers draw themselves.

A hook of MkDocs. No script is loaded, so that formulas are there offline and in print.
"""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def on_config(config: Any) -> Any:
    """Let superfences draw blocks named `math`."""
    blocks = config.mdx_configs.setdefault("pymdownx.superfences", {})
    blocks["custom_fences"] = [{"name": "math", "class": "formula", "format": _formula}]
    return config


def _formula(source: str, *_: object, **__: object) -> str:
    lines = [convert(line, display="block") for line in source.strip().splitlines()]
    return f'<div class="formula">{"".join(lines)}</div>'
