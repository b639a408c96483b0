// What the lanes of a wave do together.
#include "common.h"

#define LANE const int lane = threadIdx.x % warpSize
template <class T>
__device__ void all_shuffles(const u32 *in, u32 *out) {
  LANE;
  const T x = get<T>(in, me());
  T *to = reinterpret_cast<T *>(out);
  const u32 i = me(), n = THREADS;
  to[i] = __shfl(x, (lane * 7 + 3) % warpSize);
  to[n + i] = __shfl_up(x, 3);
  to[2 * n + i] = __shfl_down(x, 5);
  to[3 * n + i] = __shfl_xor(x, 9);
}
KERNEL(shuffles_i32) { all_shuffles<i32>(in, out); }
KERNEL(shuffles_u32) { all_shuffles<u32>(in, out); }
KERNEL(shuffles_f32) { all_shuffles<f32>(in, out); }
KERNEL(shuffles_i64) { all_shuffles<i64>(in, out); }
KERNEL(shuffles_u64) { all_shuffles<u64>(in, out); }
KERNEL(shuffles_f64) { all_shuffles<f64>(in, out); }
#define SHUFFLE(name, expression)           \
  KERNEL(shuffle_##name) {                  \
    LANE;                                   \
    const i32 x = get<i32>(in, me());       \
    out[me()] = u32(expression) + lane * 0; \
  }
