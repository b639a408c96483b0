// Collectives of a wave. A width splits the wave into aligned, independent parts.
#pragma once
#pragma GCC system_header

#include "thread.h"

namespace simt {

// The mask of the forms without a mask argument: the lanes that are active at the call.
inline constexpr unsigned long active_lanes = ~0ul;

template <class T>
SIMT_INLINE unsigned long to_word(const T &value) {
  static_assert(sizeof(T) <= 8, "a wave operation moves values of at most 8 bytes");
  unsigned long word = 0;
  __builtin_memcpy(&word, &value, sizeof value);
  return word;
}
template <class T>
SIMT_INLINE T from_word(unsigned long word) {
  T value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

#if defined(SIMT_CUDA)
// CUDA's masks have 32 bits. In a wave of 64 they name the lower half only, as they would on such a GPU.
using LaneMask = unsigned;
inline constexpr int shuffle_op = SIMT_SHUFFLE, named = 0;
template <class Mask>
SIMT_INLINE unsigned long checked(Mask mask) {
  return static_cast<unsigned>(mask);
}
#else
using LaneMask = unsigned long long;
inline constexpr int shuffle_op = SIMT_PERMUTE;
#if defined(NDEBUG)  // HIP's header asserts it otherwise
inline constexpr int named = 0;
#else
inline constexpr int named = SIMT_NAMED;
#endif
template <class Mask>
SIMT_INLINE unsigned long checked(Mask mask) {
  static_assert(is_integer<Mask> && sizeof(Mask) == 8,
                "The mask must be a 64-bit integer. Implicitly promoting a smaller integer is almost always an "
                "error: a wave of 64 lanes would lose its upper half.");
  return static_cast<unsigned long>(mask);
}
#endif

// Which lane each form of shuffle reads. `self` and the result are lanes of the wave, width a power of two.
struct ByIndex {
  static SIMT_INLINE int source(int self, int lane, int width) { return (self & ~(width - 1)) + (lane & (width - 1)); }
};
struct Up {
  static SIMT_INLINE int source(int self, int delta, int width) {
    int from = self - delta;
    return from < (self & ~(width - 1)) ? self : from;
  }
};
struct Down {
  static SIMT_INLINE int source(int self, int delta, int width) {
    return static_cast<int>((self & (width - 1)) + static_cast<unsigned>(delta)) >= width ? self : self + delta;
  }
};
struct Xor {
  static SIMT_INLINE int source(int self, int mask, int width) {
    int from = self ^ mask;
    return from >= ((self + width) & ~(width - 1)) ? self : from;
  }
};

// `flags` is 0, or `named` of the forms with a mask argument.
template <class How, class T>
SIMT_INLINE T shuffle(int flags, unsigned long mask, T value, int operand, int width, const char *file, int location) {
  int source = How::source(static_cast<int>(simt_lane()), operand, width);
  return from_word<T>(simt_wave(shuffle_op | flags, mask, to_word(value), source, file, location));
}
SIMT_INLINE unsigned long ballot(int flags, unsigned long mask, bool predicate, const char *file, int location) {
  return simt_wave(SIMT_BALLOT | flags, mask, predicate, 0, file, location);
}

/// Combines the values of the mask's lanes in lane order; every lane gets the result.
template <class T, class Operation>
SIMT_INLINE T reduce(unsigned long mask, T value, Operation operation, const char *file, int location) {
  unsigned long lanes = ballot(named, mask, true, file, location);
  T result{};
  bool first = true;
  for (; lanes != 0; lanes &= lanes - 1) {
    T other = from_word<T>(simt_wave(SIMT_SHUFFLE, mask, to_word(value), __builtin_ctzl(lanes), file, location));
    result = first ? other : operation(result, other);
    first = false;
  }
  return result;
}

}  // namespace simt

#define SIMT_SHUFFLES(name, How, Operand)                                                                            \
  template <class T>                                                                                                 \
  SIMT_INLINE T name(T value, Operand operand, int width = warpSize, SIMT_HERE) {                                    \
    return simt::shuffle<simt::How>(0, simt::active_lanes, value, static_cast<int>(operand), width, file, location); \
  }                                                                                                                  \
  template <class Mask, class T>                                                                                     \
  SIMT_INLINE T name##_sync(Mask mask, T value, Operand operand, int width = warpSize, SIMT_HERE) {                  \
    return simt::shuffle<simt::How>(simt::named, simt::checked(mask), value, static_cast<int>(operand), width, file, \
                                    location);                                                                       \
  }
SIMT_SHUFFLES(__shfl, ByIndex, int)
SIMT_SHUFFLES(__shfl_up, Up, unsigned)
SIMT_SHUFFLES(__shfl_down, Down, unsigned)
SIMT_SHUFFLES(__shfl_xor, Xor, int)
#undef SIMT_SHUFFLES

