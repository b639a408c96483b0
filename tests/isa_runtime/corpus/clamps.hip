// Clamps, activations and other selections of the smaller and the larger.
#include "common.h"

template <class T>
__device__ T low() {
  return T(3);
}
template <class T>
__device__ T high() {
  return T(17);
}

template <class T>
__device__ T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
__device__ T larger(T a, T b) {
  return a < b ? b : a;
}
#define OF_TYPE(T)                                                                                        \
  KERNEL(clamp_constants_##T) { put(out, me(), smaller(larger(get<T>(in, me()), low<T>()), high<T>())); } \
  KERNEL(clamp_values_##T) {                                                                              \
    const T a = get<T>(in, 3 * me()), b = get<T>(in, 3 * me() + 1), c = get<T>(in, 3 * me() + 2);         \
    put(out, me(), smaller(larger(a, b), c));                                                             \
  }                                                                                                       \
  KERNEL(clamp_above_##T) {                                                                               \
    const T a = get<T>(in, 3 * me()), b = get<T>(in, 3 * me() + 1), c = get<T>(in, 3 * me() + 2);         \
    put(out, me(), larger(smaller(a, b), c));                                                             \
  }                                                                                                       \
  KERNEL(min_of_3_##T) {                                                                                  \
    const T a = get<T>(in, 3 * me()), b = get<T>(in, 3 * me() + 1), c = get<T>(in, 3 * me() + 2);         \
    put(out, me(), smaller(smaller(a, b), c));                                                            \
  }                                                                                                       \
  KERNEL(max_of_3_##T) {                                                                                  \
    const T a = get<T>(in, 3 * me()), b = get<T>(in, 3 * me() + 1), c = get<T>(in, 3 * me() + 2);         \
    put(out, me(), larger(larger(a, b), c));                                                              \
  }                                                                                                       \
  KERNEL(median_##T) {                                                                                    \
    const T a = get<T>(in, 3 * me()), b = get<T>(in, 3 * me() + 1), c = get<T>(in, 3 * me() + 2);         \
    put(out, me(), larger(smaller(a, b), smaller(larger(a, b), c)));                                      \
  }
OF_TYPE(i32)
OF_TYPE(u32)
OF_TYPE(i16)
OF_TYPE(u16)
OF_TYPE(i8)
OF_TYPE(u8)
OF_TYPE(i64)
OF_TYPE(u64)
OF_TYPE(f16)
OF_TYPE(f32)
OF_TYPE(f64)

KERNEL(relu6_f32) { put(out, me(), fminf(fmaxf(get<f32>(in, me()), 0.0f), 6.0f)); }
KERNEL(relu_f64) { put(out, me(), fmax(get<f64>(in, me()), 0.0)); }
KERNEL(relu6_f16) {
  const f16 x = get<f16>(in, me());
  put(out, me(), f16(__builtin_fminf16(__builtin_fmaxf16(x, f16(0)), f16(6))));
}
KERNEL(clamp_by_fminf_of_values) {
  put(out, me(), fminf(fmaxf(get<f32>(in, me()), get<f32>(in, me() + 1)), get<f32>(in, me() + 2)));
}
KERNEL(clamp_by_fmaxf_of_values) {
  put(out, me(), fmaxf(fminf(get<f32>(in, me()), get<f32>(in, me() + 1)), get<f32>(in, me() + 2)));
}
KERNEL(clamp_negated) {
  put(out, me(), fminf(fmaxf(-get<f32>(in, me()), get<f32>(in, me() + 1)), fabsf(get<f32>(in, me() + 2))));
}
KERNEL(clamp_f64_by_functions) {
  put(out, me(), fmin(fmax(get<f64>(in, me()), get<f64>(in, me() + 1)), get<f64>(in, me() + 2)));
}
KERNEL(saturate_f32) { put(out, me(), __saturatef(get<f32>(in, me()) * 0.0625f)); }
KERNEL(hardswish_f32) {
  const f32 x = get<f32>(in, me());
  put(out, me(), x * fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) * 0.125f);
}
KERNEL(leaky_relu_f32) {
  const f32 x = get<f32>(in, me());
  put(out, me(), x > 0 ? x : x * 0.25f);
}
KERNEL(clamp_to_bytes) {
  u32 word = 0;
  for (int i = 0; i < 4; i++) {
    const i32 x = get<i32>(in, 4 * me() + i) >> 22;
    word |= u32(u8(min(max(x, -128), 127))) << 8 * i;
  }
  out[me()] = word;
}
KERNEL(clamp_index_of_window) {
  const i32 x = i32(threadIdx.x) + get<i32>(in, me()) % 200;
  out[me()] = in[min(max(x, 0), i32(BLOCK) - 1)];
}
KERNEL(clamp_with_limits_of_the_block) {
  const i32 bottom = get<i32>(in, blockIdx.x), top = bottom + 0x10000000;
  put(out, me(), min(max(get<i32>(in, me()), bottom), top));
}
KERNEL(saturating_add_i32) {
  put(out, me(), __builtin_elementwise_add_sat(get<i32>(in, me()), get<i32>(in, me() + 1)));
}
KERNEL(saturating_add_u32) { put(out, me(), __builtin_elementwise_add_sat(in[me()], in[me() + 1])); }
KERNEL(saturating_sub_i16) {
  put(out, me(), __builtin_elementwise_sub_sat(get<i16>(in, 2 * me()), get<i16>(in, 2 * me() + 1)));
}
KERNEL(saturating_sub_u16) {
  put(out, me(), __builtin_elementwise_sub_sat(get<u16>(in, 2 * me()), get<u16>(in, 2 * me() + 1)));
}
KERNEL(saturating_add_i64) {
  put(out, me(), __builtin_elementwise_add_sat(get<i64>(in, me()), get<i64>(in, me() + 1)));
}
KERNEL(absolute_difference_u32) { out[me()] = max(in[me()], in[me() + 1]) - min(in[me()], in[me() + 1]); }
KERNEL(sign_of_i32) {
  const i32 x = get<i32>(in, me());
  put(out, me(), (x > 0) - (x < 0));
}
KERNEL(sign_of_f64) {
  const f64 x = get<f64>(in, me());
  put(out, me(), f64((x > 0) - (x < 0)));
}
KERNEL(select_chain) {
  const u32 x = in[me()] % 10;
  out[me()] = x < 3 ? x * 2 : x < 5 ? x + 100 : x < 8 ? x ^ 0xff : ~x;
}
