"""The net: thousands of questions through the public interfaces, with their answers, as data.

    questions.py   what is asked: kinds.txt for every kind of program, asked.txt, slow.txt
    asking.py      the question to the command line, or in Python
    answers.py     what an answer says: status, verdict, ends of enclosures, witness, proof
    proofs.py      which answers are proved, and which of them are asked for so
    law.py         what a new answer may be where an old one is known
    agreement.py   stored answers about one program against each other
    running.py     a process for each question, on all processors
    work.py        the work of some of them, in calls of functions
    __main__.py    `make corpus`: ask all, report; `--write`: make the data

The data are answers.jsonl, a line a question, and work.json. Read `law.py` first.
"""
