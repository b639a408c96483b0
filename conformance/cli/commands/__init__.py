"""A file per command, named as the command: its function `command` takes the arguments and gives the exit code."""
