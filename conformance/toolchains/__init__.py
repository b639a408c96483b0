"""Compilers, device libraries and targets as they are found on a machine. Nothing of a port is known here.

``amd.find_toolchain`` finds a compiler for AMD targets, ``host.find_toolchain`` one for the host. A target is known
without either:

    >>> from conformance.toolchains.targets import target
    >>> gfx942 = target("gfx942")
    >>> gfx942.default_wave, gfx942.lds_bytes
    (64, 65536)
"""
