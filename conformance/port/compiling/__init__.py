"""From one source to its code object: in a child process, within limits, through a cache."""
