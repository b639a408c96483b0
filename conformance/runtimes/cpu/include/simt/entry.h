// From a kernel function to a row of the module's kernel table, by templates: the compiler, not a parser, knows the
// parameters. C++20; appended code looks like
//     SIMT_MODULE(simt::row<&ucopy_f32>("ucopy_f32", "unary.hip", 12), simt::row<&relu<float>>("relu<float>", "", 0))
#pragma once
#include "abi.h"

#include <utility>

namespace simt {

// ---- canonical type names

template <unsigned N>
struct text {
  char s[N + 1] = {};
  constexpr text() = default;
  constexpr text(const char (&a)[N + 1]) {
    for (unsigned i = 0; i < N; ++i) s[i] = a[i];
  }
};
template <unsigned N>
text(const char (&)[N]) -> text<N - 1>;

template <unsigned A, unsigned B>
constexpr text<A + B> operator+(const text<A> &a, const text<B> &b) {
  text<A + B> r;
  for (unsigned i = 0; i < A; ++i) r.s[i] = a.s[i];
  for (unsigned i = 0; i < B; ++i) r.s[A + i] = b.s[i];
  return r;
}

// The compiler's own spelling, for class types (clang: "[T = name]", g++: "[with T = name]").
template <class T>
constexpr auto spelled() {
  constexpr unsigned size = sizeof(__PRETTY_FUNCTION__) - 1;
  constexpr auto bounds = [](const char *p) {
    unsigned begin = 0;
    while (!(p[begin] == 'T' && p[begin + 1] == ' ' && p[begin + 2] == '=')) ++begin;
    return begin + 4;
  };
  constexpr unsigned begin = bounds(__PRETTY_FUNCTION__);
  text<size - 1 - begin> r;
  for (unsigned i = begin; i < size - 1; ++i) r.s[i - begin] = __PRETTY_FUNCTION__[i];
  return r;
}

template <class T>
struct name_of {
  static constexpr auto value = spelled<T>();
};
template <class T>
struct name_of<const T> {
  static constexpr auto value = name_of<T>::value + text(" const");
};
template <class T>
struct name_of<volatile T> {
  static constexpr auto value = name_of<T>::value + text(" volatile");
};
template <class T>
struct name_of<const volatile T> {
  static constexpr auto value = name_of<T>::value + text(" const volatile");
};
template <class T>
struct name_of<T *> {
  static constexpr auto value = name_of<T>::value + text("*");
};
template <class T>
struct name_of<T &> {
  static constexpr auto value = name_of<T>::value + text("&");
};

// The compilers differ on these ("unsigned long", "long unsigned int").
#define SIMT_NAME(...)                                \
  template <>                                         \
  struct name_of<__VA_ARGS__> {                       \
    static constexpr auto value = text(#__VA_ARGS__); \
  };
SIMT_NAME(void)
SIMT_NAME(bool)
SIMT_NAME(char)
SIMT_NAME(signed char)
SIMT_NAME(unsigned char)
SIMT_NAME(short)
SIMT_NAME(unsigned short)
SIMT_NAME(int)
SIMT_NAME(unsigned int)
SIMT_NAME(long)
SIMT_NAME(unsigned long)
SIMT_NAME(long long)
SIMT_NAME(unsigned long long)
SIMT_NAME(float)
SIMT_NAME(double)
#undef SIMT_NAME

// ---- the thread loop

template <auto Kernel>
struct entry;

template <class... A, void (*Kernel)(A...)>
struct entry<Kernel> {
  static constexpr unsigned nargs = sizeof...(A);
  static constexpr unsigned sizes[nargs + 1] = {static_cast<unsigned>(sizeof(A))..., 0};
  static constexpr unsigned aligns[nargs + 1] = {static_cast<unsigned>(alignof(A))..., 0};
  static constexpr const char *types[nargs + 1] = {name_of<A>::value.s..., nullptr};

  // Runs threads one after the other until none is left to start. As long as no thread of the block has waited at a
  // barrier or collective (loop mode, `fiber_mode` is 0), threads run in linear order and threadIdx is their only
  // state; when the first one waits, the scheduler sees by threadIdx how far this loop has come.
  static void loop(A... args) {
    simt_context *c = simt_self;
    unsigned x = c->threadIdx.x, y = c->threadIdx.y, z = c->threadIdx.z;
    const unsigned nx = c->blockDim.x, ny = c->blockDim.y, nz = c->blockDim.z;
    for (;;) {
      // threadIdx must be in memory while the kernel runs (fault reports, barriers) but may be used from registers.
      asm volatile("" : : "m"(c->threadIdx));
      Kernel(args...);
      if (__builtin_expect(c->fiber_mode, 0)) {
        simt_next();
        continue;
      }
      if (__builtin_expect(++x == nx, 0)) {
        x = 0;
        if (++y == ny) {
          y = 0;
          if (++z == nz) return;
          c->threadIdx.z = z;
        }
        c->threadIdx.y = y;
      }
      c->threadIdx.x = x;
    }
  }

  template <std::size_t... I>
  static void unpack(void *const *args, std::index_sequence<I...>) {
    loop(*static_cast<A *>(args[I])...);
  }
  static void run([[maybe_unused]] void *const *args) { unpack(args, std::index_sequence_for<A...>()); }
};

template <auto Kernel>
constexpr simt_kernel row(const char *name, const char *file, unsigned line, unsigned long most_threads = 0) {
  using e = entry<Kernel>;
  if constexpr (std::is_function_v<std::remove_pointer_t<decltype(Kernel)>>)
    return {name, file, line, e::nargs, &e::run, e::sizes, e::aligns, e::types, most_threads};
  else  // a variable, of which a name expression asks for the symbol
    return {name, file, line, 0, nullptr, nullptr, nullptr, nullptr, 0};
}

// The block's dynamic shared memory, simt_self->dynamic_bytes bytes, aligned to 16 at least.
template <class T>
static inline __attribute__((always_inline)) T *dynamic_shared() {
  return static_cast<T *>(simt_self->dynamic_shared);
}

}  // namespace simt

// Ends a module: all its rows, zero or more. At namespace scope, once. (abi.h gives these names default visibility.)
#define SIMT_MODULE(...)                                                             \
  extern "C" {                                                                       \
  const unsigned simt_abi_version = SIMT_ABI_VERSION;                                \
  const simt_kernel simt_kernels[] = {__VA_ARGS__ __VA_OPT__(, ) simt_kernel{}};     \
  const unsigned simt_kernel_count = sizeof(simt_kernels) / sizeof(simt_kernel) - 1; \
  void simt_touch(void) {                                                            \
    static thread_local char touched;                                                \
    __asm__ volatile("" : : "r"(&touched) : "memory");                               \
  }                                                                                  \
  }
