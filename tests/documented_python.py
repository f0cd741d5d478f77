"""Write the Python blocks of the documents as modules into a folder: type checkers read them there.

python tests/documented_python.py FOLDER && mypy FOLDER
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PYTHON = re.compile(r"^```python(?: title=\"[^\"]+\")?\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def write_blocks(folder: Path) -> None:
    """Write one module for every block; those of earlier documents go."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.py"):
        old.unlink()
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        stem = document.stem.lower().replace("-", "_")
        for number, block in enumerate(_PYTHON.findall(document.read_text(encoding="utf-8"))):
            (folder / f"{stem}_{number}.py").write_text(block, encoding="utf-8")


if __name__ == "__main__":
    write_blocks(Path(sys.argv[1]))
