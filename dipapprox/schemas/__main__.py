"""Write the JSON Schemas into the package: `python -m dipapprox.schemas`."""

from __future__ import annotations

from pathlib import Path

from dipapprox.schemas.generate import schema_texts


def main() -> None:
    for name, text in schema_texts().items():
        Path(__file__).with_name(f"{name}.schema.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
