// A launcher for the stand-ins, whose device memory is the host's: its "kernel" is a host function on the stream. What
// it does wrong is said by the number of rows, from FIRST on.
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

constexpr int FIRST = 10;
enum Fault { RIGHT, WAITS, NULL_STREAM, OTHER_STREAM, PENDING, FAULTS, WRITES_OUTSIDE, WRONG };

struct Block {
  uint16_t d, s;
  int8_t quants[32];
};

struct Arguments {
  const float *x;
  Block *y;
  int kx, padded, rows;
  Fault fault;
};

// To nearest even, for values that are neither subnormal nor too large as f16.
static uint16_t half_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffff) == 0) return uint16_t(bits >> 16);
  const uint32_t rounded = bits + 0xfff + (bits >> 13 & 1);
  return uint16_t((bits >> 16 & 0x8000) | ((rounded >> 13 & 0x3ffff) - (112 << 10)));
}

static void quantize(void *data) {
  const Arguments &a = *static_cast<Arguments *>(data);
  for (int row = 0; row < a.rows; ++row)
    for (int first = 0; first < a.padded; first += 32) {
      float values[32], largest = 0, sum = 0;
      for (int i = 0; i < 32; ++i) {
        values[i] = first + i < a.kx ? a.x[size_t(row) * a.kx + first + i] : 0.0f;
        largest = fmaxf(largest, fabsf(values[i]));
        sum += values[i];
      }
      const float d = largest / 127;
      Block &block = a.y[(size_t(row) * a.padded + first) / 32];
      block = {half_bits(d), half_bits(sum), {}};
      for (int i = 0; i < 32; ++i) block.quants[i] = largest == 0 ? 0 : int8_t(roundf(values[i] / d));
      if (a.fault == WRONG) block.quants[7] ^= 1;
    }
  if (a.fault == WRITES_OUTSIDE) reinterpret_cast<char *>(a.y)[-1] = 1;
}

extern "C" void launch_mmvq_gguf_quantize_q8_1_f32(const void *x, void *vy, int kx, int kx_padded, int num_rows,
                                                   void *stream) {
  const Fault fault = num_rows < FIRST ? RIGHT : Fault(num_rows - FIRST);
  static int other;
  cudaStream_t given = static_cast<cudaStream_t>(stream);
  if (fault == NULL_STREAM) given = nullptr;
  if (fault == OTHER_STREAM) given = &other;
  cudaLaunchHostFunc(given, quantize,
                     new Arguments{static_cast<const float *>(x), static_cast<Block *>(vy), kx, kx_padded, num_rows,
                                   fault});
  if (fault == WAITS) cudaStreamSynchronize(given);
  if (fault == PENDING) cudaFree(vy);
  if (fault == FAULTS) stand_in::driver<void (*)()>("stand_in_fault")();
}
