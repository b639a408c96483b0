"""What a machine has for running kernels, row by row, and whether it can: compile, launch, read back, and fault.

Nothing is judged here but the machine; the kernels that are tried are the two in ``kernels``.
"""
