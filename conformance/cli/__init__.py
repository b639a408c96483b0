"""The command line: how commands begin and end, and what they share; the commands themselves are in ``commands/``."""
