"""The types of files and answers, and the JSON Schemas made from them.

In: nothing but types. Out: a schema for each answer and file, beside this file. Read `answers`
first, then `generate`.
"""