SHUFFLE(broadcast, __shfl(x, 5))
SHUFFLE(from_last, __shfl(x, warpSize - 1))
SHUFFLE(of_width_8, __shfl(x, (lane + 1) & 7, 8))
SHUFFLE(up_of_width_16, __shfl_up(x, 1, 16))
SHUFFLE(down_of_width_4, __shfl_down(x, 2, 4))
SHUFFLE(xor_of_width_32, __shfl_xor(x, 16, 32))
SHUFFLE(xor_1, __shfl_xor(x, 1))
SHUFFLE(xor_15, __shfl_xor(x, 15))
SHUFFLE(by_value, __shfl(x, x & 31))
SHUFFLE(rotate, __shfl(x, (lane + 1) & (warpSize - 1)))
SHUFFLE(reverse, __shfl(x, warpSize - 1 - lane))
KERNEL(ballots) {
  const u64 mask = __ballot(in[me()] & 1);
  put(out, me(), mask);
}
KERNEL(ballot_in_a_branch) {
  u64 mask = 0;
  if (in[me()] % 3 == 0) mask = __ballot(in[me()] & 2);
  put(out, me(), mask);
}
KERNEL(votes) {
  const u32 x = in[me()];
  out[me()] = __any(x < 0x1000000) | __all(x > 0x100000) << 1 | (__all(x & 1) | __any(x & 1)) << 2;
}
KERNEL(active_mask_of_a_loop) {
  u32 count = 0;
  const u32 turns = in[me()] & 7;
  for (u32 i = 0; i < turns; i++) count += __popcll(__ballot(1));
  out[me()] = count;
}
KERNEL(leader_of_the_active) {
  LANE;
  if (in[me()] & 1) {
    const u64 active = __ballot(1);
    if (lane == __ffsll(active) - 1) out[me()] = __popcll(active);
  }
}
KERNEL(rank_in_the_active) {
  if (in[me()] & 4) {
    const u64 active = __ballot(1);
    out[me()] = __builtin_amdgcn_mbcnt_hi(u32(active >> 32), __builtin_amdgcn_mbcnt_lo(u32(active), 0u)) + 1;
  }
}
KERNEL(lane_number) { out[me()] = __lane_id() ^ u32(warpSize) << 8; }
KERNEL(mbcnt_of_values) {
  out[me()] = __builtin_amdgcn_mbcnt_hi(in[me()], __builtin_amdgcn_mbcnt_lo(in[me() + 1], in[me() + 2]));
}
KERNEL(read_first_lane) { out[me()] = u32(__builtin_amdgcn_readfirstlane(int(in[me()]))) + in[me()]; }
KERNEL(read_lane_9) { out[me()] = u32(__builtin_amdgcn_readlane(int(in[me()]), 9)); }
KERNEL(read_lane_by_uniform) { out[me()] = u32(__builtin_amdgcn_readlane(int(in[me()]), int(in[0] & 15))); }
KERNEL(backward_permute) {
  LANE;
  out[me()] = u32(__builtin_amdgcn_ds_bpermute(4 * ((lane * 5) % warpSize), int(in[me()])));
}
KERNEL(forward_permute) {
  LANE;
  out[me()] = u32(__builtin_amdgcn_ds_permute(4 * ((lane + 3) % warpSize), int(in[me()])));
}
KERNEL(swizzle_reversed) { out[me()] = u32(__builtin_amdgcn_ds_swizzle(int(in[me()]), 0x7c1f)); }
KERNEL(swizzle_quads) { out[me()] = u32(__builtin_amdgcn_ds_swizzle(int(in[me()]), 0x80b1)); }
#define DPP(name, control) \
  KERNEL(dpp_##name) { out[me()] = u32(__builtin_amdgcn_update_dpp(77, int(in[me()]), control, 15, 15, false)); }
DPP(quad_reversed, 0x1b)
DPP(quad_swapped, 0xb1)
DPP(row_shl_1, 0x101)
DPP(row_shr_1, 0x111)
DPP(row_shr_8, 0x118)
DPP(row_ror_4, 0x124)
DPP(row_mirror, 0x140)
DPP(row_half_mirror, 0x141)
KERNEL(dpp_bound_to_zero) { out[me()] = u32(__builtin_amdgcn_update_dpp(77, int(in[me()]), 0x112, 15, 15, true)); }
KERNEL(dpp_masked_rows) { out[me()] = u32(__builtin_amdgcn_update_dpp(77, int(in[me()]), 0x111, 5, 15, false)); }
KERNEL(dpp_masked_banks) { out[me()] = u32(__builtin_amdgcn_update_dpp(77, int(in[me()]), 0x111, 15, 6, false)); }
KERNEL(dpp_sum_of_rows) {
  int x = int(in[me()] >> 8);
  x += __builtin_amdgcn_update_dpp(0, x, 0x111, 15, 15, true);
  x += __builtin_amdgcn_update_dpp(0, x, 0x112, 15, 15, true);
  x += __builtin_amdgcn_update_dpp(0, x, 0x114, 15, 15, true);
  x += __builtin_amdgcn_update_dpp(0, x, 0x118, 15, 15, true);
  put(out, me(), x);
}
KERNEL(dpp_max_f32_of_quads) {
  f32 x = get<f32>(in, me());
  x = fmaxf(x, bits<f32>(__builtin_amdgcn_update_dpp(0, bits<int>(x), 0xb1, 15, 15, true)));
  x = fmaxf(x, bits<f32>(__builtin_amdgcn_update_dpp(0, bits<int>(x), 0x4e, 15, 15, true)));
  put(out, me(), x);
}
KERNEL(uniform_branch_by_readfirstlane) {
  const int x = __builtin_amdgcn_readfirstlane(int(in[threadIdx.x / warpSize]));
  out[me()] = x & 1 ? in[me()] * 3 : in[me()] + 5;
}
KERNEL(loop_over_unique_values) {
  // A turn for each value among the lanes.
  const u32 mine = in[me()] & 7;
  for (u64 rest = __ballot(1); rest != 0;) {
    const u32 now = __shfl(mine, __ffsll(rest) - 1);
    const u64 same = __ballot(now == mine);
    if (now == mine) out[me()] = __popcll(same) + (now << 8);
    rest &= ~same;
  }
}
KERNEL(waterfall_loop) {
  const int mine = in[me()] & 7;
  for (bool done = false; !done;) {
    const int now = __builtin_amdgcn_readfirstlane(mine);
    if (now == mine) {
      out[me()] = in[now];
      done = true;
    }
  }
}
KERNEL(transpose_in_a_wave) {
  LANE;
  u32 x[4], y[4];
  for (int i = 0; i < 4; i++) x[i] = in[4 * me() + i];
  for (int i = 0; i < 4; i++) {
    const int from = (lane & ~3) + i;
    for (int j = 0; j < 4; j++) {
      const u32 got = __shfl(x[j], from);
      if ((lane & 3) == j) y[i] = got;
    }
  }
  for (int i = 0; i < 4; i++) out[4 * me() + i] = y[i];
}
KERNEL(exchange_of_structures) {
  struct Pair {
    f32 value;
    u32 index;
  } mine = {get<f32>(in, me()), me()};
  u64 word = bits<u64>(mine);
  word = __shfl_xor(word, 2);
  const Pair other = bits<Pair>(word);
  put(out, 2 * me(), other.value), put(out, 2 * me() + 1, other.index);
}
KERNEL(wave_barriers) {
  __shared__ u32 cell[BLOCK];
  LANE;
  cell[threadIdx.x] = in[me()];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
  out[me()] = cell[threadIdx.x - lane + (lane ^ 1)];
}
