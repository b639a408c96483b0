// Short vectors: char2 to ulonglong4, float2 to double4, with HIP's alignment and component-wise operators.
#pragma once
#pragma GCC system_header

#include "traits.h"

/// N components of type T. One-, two- and four-component vectors are aligned to their size, three-component ones to a
/// component.
template <class T, unsigned N>
struct HIP_vector_type;

template <class T>
struct HIP_vector_type<T, 1> {
  T x;
  HIP_vector_type() = default;
  SIMT_INLINE constexpr HIP_vector_type(T x_) : x(x_) {}
  template <class F>
  SIMT_INLINE constexpr HIP_vector_type map(F f, const HIP_vector_type &b) const {
    return HIP_vector_type(static_cast<T>(f(x, b.x)));
  }
};
template <class T>
struct alignas(2 * sizeof(T)) HIP_vector_type<T, 2> {
  T x, y;
  HIP_vector_type() = default;
  SIMT_INLINE explicit constexpr HIP_vector_type(T all) : x(all), y(all) {}
  SIMT_INLINE constexpr HIP_vector_type(T x_, T y_) : x(x_), y(y_) {}
  template <class F>
  SIMT_INLINE constexpr HIP_vector_type map(F f, const HIP_vector_type &b) const {
    return HIP_vector_type(static_cast<T>(f(x, b.x)), static_cast<T>(f(y, b.y)));
  }
};
template <class T>
struct HIP_vector_type<T, 3> {
  T x, y, z;
  HIP_vector_type() = default;
  SIMT_INLINE explicit constexpr HIP_vector_type(T all) : x(all), y(all), z(all) {}
  SIMT_INLINE constexpr HIP_vector_type(T x_, T y_, T z_) : x(x_), y(y_), z(z_) {}
  template <class F>
  SIMT_INLINE constexpr HIP_vector_type map(F f, const HIP_vector_type &b) const {
    return HIP_vector_type(static_cast<T>(f(x, b.x)), static_cast<T>(f(y, b.y)), static_cast<T>(f(z, b.z)));
  }
};
template <class T>
struct alignas(4 * sizeof(T)) HIP_vector_type<T, 4> {
  T x, y, z, w;
  HIP_vector_type() = default;
  SIMT_INLINE explicit constexpr HIP_vector_type(T all) : x(all), y(all), z(all), w(all) {}
  SIMT_INLINE constexpr HIP_vector_type(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {}
  template <class F>
  SIMT_INLINE constexpr HIP_vector_type map(F f, const HIP_vector_type &b) const {
    return HIP_vector_type(static_cast<T>(f(x, b.x)), static_cast<T>(f(y, b.y)), static_cast<T>(f(z, b.z)),
                           static_cast<T>(f(w, b.w)));
  }
};

// Component-wise, with another vector or with one number for all components.
#define SIMT_VECTOR_OPERATOR(op)                                                                       \
  template <class T, unsigned N>                                                                       \
  SIMT_INLINE constexpr HIP_vector_type<T, N> operator op(const HIP_vector_type<T, N> &a,              \
                                                          const HIP_vector_type<T, N> &b) {            \
    return a.map([](T p, T q) { return p op q; }, b);                                                  \
  }                                                                                                    \
  template <class T, unsigned N, class S, simt::When<simt::is_integer<S> || simt::is_float<S>> = 0>    \
  SIMT_INLINE constexpr HIP_vector_type<T, N> operator op(const HIP_vector_type<T, N> &a, S b) {       \
    return a op HIP_vector_type<T, N>(static_cast<T>(b));                                              \
  }                                                                                                    \
  template <class T, unsigned N, class S, simt::When<simt::is_integer<S> || simt::is_float<S>> = 0>    \
  SIMT_INLINE constexpr HIP_vector_type<T, N> operator op(S a, const HIP_vector_type<T, N> &b) {       \
    return HIP_vector_type<T, N>(static_cast<T>(a)) op b;                                              \
  }                                                                                                    \
  template <class T, unsigned N, class B>                                                              \
  SIMT_INLINE constexpr HIP_vector_type<T, N> &operator op##=(HIP_vector_type<T, N> &a, const B & b) { \
    return a = a op b;                                                                                 \
  }
SIMT_VECTOR_OPERATOR(+)
SIMT_VECTOR_OPERATOR(-)
SIMT_VECTOR_OPERATOR(*)
SIMT_VECTOR_OPERATOR(/)
SIMT_VECTOR_OPERATOR(%)
SIMT_VECTOR_OPERATOR(&)
SIMT_VECTOR_OPERATOR(|)
SIMT_VECTOR_OPERATOR(^)
#undef SIMT_VECTOR_OPERATOR
template <class T, unsigned N>
SIMT_INLINE constexpr HIP_vector_type<T, N> operator-(const HIP_vector_type<T, N> &a) {
  return a.map([](T p, T) { return -p; }, a);
}
template <class T, unsigned N>
SIMT_INLINE constexpr bool operator==(const HIP_vector_type<T, N> &a, const HIP_vector_type<T, N> &b) {
  bool equal = true;
  a.map([&equal](T p, T q) { return equal = equal && p == q, p; }, b);
  return equal;
}
template <class T, unsigned N>
SIMT_INLINE constexpr bool operator!=(const HIP_vector_type<T, N> &a, const HIP_vector_type<T, N> &b) {
  return !(a == b);
}

#define SIMT_VECTOR_TYPES(T, name)                                                         \
  using name##1 = HIP_vector_type<T, 1>;                                                   \
  using name##2 = HIP_vector_type<T, 2>;                                                   \
  using name##3 = HIP_vector_type<T, 3>;                                                   \
  using name##4 = HIP_vector_type<T, 4>;                                                   \
  SIMT_INLINE constexpr name##1 make_##name##1(T x) { return name##1(x); }                 \
  SIMT_INLINE constexpr name##2 make_##name##2(T x, T y) { return name##2(x, y); }         \
  SIMT_INLINE constexpr name##3 make_##name##3(T x, T y, T z) { return name##3(x, y, z); } \
  SIMT_INLINE constexpr name##4 make_##name##4(T x, T y, T z, T w) { return name##4(x, y, z, w); }
SIMT_VECTOR_TYPES(signed char, char)
SIMT_VECTOR_TYPES(unsigned char, uchar)
SIMT_VECTOR_TYPES(short, short)
SIMT_VECTOR_TYPES(unsigned short, ushort)
SIMT_VECTOR_TYPES(int, int)
SIMT_VECTOR_TYPES(unsigned, uint)
SIMT_VECTOR_TYPES(long, long)
SIMT_VECTOR_TYPES(unsigned long, ulong)
SIMT_VECTOR_TYPES(long long, longlong)
SIMT_VECTOR_TYPES(unsigned long long, ulonglong)
SIMT_VECTOR_TYPES(float, float)
SIMT_VECTOR_TYPES(double, double)
#undef SIMT_VECTOR_TYPES
