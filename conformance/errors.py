"""The base of the errors that a user can do something about."""

from __future__ import annotations


class UserError(Exception):
    """What was given is wrong, or the machine lacks something. The message is one sentence for the user: the thing, the
    place, what was expected and what to do. A command that raises it prints the sentence and ends with exit code 2.

    A package derives its own from this class, and from a built-in one where callers catch that:

        class SourceError(UserError, ValueError):
            \"\"\"A source that cannot be read.\"\"\"
    """


class UsageError(UserError, ValueError):
    """Arguments that do not go together; the message says which and what would."""
