"""No core files of processes that run kernels."""

from __future__ import annotations

import os
import resource

_ROCR_SWITCH = "HSA_DISABLE_COREDUMP_ON_EXCEPTION"
"""ROCr's own (gpu_coredump.cc in the tests of ROCm/rocm-systems has what it does), for where a pattern or a service of
the system's takes core dumps whatever the limit."""


def no_core_files() -> None:
    """Have no fault of this process or its children write a core file; call it before a runtime is loaded.

    ROCr of ROCm 7 writes the GPU's whole memory. With the limit at 0 it does not, and HIP returns a code where it
    would abort.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ.setdefault(_ROCR_SWITCH, "1")
