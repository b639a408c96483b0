// clang's builtin functions for AMD GPUs, those whose meaning is plain: "AMD Instinct MI300 ISA" and "RDNA3 ISA" have
// the instructions. Others are in the headers of what they belong to.
#pragma once
#pragma GCC system_header

#include "approximate.h"
#include "atomics.h"
#include "collectives.h"
#include "integer.h"

namespace simt::amdgcn {

// ---- one lane

SIMT_INLINE int sbfe(int x, unsigned offset, unsigned width) {
  offset &= 31, width &= 31;
  if (width == 0) return 0;
  return offset + width < 32 ? static_cast<int>(static_cast<unsigned>(x) << (32 - offset - width)) >> (32 - width)
                             : x >> offset;
}
SIMT_INLINE unsigned alignbyte(unsigned high, unsigned low, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> 8 * (shift & 3));
}
SIMT_INLINE unsigned lerp(unsigned a, unsigned b, unsigned c) {
  unsigned result = 0;
  for (int i = 0; i < 32; i += 8) result |= ((a >> i & 255) + (b >> i & 255) + (c >> i & 1)) >> 1 << i;
  return result;
}
/// The sum of the absolute differences of a's and b's parts of `bits`; `masked` leaves out those where b is 0.
SIMT_INLINE unsigned differences(unsigned a, unsigned b, int bits, bool masked) {
  const unsigned part = (1u << bits) - 1;
  unsigned sum = 0;
  for (int i = 0; i < 32; i += bits) {
    const unsigned p = a >> i & part, q = b >> i & part;
    if (!masked || q != 0) sum += p > q ? p - q : q - p;
  }
  return sum;
}
/// c and the products of the parts of `bits` of a and b, signed or not.
SIMT_INLINE long long dot(unsigned a, bool a_signed, unsigned b, bool b_signed, long long c, int bits) {
  const auto part = [bits](unsigned word, int i, bool is_signed) -> long long {
    const unsigned top = word << (32 - bits - i);
    return is_signed ? static_cast<int>(top) >> (32 - bits) : static_cast<long long>(top >> (32 - bits));
  };
  for (int i = 0; i < 32; i += bits) c += part(a, i, a_signed) * part(b, i, b_signed);
  return c;
}
SIMT_INLINE int signed_sum(long long sum, bool clamp) {
  if (clamp) sum = sum > 0x7fffffffLL ? 0x7fffffffLL : sum < -0x80000000LL ? -0x80000000LL : sum;
  return static_cast<int>(static_cast<unsigned>(static_cast<unsigned long long>(sum)));
}
SIMT_INLINE unsigned unsigned_sum(long long sum, bool clamp) {
  return static_cast<unsigned>(clamp && sum > 0xffffffffLL ? 0xffffffffLL : sum);
}
template <class T>
SIMT_INLINE unsigned as_word(const T &value) {
  static_assert(sizeof(T) == 4);
  return bit_cast<unsigned>(value);
}

template <class T>
SIMT_INLINE T fract(T x, T below_one) {
  const T part = x - static_cast<T>(__builtin_floor(static_cast<double>(x)));
  return part > below_one ? below_one : part;
}
/// Whether x is of a class in mask: signalling NaN, NaN, -inf, negative, negative subnormal, -0, and the positive ones.
template <class T>
SIMT_INLINE bool is_class(T x, T smallest, int mask) {
  if (__builtin_isnan(x)) {
    bool quiet = true;
    if constexpr (sizeof(T) == 4) quiet = bit_cast<uint32_t>(x) >> 22 & 1;
    if constexpr (sizeof(T) == 8) quiet = bit_cast<uint64_t>(x) >> 51 & 1;
    return mask >> quiet & 1;
  }
  const bool negative = __builtin_signbit(x);
  const T size = negative ? -x : x;
  const int rank = __builtin_isinf(x) ? 0 : size >= smallest ? 1 : size > 0 ? 2 : 3;
  return mask >> (negative ? 2 + rank : 9 - rank) & 1;
}
template <class T>
SIMT_INLINE int exponent(T x) {
  int result = 0;
  if (__builtin_isfinite(x)) ::frexp(static_cast<double>(x), &result);
  return result;
}
template <class T>
SIMT_INLINE T mantissa(T x) {
  int exponent = 0;
  return __builtin_isfinite(x) ? static_cast<T>(::frexp(static_cast<double>(x), &exponent)) : x;
}
/// In turns: the hardware multiplies by 2 pi itself.
template <class T>
SIMT_INLINE T sine(T turns) {
  return static_cast<T>(::sinpi(2 * static_cast<double>(turns)));
}
template <class T>
SIMT_INLINE T cosine(T turns) {
  return static_cast<T>(::cospi(2 * static_cast<double>(turns)));
}
template <class T>
SIMT_INLINE T clamped(T x, T largest) {
  return x > largest ? largest : x < -largest ? -largest : x;
}

