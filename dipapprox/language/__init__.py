"""Texts to core programs.

In: `.dpg`, `.dip` and `.dipa` texts, Python functions, parameters, wider domains. Out: core
programs, streams, services and automata, checked; mistakes with their places. Read `core` first,
what all others see; then `ast`, `parser`, `checker` and `elaborate` in this order. `load` chooses
the reader of a file.
"""
