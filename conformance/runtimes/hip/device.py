"""The one file that knows hip-python (7.2 to 10).

A ``Device`` keeps what is expensive to make: modules by the content of their code object, functions by name, device
memory by size. A launch goes through prebuilt ``kernelParams``: hip-python's own ``extra=(...)`` conversion costs 38 to
64 microseconds a call, a prebuilt array about two.

The runtime library must be loaded and bound before anything of hip-python is called: construct a ``Device`` with the
runtime that ``conformance.runtimes.open_runtime`` returns.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from typing import TYPE_CHECKING, Any, cast

from conformance.runtimes.hip.binding import check_bound
from conformance.runtimes.hip.errors import HipError
from conformance.runtimes.hip.rtc import hiprtc_version
from conformance.toolchains.compile_error import first_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conformance.cases.launch import Launch
    from conformance.runtimes import Runtime
    from conformance.runtimes.kind import LauncherRuntime

__all__ = ["Device", "Function", "FunctionResources", "HipError", "Module", "first_error"]

CANARY_BYTES = 256
"""Guard bytes on both sides of a buffer where the runtime has no guard pages; keeps the 256-byte alignment."""

CANARY = 0xC7
_SLOT = 8
_CACHE_LIMIT = 24 << 20
"""Bytes of freed device memory kept for the next launch of the same size."""


@dataclass(frozen=True)
class Module:
    """A loaded code object. ``code`` are its bytes, which HIP may read as long as the module is loaded."""

    handle: Any
    code: bytes
    functions: dict[str, Function | None]


@dataclass(frozen=True)
class HostModule:
    """A loaded library of host functions and kernels. ``handle`` is the number that the runtime gave it."""

    handle: int
    code: bytes


@dataclass(frozen=True)
class Function:
    """A function to start: a kernel of a loaded module, a launcher by its address, or a call of a vendor's library."""

    name: str
    handle: Any


@dataclass(frozen=True)
class FunctionResources:
    """What a kernel needs: registers per thread, local (scratch) memory per thread and static shared memory per block
    in bytes, and how many blocks of the given size a compute unit (multiprocessor) can hold at a time."""

    registers: int
    local: int
    shared: int
    blocks: int


class Prepared:
    """A launch of a kernel. Its arguments are on the device already.

    ``slots`` are the bytes of each parameter: eight, or a multiple of eight for a struct. ``shape`` is grid (x, y, z),
    block (x, y, z) and dynamic shared memory in bytes. ``what`` describes the launch, for errors.
    """

    def __init__(
        self, device: Device, function: Function, shape: Sequence[int], slots: Sequence[bytes], what: str
    ) -> None:
        self._device, self._function, self.shape, self.what = device, function, shape, what
        content = b"".join(slots)
        self._values = ctypes.create_string_buffer(content, len(content))
        first = ctypes.addressof(self._values)
        places = accumulate((len(slot) for slot in slots), initial=first)
        self.params = (ctypes.c_void_p * len(slots))(*islice(places, len(slots)))

    def start(self) -> None:
        """Launch on the null stream without waiting. Raises ``HipError`` where the launch is refused."""
        result = self._device.hip.hipModuleLaunchKernel(self._function.handle, *self.shape, None, self.params, None)
        if int(result[0]):
            self._device.check("hipModuleLaunchKernel", result, self.what)