// ---- lanes of a wave

/// The value of lane `from`, or `otherwise` where that is not a lane, or not active.
SIMT_INLINE int lane_or(int value, int from, int otherwise, const char *file, int location) {
  const unsigned long active = simt_wave(SIMT_ACTIVE, active_lanes, 0, 0, file, location);
  const bool valid = from >= 0 && from < warpSize && (active >> from & 1) != 0;
  const int got = read_lane(value, valid ? from : static_cast<int>(simt_lane()), file, location);
  return valid ? got : otherwise;
}
/// The lane that data-parallel primitive `control` reads; -1 where there is none.
SIMT_INLINE int dpp_source(int control) {
  const int lane = static_cast<int>(simt_lane()), row = lane & ~15, in_row = lane & 15, n = control & 15;
  const auto inside = [row](int at) { return at >= 0 && at < 16 ? row + at : -1; };
  if (control < 0x100) return (lane & ~3) + (control >> 2 * (lane & 3) & 3);  // quad_perm
  switch (control & 0x1f0) {
    case 0x100:
      return inside(in_row + n);  // row_shl
    case 0x110:
      return inside(in_row - n);  // row_shr
    case 0x120:
      return row + ((in_row - n) & 15);  // row_ror
    case 0x150:
      return row + n;  // row_share
    case 0x160:
      return row + (in_row ^ n);  // row_xmask
  }
  switch (control) {
    case 0x130:
      return lane + 1 < warpSize ? lane + 1 : -1;  // wave_shl
    case 0x134:
      return (lane + 1) & (warpSize - 1);  // wave_rol
    case 0x138:
      return lane - 1;  // wave_shr
    case 0x13c:
      return (lane - 1) & (warpSize - 1);  // wave_ror
    case 0x140:
      return row + 15 - in_row;  // row_mirror
    case 0x141:
      return (lane & ~7) + 7 - (lane & 7);  // row_half_mirror
    case 0x142:
      return row - 1;  // row_bcast15
    case 0x143:
      return lane >= 32 ? 31 : -1;  // row_bcast31
  }
  return -1;
}
SIMT_INLINE int update_dpp(int old, int value, int control, int rows, int banks, bool bound, SIMT_HERE) {
  const int lane = static_cast<int>(simt_lane());
  const int got = lane_or(value, dpp_source(control), bound ? 0 : old, file, location);
  return (rows >> lane / 16 & 1) != 0 && (banks >> lane % 16 / 4 & 1) != 0 ? got : old;
}
SIMT_INLINE int dpp8(int value, unsigned select, SIMT_HERE) {
  const int lane = static_cast<int>(simt_lane());
  return lane_or(value, (lane & ~7) + static_cast<int>(select >> 3 * (lane & 7) & 7), 0, file, location);
}
SIMT_INLINE int swizzle(int value, int pattern, SIMT_HERE) {
  const int lane = static_cast<int>(simt_lane()), i = lane & 31;
  int from = i;
  if ((pattern & 0xe000) == 0xe000) {
    simt_trap("ds_swizzle in its FFT mode, which the cpu runtime does not have", file, location);
  } else if ((pattern & 0xe000) == 0xc000) {
    const int by = pattern >> 5 & 31, keep = pattern & 31;
    from = (i & keep) | ((i + ((pattern >> 10 & 1) != 0 ? -by : by)) & ~keep & 31);
  } else if ((pattern & 0x8000) != 0) {
    from = (i & ~3) + (pattern >> 2 * (i & 3) & 3);
  } else {
    from = ((i & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
  }
  return lane_or(value, (lane & 32) + from, 0, file, location);
}
/// Every lane sends its value to a lane; the last that sends to one is read there, and 0 where nobody does.
SIMT_INLINE int permute(int address, int value, SIMT_HERE) {
  const unsigned long active = simt_wave(SIMT_ACTIVE, active_lanes, 0, 0, file, location);
  int result = 0;
  for (int lane = 0; lane < warpSize; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    const int to = read_lane(address, lane, file, location) >> 2 & (warpSize - 1);
    const int sent = read_lane(value, lane, file, location);
    if (to == static_cast<int>(simt_lane())) result = sent;
  }
  return result;
}
/// v_permlane16: each lane of 16 reads the one that its four bits of select name, with `other` in the neighbouring row.
SIMT_INLINE int permlane16(int old, int value, unsigned low, unsigned high, bool bound, bool other, SIMT_HERE) {
  const int lane = static_cast<int>(simt_lane());
  const int nibble = static_cast<int>((static_cast<uint64_t>(high) << 32 | low) >> 4 * (lane & 15) & 15);
  return lane_or(value, ((lane & ~15) ^ (other ? 16 : 0)) + nibble, bound ? 0 : old, file, location);
}
/// The mask of the lanes for which LLVM's integer predicate holds.
template <class Unsigned, class Signed>
SIMT_INLINE unsigned long long compared(Unsigned a, Unsigned b, int predicate, SIMT_HERE) {
  const auto x = static_cast<Signed>(a), y = static_cast<Signed>(b);
  const bool results[] = {a == b, a != b, a > b, a >= b, a<b, a <= b, x> y, x >= y, x < y, x <= y};
  return ballot(0, active_lanes, results[predicate - 32], file, location);
}

}  // namespace simt::amdgcn

#define __builtin_amdgcn_sbfe(x, offset, width) (::simt::amdgcn::sbfe((x), (offset), (width)))
#define __builtin_amdgcn_alignbyte(high, low, shift) (::simt::amdgcn::alignbyte((high), (low), (shift)))
#define __builtin_amdgcn_lerp(a, b, c) (::simt::amdgcn::lerp((a), (b), (c)))
#define __builtin_amdgcn_sad_u8(a, b, c) (::simt::amdgcn::differences((a), (b), 8, false) + (c))
#define __builtin_amdgcn_sad_hi_u8(a, b, c) ((::simt::amdgcn::differences((a), (b), 8, false) << 16) + (c))
#define __builtin_amdgcn_sad_u16(a, b, c) (::simt::amdgcn::differences((a), (b), 16, false) + (c))
#define __builtin_amdgcn_msad_u8(a, b, c) (::simt::amdgcn::differences((a), (b), 8, true) + (c))

#define SIMT_DOT(sum, a, a_signed, b, b_signed, c, bits, clamp)                                                \
  (::simt::amdgcn::sum(::simt::amdgcn::dot(::simt::amdgcn::as_word(a), (a_signed), ::simt::amdgcn::as_word(b), \
                                           (b_signed), (c), (bits)),                                           \
                       (clamp)))
#define __builtin_amdgcn_sudot4(a_signed, a, b_signed, b, c, clamp) \
  SIMT_DOT(signed_sum, a, a_signed, b, b_signed, c, 8, clamp)
#define __builtin_amdgcn_sudot8(a_signed, a, b_signed, b, c, clamp) \
  SIMT_DOT(signed_sum, a, a_signed, b, b_signed, c, 4, clamp)
#define __builtin_amdgcn_sdot2(a, b, c, clamp) SIMT_DOT(signed_sum, a, true, b, true, c, 16, clamp)
#define __builtin_amdgcn_sdot8(a, b, c, clamp) SIMT_DOT(signed_sum, a, true, b, true, c, 4, clamp)
#define __builtin_amdgcn_udot2(a, b, c, clamp) SIMT_DOT(unsigned_sum, a, false, b, false, c, 16, clamp)
#define __builtin_amdgcn_udot8(a, b, c, clamp) SIMT_DOT(unsigned_sum, a, false, b, false, c, 4, clamp)

#define __builtin_amdgcn_rcp(x) (1.0 / (x))
#define __builtin_amdgcn_rcph(x) (static_cast<_Float16>(1.0f / static_cast<float>(x)))
#define __builtin_amdgcn_rsq(x) (::rsqrt(static_cast<double>(x)))
#define __builtin_amdgcn_rsqh(x) (static_cast<_Float16>(::rsqrtf(static_cast<float>(x))))
#define __builtin_amdgcn_rsq_clampf(x) (::simt::amdgcn::clamped(::simt::approximate::rsq(x), __FLT_MAX__))
#define __builtin_amdgcn_rsq_clamp(x) (::simt::amdgcn::clamped(::rsqrt(static_cast<double>(x)), __DBL_MAX__))
#define __builtin_amdgcn_sqrt(x) (__builtin_sqrt(x))
#define __builtin_amdgcn_sqrtf(x) (::simt::approximate::sqrt(x))
#define __builtin_amdgcn_sqrth(x) (static_cast<_Float16>(__builtin_sqrtf(static_cast<float>(x))))
#define __builtin_amdgcn_log_clampf(x) (::simt::amdgcn::clamped(::simt::approximate::log2(x), __FLT_MAX__))
#define __builtin_amdgcn_sinf(x) (::simt::amdgcn::sine(static_cast<float>(x)))
#define __builtin_amdgcn_sinh(x) (::simt::amdgcn::sine(static_cast<_Float16>(x)))
#define __builtin_amdgcn_cosf(x) (::simt::amdgcn::cosine(static_cast<float>(x)))
#define __builtin_amdgcn_cosh(x) (::simt::amdgcn::cosine(static_cast<_Float16>(x)))
#define __builtin_amdgcn_fract(x) (::simt::amdgcn::fract(static_cast<double>(x), 0x1.fffffffffffffp-1))
#define __builtin_amdgcn_fractf(x) (::simt::amdgcn::fract(static_cast<float>(x), 0x1.fffffep-1f))
#define __builtin_amdgcn_fracth(x) (::simt::amdgcn::fract(static_cast<_Float16>(x), static_cast<_Float16>(0x1.ffcp-1f)))
#define __builtin_amdgcn_class(x, mask) (::simt::amdgcn::is_class(static_cast<double>(x), __DBL_MIN__, (mask)))
#define __builtin_amdgcn_classf(x, mask) (::simt::amdgcn::is_class(static_cast<float>(x), __FLT_MIN__, (mask)))
#define __builtin_amdgcn_frexp_exp(x) (::simt::amdgcn::exponent(static_cast<double>(x)))
#define __builtin_amdgcn_frexp_expf(x) (::simt::amdgcn::exponent(static_cast<float>(x)))
#define __builtin_amdgcn_frexp_mant(x) (::simt::amdgcn::mantissa(static_cast<double>(x)))
#define __builtin_amdgcn_frexp_mantf(x) (::simt::amdgcn::mantissa(static_cast<float>(x)))
#define __builtin_amdgcn_ldexp(x, n) (::ldexp(static_cast<double>(x), (n)))
#define __builtin_amdgcn_ldexpf(x, n) (::ldexpf((x), (n)))
#define __builtin_amdgcn_ldexph(x, n) (static_cast<_Float16>(::ldexpf(static_cast<float>(x), (n))))
#define __builtin_amdgcn_fmed3h(a, b, c) \
  (static_cast<_Float16>(::simt::median(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c))))

