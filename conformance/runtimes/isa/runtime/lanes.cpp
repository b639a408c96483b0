// DPP and SDWA: what is done to an instruction's operands before it, and to its result after it.
#include "operands.h"

namespace isa {
namespace {

// The lane that lane `l` reads under a DPP control; -1 where there is none.
int source_lane(u32 control, int l, bool rdna) {
  const int row = l & ~15, in_row = l & 15;
  const int n = static_cast<int>(control & 15);
  if (control < 0x100) return (l & ~3) + static_cast<int>(control >> (2 * (l & 3)) & 3);
  if (control <= 0x10f) return in_row + n < 16 ? l + n : -1;
  if (control <= 0x11f) return in_row >= n ? l - n : -1;
  if (control <= 0x12f) return row + ((in_row - n) & 15);
  if (rdna && control >= 0x160) return row + (in_row ^ n);
  switch (control) {
    case 0x130:
      return l + 1 < lanes ? l + 1 : -1;
    case 0x134:
      return (l + 1) % lanes;
    case 0x138:
      return l - 1;
    case 0x13c:
      return (l + lanes - 1) % lanes;
    case 0x140:
      return row + 15 - in_row;
    case 0x141:
      return (l & ~7) + 7 - (l & 7);
    case 0x142:
      return row ? row - 1 : -1;
    case 0x143:
      return l >= 32 ? 31 : -1;
    default:
      if (control >= 0x150 && control <= 0x15f) return row + n;
      throw Fault(Fault::Unknown, "a DPP control");
  }
}

u32 selected(u32 word, u32 sel, bool extends) {
  if (sel == 6) return word;
  const u32 bits = sel < 4 ? 8 : 16, at = sel < 4 ? 8 * sel : 16 * (sel - 4);
  const u32 part = word >> at & ((1u << bits) - 1);
  return extends && part >> (bits - 1) ? part | ~0u << bits : part;
}

}  // namespace

void run_dpp(Wave &w, const Inst &i) {
  const u32 word = i.constant, control = word >> 8 & 0x1ff;
  const bool zero_outside = word >> 19 & 1, fetches_inactive = word >> 18 & 1;
  const u32 banks = word >> 24 & 15, rows = word >> 28;
  const u32 *from = w.in(word & 255);
  u32 *to = w.v[temporary - vgpr];
  u32 moved[lanes];
  w.write_exec = w.exec_;
  for (int l = 0; l < lanes; ++l) {
    const int s = source_lane(control, l, i.flags & Keeps);
    const bool valid = s >= 0 && (w.exec_ >> s & 1 || (fetches_inactive && i.flags & Keeps));
    moved[l] = valid ? from[s] : 0;
    const bool written = rows >> (l >> 4) & 1 && banks >> (l >> 2 & 3) & 1 && (valid || zero_outside);
    if (!written) w.write_exec &= ~(u64{1} << l);
  }
  std::memcpy(to, moved, sizeof moved);
  Inst inner = i;
  inner.src[0] = temporary;
  i.inner(w, inner);
}

void run_sdwa(Wave &w, const Inst &i) {
  const u32 word = i.constant;
  Inst inner = i;
  const auto take = [&](int n, u32 sel, bool extends) {
    u32 *to = w.v[temporary - vgpr + n];
    const u16 code = i.src[n];
    if (code >= vgpr) {
      const u32 *from = w.in(code - vgpr);
      for (int l = 0; l < lanes; ++l) to[l] = selected(from[l], sel, extends);
    } else
      for (int l = 0; l < lanes; ++l) to[l] = selected(w.scalar(code, i), sel, extends);
    inner.src[n] = static_cast<u16>(temporary + n);
  };
  take(0, word >> 16 & 7, word >> 19 & 1);
  if (i.encoding != Encoding::VOP1) take(1, word >> 24 & 7, word >> 27 & 1);
  const u32 sel = word >> 8 & 7, unused = word >> 11 & 3;
  if (i.encoding == Encoding::VOPC || sel == 6) {
    i.inner(w, inner);
    return;
  }
  u32 *result = w.v[temporary - vgpr + 2], *to = w.out(i.dst - vgpr);
  std::memcpy(result, to, sizeof(u32) * lanes);
  inner.dst = temporary + 2;
  i.inner(w, inner);
  const u32 bits = sel < 4 ? 8 : 16, at = sel < 4 ? 8 * sel : 16 * (sel - 4);
  const u32 part = ((1u << bits) - 1) << at;
  u32 merged[lanes];
  for (int l = 0; l < lanes; ++l) {
    const u32 placed = result[l] << at & part;
    const u32 sign = result[l] >> (bits - 1) & 1 ? ~(part | (part - 1)) : 0;
    merged[l] = placed | (unused == 2 ? to[l] & ~part : unused == 1 ? sign : 0);
  }
  put_words(w, w.exec_, i.dst - vgpr, merged);
}

}  // namespace isa
