"""Raw tokens to the parser's tokens: separators, block and bracket structure, size limits.

A line break separates statements when it stands outside brackets, after a token that can end a
statement and before one that can start a statement; everywhere else it is white space. Limits
are enforced here, before any tree exists: what passes is shallow enough for recursive functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

from dipapprox.errors import Diagnosis, did_you_mean
from dipapprox.language.lexer import DPG, SOFT_WORDS, Spelling, raw_tokens
from dipapprox.source import SourceFile, Span


def with_keywords(tokens: Iterable[Any]) -> Iterator[Any]:
    """Give the words of streams and services the types of keywords, in their places only.

        read q          a statement                  out <- read      a named value
        in real 0..1    a domain                     real <- q[1]     a variable

    So programs that use them as names stay what they are.

    One token is read ahead: who stops early has not read the rest.
    """
    before = "NEWLINE"
    for token, following in pairwise(chain(tokens, [None])):
        if token.type == "NAME" and token.value in SOFT_WORDS:
            befores, afters, wanted = SOFT_WORDS[token.value]
            after = following.type if following else "NEWLINE"
            if before in befores and (after in afters) is wanted:
                token.type = token.value.upper()
        before = token.type
        yield token


PRIME = "'"  # after an input in a condition on pairs: its value in the second one
MOST_TOKENS = 100_000
DEEPEST_BLOCKS = 100
LONGEST_CHAIN = 150  # most `elif` that are open at one place: each is an `if` in the one before
DEEPEST_BRACKETS = 32
MOST_PREFIXES = 32

_ENDERS = frozenset(
    ["NUMBER", "NAME", "RPAREN", "RBRACK", "RBRACE", "END", "SKIP", "EXIT", "TRUE", "FALSE",
     "BOOL", "REAL"]
)  # fmt: skip
"""Tokens after which a statement can be complete."""
_LOOPS = frozenset(["FOR", "WHILE", "FOREVER"])
_BEFORE_OPERANDS = frozenset(
    ["IN", "RANGE", "NOT", "AND", "OR", "LT", "LE", "GT", "GE", "EQ", "NE", "PLUS", "MINUS",
     "TIMES", "DIVIDE", "CARET"]
)  # fmt: skip
_STARTERS = frozenset(
    ["NAME", "IF", *_LOOPS, "SKIP", "EXIT", "PARAM", "INPUT", "OUTPUT", "STATE", "ADJACENT", "ON",
     "STREAM", "PUBLISHES", "READ", "PUBLISH"]
)  # fmt: skip
_STATEMENT_WORDS = _STARTERS - {"NAME"} | {"END", "ELSE", "ELIF", "THEN", "DO", "ARROW"}
_OPENING = frozenset(["IF", *_LOOPS, "ON"])
_HEADS_AND_ENDS = _OPENING | {"ELIF", "ELSE", "THEN", "DO", "SEP", "END"}
_WORDS = frozenset(["STATE", "ON", "IF", *_LOOPS, "CHOOSE", "BOOL", "TRUE", "FALSE"])
_CLOSERS = {"RPAREN": "LPAREN", "RBRACK": "LBRACK", "RBRACE": "LBRACE"}
_OPENERS = frozenset(_CLOSERS.values())
_BRACKETS = _OPENERS | set(_CLOSERS)
_CLOSED_BY = {"LPAREN": ")", "LBRACK": "]", "LBRACE": "}"}
# Prefix operators nest until one of these ends their operand.
_BOUNDARIES = frozenset(
    ["SEP", "SEMICOLON", "COMMA", "COLON", "RANGE", "ARROW", "AND", "OR", "THEN", "DO", "ELSE",
     "ELIF", "END"]
)  # fmt: skip
_COMPARISONS = frozenset(["LT", "LE", "GT", "GE", "EQ", "NE"])
"""They bind less than a minus sign, and more than 'not'."""
_NEVER_AFTER = frozenset(["SEP", "THEN", "DO", "ELSE", "LBRACE"])
_NEVER_BEFORE = frozenset(["SEP", "END", "ELSE", "ELIF", "RBRACE"])


class TokenStream:
    """The tokens of a text, in the form PLY's parser wants: `token()`, `lexpos`, `lineno`.

    Attributes:
        problems: Where the parser's actions report to.
        lexpos: Offset just after the token last read.
    """

    def __init__(self, source: SourceFile, problems: Diagnosis, tokens: Iterable[Any]) -> None:
        self.source = source
        self.problems = problems
        self.lineno = 1
        self.lexpos = 0
        self._tokens = iter(tokens)
        self.before: Any = None  # the token before `last`
        self.last: Any = None
        self.position = -1  # index of `last`

    def token(self) -> Any:
        self.position += 1
        self.before, self.last = self.last, next(self._tokens, None)
        if self.last is None:
            self.lexpos = len(self.source.text)
        else:
            self.lexpos = self.last.endlexpos
            self.last.lexer = self  # where `p_error` finds the stream
        return self.last

    def span(self, production: Any, first: int = 0, last: int = 0) -> Span:
        """Return the span of a symbol of a PLY production, or of several; 0 is the whole."""
        start, end = production.lexspan(first)
        return Span(self.source, start, max(start, production.lexspan(last)[1] if last else end))

    def report(self, message: str, span: Span, hint: str = "", kind: str = "syntax error") -> None:
        self.problems.report(kind, message, span, hint)

    def token_span(self, token: Any) -> Span:
        """Return the span of a token; None, the end of the text, gives its last visible token."""
        if token is None:
            end = len(self.source.text.rstrip())
            return Span(self.source, max(0, end - 1), end)
        return Span(self.source, token.lexpos, token.endlexpos)


def read_tokens(source: SourceFile, problems: Diagnosis) -> list[Any]:
    tokens = _Structure(source, problems).read()
    problems.finish()
    return tokens


class PlainTokens(TokenStream):
    """The tokens of a text whose line breaks mean nothing, all read.

    Raises:
        SourceError: With all that is misspelled, or if the text is too long or too deep.
    """

    def __init__(self, source: SourceFile, spelling: Spelling, what: str) -> None:
        problems = Diagnosis()
        tokens: list[Any] = []
        depth = 0
        for token in raw_tokens(spelling, source, problems):
            tokens.append(token)
            depth += (token.type == "LBRACE") - (token.type == "RBRACE")
            if len(tokens) > MOST_TOKENS or depth > DEEPEST_BLOCKS:
                message = f"blocks nest deeper than {DEEPEST_BLOCKS}"
                if len(tokens) > MOST_TOKENS:
                    message = f"the {what} has more than {MOST_TOKENS} symbols"
                span = Span(source, token.lexpos, token.endlexpos)
                raise problems.abort("limit", message, span)
        problems.finish()
        super().__init__(source, problems, tokens)


class _Structure:
    """One pass over the raw tokens."""

    def __init__(self, source: SourceFile, problems: Diagnosis) -> None:
        self.source = source
        self.problems = problems
        self.out: list[Any] = []
        self.brackets: list[tuple[Any, int]] = []  # opening token, prefix operators round it
        self.blocks: list[Any] = []  # if, elif, loops, handlers
        self.prefixes = 0
        self._minuses = 0  # how many of them are minus signs of the current operand
        self._in_adjacent = False
        self._turns: Any = None  # the 'for' of an option of the choice that is open
        self._blamed = -1
        self._unsure = False  # whether an opening word stands where a name should

    def read(self) -> list[Any]:
        """Return the tokens; what is wrong with the structure goes to `problems`."""
        separator: Any = None
        for token in with_keywords(raw_tokens(DPG, self.source, self.problems)):
            if token.type in ("SEP", "NEWLINE"):
                # A written ';' wins over the line breaks round it.
                if separator is None or token.type == "SEP":
                    separator = token
                continue
            if self._separates(separator, token.type):
                separator.type = "SEMICOLON" if self.brackets else "SEP"
                self._add(separator)
            separator = None
            self._add(token)
        for opener, _ in self.brackets:
            self._unclosed(opener)
        for opener in self.blocks:
            if opener.type != "ELIF":
                self._report(opener, f"'{opener.value}' is never closed", self._end_hint())
        return self.out

    def _end_hint(self) -> str:
        chained = any(
            a.type == "ELSE" and b.type == "IF"
            for a, b in zip(self.out, self.out[1:], strict=False)
        )
        if chained:
            return "every 'if' needs its own 'end'; 'elif' continues an 'if' without one"
        return "add an 'end' after its last statement"

    def _separates(self, separator: Any, following: str) -> bool:
        if separator is None or not self.out or following in _NEVER_BEFORE:
            return False
        previous = self.out[-1].type
        if separator.type == "SEP":
            return previous not in _NEVER_AFTER
        return not self.brackets and previous in _ENDERS and following in _STARTERS

    def _add(self, token: Any) -> None:
        kind = token.type
        before = self.out[-2:]
        words = [each.type for each in before]
        if kind == "ARROW" and words and words[-1] in _WORDS and words[0] not in _BEFORE_OPERANDS:
            self._keyword(before[-1])
        if len(self.out) >= MOST_TOKENS:
            message = f"the program has more than {MOST_TOKENS} symbols"
            raise self._too_much(token, message, "use loops")
        if kind in ("ADJACENT", "SEP"):
            self._in_adjacent = kind == "ADJACENT"
        if kind == "NAME" and token.value.endswith(PRIME) and not self._in_adjacent:
            span = Span(self.source, token.endlexpos - 1, token.endlexpos)
            hint = "named values are written without quotes"
            self.problems.report("syntax error", f"unexpected character '{PRIME}'", span, hint)
            token.value = token.value.removesuffix(PRIME)
        is_turns = kind == "FOR" and (self._in_adjacent or self._in_choice())
        if is_turns:
            self._turns = token
            token.type = kind = "EACH"
        elif self.brackets and kind in _STATEMENT_WORDS:
            for opener, _ in self.brackets:
                self._unclosed(opener)
            self.brackets.clear()
            if kind == "DO" and self._turns is not None:  # it was a loop
                self._turns.type = "FOR"
                self.blocks.append(self._turns)
        if kind in _BOUNDARIES:
            self.prefixes = self.brackets[-1][1] if self.brackets else 0
            self._minuses = 0
        elif kind in _COMPARISONS:
            self.prefixes -= self._minuses
            self._minuses = 0
        elif kind == "NOT" or (kind == "MINUS" and not (self.out and self.out[-1].type in _ENDERS)):
            self.prefixes += 1
            self._minuses += kind == "MINUS"
            if self.prefixes > MOST_PREFIXES:
                message = f"more than {MOST_PREFIXES} prefix operators in one expression"
                raise self._too_much(token, message)
        elif kind in _OPENERS:
            if kind == "LBRACE" and self._begins_block():
                span = Span(self.source, token.lexpos, token.endlexpos)
                hint = "blocks are written 'then … end' and 'do … end', without braces"
                raise self.problems.abort("syntax error", "unexpected '{'", span, hint)
            self._turns, self._minuses = None, 0
            self.brackets.append((token, self.prefixes))
            if len(self.brackets) > DEEPEST_BRACKETS:
                raise self._too_much(token, f"brackets nest deeper than {DEEPEST_BRACKETS}")
        elif kind in _CLOSERS:
            self._close(token)
        if kind in _OPENING or kind in ("ELIF", "ELSE", "END"):
            self._block(token)
        self.out.append(token)

    def _in_choice(self) -> bool:
        if not self.brackets:
            return False
        opener = self.brackets[-1][0]
        return any(
            before.type == "CHOOSE" and after is opener
            for before, after in zip(self.out, self.out[1:], strict=False)
        )

    def _keyword(self, token: Any) -> None:
        """Report a keyword that is assigned; read it as a name."""
        hint = "choose another name"
        self._report(token, f"'{token.value}' is a keyword and cannot be assigned", hint)
        token.type = "NAME"
        if token in self.blocks:
            self.blocks.remove(token)
            self._unsure = True

    def _block(self, token: Any) -> None:
        kind = token.type
        if kind in _OPENING:
            self.blocks.append(token)
        elif not self.blocks:
            message = f"'{token.value}' without an 'if' or a loop before it"
            if not self._unsure:
                self._report(token, message, self._opener_hint())
        elif kind == "ELIF":
            self.blocks.append(token)
        elif kind == "END":
            while self.blocks.pop().type == "ELIF":
                pass
        chained = sum(opener.type == "ELIF" for opener in self.blocks)
        if chained > LONGEST_CHAIN:
            raise self._too_much(token, f"more than {LONGEST_CHAIN} 'elif' are open")
        if len(self.blocks) - chained > DEEPEST_BLOCKS:
            hint = "every 'if' and every loop that is still open counts"
            raise self._too_much(token, f"blocks nest deeper than {DEEPEST_BLOCKS}", hint)

    def _opener_hint(self) -> str:
        """Guess which word was meant to open a block."""
        hint = "blocks are opened by 'if … then', 'for … do' and 'while … do'"
        for before, token, following in zip(self.out, self.out[1:], self.out[2:], strict=False):
            head = token.type == "NAME" and before.type != "ADJACENT"
            if head and following.type in ("NAME", "NOT", "NUMBER"):
                return did_you_mean(token.value.lower(), ("if", "for", "while"), hint)
        return hint

    def _begins_block(self) -> bool:
        """Whether a brace stands where a block would begin: no set and no choice does."""
        if not self.out or self.out[-1].type not in (*_ENDERS, "THEN", "DO", "ELSE"):
            return False
        heads = (each.type for each in reversed(self.out) if each.type in _HEADS_AND_ENDS)
        return next(heads, "SEP") not in ("SEP", "END")

    def _close(self, token: Any) -> None:
        if not self.brackets:
            self._report(token, f"'{token.value}' closes nothing")
            return
        opener, self.prefixes = self.brackets.pop()
        self._minuses = 0
        if opener.type != _CLOSERS[token.type]:
            hint = f"write '{_CLOSED_BY[opener.type]}'"
            self._report(token, f"'{token.value}' does not close '{opener.value}'", hint)

    def _unclosed(self, opener: Any) -> None:
        closer = _CLOSED_BY[opener.type]
        self._report(opener, f"'{opener.value}' is never closed", f"add the missing '{closer}'")

    def _report(self, token: Any, message: str, hint: str = "") -> None:
        span = Span(self.source, token.lexpos, token.endlexpos)
        # One wrong bracket makes others look wrong: one message per line is enough.
        between = self.source.text[self._blamed : span.start]
        if token.type not in _BRACKETS or self._blamed < 0 or "\n" in between:
            self.problems.report("syntax error", message, span, hint)
        if token.type in _BRACKETS:
            self._blamed = span.start

    def _too_much(self, token: Any, message: str, hint: str = "split it up") -> Exception:
        span = Span(self.source, token.lexpos, token.endlexpos)
        return self.problems.abort("limit", message, span, hint)
