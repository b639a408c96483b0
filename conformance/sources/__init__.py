"""Which kernels C++ sources define, found through a real preprocessor: names, places, parameters. Nothing is compiled.

``defined_kernels`` reads one file, ``scan`` several at a time. Neither needs CUDA, ROCm or a C++ library: headers that
are not in the tree are taken as empty, so that types stay as the source spells them.
"""

from conformance.sources.definitions import Definition, Param
from conformance.sources.errors import ScanError
from conformance.sources.preprocess import CUDA_DEFINES, HIP_DEFINES
from conformance.sources.scan import defined_kernels, scan
from conformance.sources.types import CType, c_type, is_other_float8

__all__ = [
    "CUDA_DEFINES",
    "HIP_DEFINES",
    "CType",
    "Definition",
    "Param",
    "ScanError",
    "c_type",
    "defined_kernels",
    "is_other_float8",
    "scan",
]
