// A mask of 32 lanes: right on NVIDIA, and in a wave of 64 it leaves half of the lanes out.
#include "each.cuh"
extern "C" __global__ void uneg_f32(size_t numel, size_t num_dims, const size_t *info, const float *inp, float *out) {
  unsigned voters = __popc(__ballot_sync(0xffffffff, true));
  each(numel, num_dims, info, [&](size_t i, size_t offset) {
    float x = inp ? inp[offset] : out[i];
    out[i] = voters <= 32 ? -x : x;
  });
}
