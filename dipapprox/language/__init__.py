"""Texts to core programs.

In: `.dpg`, `.dip` and `.dipa` texts, Python functions, parameters, wider domains. Out: core
programs, streams, services and automata, checked; mistakes with their places. Read `core` first,
what all others see; then `ast`, `parser`, `checker` and `elaborate` in this order. `load` chooses
the reader of a file. What reads, checks or elaborates a text raises `SourceError` with all that it
finds, in source order; what elaborates parts of one raises `constants.Wrong`; what reads words and
files raises `UserError`.
"""