class Device:
    """One device of the opened runtime.

    Raises ``HipError`` where the device cannot be used, ``RuntimeError`` where hip-python is not installed, and
    ``WrongLibrary`` where hip-python has opened another library than the runtime's.
    """

    def __init__(self, runtime: Runtime, ordinal: int = 0) -> None:
        try:
            from hip import hip
        except ImportError as error:
            raise RuntimeError(
                f"hip-python cannot be imported ({error}); install it with: pip install hip-python"
            ) from error
        self.hip: Any = hip
        self.runtime = runtime
        self._modules: dict[str, Module] = {}
        self._free: dict[int, list[int]] = {}
        self._free_bytes = 0
        self._stream: Any = None
        self._to_device = hip.hipMemcpyKind.hipMemcpyHostToDevice
        self._to_host = hip.hipMemcpyKind.hipMemcpyDeviceToHost
        self.check("hipSetDevice", self.hip.hipSetDevice(ordinal))
        properties = self._properties(ordinal)
        self.name: str = _text(properties.name)
        self.arch: str = _text(properties.gcnArchName)
        self.wave: int = int(properties.warpSize)
        self.threads_per_multiprocessor: int = int(properties.maxThreadsPerMultiProcessor)
        self.multiprocessors: int = int(properties.multiProcessorCount)
        self.integrated: bool = bool(properties.integrated)
        check_bound(runtime.library)

    def _properties(self, ordinal: int) -> Any:
        try:  # hip-python 10 returns the struct, 7.2 fills one
            return self.check("hipGetDeviceProperties", self.hip.hipGetDeviceProperties(ordinal))
        except TypeError:
            properties = self.hip.hipDeviceProp_t()
            self.check("hipGetDeviceProperties", self.hip.hipGetDeviceProperties(properties, ordinal))
            return properties

    def check(self, call: str, result: tuple[Any, ...], what: str = "") -> Any:
        """The value that a function of hip-python returned besides its HIP result; ``None`` where it returned only the
        result.

        ``call`` is the function's name, ``what`` is what it was called for. Raises ``HipError`` for a result other than
        success.
        """
        code = int(result[0])
        if code:
            raise HipError(call, code, str(getattr(result[0], "name", result[0])), what, self.detail(result[0]))
        return result[1] if len(result) > 1 else None

    def detail(self, code: Any) -> str:
        """What is known of the HIP result ``code``, in words: the runtime's own message, else HIP's text."""
        detail = self.runtime.message()
        return detail if detail else _text(self.hip.hipGetErrorString(code))

    # ---- load

    def compiler_identity(self) -> str:
        """What a code object depends on besides source and options: the runtime, its compiler and the target. Cache
        keys contain it."""
        return f"{self.runtime.identity} hiprtc {hiprtc_version()} {self.arch}"

    def load(self, code: bytes, what: str = "a code object") -> Module:
        """The module of ``code``, which is loaded once for each content. Raises ``HipError`` where the device does not
        take it."""
        digest = hashlib.sha256(code).hexdigest()
        module = self._modules.get(digest)
        if module is None:
            handle = self.check("hipModuleLoadData", self.hip.hipModuleLoadData(code), what)
            module = self._modules[digest] = Module(handle, code, {})
        return module

    def function(self, module: Module | HostModule, name: str) -> Function | None:
        """The kernel ``name`` of ``module``, or its host function; ``None`` where it has none of that name."""
        if isinstance(module, HostModule):
            address = cast("LauncherRuntime", self.runtime).symbol(module.handle, name)
            return None if address is None else Function(name, address)
        if name not in module.functions:
            result = self.hip.hipModuleGetFunction(module.handle, name.encode())
            missing = int(result[0]) == int(self.hip.hipError_t.hipErrorNotFound)
            handle = None if missing else self.check("hipModuleGetFunction", result, name)
            module.functions[name] = None if missing else Function(name, handle)
        return module.functions[name]

    def load_launchers(self, code: bytes, what: str) -> HostModule:
        """Load ``code``, a library of host functions and kernels. Raises ``HipError``."""
        return HostModule(cast("LauncherRuntime", self.runtime).load_launchers(code, what), code)

    def stream(self) -> int:
        """The stream that launchers are given. It is not the null stream, on which too much would be by mistake."""
        if self._stream is None:
            flags = 1  # hipStreamNonBlocking
            self._stream = self.check("hipStreamCreateWithFlags", self.hip.hipStreamCreateWithFlags(flags))
        return int(self._stream)

    def is_allocated(self, base: int) -> bool:
        """Whether a live allocation begins at the address ``base``."""
        result = self.hip.hipMemGetAddressRange(base)
        return int(result[0]) == 0 and int(result[1]) == base

    # ---- what a function takes, and how long it takes

    def resources(self, function: Function, launch: Launch) -> FunctionResources:
        """What the kernel ``function`` needs, and how many blocks of ``launch`` a compute unit holds."""
        kinds, hip = self.hip.hipFunction_attribute, self.hip
        registers, local, shared = (
            int(self.check("hipFuncGetAttribute", hip.hipFuncGetAttribute(kind, function.handle)))
            for kind in (
                kinds.HIP_FUNC_ATTRIBUTE_NUM_REGS,
                kinds.HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                kinds.HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            )
        )
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        blocks = hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(function.handle, threads, launch.shared)
        return FunctionResources(
            registers, local, shared, int(self.check("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", blocks))
        )

    def static_shared(self, function: Function) -> int:
        """The static shared memory (``__shared__`` variables) of a block of ``function``, in bytes."""
        kind = self.hip.hipFunction_attribute.HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
        return int(self.check("hipFuncGetAttribute", self.hip.hipFuncGetAttribute(kind, function.handle)))

    def event(self) -> Any:
        """A new event, which lives as long as the process."""
        return self.check("hipEventCreate", self.hip.hipEventCreate())

    def mark(self, event: Any) -> None:
        """Record ``event`` on the null stream: it takes the time when the device gets there."""
        self.check("hipEventRecord", self.hip.hipEventRecord(event, None))

    def milliseconds(self, first: Any, last: Any) -> float:
        """The milliseconds between two events that the device has passed."""
        return float(self.check("hipEventElapsedTime", self.hip.hipEventElapsedTime(first, last)))

    # ---- device memory that outlives a launch; addresses are numbers

    def allocate(self, size: int) -> int:
        """The address of ``size`` new bytes of device memory. Raises ``HipError`` where the device has no room."""
        return int(self.check("hipMalloc", self.hip.hipMalloc(max(size, 1)), f"{size} bytes"))

    def free(self, address: int) -> None:
        """Free the allocation at ``address``."""
        self.check("hipFree", self.hip.hipFree(address))

    def upload(self, address: int, data: NDArray[Any]) -> None:
        """Copy the array ``data`` to ``address`` on the device, and wait for it."""
        self.write(address, data.ctypes.data, data.nbytes)

    def copy(self, to: int, source: int, size: int) -> None:
        """Start a copy of ``size`` bytes from ``source`` to ``to``, both on the device."""
        self.check("hipMemcpyDtoDAsync", self.hip.hipMemcpyDtoDAsync(to, source, size, None))

    def fill(self, address: int, byte: int, size: int) -> None:
        """Start setting ``size`` bytes at ``address`` to ``byte``."""
        self.check("hipMemsetAsync", self.hip.hipMemsetAsync(address, byte, size, None))

    # ---- launch

    def prepare(self, function: Function, launch: Launch, addresses: Mapping[str, int]) -> Prepared:
        """``launch`` ready to start, with the allocation of each buffer at ``addresses[name]``. Keep it until the
        launch has ended."""
        shape = (*launch.grid, *launch.block, launch.shared)
        return Prepared(self, function, shape, argument_bytes(launch, addresses), describe(launch))

    def synchronize(self, what: str = "") -> None:
        """Wait for everything that was started. Raises ``HipError``, which names ``what``, where something failed."""
        result = self.hip.hipDeviceSynchronize()
        if int(result[0]):
            self.check("hipDeviceSynchronize", result, what)

    def write(self, address: int, source: int, size: int) -> None:
        """Copy ``size`` bytes from address ``source`` of the host to the device."""
        if size:
            result = self.hip.hipMemcpy(address, source, size, self._to_device)
            if int(result[0]):
                self.check("hipMemcpy", result)

    def read(self, to: int, address: int, size: int) -> None:
        """Copy ``size`` bytes from the device to address ``to`` of the host."""
        if size:
            result = self.hip.hipMemcpy(to, address, size, self._to_host)
            if int(result[0]):
                self.check("hipMemcpy", result)

    def take(self, size: int) -> int:
        """The address of ``size`` bytes of device memory: kept by ``give_back``, or new."""
        cached = self._free.get(size)
        if cached:
            self._free_bytes -= size
            return cached.pop()
        return self.allocate(size)

    def give_back(self, base: int, size: int) -> None:
        """Keep the allocation of ``size`` bytes at ``base`` for the next of its size. If much is kept already, free it
        and all that."""
        if self._free_bytes + size > _CACHE_LIMIT:
            for each in (base, *chain.from_iterable(self._free.values())):
                self.hip.hipFree(each)
            self._free.clear()
            self._free_bytes = 0
            return
        self._free.setdefault(size, []).append(base)
        self._free_bytes += size


