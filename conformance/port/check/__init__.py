"""What sources and code objects define against the specs, without executing anything: the command ``check``."""
