// Complex numbers, short vectors and quaternions; all values are small integers and eighths, so that sums are exact.
#include "common.h"

template <class T>
struct Complex {
  T re, im;
};
template <class T>
__device__ Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
__device__ Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
__device__ Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
__device__ Complex<T> complex_at(const u32 *in, u32 i) {
  return {get<T>(in, 2 * i), get<T>(in, 2 * i + 1)};
}
template <class T>
__device__ void put_complex(u32 *out, u32 i, Complex<T> x) {
  put(out, 2 * i, x.re), put(out, 2 * i + 1, x.im);
}
#define OF_TYPE(T)                                                                                           \
  KERNEL(complex_add_##T) { put_complex(out, me(), complex_at<T>(in, me()) + complex_at<T>(in, me() + 1)); } \
  KERNEL(complex_sub_##T) { put_complex(out, me(), complex_at<T>(in, me()) - complex_at<T>(in, me() + 1)); } \
  KERNEL(complex_mul_##T) { put_complex(out, me(), complex_at<T>(in, me()) * complex_at<T>(in, me() + 1)); } \
  KERNEL(complex_square_add_##T) {                                                                           \
    const Complex<T> z = complex_at<T>(in, me());                                                            \
    put_complex(out, me(), z *z + complex_at<T>(in, me() + 3));                                              \
  }                                                                                                          \
  KERNEL(complex_norm_##T) {                                                                                 \
    const Complex<T> z = complex_at<T>(in, me());                                                            \
    put(out, me(), z.re *z.re + z.im * z.im);                                                                \
  }                                                                                                          \
  KERNEL(complex_dot_##T) {                                                                                  \
    Complex<T> sum = {T(0), T(0)};                                                                           \
    for (u32 i = 0; i < 4; i++) {                                                                            \
      Complex<T> z = complex_at<T>(in, 4 * me() + i);                                                        \
      z.im = -z.im;                                                                                          \
      sum = sum + z * complex_at<T>(in, i);                                                                  \
    }                                                                                                        \
    put_complex(out, me(), sum);                                                                             \
  }
OF_TYPE(f32)
OF_TYPE(f64)
OF_TYPE(i32)
KERNEL(complex_division_by_units) {
  // By 1, i, -1 or -i.
  const Complex<f32> z = complex_at<f32>(in, me());
  const u32 turn = in[me()] >> 8 & 3;
  const Complex<f32> unit = {turn == 0 ? 1.0f : turn == 2 ? -1.0f : 0.0f, turn == 1 ? 1.0f : turn == 3 ? -1.0f : 0.0f};
  const f32 norm = unit.re * unit.re + unit.im * unit.im;
  const Complex<f32> product = z * Complex<f32>{unit.re, -unit.im};
  put_complex(out, me(), Complex<f32>{product.re / norm, product.im / norm});
}
KERNEL(complex_reduction) {
  Complex<f32> z = complex_at<f32>(in, me());
  for (int delta = warpSize / 2; delta > 0; delta /= 2)
    z = z + Complex<f32>{__shfl_xor(z.re, delta), __shfl_xor(z.im, delta)};
  put_complex(out, me(), z);
}
KERNEL(fourier_transform_of_4) {
  Complex<f32> x[4];
  for (u32 i = 0; i < 4; i++) x[i] = complex_at<f32>(in, 4 * (me() % 128) + i);
  const Complex<f32> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3], turned = {d.im, -d.re};
  const Complex<f32> y[4] = {a + c, b + turned, a - c, b - turned};
  for (u32 i = 0; i < 4; i++) put_complex(out, 4 * (me() % 128) + i, y[i]);
}
KERNEL(fourier_transform_of_integers) {
  // Modulo 17, whose root of unity of order 16 is 3.
  __shared__ u32 x[BLOCK];
  const u32 t = threadIdx.x, lane = t & 15;
  x[t] = in[me()] % 17;
  __syncthreads();
  u32 sum = 0, root = 1, step = 1;
  for (u32 i = 0; i < lane; i++) step = step * 3 % 17;
  for (u32 i = 0; i < 16; i++) {
    sum += x[(t & ~15u) + i] * root;
    root = root * step % 17;
  }
  out[me()] = sum % 17;
}
KERNEL(float2_arithmetic) {
  const float2 a = {get<f32>(in, 2 * me()), get<f32>(in, 2 * me() + 1)}, b = {2.0f, -3.0f};
  const float2 c = a * b + make_float2(1.0f, 0.5f);
  put(out, 2 * me(), c.x), put(out, 2 * me() + 1, c.y);
}
KERNEL(float3_cross_product) {
  const f32 *unused = nullptr;
  (void)unused;
  float3 a, b;
  a.x = get<f32>(in, me()), a.y = get<f32>(in, me() + 1), a.z = get<f32>(in, me() + 2);
  b.x = get<f32>(in, me() + 3), b.y = get<f32>(in, me() + 4), b.z = get<f32>(in, me() + 5);
  put(out, 3 * me(), a.y * b.z - a.z * b.y);
  put(out, 3 * me() + 1, a.z * b.x - a.x * b.z);
  put(out, 3 * me() + 2, a.x * b.y - a.y * b.x);
}
KERNEL(int4_arithmetic) {
  const int4 a = reinterpret_cast<const int4 *>(in)[me()];
  const uint4 b = reinterpret_cast<const uint4 *>(in)[me() + 1];
  uint4 c;
  c.x = u32(a.x) + b.w, c.y = u32(a.y) * b.z, c.z = u32(a.z) ^ b.y, c.w = u32(a.w) - b.x;
  reinterpret_cast<uint4 *>(out)[me()] = c;
}
KERNEL(double2_arithmetic) {
  const double2 a = {get<f64>(in, 2 * me()), get<f64>(in, 2 * me() + 1)};
  put(out, 2 * me(), a.x * a.y), put(out, 2 * me() + 1, a.x - a.y * 0.25);
}
KERNEL(quaternion_product) {
  f32 a[4], b[4];
  for (u32 i = 0; i < 4; i++) a[i] = get<f32>(in, 4 * me() + i), b[i] = get<f32>(in, 4 * me() + i + 7);
  put(out, 4 * me(), a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]);
  put(out, 4 * me() + 1, a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]);
  put(out, 4 * me() + 2, a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]);
  put(out, 4 * me() + 3, a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]);
}
KERNEL(rotary_embedding) {
  // By quarter turns.
  const u32 pair = me(), turn = in[me()] >> 10 & 3;
  const f32 x = get<f32>(in, 2 * pair), y = get<f32>(in, 2 * pair + 1);
  const f32 cosine = turn == 0 ? 1.0f : turn == 2 ? -1.0f : 0.0f, sine = turn == 1 ? 1.0f : turn == 3 ? -1.0f : 0.0f;
  put(out, 2 * pair, x * cosine - y * sine), put(out, 2 * pair + 1, x * sine + y * cosine);
}
