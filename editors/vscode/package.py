"""Pack the folder as a Visual Studio Code extension: `python editors/vscode/package.py [OUT]`.

A `.vsix` file is a zip archive of the files below `extension/`, with a manifest and the types
of the files beside it. The same files give the same bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

FOLDER = Path(__file__).parent
FILES = (
    "package.json",
    "README.md",
    "extension.js",
    "language-configuration.json",
    "snippets/dpg.json",
    "syntaxes/dpg.tmLanguage.json",
)

_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".js" ContentType="application/javascript"/>
  <Default Extension=".md" ContentType="text/markdown"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""


def manifest(package: dict[str, object]) -> str:
    """Return what the archive says of the extension, from its package.json."""
    text = {key: str(package[key]) for key in ("name", "displayName", "description", "version")}
    engines = package["engines"]
    assert isinstance(engines, dict)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={quoteattr(text["name"])} Version={quoteattr(text["version"])} \
Publisher={quoteattr(str(package["publisher"]))}/>
    <DisplayName>{escape(text["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(text["description"])}</Description>
    <Categories>{escape(",".join(map(str, _list(package["categories"]))))}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={quoteattr(str(engines["vscode"]))}/>
    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" \
Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" \
Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def write(out: Path) -> None:
    """Write the archive."""
    package = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    contents = {"extension.vsixmanifest": manifest(package), "[Content_Types].xml": _TYPES}
    for name in FILES:
        contents[f"extension/{name}"] = (FOLDER / name).read_text(encoding="utf-8")
    with ZipFile(out, "w") as archive:
        for name, text in contents.items():
            entry = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, text.encode())


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "dipapprox.vsix")
