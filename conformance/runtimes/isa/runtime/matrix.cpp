// Products of matrices whose elements lie in the registers of a whole wave: MFMA (CDNA) and WMMA (RDNA 3 and 4).
//
// Where elements lie is from AMD's lab notes on matrix cores, its articles on WMMA for RDNA 3 and RDNA 4, and the ISA
// documents. In which order the products are summed, and how often the sum is rounded, is documented nowhere: here it
// is the sum in double precision, rounded once.
#include "operands.h"

namespace isa {
namespace {

enum class Element { F16, Bf16, F32, I8, I4 };

constexpr u32 bits_of_kind(Element kind) {
  return kind == Element::F32 ? 32 : kind == Element::F16 || kind == Element::Bf16 ? 16 : kind == Element::I8 ? 8 : 4;
}
constexpr int deepest = 64;
constexpr int widest = 32;

u32 lanes_of(const Wave &w) { return w.launch->wave; }

f64 element(Element kind, u32 word, u32 at, bool with_sign) {
  const u32 bits = bits_of_kind(kind), part = bits == 32 ? word : word >> at & ((1u << bits) - 1);
  switch (kind) {
    case Element::F16:
      return static_cast<f64>(std::bit_cast<f16>(static_cast<u16>(part)));
    case Element::Bf16:
      return static_cast<f64>(std::bit_cast<f32>(part << 16));
    case Element::F32:
      return static_cast<f64>(std::bit_cast<f32>(part));
    default:
      return with_sign ? static_cast<i32>(part << (32 - bits)) >> (32 - bits) : static_cast<i32>(part);
  }
}

// AMD, "MI200 matrix fused multiply-add (MFMA) behavior specifics": MFMA_F16, MFMA_BF16 and MFMA_BF16_1K "flush
// subnormal input/output data to zero".
bool flushes(const Wave &w, Element kind) {
  return w.launch->code->is_mi200 && (kind == Element::F16 || kind == Element::Bf16);
}
f64 without_subnormal(f64 x, Element kind) {
  return std::fabs(x) < (kind == Element::F16 ? 0x1p-14 : 0x1p-126) ? 0 : x;
}

void check_registers(u16 code, u32 count) {
  if (code < vgpr || code - vgpr + count > vector_registers) throw Fault(Fault::Unknown, "operands of a matrix here");
}

// Operand `n`, a row (of A) or column (of B) for each lane modulo `side`; the lanes of one row have consecutive parts
// of it. On RDNA 3 each half of the wave has all.
template <Element kind, int side, int depth>
void read(Wave &w, const Inst &i, int n, f64 (&out)[widest][deepest]) {
  const bool repeated = w.launch->code->generation == 11;
  const u32 parts = repeated ? 1 : lanes_of(w) / side, count = depth / parts, bits = bits_of_kind(kind);
  const u32 registers = count * bits / 32;
  check_registers(i.src[n], registers);
  const bool with_sign = i.neg >> n & 1, drops = flushes(w, kind);
  for (u32 r = 0; r < registers; ++r) {
    const u32 *v = w.in(i.src[n] - vgpr + r);
    for (u32 l = 0; l < parts * side; ++l) {
      if (repeated && v[l] != v[l + side]) throw Fault(Fault::Unknown, "a matrix whose halves of a wave differ");
      for (u32 e = 0; e < 32 / bits; ++e) {
        const f64 x = element(kind, v[l], e * bits, with_sign);
        out[l % side][l / side * count + r * (32 / bits) + e] = drops ? without_subnormal(x, kind) : x;
      }
    }
  }
}

// The row of C and D that lane `l` has in element `e`; its column is the lane modulo `side`.
template <int side>
u32 row_of(u32 generation, u32 l, u32 e) {
  if (generation == 11) return 2 * e + l / 16;
  if (generation == 12) return 8 * (l / 16) + e;
  return side == 16 ? 4 * (l / 16) + e : 8 * (e / 4) + 4 * (l / 32) + e % 4;
}

// D = A * B + C. `T` is the type of C and D, of which a register holds one, but two halves on RDNA 4.
template <Element kind, int side, int depth, class T>
void multiply(Wave &w, const Inst &i) {
  const u32 generation = w.launch->code->generation, wave = lanes_of(w);
  constexpr bool integers = kind == Element::I8 || kind == Element::I4;
  constexpr bool halves = sizeof(T) == 2;
  const bool is_matrix_core = generation == 9;
  if (wave != (is_matrix_core ? 64u : 32u)) unknown(w, i);
  // EXEC is ignored by MFMA; what WMMA does with lanes that are not active is not said.
  if (!is_matrix_core && static_cast<u32>(w.exec_) != ~0u) throw Fault(Fault::Unknown, "WMMA with inactive lanes");
  Inst plain = i;
  if (is_matrix_core) plain.neg = integers ? 3 : 0;
  if ((!integers && plain.neg) || i.neg_hi || plain.neg >> 2 || i.op_sel) unknown(w, i);

  static thread_local f64 a[widest][deepest], b[widest][deepest];
  read<kind, side, depth>(w, plain, 0, a);
  read<kind, side, depth>(w, plain, 1, b);
  const u32 elements = side * side / wave, packing = halves && generation == 12 ? 2 : 1;
  const bool constant = i.src[2] < vgpr;
  if (!constant) check_registers(i.src[2], elements / packing);
  check_registers(i.dst, elements / packing);
  u32 result[16][lanes];
  for (u32 e = 0; e < elements; ++e) {
    const u32 at = e / packing, shift = e % packing * 16;
    const u32 *c = constant ? nullptr : w.in(i.src[2] - vgpr + at);
    const u32 *old = w.out(i.dst - vgpr + at);
    for (u32 l = 0; l < wave; ++l) {
      const u32 row = row_of<side>(generation, l, e), column = l % side;
      const T addend =
          constant ? uniform<T>(w, i, i.src[2]) : std::bit_cast<T>(static_cast<word_of<sizeof(T)>>(c[l] >> shift));
      u32 bits;
      if constexpr (integers) {
        i64 sum = addend;
        for (int k = 0; k < depth; ++k) sum += static_cast<i64>(a[row][k] * b[column][k]);
        bits = static_cast<u32>(sum);
      } else {
        const bool drops = flushes(w, kind);
        f64 sum = static_cast<f64>(addend);
        if (drops) sum = without_subnormal(sum, Element::F32);
        for (int k = 0; k < depth; ++k) sum += a[row][k] * b[column][k];
        if constexpr (halves)
          bits = bits_of(half_of(sum));
        else
          bits = bits_of(drops ? flushed(static_cast<f32>(sum)) : static_cast<f32>(sum));
      }
      if constexpr (halves)
        result[at][l] = shift ? (result[at][l] & 0xffff) | bits << 16 : (old[l] & 0xffff0000) | bits;
      else
        result[at][l] = bits;
    }
  }
  for (u32 r = 0; r < elements / packing; ++r) std::memcpy(w.v[i.dst - vgpr + r], result[r], sizeof(u32) * wave);
}

// As CDNA 3 spells it, and before.
#define MFMA(name, old, kind, ...)                               \
  {"v_mfma_f32_" name, &multiply<Element::kind, __VA_ARGS__>}, { \
    "v_mfma_f32_" old, &multiply<Element::kind, __VA_ARGS__>     \
  }

constexpr Semantics matrix_rows[] = {
    MFMA("16x16x16_f16", "16x16x16f16", F16, 16, 16, f32),
    MFMA("32x32x8_f16", "32x32x8f16", F16, 32, 8, f32),
    MFMA("16x16x16_bf16", "16x16x16bf16_1k", Bf16, 16, 16, f32),
    MFMA("32x32x8_bf16", "32x32x8bf16_1k", Bf16, 32, 8, f32),
    {"v_mfma_f32_16x16x32_f16", &multiply<Element::F16, 16, 32, f32>},
    {"v_mfma_f32_32x32x16_f16", &multiply<Element::F16, 32, 16, f32>},
    {"v_mfma_f32_16x16x32_bf16", &multiply<Element::Bf16, 16, 32, f32>},
    {"v_mfma_f32_32x32x16_bf16", &multiply<Element::Bf16, 32, 16, f32>},
    {"v_mfma_i32_16x16x64_i8", &multiply<Element::I8, 16, 64, i32>},
    {"v_mfma_i32_32x32x32_i8", &multiply<Element::I8, 32, 32, i32>},
    MFMA("16x16x4_f32", "16x16x4f32", F32, 16, 4, f32),
    MFMA("32x32x2_f32", "32x32x2f32", F32, 32, 2, f32),
    {"v_mfma_i32_16x16x32_i8", &multiply<Element::I8, 16, 32, i32>},
    {"v_mfma_i32_32x32x16_i8", &multiply<Element::I8, 32, 16, i32>},
    {"v_mfma_i32_16x16x16i8", &multiply<Element::I8, 16, 16, i32>},
    {"v_mfma_i32_32x32x8i8", &multiply<Element::I8, 32, 8, i32>},
    {"v_wmma_f32_16x16x16_f16", &multiply<Element::F16, 16, 16, f32>},
    {"v_wmma_f32_16x16x16_bf16", &multiply<Element::Bf16, 16, 16, f32>},
    {"v_wmma_f16_16x16x16_f16", &multiply<Element::F16, 16, 16, f16>},
    {"v_wmma_i32_16x16x16_iu8", &multiply<Element::I8, 16, 16, i32>},
    {"v_wmma_i32_16x16x16_iu4", &multiply<Element::I4, 16, 16, i32>},
};

}  // namespace

Run find_matrix(const char *name) { return find_row(matrix_rows, name); }

}  // namespace isa

#undef MFMA
