// Functions that are called and not inlined, pointers to functions, virtual functions, recursion, lambdas, printf.
#include "common.h"

__device__ __noinline__ u32 mixed(u32 a, u32 b) { return (a ^ b >> 3) * 2654435761u; }
__device__ __noinline__ f32 weighted(f32 a, f32 b, f32 c) { return a * 2 + b * 4 - c; }
__device__ __noinline__ u64 wide(u64 a, u64 b) { return a * 3 + (b >> 7); }
__device__ __noinline__ f64 doubled(f64 a) { return a + a; }
KERNEL(call) { out[me()] = mixed(in[me()], in[me() + 1]); }
KERNEL(call_twice) { out[me()] = mixed(mixed(in[me()], 5), in[me() + 1]); }
KERNEL(call_of_floats) { put(out, me(), weighted(get<f32>(in, me()), get<f32>(in, me() + 1), 3.0f)); }
KERNEL(call_of_64_bits) { put(out, me(), wide(get<u64>(in, me()), get<u64>(in, me() + 1))); }
KERNEL(call_of_doubles) { put(out, me(), doubled(get<f64>(in, me()))); }
KERNEL(call_in_a_branch) {
  u32 x = in[me()];
  if (x & 1) x = mixed(x, 77);
  out[me()] = x;
}
KERNEL(call_in_a_loop) {
  u32 x = in[me()];
  for (u32 i = 0; i < (in[me()] & 3); i++) x = mixed(x, i);
  out[me()] = x;
}
__device__ __noinline__ u32 many(u32 a, u32 b, u32 c, u32 d, u32 e, u32 f, u64 g, f32 h, u32 i, u32 j, u32 k, u32 l) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + u32(g >> 9) + u32(i32(h)) + 7 * i + 8 * j + 9 * k + 10 * l;
}
KERNEL(call_of_many_arguments) {
  const u32 i = me();
  out[i] = many(in[i], in[i + 1], in[i + 2], in[i + 3], in[i + 4], in[i + 5], get<u64>(in, i), get<f32>(in, i),
                in[i + 6], in[i + 7], in[i + 8], in[i + 9]);
}
struct Triple {
  u32 a, b, c;
};
__device__ __noinline__ Triple rotated(Triple x) { return {x.c, x.a, x.b}; }
KERNEL(call_of_a_structure) {
  const Triple x = rotated(rotated({in[me()], in[me() + 1], in[me() + 2]}));
  out[me()] = x.a ^ x.b * 3 ^ x.c * 5;
}
struct Large {
  u32 word[24];
};
__device__ __noinline__ Large filled(u32 seed) {
  Large x;
  for (int i = 0; i < 24; i++) x.word[i] = seed + i * i;
  return x;
}
KERNEL(call_that_returns_memory) {
  const Large x = filled(in[me()]);
  out[me()] = x.word[in[me()] % 24];
}
__device__ __noinline__ void divide(u32 a, u32 b, u32 *quotient, u32 *rest) {
  *quotient = a / b;
  *rest = a % b;
}
KERNEL(call_with_pointers_to_locals) {
  u32 quotient, rest;
  divide(in[me()], (in[me() + 1] & 0xff) + 1, &quotient, &rest);
  out[me()] = quotient ^ rest << 24;
}
__device__ __noinline__ u32 sum_of(const u32 *from, int n) {
  u32 sum = 0;
  for (int i = 0; i < n; i++) sum += from[i];
  return sum;
}
KERNEL(call_with_pointers_of_three_kinds) {
  __shared__ u32 cell[BLOCK];
  u32 local[4] = {in[me()], 1, 2, 3};
  cell[threadIdx.x] = in[me() + 9];
  __syncthreads();
  out[me()] = sum_of(local, 4) ^ sum_of(in + me(), 5) ^ sum_of(cell + (threadIdx.x & 64), 8);
}
__device__ __noinline__ u32 factorial(u32 n) { return n < 2 ? 1 : n * factorial(n - 1); }
KERNEL(recursion_of_the_tail) { out[me()] = factorial(in[me()] & 7); }
__device__ u32 fibonacci(u32 n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL(recursion_of_a_tree) { out[me()] = fibonacci(in[me()] & 7); }
__device__ u32 ackermann(u32 m, u32 n) { return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1)); }
KERNEL(recursion_ackermann) { out[me()] = ackermann(in[me()] & 1, in[me()] >> 1 & 3); }
template <int n>
__device__ u32 power(u32 x) {
  if constexpr (n == 0)
    return 1;
  else
    return x * power<n - 1>(x);
}
KERNEL(recursion_of_templates) { out[me()] = power<9>(in[me()]); }
__device__ bool is_odd(u32 n);
__device__ bool is_even(u32 n) { return n == 0 || is_odd(n - 1); }
__device__ bool is_odd(u32 n) { return n != 0 && is_even(n - 1); }
KERNEL(recursion_of_two) { out[me()] = is_even(in[me()] & 7); }