def argument_bytes(launch: Launch, addresses: Mapping[str, int]) -> list[bytes]:
    """The bytes of each argument of ``launch``, with the allocation of each buffer at ``addresses[name]``.

    Eight bytes each, or a multiple of eight for a struct; zeros for a stream.
    """
    from conformance.cases.launch import Buffer, Bytes, Scalar  # an executor never needs them

    def pointer(name: str, offset: int) -> bytes:
        return (addresses[name] + offset).to_bytes(_SLOT, "little")

    slots = list[bytes]()
    for argument in launch.passed or launch.args:
        if isinstance(argument, Buffer):
            slots.append(pointer(argument.name, argument.start * argument.data.itemsize))
        elif isinstance(argument, Bytes):
            struct = bytearray(argument.data.ljust(-(-len(argument.data) // _SLOT) * _SLOT, b"\0"))
            for at, name, offset in argument.pointers:
                struct[at : at + _SLOT] = pointer(name, offset)
            slots.append(bytes(struct))
        else:
            value = argument.value.tobytes() if isinstance(argument, Scalar) else b""
            slots.append(value.ljust(_SLOT, b"\0"))
    return slots


def device_count() -> int:
    """The number of devices of the bound runtime. Raises ``HipError`` where it cannot tell."""
    from hip import hip

    api: Any = hip
    result = api.hipGetDeviceCount()
    if int(result[0]):
        raise HipError("hipGetDeviceCount", int(result[0]), str(getattr(result[0], "name", result[0])))
    return int(result[1])


def describe(launch: Launch) -> str:
    """A launch in words: ``uexp_f32<<<grid (1,1,1), block (1024,1,1), 0 bytes shared>>>``."""
    if launch.types:
        return launch.kernel
    grid, block = (",".join(map(str, shape)) for shape in (launch.grid, launch.block))
    return f"{launch.kernel}<<<grid ({grid}), block ({block}), {launch.shared} bytes shared>>>"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        value = value[-1]
    if isinstance(value, bytes):
        return value.split(b"\0")[0].decode(errors="replace")
    return str(value)
