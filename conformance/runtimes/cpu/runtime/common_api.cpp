// Entry points that are the same in every runtime; the cuda runtime compiles this file too.
#include "api.h"

using namespace simt;

SIMT_API int hipMemcpy(void *to, const void *from, std::size_t bytes, int kind) {
  return copy("hipMemcpy", to, from, bytes, kind);
}
SIMT_API int hipMemcpyHtoD(void *to, const void *from, std::size_t bytes) {
  return copy("hipMemcpyHtoD", to, from, bytes, HostToDevice);
}
SIMT_API int hipMemcpyDtoH(void *to, const void *from, std::size_t bytes) {
  return copy("hipMemcpyDtoH", to, from, bytes, DeviceToHost);
}
SIMT_API int hipMemcpyDtoD(void *to, const void *from, std::size_t bytes) {
  return copy("hipMemcpyDtoD", to, from, bytes, DeviceToDevice);
}
SIMT_API int hipMemcpyAsync(void *to, const void *from, std::size_t bytes, int kind, void *stream) {
  return copy_async("hipMemcpyAsync", to, from, bytes, kind, stream);
}
SIMT_API int hipMemcpyHtoDAsync(void *to, const void *from, std::size_t bytes, void *stream) {
  return copy_async("hipMemcpyHtoDAsync", to, from, bytes, HostToDevice, stream);
}
SIMT_API int hipMemcpyDtoHAsync(void *to, const void *from, std::size_t bytes, void *stream) {
  return copy_async("hipMemcpyDtoHAsync", to, from, bytes, DeviceToHost, stream);
}
SIMT_API int hipMemcpyDtoDAsync(void *to, const void *from, std::size_t bytes, void *stream) {
  return copy_async("hipMemcpyDtoDAsync", to, from, bytes, DeviceToDevice, stream);
}

SIMT_API int hipMemGetAddressRange(void **base, std::size_t *bytes, void *p);
SIMT_API int hipMemPtrGetInfo(void *p, std::size_t *bytes) { return hipMemGetAddressRange(nullptr, bytes, p); }

SIMT_API int hipGetDevice(int *device);
SIMT_API int hipChooseDeviceR0600(int *device, const void *) { return hipGetDevice(device); }
// The entry point of programs compiled before HIP 6 had a smaller struct, which is not filled in here.
SIMT_API int hipGetDeviceProperties(void *, int) {
  return fail(NotSupported, "hipGetDeviceProperties of HIP 5: use hipGetDevicePropertiesR0600 (HIP 6 and later)");
}