#define __builtin_amdgcn_update_dpp(old, value, control, rows, banks, bound) \
  (::simt::amdgcn::update_dpp((old), (value), (control), (rows), (banks), (bound)))
#define __builtin_amdgcn_mov_dpp(value, control, rows, banks, bound) \
  (::simt::amdgcn::update_dpp(0, (value), (control), (rows), (banks), (bound)))
#define __builtin_amdgcn_mov_dpp8(value, select) \
  (static_cast<unsigned>(::simt::amdgcn::dpp8(static_cast<int>(value), (select))))
#define __builtin_amdgcn_ds_swizzle(value, pattern) (::simt::amdgcn::swizzle((value), (pattern)))
#define __builtin_amdgcn_ds_permute(address, value) (::simt::amdgcn::permute((address), (value)))
#define SIMT_PERMLANE(old, value, low, high, bound, other) \
  (static_cast<unsigned>(                                  \
      ::simt::amdgcn::permlane16(static_cast<int>(old), static_cast<int>(value), (low), (high), (bound), other)))
#define __builtin_amdgcn_permlane16(old, value, low, high, fetch, bound) \
  SIMT_PERMLANE(old, value, low, high, bound, false)
#define __builtin_amdgcn_permlanex16(old, value, low, high, fetch, bound) \
  SIMT_PERMLANE(old, value, low, high, bound, true)
