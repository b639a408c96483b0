// Launchers that cannot be called: one has other parameters than Candle's, one does not compile, and one launches a
// kernel that does not. The one between them can be called, and writes nothing.
#include <hip/hip_runtime.h>

__global__ void nothing() {}

extern "C" void launch_mmvq_gguf_quantize_q8_1_f32(const void *, void *, long, int, int, void *) {}

extern "C" void launch_mmvq_gguf_quantize_q8_1_f16(const void *, void *, int, int, int, void *stream) {
  nothing<<<1, 1, 0, not_declared(stream)>>>();
}

extern "C" void launch_mmq_quantize_q8_1_D4(const void *, const void *, void *, int, long, long, long, long, long, long,
                                            long, long, void *stream) {
  nothing<<<1, 1, 0, static_cast<hipStream_t>(stream)>>>();
}

__global__ void broken() { int number = nowhere; }

extern "C" void launch_mmvq_gguf_quantize_q8_1_bf16(const void *, void *, int, int, int, void *stream) {
  broken<<<1, 1, 0, static_cast<hipStream_t>(stream)>>>();
}
