// Integer intrinsics, reinterpretations and conversions with a stated rounding.
#pragma once
#pragma GCC system_header

#include "approximate.h"

#define SIMT_REINTERPRET(name, From, To) \
  SIMT_INLINE To name(From value) { return simt::bit_cast<To>(value); }
SIMT_REINTERPRET(__float_as_int, float, int)
SIMT_REINTERPRET(__float_as_uint, float, unsigned)
SIMT_REINTERPRET(__int_as_float, int, float)
SIMT_REINTERPRET(__uint_as_float, unsigned, float)
SIMT_REINTERPRET(__double_as_longlong, double, long long)
SIMT_REINTERPRET(__longlong_as_double, long long, double)
#undef SIMT_REINTERPRET
SIMT_INLINE int __double2hiint(double x) { return static_cast<int>(simt::bit_cast<uint64_t>(x) >> 32); }
SIMT_INLINE int __double2loint(double x) { return static_cast<int>(simt::bit_cast<uint64_t>(x)); }
SIMT_INLINE double __hiloint2double(int high, int low) {
  return simt::bit_cast<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low));
}

// Bits.
SIMT_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
SIMT_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
SIMT_INLINE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
SIMT_INLINE int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
SIMT_INLINE int __ffs(int x) { return __builtin_ffs(x); }
SIMT_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
SIMT_INLINE int __ffsll(unsigned long long x) { return __builtin_ffsll(static_cast<long long>(x)); }
SIMT_INLINE int __ffsll(unsigned long x) { return __builtin_ffsll(static_cast<long long>(x)); }
SIMT_INLINE unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
SIMT_INLINE unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
SIMT_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32 | low) << (shift & 31)) >> 32);
}
SIMT_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
/// Four bytes chosen from the eight of b:a by the low three bits of each nibble of s; HIP ignores the fourth bit.
SIMT_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; i++) result |= static_cast<unsigned>(bytes >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return result;
}
SIMT_INLINE unsigned __bitextract_u32(unsigned x, unsigned offset, unsigned width) {
  offset &= 31;
  width &= 31;
  return width == 0 ? 0 : x << (32 - offset - width & 31) >> (32 - width);
}

// Products and sums.
SIMT_INLINE int __mul24(int a, int b) {
  auto sign_extend = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<unsigned>(sign_extend(a)) * static_cast<unsigned>(sign_extend(b)));
}
SIMT_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
SIMT_INLINE int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
SIMT_INLINE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
SIMT_INLINE long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
SIMT_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
SIMT_INLINE int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
SIMT_INLINE int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
SIMT_INLINE unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
SIMT_INLINE unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
SIMT_INLINE unsigned __sad(int a, int b, unsigned c) {
  return c + (a > b ? static_cast<unsigned>(a) - static_cast<unsigned>(b)
                    : static_cast<unsigned>(b) - static_cast<unsigned>(a));
}
SIMT_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }

namespace simt {
/// Dot product of the four bytes of a and b, each read as Element, added to c with wrap-around.
template <class ElementA, class ElementB>
SIMT_INLINE uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 4; i++)
    c += static_cast<uint32_t>(static_cast<ElementA>(a >> 8 * i) * static_cast<ElementB>(b >> 8 * i));
  return c;
}
/// c + dot4, held at the ends of the 32-bit signed range when clamp is set.
SIMT_INLINE int dot4_clamped(int a, int b, int c, bool clamp) {
  if (!clamp)
    return static_cast<int>(
        dot4<int8_t, int8_t>(static_cast<uint32_t>(a), static_cast<uint32_t>(b), static_cast<uint32_t>(c)));
  long long sum = static_cast<long long>(c) +
                  static_cast<int>(dot4<int8_t, int8_t>(static_cast<uint32_t>(a), static_cast<uint32_t>(b), 0));
  return static_cast<int>(sum > 0x7fffffffLL ? 0x7fffffffLL : sum < -0x80000000LL ? -0x80000000LL : sum);
}
/// Applies an operation to each of the four bytes of two words.
template <class Element, class Operation>
SIMT_INLINE uint32_t bytewise(uint32_t a, uint32_t b, Operation operation) {
  uint32_t result = 0;
  for (int i = 0; i < 4; i++)
    result |= static_cast<uint32_t>(
                  static_cast<uint8_t>(operation(static_cast<Element>(a >> 8 * i), static_cast<Element>(b >> 8 * i))))
              << 8 * i;
  return result;
}
SIMT_INLINE int clamp_int8(int x) { return x > 127 ? 127 : x < -128 ? -128 : x; }
}  // namespace simt
#if defined(SIMT_CUDA)
SIMT_INLINE int __dp4a(int a, int b, int c) { return simt::dot4_clamped(a, b, c, false); }
SIMT_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) { return simt::dot4<uint8_t, uint8_t>(a, b, c); }
#endif
SIMT_INLINE int amd_mixed_dot(int a, int b, int c, bool clamp) { return simt::dot4_clamped(a, b, c, clamp); }
#define __builtin_amdgcn_sdot4(a, b, c, clamp) (::simt::dot4_clamped((a), (b), (c), (clamp)))
#define __builtin_amdgcn_udot4(a, b, c, clamp) (::simt::dot4<uint8_t, uint8_t>((a), (b), (c)))
#define __builtin_amdgcn_perm(a, b, s) (::simt::amd_perm((a), (b), (s)))
#define __builtin_amdgcn_alignbit(high, low, shift) (::__funnelshift_r((low), (high), (shift)))
#define __builtin_amdgcn_rcpf(x) (::simt::approximate::rcp(x))
#define __builtin_amdgcn_rsqf(x) (::simt::approximate::rsq(x))
#define __builtin_amdgcn_exp2f(x) (::simt::approximate::exp2(x))
#define __builtin_amdgcn_logf(x) (::simt::approximate::log2(x))
#define __builtin_amdgcn_fmed3f(a, b, c) \
  (::simt::median(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)))