#define __builtin_amdgcn_permlane64(value) \
  (static_cast<unsigned>(::simt::read_any_lane(static_cast<int>(value), static_cast<int>(simt_lane()) ^ 32)))
#define __builtin_amdgcn_uicmp(a, b, predicate) (::simt::amdgcn::compared<unsigned, int>((a), (b), (predicate)))
#define __builtin_amdgcn_uicmpl(a, b, predicate) (::simt::amdgcn::compared<unsigned long, long>((a), (b), (predicate)))
#define __builtin_amdgcn_sicmp(a, b, predicate) \
  (::simt::amdgcn::compared<unsigned, int>(static_cast<unsigned>(a), static_cast<unsigned>(b), (predicate)))
#define __builtin_amdgcn_sicmpl(a, b, predicate)                                                               \
  (::simt::amdgcn::compared<unsigned long, long>(static_cast<unsigned long>(a), static_cast<unsigned long>(b), \
                                                 (predicate)))
#define __builtin_amdgcn_read_exec() (static_cast<unsigned long>(::__activemask()))
#define __builtin_amdgcn_read_exec_lo() (static_cast<unsigned>(::__activemask()))
#define __builtin_amdgcn_read_exec_hi() (static_cast<unsigned>(::__activemask() >> 32))

#define __builtin_amdgcn_workgroup_size_y() (blockDim.y)
#define __builtin_amdgcn_workgroup_size_z() (blockDim.z)
#define __builtin_amdgcn_grid_size_x() (gridDim.x * blockDim.x)
#define __builtin_amdgcn_grid_size_y() (gridDim.y * blockDim.y)
#define __builtin_amdgcn_grid_size_z() (gridDim.z * blockDim.z)

