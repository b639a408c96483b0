"""What a kernel left in its buffers, against what the reference expects: from a case to a kernel's outcome.

Nothing is launched here: whoever has the answers hands them over.
"""
