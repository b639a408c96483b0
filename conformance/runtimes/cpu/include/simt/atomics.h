// Atomic operations on global and shared memory. Blocks run on several OS threads, so all are real host atomics.
#pragma once
#pragma GCC system_header

#include "traits.h"

namespace simt {

template <class T, int size = sizeof(T)>
struct WordOf;
template <class T>
struct WordOf<T, 2> {
  using type = uint16_t;
};
template <class T>
struct WordOf<T, 4> {
  using type = uint32_t;
};
template <class T>
struct WordOf<T, 8> {
  using type = uint64_t;
};

/// Between what a kernel read and the atomic operation that relies on it other threads may come: here they do, in the
/// thread orders that ask for it.
SIMT_INLINE void before_atomic() {
  if (__builtin_expect(simt_self->switch_at_atomics, 0)) simt_wave(SIMT_SWITCH, ~0ul, 0, 0, nullptr, 0);
}

/// Replaces *address by update(*address) and returns the old value, by compare-and-swap on the bits.
template <class T, class Update>
SIMT_INLINE T modify(T *address, Update update) {
  using Word = typename WordOf<T>::type;
  auto *word = reinterpret_cast<Word *>(address);
  Word seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    T old = bit_cast<T>(seen);
    Word wanted = bit_cast<Word>(static_cast<T>(update(old)));
    if (__atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return old;
  }
}

template <class T>
inline constexpr bool atomic_integer = one_of<T, int, unsigned, long, unsigned long, long long, unsigned long long>;
template <class T>
inline constexpr bool atomic_number = atomic_integer<T> || one_of<T, float, double>;
/// Further types that atomicAdd takes: CUDA's headers of small floats name theirs.
template <class T>
inline constexpr bool atomic_addend = atomic_number<T>;

template <class T>
SIMT_INLINE T atomic_add(T *address, T value) {
  if constexpr (atomic_integer<T>)
    return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);
  else
    return modify(address, [=](T old) { return old + value; });
}

}  // namespace simt

// Which types an operation takes is HIP's choice. HIP has no forms for a block, and no atomicInc and atomicDec for the
// system.
#define SIMT_ATOMIC(name, condition, expression)            \
  template <class T, simt::When<condition> = 0>             \
  SIMT_INLINE T name(T *address, simt::NoDeduce<T> value) { \
    simt::before_atomic();                                  \
    return expression;                                      \
  }
SIMT_ATOMIC(atomicAdd, simt::atomic_addend<T>, simt::atomic_add<T>(address, value))
SIMT_ATOMIC(atomicSub, simt::atomic_number<T>, simt::atomic_add<T>(address, static_cast<T>(-value)))
SIMT_ATOMIC(atomicMin, simt::atomic_number<T>, simt::modify(address, [=](T old) { return value < old ? value : old; }))
SIMT_ATOMIC(atomicMax, simt::atomic_number<T>, simt::modify(address, [=](T old) { return old < value ? value : old; }))
SIMT_ATOMIC(atomicExch, simt::atomic_number<T>, simt::modify(address, [=](T) { return value; }))
SIMT_ATOMIC(atomicAnd, simt::atomic_integer<T>, __atomic_fetch_and(address, value, __ATOMIC_SEQ_CST))
SIMT_ATOMIC(atomicOr, simt::atomic_integer<T>, __atomic_fetch_or(address, value, __ATOMIC_SEQ_CST))
SIMT_ATOMIC(atomicXor, simt::atomic_integer<T>, __atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST))
SIMT_ATOMIC(atomicInc, (simt::same<T, unsigned>),
            simt::modify(address, [=](T old) { return old >= value ? 0u : old + 1; }))
SIMT_ATOMIC(atomicDec, (simt::same<T, unsigned>),
            simt::modify(address, [=](T old) { return old == 0 || old > value ? value : old - 1; }))
SIMT_ATOMIC(unsafeAtomicAdd, sizeof(T) >= 2 && sizeof(T) <= 8, simt::atomic_add<T>(address, value))
SIMT_ATOMIC(safeAtomicAdd, (simt::one_of<T, float, double>), simt::atomic_add<T>(address, value))
SIMT_ATOMIC(unsafeAtomicMax, (simt::one_of<T, float, double>),
            simt::modify(address, [=](T old) { return old < value ? value : old; }))
SIMT_ATOMIC(unsafeAtomicMin, (simt::one_of<T, float, double>),
            simt::modify(address, [=](T old) { return value < old ? value : old; }))
