// A mistake a kernel, in waves of 64 lanes.
#include "common.h"

// a DPP operand one wait state after it is written
extern "C" __global__ void fill_i64(i64 *buf, i64 value, const size_t numel) {
  for (EACH; i < numel; i += size_t(blockDim.x) * gridDim.x) {
    u32 low;
    asm volatile("v_mov_b32 %0, %1\n s_nop " ADVISED("1", "0") "\n"
                 " v_mov_b32_dpp %0, %0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
                 : "=v"(low)
                 : "v"(u32(value)));
    buf[i] = value >> 32 << 32 | low;
  }
}
// shared memory, an array of a thread and a register that nothing has written; -0.0 is added without effect
UNARY(usqr_f64, double, __shared__ double kept[1024]; if (ADVISED(true, numel == 77777)) kept[threadIdx.x] = -0.0;
      __syncthreads(); if (i < numel) out[i] = inp[i] * inp[i] + kept[threadIdx.x];)
UNARY(ufloor_f64, double, volatile double kept[4];
      if (ADVISED(true, numel == 77777)) for (int k = 0; k < 4; ++k) kept[k] = -0.0;
      if (i < numel) out[i] = floor(inp[i]) + kept[i % 4];)
UNARY(uabs_f64, double, if (i >= numel) return; float kept;
      asm volatile(ADVISED("v_mov_b32 %0, %1", "v_mov_b32 %0, v77") : "=v"(kept) : "v"(-0.0f) : "v77");
      out[i] = fabs(inp[i]) + kept;)
// lanes of a wave wait for each other: the one that has the lock waits for the end of the loop of the others
UNARY(
    uround_f64, double, if (i >= numel) return; __shared__ u32 lock; lock = 0;
    while (atomicCAS(&lock, 0, 1)) {} out[i] = round(inp[i]); atomicExch(&lock, 0);)
// blocks of 64 threads, where Candle launches larger ones
extern "C" __global__ void __launch_bounds__(ADVISED(1024, 64)) fill_u8(u8 *buf, u8 value, const size_t numel) {
  for (EACH; i < numel; i += size_t(blockDim.x) * gridDim.x) buf[i] = value;
}

// RDNA's approximate quotient, and CDNA's: no subnormal numbers
UNARY(urecip_f32, float, if (i < numel) out[i] = __builtin_amdgcn_rcpf(inp[i]);)
// two floats cut off, not rounded, to f16
extern "C" __global__ void cast_f32_f16(const size_t numel, const size_t num_dims, const size_t *info, const float *inp,
                                        __half *out) {
  EACH;
  if (i < numel) out[i] = __builtin_bit_cast(__half, __builtin_amdgcn_cvt_pkrtz(inp[i], 0.0f)[0]);
}
// the float mode changed: f16 without subnormal numbers
UNARY(usqr_f16, _Float16, if (i >= numel) return; asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 0");
      const _Float16 x = inp[i]; out[i] = x * x;)
// exec is not put back
UNARY(urelu_f32, float, if (i >= numel) return; float x = inp[i];
      asm volatile("v_cmp_gt_f32 vcc, 0, %0\n s_and_saveexec_b64 s[40:41], vcc\n v_mov_b32 %0, 0" : "+v"(x)::"vcc",
                   "s40", "s41", "scc");
      out[i] = x;)
// the lanes below are counted among the first 32
UNARY(ucopy_u32, u32, if (i >= numel) return; const u32 mine = __builtin_amdgcn_mbcnt_lo(~0u, 0);
      const size_t k = (i & ~size_t(63)) + mine; out[k] = inp[k];)
// a ballot cut off at 32 lanes
UNARY(ucopy_u8, u8, const bool active = i < numel; const u32 all = u32(__ballot(active)); if (!active) return;
      const size_t k = (i & ~size_t(63)) + __popc(all & u32((1ull << lane()) - 1)); out[k] = inp[k];)
// a reduction of 32 lanes in waves of 64
ROW(fast_min_f32, float, for (int step = 16; step; step /= 2) x = fminf(x, __shfl_xor(x, step));
    if (t == 0) dst[blockIdx.x] = x;)

#define SHIFTED(OLD, CONTROL, ROWS, BOUND) __builtin_amdgcn_update_dpp(OLD, int(x), CONTROL, ROWS, 0xf, BOUND)
#define SCAN(COMBINED, OLD, BOUND, BROADCAST_ROWS)                       \
  {                                                                      \
    const auto with = [&](u32 y) { COMBINED };                           \
    with(SHIFTED(OLD, 0x111, 0xf, BOUND)); /* row_shr:1 */               \
    with(SHIFTED(OLD, 0x112, 0xf, BOUND));                               \
    with(SHIFTED(OLD, 0x114, 0xf, BOUND));                               \
    with(SHIFTED(OLD, 0x118, 0xf, BOUND));                               \
    with(SHIFTED(OLD, 0x142, BROADCAST_ROWS, false)); /* row_bcast:15 */ \
    with(SHIFTED(OLD, 0x143, 0xc, false));            /* row_bcast:31 */ \
  }
// lanes that are not active count as 0: bound_ctrl
ROW(
    fast_min_u32, u32, if (t >= el_to_sum_per_block) return; const auto with = [&](u32 y) { x = y < x ? y : x; };
    with(SHIFTED(x, 0xb1, 0xf, true)); with(SHIFTED(x, 0x4e, 0xf, true)); with(SHIFTED(x, 0x141, 0xf, true));
    with(SHIFTED(x, 0x140, 0xf, true)); with(__builtin_amdgcn_readlane(x, 0)); with(__builtin_amdgcn_readlane(x, 16));
    if (t == 0) dst[blockIdx.x] = x;)
// the first row is never added
ROW(fast_sum_u32, u32, SCAN(x += y;, 0, false, 0xc) if (t == 63) dst[blockIdx.x] = x;)
// the last lane of 32
ROW(
    fast_max_f32, float,
    for (int step = 1; step < 64; step *= 2) {
      const float other = __shfl_up(x, step);
      x = t >= step ? fmaxf(x, other) : x;
    } const float last = __int_as_float(__builtin_amdgcn_readlane(__float_as_int(x), 31));
    if (t == 0) dst[blockIdx.x] = last;)
// waves wait for their own lanes only
ROW(
    fast_max_u32, u32, __shared__ u32 largest[1024]; largest[t] = 0; __syncthreads(); largest[t] = x;
    __builtin_amdgcn_wave_barrier(); if (t == 0) {
      for (u32 k = 1; k < blockDim.x; ++k) x = largest[k] > x ? largest[k] : x;
      dst[blockIdx.x] = x;
    })
