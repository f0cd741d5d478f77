"""Files of proofs: written for verdicts that the kernel has replayed, replayed again by `check`.

In: a program, its text and a verdict; or the JSON of a file. Out: the file; or what the kernel says
of it. Read `files` first. What is trusted: the kernel, json, and that the elaborator says which
machine a text means.
"""