SIMT_INLINE unsigned long long __ballot(int predicate, SIMT_HERE) {
  return simt::ballot(0, simt::active_lanes, predicate != 0, file, location);
}
SIMT_INLINE unsigned long long __ballot64(int predicate, SIMT_HERE) {
  return simt::ballot(0, simt::active_lanes, predicate != 0, file, location);
}
SIMT_INLINE int __any(int predicate, SIMT_HERE) { return __ballot(predicate, file, location) != 0; }
SIMT_INLINE int __all(int predicate, SIMT_HERE) { return __ballot(predicate == 0, file, location) == 0; }
template <class Mask>
SIMT_INLINE simt::LaneMask __ballot_sync(Mask mask, int predicate, SIMT_HERE) {
  return static_cast<simt::LaneMask>(simt::ballot(simt::named, simt::checked(mask), predicate != 0, file, location));
}
template <class Mask>
SIMT_INLINE int __any_sync(Mask mask, int predicate, SIMT_HERE) {
  return simt::ballot(simt::named, simt::checked(mask), predicate != 0, file, location) != 0;
}
template <class Mask>
SIMT_INLINE int __all_sync(Mask mask, int predicate, SIMT_HERE) {
  return simt::ballot(simt::named, simt::checked(mask), predicate == 0, file, location) == 0;
}
SIMT_INLINE simt::LaneMask __activemask(SIMT_HERE) {
  return static_cast<simt::LaneMask>(simt_wave(SIMT_ACTIVE, simt::active_lanes, 0, 0, file, location));
}
SIMT_INLINE void __syncwarp(SIMT_HERE) { simt_wave(SIMT_SYNC, simt::active_lanes, 0, 0, file, location); }
template <class Mask, simt::When<simt::is_integer<Mask>> = 0>
SIMT_INLINE void __syncwarp(Mask mask, SIMT_HERE) {
  simt_wave(SIMT_SYNC | simt::named, simt::checked(mask), 0, 0, file, location);
}
#define __builtin_amdgcn_wave_barrier() __syncwarp()

template <class T>
SIMT_INLINE unsigned long long __match_any(T value, SIMT_HERE) {
  return simt_wave(SIMT_MATCH, simt::active_lanes, simt::to_word(value), 0, file, location);
}
template <class Mask, class T>
SIMT_INLINE simt::LaneMask __match_any_sync(Mask mask, T value, SIMT_HERE) {
  return static_cast<simt::LaneMask>(
      simt_wave(SIMT_MATCH | simt::named, simt::checked(mask), simt::to_word(value), 0, file, location));
}
template <class Mask, class T>
SIMT_INLINE simt::LaneMask __match_all_sync(Mask mask, T value, int *predicate, SIMT_HERE) {
  unsigned long lanes = simt::ballot(simt::named, simt::checked(mask), true, file, location);
  bool same =
      simt_wave(SIMT_MATCH | simt::named, simt::checked(mask), simt::to_word(value), 0, file, location) == lanes;
  *predicate = same;
  return static_cast<simt::LaneMask>(same ? lanes : 0);
}

#define SIMT_REDUCE(name, expression)                                                                          \
  template <class Mask, class T>                                                                               \
  SIMT_INLINE T __reduce_##name##_sync(Mask mask, T value, SIMT_HERE) {                                        \
    return simt::reduce(simt::checked(mask), value, [](T a, T b) -> T { return expression; }, file, location); \
  }
SIMT_REDUCE(add, static_cast<T>(a + b))
SIMT_REDUCE(min, b < a ? b : a)
SIMT_REDUCE(max, a < b ? b : a)
SIMT_REDUCE(and, static_cast<T>(a &b))
SIMT_REDUCE(or, static_cast<T>(a | b))
SIMT_REDUCE(xor, static_cast<T>(a ^ b))
#undef SIMT_REDUCE

SIMT_INLINE unsigned __lane_id() { return simt_lane(); }
SIMT_INLINE uint64_t __lanemask_lt() { return (1ull << simt_lane()) - 1; }
SIMT_INLINE uint64_t __lanemask_eq() { return 1ull << simt_lane(); }
SIMT_INLINE uint64_t __lanemask_gt() { return ~(__lanemask_lt() | __lanemask_eq()); }

namespace simt {
SIMT_INLINE int read_lane(int value, int lane, const char *file, int location) {
  return from_word<int>(simt_wave(SIMT_SHUFFLE, active_lanes, to_word(value), lane, file, location));
}
SIMT_INLINE int read_first_lane(int value, SIMT_HERE) {
  return read_lane(value, __builtin_ctzl(simt_wave(SIMT_ACTIVE, active_lanes, 0, 0, file, location)), file, location);
}
SIMT_INLINE int read_any_lane(int value, int lane, SIMT_HERE) { return read_lane(value, lane, file, location); }
SIMT_INLINE int permute(int address, int value, SIMT_HERE) {
  const int lane = address >> 2 & (warpSize - 1);
  return from_word<int>(simt_wave(SIMT_PERMUTE, active_lanes, to_word(value), lane, file, location));
}
SIMT_INLINE unsigned lower_lanes(unsigned mask, unsigned add, unsigned first) {
  uint64_t lanes = static_cast<uint64_t>(mask) << first & __lanemask_lt();
  return add + static_cast<unsigned>(__builtin_popcountll(lanes));
}
}  // namespace simt
#define __builtin_amdgcn_readfirstlane(value) (::simt::read_first_lane(value))
#define __builtin_amdgcn_readlane(value, lane) (::simt::read_any_lane((value), (lane)))
#define __builtin_amdgcn_ds_bpermute(address, value) (::simt::permute((address), (value)))
#define __builtin_amdgcn_mbcnt_lo(mask, add) (::simt::lower_lanes((mask), (add), 0))
#define __builtin_amdgcn_mbcnt_hi(mask, add) (::simt::lower_lanes((mask), (add), 32))
#define __builtin_amdgcn_ballot_w64(predicate) (::__ballot(predicate))
#define __builtin_amdgcn_ballot_w32(predicate) (static_cast<unsigned>(::__ballot(predicate)))
