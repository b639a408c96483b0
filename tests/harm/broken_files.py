"""Sources that do harm before any of their kernels runs: while they are read and compiled, or while they are loaded.

Each costs every kernel of its file, and no other.
"""

from __future__ import annotations

from dataclasses import dataclass

from conformance.status import Status

BROKEN: frozenset[Status] = frozenset({"compile_error"})
ENDED: frozenset[Status] = frozenset({"compile_error", "not_run"})
"""For what takes more memory than a compiler may have, or more time, which says nothing of the source."""
HANDLED: frozenset[Status] = frozenset({"pass", "compile_error"})
"""For text that a harness may read as it is or refuse by name."""
RIGHT: frozenset[Status] = frozenset({"pass"})
"""For what happens after the last launch: it takes nothing from a kernel that was right."""


@dataclass(frozen=True)
class BrokenFile:
    """A source, with KERNEL where its kernel is defined; ``bomb`` where only a limit of the compiler's time or memory
    ends it, ``forbidden`` where only a sandbox stops it."""

    name: str
    text: str
    expected: frozenset[Status] = BROKEN
    bomb: bool = False
    forbidden: bool = False

    @property
    def statuses(self) -> frozenset[Status]:
        """What a kernel of it may be."""
        return ENDED if self.bomb else self.expected


def _constructor(name: str, code: str, *, forbidden: bool = False) -> BrokenFile:
    text = f"SUPPORT\n__attribute__((constructor)) static void at_load() {{ {code} }}\nKERNEL"
    return BrokenFile(f"constructor: {name}", text, forbidden=forbidden)


def _destructor(name: str, code: str) -> BrokenFile:
    text = f"SUPPORT\n__attribute__((destructor)) static void at_end() {{ {code} }}\nKERNEL"
    return BrokenFile(f"destructor: {name}", text, RIGHT)


_DOUBLED = "\n".join(f"#define M{n} M{n - 1} M{n - 1} M{n - 1} M{n - 1}" for n in range(1, 17))

COMPILED = (
    BrokenFile("syntax error", "KERNEL\nint f( { return }"),
    BrokenFile("#error", "#error this port is not finished\nKERNEL"),
    BrokenFile("static_assert", 'static_assert(sizeof(long) == 3, "no such machine");\nKERNEL'),
    BrokenFile("missing header", '#include "not/there.h"\nKERNEL'),
    BrokenFile("header is a FIFO", '#include "fifo.h"\nKERNEL', bomb=True),
    BrokenFile("header is a folder", '#include "folder.h"\nKERNEL'),
    BrokenFile("header without end", '#include "/dev/zero"\nKERNEL', bomb=True),
    BrokenFile("includes itself", '#include "FILE"\nKERNEL'),
    BrokenFile(
        "template bomb",
        "template <unsigned long N, unsigned long M> struct Tree { Tree<N - 1, 2 * M> a; Tree<N - 1, 2 * M + 1> b; };\n"
        "template <unsigned long M> struct Tree<0, M> {};\nTree<60, 1> bomb;\nKERNEL",
        bomb=True,
    ),
    BrokenFile(
        "template recursion",
        "template <int N> struct Deep { static constexpr int value = Deep<N + 1>::value; };\n"
        "int deep = Deep<0>::value;\nKERNEL",
    ),
    BrokenFile(
        "constexpr bomb",
        "template <int N> struct Loop { static constexpr long run() { long s = N; for (int i = 0; i < 300000; ++i) "
        "s = s * 3 + i; return s; } static constexpr long value = run() + Loop<N - 1>::value; };\n"
        "template <> struct Loop<0> { static constexpr long value = 0; };\nlong bomb = Loop<900>::value;\nKERNEL",
        bomb=True,
    ),
    BrokenFile(
        "constexpr loop without end",
        "constexpr int loop() { int i = 0; while (true) ++i; return i; }\nconstexpr int value = loop();\nKERNEL",
    ),
    BrokenFile("macro bomb", f"#define M0 +1\n{_DOUBLED}\nlong bomb = 0 M16;\nKERNEL", bomb=True),
    BrokenFile("array beyond the address space", "char huge[1ul << 62];\nKERNEL"),
    BrokenFile("array beyond any memory", "char huge[1ul << 46];\nchar *use() { return huge; }\nKERNEL"),
    BrokenFile("brackets without end", "int value = " + "(" * 20000 + "1;\nKERNEL"),
    BrokenFile("comment without end", "KERNEL\n/* and so on"),
    BrokenFile("raw string without end", 'KERNEL\nconst char *text = R"(and so on'),
    # In a pass for the device clang skips assembly that stands in no function.
    BrokenFile("assembler's error", 'KERNEL\nasm("no such instruction");', ENDED),
    BrokenFile("assembler's bomb", 'KERNEL\nasm(".rept 2000000000\\n.long 1, 2, 3\\n.endr");', bomb=True),
    BrokenFile("file of a device", 'KERNEL\nasm(".incbin \\"/dev/zero\\"");', bomb=True),
    BrokenFile("defined twice", "KERNEL\nKERNEL"),
    BrokenFile("undefined function", "extern void defined_nowhere();\nvoid call() { defined_nowhere(); }\nKERNEL"),
    BrokenFile("other parameters", 'extern "C" __global__ void NAME(int only) {}', frozenset({"signature"})),
    BrokenFile("behind #if 0", "#if 0\nKERNEL\n#endif", frozenset({"missing"})),
    BrokenFile("with C++ linkage", "__global__ void NAME(int *only) { *only = 1; }", frozenset({"missing"})),
    BrokenFile("NUL byte in a comment", "// before \0 behind\nKERNEL", HANDLED),
    BrokenFile("NUL byte in the code", "int a\0b;\nKERNEL", HANDLED),
    BrokenFile("byte order mark", "\ufeff// at the start\nKERNEL", HANDLED),
    BrokenFile("Latin-1 in a comment", "// gr\xfc\xdfe\nKERNEL", HANDLED),
)

