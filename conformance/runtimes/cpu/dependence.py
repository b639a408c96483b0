"""What a compiled host object depends on besides its own bytes, as far as its dynamic section and symbols say.

A verdict that is kept by the object's bytes holds as long as these are all that the kernel depends on. What names and
libraries do not show is not known: inline assembly that calls the system or reads a clock, and what kernels that ran
before in the same process have left there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO

_LIBRARIES = re.compile(
    r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux-x86-64|libamdhip64|libhiprtc)\.so[.\d]*"
)
"""The runtime, and what every process of ours has loaded before."""

_MATHEMATICS = (
    "a?sinh?|a?cosh?|a?tanh?|atan2|sincos|exp(2|10|m1)?|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?|[tl]gamma|lgamma_r|fmod|"
    "remainder|remquo|fma|fmin|fmax|fdim|fabs|ceil|floor|trunc|round(even)?|l?l?rint|l?l?round|nearbyint|ldexp|scalbl?n|"
    "ilogb|frexp|modf|copysign|nextafter|nexttoward|nan|[jy][01n]|isnan|isinf|finite"
)
_KNOWN = re.compile(
    "|".join(
        (
            r"simt_\w+|_*hip\w+",  # the runtime's
            rf"({_MATHEMATICS})[fl]?|__({_MATHEMATICS})[fl]?_finite",
            r"(__)?(mem|str)(p?cpy|move|set|r?chr|n?len|n?cmp|n?cpy)(_chk)?|(__)?v?snprintf(_chk)?",
            r"__[a-z]+(hf|bf|sf|df|xf|tf|ti|di|si)[a-z]*\d*",  # the compiler's own: __truncsfhf2, __udivti3
            r"__tls_get_addr|__stack_chk_fail|_ITM_\w+|__gmon_start__|__cxa_\w+|__gxx_personality_v0|_Unwind_\w+|abort",
            r"_Z(n[wa]|d[la])\w+",  # operator new and delete
            r"_ZN?K?St(?!\w*(fstream|filebuf|random_device|chrono|thread|mutex|locale))\w+",
        )
    )
)
"""Functions whose answers depend on their arguments alone, or that the harness's own runtime answers. A name that is
not here may bring anything in: getenv, open, clock_gettime, dlsym."""


_RUN = ("DT_INIT", "DT_INIT_ARRAYSZ", "DT_PREINIT_ARRAYSZ")
"""What names code that runs at loading. Objects of kernels are linked without the C library's start files, which would
bring some of their own."""


@dataclass(frozen=True)
class Dependence:
    """``outside`` are libraries and functions that may bring in what the object does not hold; ``constructors`` says
    that code of it may run while it is loaded, which can change its whole process."""

    outside: tuple[str, ...] = ()
    constructors: bool = False


UNKNOWN = Dependence(("what is not readable as ELF",), True)


@lru_cache(256)
def dependence_of(code: bytes) -> Dependence:
    """What ``code`` depends on; a code object for a GPU, which can call nothing, on nothing else."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        file = ELFFile(BytesIO(code))
        if file["e_machine"] == "EM_AMDGPU":
            return Dependence()
        dynamic = file.get_section_by_name(".dynamic")
        symbols = file.get_section_by_name(".dynsym")
        if not isinstance(dynamic, DynamicSection) or not isinstance(symbols, SymbolTableSection):
            return UNKNOWN
        tags = list(dynamic.iter_tags())
        needed = [str(getattr(tag, "needed", "")) for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
        imported = [one.name for one in symbols.iter_symbols() if one["st_shndx"] == "SHN_UNDEF" and one.name]
        runs = any(tag.entry.d_tag in _RUN and tag.entry.d_val for tag in tags)
    except (ELFError, UnicodeDecodeError, ValueError, KeyError, AttributeError):
        return UNKNOWN
    outside = [name for name in needed if not _LIBRARIES.fullmatch(name)]
    outside += [name for name in imported if not _KNOWN.fullmatch(name)]
    return Dependence(tuple(outside), runs)