#define __builtin_amdgcn_ubfe(x, offset, width) \
  (static_cast<unsigned>(x) >> ((offset) & 31) & ((1u << ((width) & 31)) - 1))
namespace simt {
/// v_med3: with a NaN among the three it is v_min3.
SIMT_INLINE float median(float a, float b, float c) {
  const float least = ::fminf(a, b);
  return a != a || b != b || c != c ? ::fminf(least, c) : ::fmaxf(::fminf(::fmaxf(a, b), c), least);
}
/// v_perm_b32: selectors 0-3 read the second word, 4-7 the first, 12 is zero, 13 and above all ones.
SIMT_INLINE uint32_t amd_perm(uint32_t a, uint32_t b, uint32_t s) {
  uint64_t bytes = static_cast<uint64_t>(a) << 32 | b;
  uint32_t result = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t pick = s >> 8 * i & 255, byte = 0;
    if (pick < 8)
      byte = static_cast<uint32_t>(bytes >> 8 * pick & 255);
    else if (pick < 12)
      byte = bytes >> (16 * (pick - 8) + 15) & 1 ? 255 : 0;
    else
      byte = pick == 12 ? 0 : 255;
    result |= byte << 8 * i;
  }
  return result;
}
}  // namespace simt

#if defined(SIMT_CUDA)
#define SIMT_BYTEWISE(name, Element, expression)                                   \
  SIMT_INLINE unsigned name(unsigned a, unsigned b) {                              \
    return simt::bytewise<Element>(a, b, [](int x, int y) { return expression; }); \
  }
SIMT_BYTEWISE(__vadd4, uint8_t, x + y)
SIMT_BYTEWISE(__vsub4, uint8_t, x - y)
SIMT_BYTEWISE(__vaddss4, int8_t, simt::clamp_int8(x + y))
SIMT_BYTEWISE(__vsubss4, int8_t, simt::clamp_int8(x - y))
SIMT_BYTEWISE(__vcmpeq4, uint8_t, x == y ? 255 : 0)
SIMT_BYTEWISE(__vcmpne4, uint8_t, x != y ? 255 : 0)
#undef SIMT_BYTEWISE
#endif

