"""Bad usage, found after the command line was parsed."""


class UsageError(ValueError):
    """Arguments that do not go together; the message says which and what would."""
