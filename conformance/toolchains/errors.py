"""What goes wrong with AMD compilers and code objects."""


class AmdError(ValueError):
    """No usable compiler, no such target, or a binary that is not an AMD code object; one sentence with what to do."""


class OtherDevice(AmdError):
    """Code objects for AMD GPUs, none of them for the one that is asked for."""
