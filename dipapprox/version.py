"""Which version of the package this is: said to people, and in files."""

VERSION = "0.1.0"
