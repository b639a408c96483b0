// Branches, loops, switches: divergent and uniform.
#include "common.h"

KERNEL(branches_nested) {
  const u32 x = in[me()];
  u32 y = 0;
  if (x & 1) {
    if (x & 2)
      y = x * 3;
    else
      y = x + 7;
    if (x & 4) y ^= 0xff;
  } else if (x & 8) {
    y = x >> 3;
  }
  out[me()] = y;
}
KERNEL(branch_on_a_uniform) { out[me()] = in[blockIdx.x] & 1 ? in[me()] : ~in[me()]; }
KERNEL(branch_on_the_block) {
  if (blockIdx.x == 1)
    out[me()] = in[me()] / 3;
  else
    out[me()] = in[me()] * 3;
}
KERNEL(early_return) {
  if (in[me()] % 5 == 0) return;
  out[me()] = in[me()] / 5;
}
KERNEL(loop_of_different_turns) {
  u32 x = in[me()] & 31, sum = 0;
  while (x) sum += x--;
  out[me()] = sum;
}
KERNEL(loop_with_break_and_continue) {
  u32 sum = 0;
  for (u32 i = 0; i < 40; i++) {
    const u32 x = in[(me() + i) % WORDS_IN];
    if (x % 3 == 0) continue;
    if (x % 17 == 0) break;
    sum += i;
  }
  out[me()] = sum;
}
KERNEL(loop_do_while) {
  u32 x = in[me()] | 1, turns = 0;
  do {
    x = x & 1 ? x * 3 + 1 : x / 2;
    turns++;
  } while (x != 1 && turns < 60);
  out[me()] = turns;
}
KERNEL(loops_nested) {
  u32 sum = 0;
  const u32 n = in[me()] & 7;
  for (u32 i = 0; i < n; i++)
    for (u32 j = i; j < 8; j++) {
      if ((i ^ j) == 5) goto done;
      sum += i * j + 1;
    }
done:
  out[me()] = sum;
}
KERNEL(loop_unrolled) {
  u32 sum = 0;
#pragma unroll
  for (int i = 0; i < 16; i++) sum = (sum << 1 | sum >> 31) ^ in[me() + i];
  out[me()] = sum;
}
KERNEL(loop_not_unrolled) {
  u32 sum = 0;
#pragma unroll 1
  for (int i = 0; i < 16; i++) sum = (sum << 1 | sum >> 31) ^ in[me() + i];
  out[me()] = sum;
}
__device__ inline u32 chosen(u32 kind, u32 a, u32 b) {
  switch (kind) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return a & b;
    case 4:
      return a | b;
    case 5:
      return a ^ b;
    case 6:
      return a << (b & 31);
    case 7:
      return a >> (b & 31);
    case 8:
      return b ? a / b : 1;
    case 9:
      return b ? a % b : 2;
    case 10:
      return min(a, b);
    case 11:
      return max(a, b);
    case 12:
      return __popc(a ^ b);
    default:
      return ~a;
  }
}
KERNEL(switch_by_value) { out[me()] = chosen(in[me()] & 15, in[me() + 1], in[me() + 2]); }
KERNEL(switch_by_uniform) { out[me()] = chosen(in[blockIdx.x] & 15, in[me() + 1], in[me() + 2]); }
KERNEL(switch_by_loop_counter) {
  u32 x = in[me()];
  for (u32 i = 0; i < 14; i++) x = chosen(i, x, in[me() + i]);
  out[me()] = x;
}
KERNEL(switch_falls_through) {
  u32 x = 0;
  switch (in[me()] % 6) {
    case 5:
      x += 16;
      [[fallthrough]];
    case 4:
      x += 8;
      [[fallthrough]];
    case 3:
      x += 4;
      break;
    case 2:
      x += 2;
      [[fallthrough]];
    case 1:
      x += 1;
  }
  out[me()] = x;
}
KERNEL(switch_of_values_far_apart) {
  switch (in[me()] % 1000) {
    case 1:
      out[me()] = 5;
      break;
    case 77:
      out[me()] = 6;
      break;
    case 500:
      out[me()] = 7;
      break;
    case 999:
      out[me()] = 8;
      break;
    default:
      out[me()] = in[me()] % 1000;
  }
}
KERNEL(switch_to_constants) {
  u32 x;
  switch (in[me()] & 7) {
    case 0:
      x = 100;
      break;
    case 1:
      x = 0xdeadbeef;
      break;
    case 2:
      x = 3;
      break;
    case 3:
      x = 17;
      break;
    case 4:
      x = 0x80000000;
      break;
    case 5:
      x = 1;
      break;
    default:
      x = 12345;
  }
  out[me()] = x;
}
KERNEL(machine_of_states) {
  u32 state = 0, count = 0;
  for (u32 i = 0; i < 32; i++) {
    const bool bit = in[me()] >> i & 1;
    switch (state) {
      case 0:
        state = bit ? 1 : 0;
        break;
      case 1:
        state = bit ? 1 : 2;
        break;
      case 2:
        state = bit ? 3 : 0;
        break;
      case 3:
        count++;
        state = bit ? 1 : 2;
        break;
    }
  }
  out[me()] = count << 4 | state;
}
KERNEL(short_circuits) {
  const u32 a = in[me()], b = in[me() + 1], c = in[me() + 2];
  out[me()] = ((a & 1) && (b & 2)) || ((c & 4) && !(a & 8 || b & 16));
}
KERNEL(barrier_in_a_uniform_loop) {
  __shared__ u32 cell[BLOCK];
  u32 x = in[me()];
  const u32 turns = (in[4000] & 3) + 2;
  for (u32 i = 0; i < turns; i++) {
    cell[threadIdx.x] = x;
    __syncthreads();
    x = x * 5 + cell[(threadIdx.x + 37) % BLOCK];
    __syncthreads();
  }
  out[me()] = x;
}
KERNEL(some_waves_return_before_a_loop) {
  if (threadIdx.x >= 64) return;
  u32 x = in[me()];
  for (int i = 0; i < 3; i++) x += __shfl_xor(x, 1 << i);
  out[me()] = x;
}
KERNEL(loop_until_all_are_done) {
  u32 x = in[me()] & 63, turns = 0;
  while (__any(x > 0)) {
    if (x > 0) x--;
    turns++;
  }
  out[me()] = turns;
}
KERNEL(greatest_common_divisor) {
  u32 a = in[me()] & 0xffff, b = in[me() + 1] & 0xffff;
  while (b) {
    const u32 r = a % b;
    a = b, b = r;
  }
  out[me()] = a;
}
KERNEL(power_by_squares) {
  u32 base = in[me()] | 1, exponent = in[me() + 1] & 0xff, result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  out[me()] = result;
}
KERNEL(square_root_of_integers) {
  const u32 x = in[me()];
  u32 root = 0;
  for (u32 bit = 1u << 15; bit; bit >>= 1)
    if (u64(root | bit) * (root | bit) <= x) root |= bit;
  out[me()] = root;
}
KERNEL(mandelbrot_of_integers) {
  i32 x = 0, y = 0, turns = 0;
  const i32 cx = i32(in[me()] % 3072) - 2048, cy = i32(in[me()] / 4096 % 2048) - 1024;
  while (turns < 40 && (i64(x) * x + i64(y) * y) >> 10 < 4096) {
    const i32 next = ((x * x - y * y) >> 10) + cx;
    y = (2 * x * y >> 10) + cy, x = next, turns++;
  }
  out[me()] = turns;
}
KERNEL(random_numbers_xorwow) {
  u32 x = in[me()] | 1, y = 362436069u, z = 521288629u, w = 88675123u, v = 5783321u, d = 6615241u;
  for (int i = 0; i < 10; i++) {
    const u32 t = x ^ x >> 2;
    x = y, y = z, z = w, w = v;
    v = (v ^ v << 4) ^ (t ^ t << 1);
    d += 362437;
  }
  out[me()] = v + d;
}
KERNEL(random_numbers_philox) {
  u32 c[4] = {me(), in[me()], 1, 2}, k[2] = {0x12345678, 0x9abcdef0};
  for (int i = 0; i < 10; i++) {
    const u64 p = u64(0xD2511F53u) * c[0], q = u64(0xCD9E8D57u) * c[2];
    const u32 n[4] = {u32(q >> 32) ^ c[1] ^ k[0], u32(q), u32(p >> 32) ^ c[3] ^ k[1], u32(p)};
    for (int j = 0; j < 4; j++) c[j] = n[j];
    k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u;
  }
  for (int j = 0; j < 4; j++) out[4 * me() + j] = c[j];
}
KERNEL(clocks) {
  const i64 before = clock64(), after = clock64();
  out[me()] = after >= before ? in[me()] : 0;
}
