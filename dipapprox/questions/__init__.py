"""What can be asked, declared once for commands, Python and sweeps.

In: words, keywords or keys of a spec. Out: questions with exact arguments, and their answers. Read
`question` and `verify` first; `interface` is what Python sees.

What is wrong with an argument, a text or a file is a `UserError` that names it, in a text with its
place a `SourceError`.
"""