LOADED = (
    _constructor("null write", "*(volatile int *)opaque(0) = 1;"),
    _constructor("endless recursion", "(void)recurse(opaque(1));"),
    _constructor("abort", "abort();"),
    _constructor("trap", "__builtin_trap();"),
    _constructor("_exit(0)", "_exit(0);"),
    _constructor("exit(0)", "exit(0);"),
    _constructor("exit(3)", "exit(3);"),
    _constructor("SIGKILL", "raise(SIGKILL);"),
    _constructor("SIGSTOP", "raise(SIGSTOP);"),
    _constructor("endless loop", "for (volatile int i = 0;; i = i + 1) {}"),
    _constructor("signals blocked, endless loop", "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, "
                 "nullptr); for (volatile int i = 0;; i = i + 1) {}"),
    _constructor("sleeps for ever", "for (;;) sleep(1000);"),
    _constructor("allocates for ever", "allocate();"),
    _constructor("throws", "throw_int();"),
    _constructor("closes descriptors", "for (int fd = 0; fd < 1024; ++fd) close(fd); abort();"),
    _constructor("prints for ever", 'for (;;) printf("748 of 748 kernels at parity\\n");'),
    BrokenFile("static object throws", "SUPPORT\nstruct S { S() { throw_int(); } } s;\nKERNEL"),
    BrokenFile(
        "resolver faults",
        'SUPPORT\nextern "C" void *resolver() { return *(void *volatile *)opaque(0); }\n'
        'extern "C" void resolved() __attribute__((ifunc("resolver")));\nvoid (*address)() = resolved;\nKERNEL',
    ),
    _constructor("fork", "if (fork() == 0) for (;;) sleep(1000);", forbidden=True),
    _constructor("system", '(void)!system("touch MARKERS/loaded");', forbidden=True),
    _constructor("writes a file", '(void)!open("MARKERS/opened_at_load", O_CREAT | O_WRONLY, 0600);', forbidden=True),
    _constructor("socket", "socket(AF_INET, SOCK_STREAM, 0);", forbidden=True),
    _destructor("endless loop", "for (volatile int i = 0;; i = i + 1) {}"),
    _destructor("_exit(0)", "_exit(0);"),
    _destructor("null write", "*(volatile int *)opaque(0) = 1;"),
)  # fmt: skip
