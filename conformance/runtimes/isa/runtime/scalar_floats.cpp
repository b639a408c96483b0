// Floats and 64-bit integers in scalar registers, which RDNA 3.5 and 4 have.
#include "operands.h"
#include "predicates.h"

namespace isa {
namespace {

f32 float_at(const Wave &w, const Inst &i, int n) { return std::bit_cast<f32>(w.scalar(i.src[n], i)); }
f16 half_at(const Wave &w, const Inst &i, int n) {
  const u16 code = i.src[n];
  return is_inline(code) ? inline_constant<f16>(code) : std::bit_cast<f16>(static_cast<u16>(w.scalar(code, i)));
}

template <auto f>
void float_one(Wave &w, const Inst &i) {
  w.set_scalar(i.dst, bits_of(static_cast<f32>(f(float_at(w, i, 0)))));
}
template <auto f>
void float_two(Wave &w, const Inst &i) {
  w.set_scalar(i.dst, bits_of(static_cast<f32>(f(float_at(w, i, 0), float_at(w, i, 1)))));
}
// s_fmamk, s_fmaak: the literal is among the sources.
void fused_three(Wave &w, const Inst &i) {
  w.set_scalar(i.dst, bits_of(fused(float_at(w, i, 0), float_at(w, i, 1), float_at(w, i, 2))));
}
template <auto f>
void half_two(Wave &w, const Inst &i) {
  w.set_scalar(i.dst, bits_of(static_cast<f16>(f(half_at(w, i, 0), half_at(w, i, 1)))));
}
template <auto f>
void half_one(Wave &w, const Inst &i) {
  w.set_scalar(i.dst, bits_of(static_cast<f16>(f(static_cast<f32>(half_at(w, i, 0))))));
}
template <auto f>
void compare_floats(Wave &w, const Inst &i) {
  w.scc_ = f(float_at(w, i, 0), float_at(w, i, 1));
}
template <auto f>
void compare_halves(Wave &w, const Inst &i) {
  w.scc_ = f(static_cast<f32>(half_at(w, i, 0)), static_cast<f32>(half_at(w, i, 1)));
}
template <auto f>
void wide(Wave &w, const Inst &i) {  // SCC as it was
  w.set_scalar64(i.dst, f(w.scalar64(i.src[0], i), w.scalar64(i.src[1], i)));
}
#define COMPARE(name, condition, type, run) \
  {"s_cmp_" name "_" type, &run<[](f32 a, f32 b) -> bool { return condition; }>}
#define TWO(name, ...)                                                         \
  {"s_" name "_f32", &float_two<[](f32 a, f32 b) { return __VA_ARGS__; }>}, {  \
    "s_" name "_f16", &half_two<[](f16 a, f16 b) { return f16(__VA_ARGS__); }> \
  }

constexpr Semantics scalar_float_rows[] = {
    TWO("add", a + b),
    TWO("sub", a - b),
    TWO("mul", a *b),
    TWO("min", minimum(a, b)),  // RDNA 3.5
    TWO("max", maximum(a, b)),
    TWO("min_num", minimum_number(a, b)),
    TWO("max_num", maximum_number(a, b)),
    {"s_fmac_f32",
     [](Wave &w, const Inst &i) {
       const f32 c = std::bit_cast<f32>(w.scalar(i.dst, i));
       w.set_scalar(i.dst, bits_of(fused(float_at(w, i, 0), float_at(w, i, 1), c)));
     }},
    {"s_fmamk_f32", &fused_three},
    {"s_fmaak_f32", &fused_three},
    TWO("maximum", ieee_maximum(a, b)),
    TWO("minimum", ieee_minimum(a, b)),
    {"s_fmac_f16",
     [](Wave &w, const Inst &i) {
       const f16 c = std::bit_cast<f16>(static_cast<u16>(w.scalar(i.dst, i)));
       w.set_scalar(i.dst, bits_of(fused(half_at(w, i, 0), half_at(w, i, 1), c)));
     }},
    {"s_trunc_f16", &half_one<[](f32 a) { return std::trunc(a); }>},
    {"s_ceil_f16", &half_one<[](f32 a) { return std::ceil(a); }>},
    {"s_floor_f16", &half_one<[](f32 a) { return std::floor(a); }>},
    {"s_rndne_f16", &half_one<[](f32 a) { return std::nearbyint(a); }>},
    {"s_cvt_hi_f32_f16",
     [](Wave &w, const Inst &i) {
       const u16 high = static_cast<u16>(w.scalar(i.src[0], i) >> 16);
       w.set_scalar(i.dst, bits_of(static_cast<f32>(std::bit_cast<f16>(high))));
     }},
    {"s_cvt_pk_rtz_f16_f32",
     [](Wave &w, const Inst &i) {
       w.set_scalar(i.dst, cut_half_bits(float_at(w, i, 0)) | cut_half_bits(float_at(w, i, 1)) << 16);
     }},
    {"s_trunc_f32", &float_one<[](f32 a) { return std::trunc(a); }>},
    {"s_ceil_f32", &float_one<[](f32 a) { return std::ceil(a); }>},
    {"s_floor_f32", &float_one<[](f32 a) { return std::floor(a); }>},
    {"s_rndne_f32", &float_one<[](f32 a) { return std::nearbyint(a); }>},
    {"s_cvt_f32_f16", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, bits_of(static_cast<f32>(half_at(w, i, 0)))); }},
    {"s_cvt_f16_f32",
     [](Wave &w, const Inst &i) { w.set_scalar(i.dst, bits_of(static_cast<f16>(float_at(w, i, 0)))); }},
    {"s_cvt_f32_i32",
     [](Wave &w, const Inst &i) {
       w.set_scalar(i.dst, bits_of(static_cast<f32>(static_cast<i32>(w.scalar(i.src[0], i)))));
     }},
    {"s_cvt_f32_u32",
     [](Wave &w, const Inst &i) { w.set_scalar(i.dst, bits_of(static_cast<f32>(w.scalar(i.src[0], i)))); }},
    {"s_cvt_i32_f32",
     [](Wave &w, const Inst &i) { w.set_scalar(i.dst, static_cast<u32>(to_integer<i32>(float_at(w, i, 0)))); }},
    {"s_cvt_u32_f32", [](Wave &w, const Inst &i) { w.set_scalar(i.dst, to_integer<u32>(float_at(w, i, 0))); }},
    FLOAT_PREDICATES(COMPARE, "f32", compare_floats),
    FLOAT_PREDICATES(COMPARE, "f16", compare_halves),
    {"s_add_nc_u64", &wide<[](u64 a, u64 b) { return a + b; }>},
    {"s_sub_nc_u64", &wide<[](u64 a, u64 b) { return a - b; }>},
    {"s_mul_u64", &wide<[](u64 a, u64 b) { return a * b; }>},
};

}  // namespace

Run find_scalar_float(const char *name) { return find_row(scalar_float_rows, name); }

#undef COMPARE
#undef TWO

}  // namespace isa
