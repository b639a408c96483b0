// Reading MessagePack, the format of a code object's metadata: values one after the other, those not wanted skipped.
#pragma once

#include <string>
#include <string_view>

#include "machine.h"

namespace isa {

class Packed {
 public:
  explicit Packed(std::string_view bytes) : rest_(bytes) {}

  // The number of pairs of the map, or of elements of the array, that comes next; raises Fault for another value.
  u32 map() { return count(0x80, 0xde, 0xdf); }
  u32 array() { return count(0x90, 0xdc, 0xdd); }

  std::string text() {
    const u8 b = byte();
    std::size_t n;
    if ((b & 0xe0) == 0xa0)
      n = b & 31;
    else if (b >= 0xd9 && b <= 0xdb)
      n = number(1u << (b - 0xd9));
    else
      damaged();
    return std::string(take(n));
  }

  u64 integer() {
    const u8 b = byte();
    if (b < 0x80) return b;
    if (b >= 0xcc && b <= 0xcf) return number(1u << (b - 0xcc));
    if (b >= 0xd0 && b <= 0xd3) return number(1u << (b - 0xd0));
    damaged();
  }

  void skip(u32 depth = 0) {
    if (depth > deepest) damaged();
    const u8 b = peek();
    if ((b & 0xf0) == 0x80 || b == 0xde || b == 0xdf) {
      for (u64 n = 2 * u64{map()}; n; --n) skip(depth + 1);
    } else if ((b & 0xf0) == 0x90 || b == 0xdc || b == 0xdd) {
      for (u32 n = array(); n; --n) skip(depth + 1);
    } else if ((b & 0xe0) == 0xa0 || (b >= 0xd9 && b <= 0xdb)) {
      text();
    } else if (b < 0x80 || (b >= 0xcc && b <= 0xd3)) {
      integer();
    } else if (b >= 0xe0 || b == 0xc0 || b == 0xc2 || b == 0xc3) {
      byte();
    } else {
      damaged();
    }
  }

 private:
  static constexpr u32 deepest = 32;  // a code object's own has 4

  [[noreturn]] static void damaged() { throw Fault(Fault::Other, "has metadata that cannot be read"); }
  u8 peek() const {
    if (rest_.empty()) damaged();
    return static_cast<u8>(rest_[0]);
  }
  u8 byte() {
    const u8 b = peek();
    rest_.remove_prefix(1);
    return b;
  }
  std::string_view take(std::size_t n) {
    if (n > rest_.size()) damaged();
    const std::string_view found = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return found;
  }
  u64 number(std::size_t bytes) {
    u64 value = 0;
    for (const char c : take(bytes)) value = value << 8 | static_cast<u8>(c);
    return value;
  }
  u32 count(u8 fixed, u8 two, u8 four) {
    const u8 b = byte();
    if ((b & 0xf0) == fixed) return b & 15;
    if (b == two) return static_cast<u32>(number(2));
    if (b == four) return static_cast<u32>(number(4));
    damaged();
  }

  std::string_view rest_;
};

}  // namespace isa