#undef SIMT_ATOMIC

// The scope is dropped: host atomics are visible to the whole process.
#define SIMT_FORM(name, scope)                                                                        \
  template <class T>                                                                                  \
  SIMT_INLINE auto name##scope(T *address, simt::NoDeduce<T> value)->decltype(name(address, value)) { \
    return name(address, value);                                                                      \
  }
// clang-format off
#define SIMT_FORMS(scope)                               \
  SIMT_FORM(atomicAdd, scope)                           \
  SIMT_FORM(atomicSub, scope)                           \
  SIMT_FORM(atomicMin, scope)                           \
  SIMT_FORM(atomicMax, scope)                           \
  SIMT_FORM(atomicExch, scope)                          \
  SIMT_FORM(atomicAnd, scope)                           \
  SIMT_FORM(atomicOr, scope)                            \
  SIMT_FORM(atomicXor, scope)
// clang-format on
SIMT_FORMS(_system)
#if defined(SIMT_CUDA)
SIMT_FORMS(_block)
SIMT_FORM(atomicInc, _block)
SIMT_FORM(atomicDec, _block)
SIMT_FORM(atomicInc, _system)
SIMT_FORM(atomicDec, _system)
#endif
#undef SIMT_FORMS
#undef SIMT_FORM

template <class T>
SIMT_INLINE void atomicAddNoRet(T *address, simt::NoDeduce<T> value) {
  simt::before_atomic();
  simt::atomic_add<T>(address, value);
}

// Compares bits, so a float with the same bits is equal and NaN equals itself, as in hardware.
#define SIMT_COMPARE_AND_SWAP(name)                                                                           \
  template <class T, simt::When<(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8)> = 0>                    \
  SIMT_INLINE T name(T *address, simt::NoDeduce<T> expected, simt::NoDeduce<T> value) {                       \
    using Word = typename simt::WordOf<T>::type;                                                              \
    simt::before_atomic();                                                                                    \
    Word seen = simt::bit_cast<Word>(expected);                                                               \
    __atomic_compare_exchange_n(reinterpret_cast<Word *>(address), &seen, simt::bit_cast<Word>(value), false, \
                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                                          \
    return simt::bit_cast<T>(seen);                                                                           \
  }
SIMT_COMPARE_AND_SWAP(atomicCAS)
#if defined(SIMT_CUDA)
SIMT_COMPARE_AND_SWAP(atomicCAS_block)
#endif
SIMT_COMPARE_AND_SWAP(atomicCAS_system)
#undef SIMT_COMPARE_AND_SWAP

namespace simt {
template <class T>
SIMT_INLINE bool compare_exchange(T *address, T *expected, NoDeduce<T> value) {
  const T wanted = *expected;
  *expected = atomicCAS(address, wanted, value);
  return bit_cast<typename WordOf<T>::type>(*expected) == bit_cast<typename WordOf<T>::type>(wanted);
}
}  // namespace simt

#ifndef __HIP_MEMORY_SCOPE_SINGLETHREAD
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#endif
// The scope is dropped: host atomics are visible to the whole process.
#define __hip_atomic_load(address, order, scope) __atomic_load_n((address), (order))
#define __hip_atomic_store(address, value, order, scope) __atomic_store_n((address), (value), (order))
#define __hip_atomic_fetch_add(address, value, order, scope) (::unsafeAtomicAdd((address), (value)))
#define __hip_atomic_fetch_sub(address, value, order, scope) (::atomicSub((address), (value)))
#define __hip_atomic_fetch_min(address, value, order, scope) (::atomicMin((address), (value)))
#define __hip_atomic_fetch_max(address, value, order, scope) (::atomicMax((address), (value)))
#define __hip_atomic_fetch_and(address, value, order, scope) (::atomicAnd((address), (value)))
#define __hip_atomic_fetch_or(address, value, order, scope) (::atomicOr((address), (value)))
#define __hip_atomic_fetch_xor(address, value, order, scope) (::atomicXor((address), (value)))
#define __hip_atomic_exchange(address, value, order, scope) (::atomicExch((address), (value)))
#define __hip_atomic_compare_exchange_strong(address, expected, value, success, failure, scope) \
  (::simt::compare_exchange((address), (expected), (value)))
#define __hip_atomic_compare_exchange_weak __hip_atomic_compare_exchange_strong
