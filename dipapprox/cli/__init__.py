"""Commands: words in, everything that is printed out.

In: the words of a command line. Out: text or JSON on standard output, messages on standard error,
files, an exit status. Read `app` first, then `command` and `asking`; most commands are modules,
such as `prove` and `check`.

What is wrong with the words, a file, or a place to write to is a `UserError`.
"""