// Conversions. An integer result saturates and NaN becomes 0, as the GPU's conversion instructions do.
namespace simt {
template <class Integer, class Float>
SIMT_INLINE Integer saturate(Float x) {
#if !defined(SIMT_CUDA) && defined(__clang__)
  return static_cast<Integer>(x);  // HIP's own headers say no more; libhiprtc makes it what an AMD GPU does
#else
  constexpr bool is_signed = static_cast<Integer>(-1) < static_cast<Integer>(0);
  constexpr int bits = 8 * sizeof(Integer) - (is_signed ? 1 : 0);
  constexpr Integer top = static_cast<Integer>(~static_cast<uint64_t>(0) >> (64 - bits));
  constexpr Float limit = static_cast<Float>(static_cast<uint64_t>(1) << (bits - 1)) * 2;  // one past the top
#if defined(SIMT_CUDA)
  constexpr bool marks_nan = sizeof(Integer) == 8 || (sizeof(Integer) == 4 && sizeof(Float) == 8);  // PTX ISA, cvt
#else
  constexpr bool marks_nan = false;
#endif
  if (!(x == x)) return marks_nan ? static_cast<Integer>(static_cast<uint64_t>(1) << (8 * sizeof(Integer) - 1)) : 0;
  if (x >= limit) return top;
  if constexpr (is_signed) {
    if (x < -limit) return static_cast<Integer>(-top - 1);
  } else if (x <= 0) {
    return 0;
  }
  return static_cast<Integer>(x);
#endif
}
/// The neighbour of a nearest-rounded float on the wanted side of the exact value; direction -1 down, +1 up, 0 to zero.
template <class Exact>
SIMT_INLINE float directed(Exact exact, int direction) {
  float nearest = static_cast<float>(exact);
  // long double holds every 64-bit integer and every double exactly on x86-64.
  long double difference = static_cast<long double>(nearest) - static_cast<long double>(exact);
  bool above = difference > 0, below = difference < 0;
  bool want_down = direction < 0 || (direction == 0 && exact > 0);
  bool want_up = direction > 0 || (direction == 0 && exact < 0);
  if (above && want_down) return __builtin_nextafterf(nearest, -__builtin_inff());
  if (below && want_up) return __builtin_nextafterf(nearest, __builtin_inff());
  return nearest;
}
}  // namespace simt

// A rounded number is one of its type again, so that going through double changes nothing.
#define SIMT_ROUNDED(From, function, x) static_cast<From>(function(static_cast<double>(x)))
#define SIMT_TO_INTEGER(From, from, To, to)                                                                          \
  SIMT_INLINE To __##from##2##to##_rn(From x) { return simt::saturate<To>(SIMT_ROUNDED(From, __builtin_rint, x)); }  \
  SIMT_INLINE To __##from##2##to##_rz(From x) { return simt::saturate<To>(x); }                                      \
  SIMT_INLINE To __##from##2##to##_rd(From x) { return simt::saturate<To>(SIMT_ROUNDED(From, __builtin_floor, x)); } \
  SIMT_INLINE To __##from##2##to##_ru(From x) { return simt::saturate<To>(SIMT_ROUNDED(From, __builtin_ceil, x)); }
SIMT_TO_INTEGER(float, float, int, int)
SIMT_TO_INTEGER(float, float, unsigned, uint)
SIMT_TO_INTEGER(float, float, long long, ll)
SIMT_TO_INTEGER(float, float, unsigned long long, ull)
SIMT_TO_INTEGER(double, double, int, int)
SIMT_TO_INTEGER(double, double, unsigned, uint)
SIMT_TO_INTEGER(double, double, long long, ll)
SIMT_TO_INTEGER(double, double, unsigned long long, ull)
#undef SIMT_TO_INTEGER
#undef SIMT_ROUNDED

#define SIMT_TO_FLOAT(From, from)                                                 \
  SIMT_INLINE float __##from##2float_rn(From x) { return static_cast<float>(x); } \
  SIMT_INLINE float __##from##2float_rz(From x) { return simt::directed(x, 0); }  \
  SIMT_INLINE float __##from##2float_rd(From x) { return simt::directed(x, -1); } \
  SIMT_INLINE float __##from##2float_ru(From x) { return simt::directed(x, 1); }
SIMT_TO_FLOAT(int, int)
SIMT_TO_FLOAT(unsigned, uint)
SIMT_TO_FLOAT(long long, ll)
SIMT_TO_FLOAT(unsigned long long, ull)
SIMT_TO_FLOAT(double, double)
#undef SIMT_TO_FLOAT
SIMT_INLINE double __int2double_rn(int x) { return x; }
SIMT_INLINE double __uint2double_rn(unsigned x) { return x; }
SIMT_INLINE double __ll2double_rn(long long x) { return static_cast<double>(x); }
SIMT_INLINE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }

template <class T>
SIMT_INLINE T __ldg(const T *address) {
  return *address;
}
template <class T>
SIMT_INLINE T __ldcg(const T *address) {
  return *address;
}
template <class T>
SIMT_INLINE T __ldcs(const T *address) {
  return *address;
}
#if !defined(__clang__)
#define __builtin_nontemporal_load(address) (*(address))
#define __builtin_nontemporal_store(value, address) ((void)(*(address) = (value)))
#endif
