"""The base of the errors that a user can do something about."""

from __future__ import annotations


class UserError(Exception):
    """An error that the user can do something about: wrong input, or something that the machine lacks.

    The message is one sentence: the thing, the place, what was expected and what to do. A command that raises it prints
    the sentence and ends with exit code 2.

    A package derives its own errors from this class, and from a built-in one where callers catch that:

        class SourceError(UserError, ValueError):
            \"\"\"A source that cannot be read.\"\"\"
    """


class UsageError(UserError, ValueError):
    """Arguments that do not go together. The message says which, and which would."""