#define __builtin_amdgcn_atomic_inc32(address, value, ...) (::atomicInc((address), (value)))
#define __builtin_amdgcn_atomic_dec32(address, value, ...) (::atomicDec((address), (value)))
#define __builtin_amdgcn_ds_faddf(address, value, ...) (::unsafeAtomicAdd((address), (value)))
#define __builtin_amdgcn_ds_atomic_fadd_f32(address, value) (::unsafeAtomicAdd((address), (value)))
#define __builtin_amdgcn_ds_atomic_fadd_f64(address, value) (::unsafeAtomicAdd((address), (value)))
#define __builtin_amdgcn_flat_atomic_fadd_f32(address, value) (::unsafeAtomicAdd((address), (value)))
#define __builtin_amdgcn_flat_atomic_fadd_f64(address, value) (::unsafeAtomicAdd((address), (value)))
#define __builtin_amdgcn_global_atomic_fadd_f32(address, value) (::unsafeAtomicAdd((address), (value)))
#define __builtin_amdgcn_global_atomic_fadd_f64(address, value) (::unsafeAtomicAdd((address), (value)))

#define __builtin_amdgcn_s_memtime() (static_cast<unsigned long>(::clock64()))
#define __builtin_amdgcn_s_memrealtime() (static_cast<unsigned long>(::wall_clock64()))
// What only schedules.
#define __builtin_amdgcn_s_setprio(n) ((void)(n))
#define __builtin_amdgcn_s_waitcnt(n) ((void)(n))
#define __builtin_amdgcn_sched_barrier(mask) ((void)(mask))
#define __builtin_amdgcn_sched_group_barrier(mask, size, id) ((void)(mask))
#define __builtin_amdgcn_iglp_opt(n) ((void)(n))
