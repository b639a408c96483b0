// Instructions that AMD documents as approximate. What they give here is rounded nearly right, or deviates within the
// documented error where a seed asks for it (option perturb). Errors and flushed subnormals are those of the "RDNA3
// Instruction Set Architecture" reference guide, chapter "VOP1 Instructions": V_EXP_F32, V_LOG_F32, V_RCP_F32,
// V_RSQ_F32 and V_SQRT_F32 have "1ULP accuracy, denormals are flushed", those of f16 "0.51ULP accuracy", V_RCP_F64,
// V_RSQ_F64 and V_SQRT_F64 "(2**29)ULP accuracy". It gives none for V_SIN and V_COS, which do not deviate.
#include "vector.h"

namespace isa {
namespace {

f64 log2_of(f64 x) { return std::log2(x); }

// Taylor's polynomial of 2^r, r from -1/2 to 1/2, which the compiler vectorises; what is beyond 2^1000 is beyond f32.
// For every f32 and f16 it rounds to what glibc's exp2 rounds to: all were compared.
f64 exp2_of(f64 x) {
  constexpr f64 coefficients[] = {
      0x1.816193166d0f9p-40, 0x1.c3bd650fc2986p-36,
      0x1.e8cac7351bb25p-32, 0x1.e4cf5158b8ecap-28,
      0x1.b5253d395e7c4p-24, 0x1.62c0223a5c824p-20,
      0x1.ffcbfc588b0c7p-17, 0x1.430912f86c787p-13,
      0x1.5d87fe78a6731p-10, 0x1.3b2ab6fba4e77p-7,
      0x1.c6b08d704a0c0p-5,  0x1.ebfbdff82c58fp-3,
      0x1.62e42fefa39efp-1,  1,
  };
  constexpr f64 integers = 0x1.8p52;  // from there on the lowest bits are an integer
  x = x < -1000 ? -1000 : x > 1000 ? 1000 : x;
  const f64 shifted = x + integers, r = x - (shifted - integers);
  f64 sum = 0;
  for (const f64 c : coefficients) sum = fused(sum, r, c);
  return sum * std::bit_cast<f64>((bits_of(shifted) + 1023) << 52);
}
f64 rcp_of(f64 x) { return 1 / x; }
f64 rsq_of(f64 x) { return 1 / std::sqrt(x); }
f64 sqrt_of(f64 x) { return std::sqrt(x); }

u64 scrambled(u64 x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

f64 widened(f16 x) { return static_cast<f64>(x); }
f64 widened(f32 x) { return static_cast<f64>(flushed(x)); }
void round_to(f16 &r, f64 exact) { r = half_of(exact); }
void round_to(f32 &r, f64 exact) { r = flushed(static_cast<f32>(exact)); }

f16 next(f16 x, bool up) {
  const u16 bits = bits_of(x);
  return std::bit_cast<f16>(static_cast<u16>(up != negative(x) ? bits + 1 : bits - 1));
}
f32 next(f32 x, bool up) {
  const u32 bits = bits_of(x);
  return std::bit_cast<f32>(up != negative(x) ? bits + 1 : bits - 1);
}

// The neighbour of `r` on the other side of the exact value, where that is within the documented error.
template <class T>
T deviating(T r, f64 exact) {
  constexpr f64 error = sizeof(T) == 2 ? 0.51 : 1;
  const f64 rounded = static_cast<f64>(r);
  if (rounded == exact || !std::isfinite(rounded) || rounded == 0) return r;
  const T other = next(r, exact > rounded);
  const f64 ulp = std::fabs(static_cast<f64>(other) - rounded);
  return std::isfinite(static_cast<f64>(other)) && std::fabs(static_cast<f64>(other) - exact) <= error * ulp ? other
                                                                                                             : r;
}

// V_RCP_F32 "converges to < 0.5ULP when using the Newton-Raphson method and 2 FMA operations".
bool converges(f32 x, f32 guess, f32 rounded) { return fused(guess, fused(-x, guess, 1.0f), guess) == rounded; }

// LLVM divides f64 by two such steps from V_RCP_F64, for OpenCL too, which wants x / y of doubles rounded correctly and
// tests it with 0x1.fffffffffffffp-1 and its like (OpenCL-CTS, doubleSpecialValues): for that significand, and no
// other, the error of 2**29 ULP does not do; the steps give the right quotient from the right reciprocal only.
bool converges(f64 x, f64 guess, f64 rounded) {
  for (int step = 0; step < 2; ++step) guess = fused(guess, fused(-x, guess, 1.0), guess);
  return guess == rounded;
}

template <class T, auto f>
T approximation(T x, u32 seed) {
  if constexpr (sizeof(T) == 8) {
    const T r = f(x);
    const int exponent = biased_exponent(r);
    if (!seed || exponent < 2 || exponent > Format<T>::top - 2) return r;
    constexpr i64 error = i64{1} << 29;
    const u64 random = scrambled(bits_of(x) ^ u64{seed} << 40);
    const T other = std::bit_cast<T>(bits_of(r) + random % (2 * error - 1) - static_cast<u64>(error - 1));
    if constexpr (f == rcp_of)
      if (!converges(x, other, r)) return r;
    return other;
  } else {
    const f64 exact = f(widened(x));
    T r;
    round_to(r, exact);
    if (!seed || !(scrambled(u64{bits_of(x)} << 32 ^ seed) & 1)) return r;
    const T other = deviating(r, exact);
    if constexpr (sizeof(T) == 4 && f == rcp_of)
      if (!converges(flushed(x), other, r)) return r;
    return other;
  }
}

template <class T, auto f>
void vector_one(Wave &w, const Inst &i) {
  alignas(64) T a_[lanes];
  alignas(64) T r[lanes];
  const T *a = source(w, i, 0, a_);
  const u32 seed = w.launch->perturb;
  if (seed)  // decided outside of the loop, which is vectorised without
    for (int l = 0; l < lanes; ++l) r[l] = approximation<T, f>(a[l], seed);
  else
    for (int l = 0; l < lanes; ++l) r[l] = approximation<T, f>(a[l], 0);
  put(w, i, r);
}

// v_s_: the same on a scalar register.
template <auto f>
void scalar_one(Wave &w, const Inst &i) {
  f32 a = std::bit_cast<f32>(w.scalar(i.src[0], i));
  if (i.abs & 1) a = std::fabs(a);
  if (i.neg & 1) a = -a;
  if (i.omod || i.flags & Clamp) unknown(w, i);
  w.set_scalar(i.dst, bits_of(approximation<f32, f>(a, w.launch->perturb)));
}

#define ROWS(name, f)                                                                 \
  {"v_" name "_f32", &vector_one<f32, f>}, {"v_" name "_f16", &vector_one<f16, f>}, { \
    "v_s_" name "_f32", &scalar_one<f>                                                \
  }

constexpr Semantics approximate_rows[] = {
    ROWS("exp", exp2_of),
    ROWS("log", log2_of),
    ROWS("rcp", rcp_of),
    ROWS("rsq", rsq_of),
    ROWS("sqrt", sqrt_of),
    {"v_rcp_iflag_f32", &vector_one<f32, rcp_of>},
    {"v_rcp_f64", &vector_one<f64, rcp_of>},
    {"v_rsq_f64", &vector_one<f64, rsq_of>},
    {"v_sqrt_f64", &vector_one<f64, sqrt_of>},
};

}  // namespace

Run find_approximate(const char *name) { return find_row(approximate_rows, name); }

}  // namespace isa

#undef ROWS
