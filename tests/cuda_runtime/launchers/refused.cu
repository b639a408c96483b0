#include <cuda_runtime.h>

extern "C" void launch_mmvq_gguf_quantize_q8_1_f16(const void *, void *, int, int, int, void *) {
  not_declared();
}
