"""Texts of programs: those that are shipped, and those that the corpus asks about."""

from pathlib import Path

TESTS = Path(__file__).parent
FOLDERS = (TESTS.parent / "programs", TESTS / "corpus" / "programs")


def text_of(name: str) -> str:
    """Read programs/<name>.dpg, or tests/corpus/programs/<name>.dpg."""
    paths = (folder / f"{name}.dpg" for folder in FOLDERS)
    return next(path for path in paths if path.exists()).read_text(encoding="utf-8")


def template_of(name: str) -> str:
    """Read what programs are made of: tests/templates/<name>.txt."""
    return (TESTS / "templates" / f"{name}.txt").read_text(encoding="utf-8")


def texts_in(folder: str) -> dict[str, str]:
    """Read all programs of a folder of tests/corpus/programs, by their names."""
    return {
        path.stem: text_of(f"{folder}/{path.stem}")
        for path in sorted(FOLDERS[1].glob(f"{folder}/*.dpg"))
    }
