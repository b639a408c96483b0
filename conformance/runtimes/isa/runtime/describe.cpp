// What the decoder makes of code, and what the interpreter knows, as text: for tests.
#include <sstream>

#include "api.h"
#include "hipisa.h"
#include "launch.h"
#include "machine.h"

namespace isa {
namespace {

void fields(std::ostream &out, const Inst &i) {
  for (const u32 field : {u32{i.dst}, u32{i.sdst}, u32{i.src[0]}, u32{i.src[1]}, u32{i.src[2]}, i.constant, u32{i.neg},
                          u32{i.abs}, u32{i.op_sel}, u32{i.op_sel_hi}, u32{i.neg_hi}, u32{i.omod}, u32{i.flags}})
    out << ' ' << field;
}

// What `write` writes of a target, until the next call; null where it is not known.
template <class F>
const char *text_of(const char *target, F write) {
  static thread_local std::string text;
  std::ostringstream out;
  try {
    write(out);
  } catch (const std::exception &error) {
    simt::fail(simt::InvalidValue, "%s: %s", target, error.what());
    return nullptr;
  }
  text = out.str();
  return text.c_str();
}

}  // namespace
}  // namespace isa

using namespace isa;

SIMT_API const char *hipisaDecode(const char *target, const void *code, unsigned long bytes) {
  return text_of(target, [&](std::ostream &out) {
    Code decoded;
    decode(decoded, static_cast<const u8 *>(code), bytes, target);
    for (std::size_t n = 0; n + 1 < decoded.insts.size(); ++n) {
      const Inst &i = decoded.insts[n];
      out << decoded.offsets[n] << ' ' << int{i.words} << ' ' << static_cast<int>(i.encoding) << ' '
          << (i.opcode == 1023 && i.encoding != Encoding::VOPD ? "?" : mnemonic(decoded.target, i));
      fields(out, i);
      if (i.encoding == Encoding::VOPD && i.constant < decoded.duals.size()) {
        fields(out, decoded.duals[i.constant].x);
        fields(out, decoded.duals[i.constant].y);
      }
      out << '\n';
    }
  });
}

SIMT_API const char *hipisaMeanings(const char *target) {
  return text_of(target, [&](std::ostream &out) {
    for (const Meaning &known : meanings(target))
      out << static_cast<int>(known.encoding) << ' ' << known.opcode << ' ' << known.name << '\n';
  });
}