using Binary = u32 (*)(u32, u32);
__device__ u32 added(u32 a, u32 b) { return a + b; }
__device__ u32 crossed(u32 a, u32 b) { return a ^ b; }
__device__ u32 multiplied(u32 a, u32 b) { return a * b; }
__device__ Binary const operations[3] = {added, crossed, multiplied};
KERNEL(pointers_to_functions_by_value) {
  Binary chosen = in[me()] % 3 == 0 ? added : in[me()] % 3 == 1 ? crossed : multiplied;
  out[me()] = chosen(in[me()], in[me() + 1]);
}
KERNEL(pointers_to_functions_of_a_table) { out[me()] = operations[in[me()] % 3](in[me()], in[me() + 1]); }
KERNEL(pointers_to_functions_by_uniform) { out[me()] = operations[in[blockIdx.x] % 3](in[me()], in[me() + 1]); }
struct Shape {
  __device__ virtual u32 area() const = 0;
};
struct Square : Shape {
  u32 side;
  __device__ explicit Square(u32 n) : side(n) {}
  __device__ u32 area() const override { return side * side; }
};
struct Rectangle : Shape {
  u32 a, b;
  __device__ Rectangle(u32 x, u32 y) : a(x), b(y) {}
  __device__ u32 area() const override { return a * b; }
};
KERNEL(virtual_functions) {
  Square square(in[me()] & 0xff);
  Rectangle rectangle(in[me()] & 0xf, in[me() + 1] & 0xff);
  const Shape *shape = in[me()] & 0x100 ? static_cast<const Shape *>(&square) : &rectangle;
  out[me()] = shape->area();
}
template <class F>
__device__ u32 applied(F f, u32 n) {
  u32 x = 1;
  for (u32 i = 0; i < n; i++) x = f(x, i);
  return x;
}
KERNEL(lambdas) {
  const u32 a = in[me()];
  out[me()] = applied([a](u32 x, u32 i) { return x * a + i; }, 6);
}
template <class T>
struct Functor {
  T scale;
  __device__ T operator()(T x) const { return x * scale + T(1); }
};
KERNEL(functors) {
  const Functor<i32> one{3};
  const Functor<f32> other{0.5f};
  put(out, me(), one(get<i32>(in, me())) ^ i32(other(get<f32>(in, me()))));
}
KERNEL(prints_never) {
  if (in[me()] == 1 && in[me() + 1] == 2) printf("thread %u has %u\n", u32(threadIdx.x), in[me()]);
  out[me()] = in[me()] + 1;
}
KERNEL(prints) {
  if (me() == 3) printf("thread %u has %d and %f\n", u32(threadIdx.x), 42, 1.5);
  out[me()] = in[me()] + 2;
}
KERNEL(prints_a_text) {
  if (me() == 0) printf("no numbers\n");
  out[me()] = in[me()] + 3;
}
KERNEL(trap_that_is_not_reached) {
  if (in[me()] == 0x12345678 && in[me() + 1] == 3) __builtin_trap();
  out[me()] = in[me()] + 4;
}
template <class... T>
__device__ u32 sum_of_all(T... x) {
  return (u32(x) + ...);
}
KERNEL(variadic_templates) { out[me()] = sum_of_all(in[me()], u8(in[me() + 1]), i16(in[me() + 2]), 7); }
KERNEL(class_with_a_state) {
  class Generator {
   public:
    __device__ explicit Generator(u64 seed) : state_(seed) {}
    __device__ u32 next() {
      state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
      const u32 shifted = u32((state_ >> 18 ^ state_) >> 27), turn = u32(state_ >> 59);
      return shifted >> turn | shifted << (-turn & 31);
    }

   private:
    u64 state_;
  } generator(in[me()]);
  for (int i = 0; i < 3; i++) out[4 * me() + i] = generator.next();
}
