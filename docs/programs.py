"""The programs that pages link to, as pages of the site.

A hook of MkDocs. In the repository a link such as `../programs/svt_gauss.dpg` leads to the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).parent.parent

_LINK = re.compile(r"\]\(\.\./programs/([\w/]+)\.dpg\)")


def on_files(files: Any, config: Any) -> Any:
    """Add a page for each program that a page links to."""
    pages = [each.content_string for each in files if each.src_uri.endswith(".md")]
    for name in sorted({name for page in pages for name in _LINK.findall(page)}):
        text = (ROOT / "programs" / f"{name}.dpg").read_text(encoding="utf-8")
        page = f"# {name}\n\n```dpg\n{text}```\n"
        inclusion = InclusionLevel.NOT_IN_NAV
        files.append(
            File.generated(config, f"programs/{name}.md", content=page, inclusion=inclusion)
        )
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Let links to programs lead to their pages."""
    return _LINK.sub(r"](programs/\1.md)", markdown)
