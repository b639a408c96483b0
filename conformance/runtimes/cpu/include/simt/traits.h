// Type tests and bit casts, written out because <type_traits> alone compiles slower than the rest of the prelude.
#pragma once
#pragma GCC system_header

#include <stddef.h>
#include <stdint.h>

#define SIMT_INLINE inline __attribute__((always_inline))

namespace simt {

template <class A, class B>
inline constexpr bool same = false;
template <class A>
inline constexpr bool same<A, A> = true;

template <class T, class... Options>
inline constexpr bool one_of = (same<T, Options> || ...);

template <class T>
inline constexpr bool is_integer =
    one_of<T, bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long,
           long long, unsigned long long, wchar_t, char16_t, char32_t>;
template <class T>
inline constexpr bool is_float = one_of<T, float, double, long double>;

template <bool, class T = void>
struct EnableIf {};
template <class T>
struct EnableIf<true, T> {
  using type = T;
};
/// Names int when the condition holds and removes the overload otherwise.
template <bool condition>
using When = typename EnableIf<condition, int>::type;

template <class T>
struct Identity {
  using type = T;
};
/// Keeps a parameter out of template argument deduction.
template <class T>
using NoDeduce = typename Identity<T>::type;

template <class To, class From>
SIMT_INLINE constexpr To bit_cast(const From &from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace simt
