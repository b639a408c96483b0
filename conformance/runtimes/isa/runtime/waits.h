// Loads in flight: nothing may touch a register between a load into it and the s_waitcnt that says it has arrived.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "stores.h"

namespace isa {

// What counts loads: vmcnt, or loadcnt on RDNA 4; lgkmcnt (dscnt) for LDS; lgkmcnt (kmcnt) for scalar memory. RDNA
// counts stores apart, in vscnt (storecnt).
enum class Counter : std::uint8_t { Vector, Lds, Scalar, Store };

// A memory instruction that has not been waited for, and the registers it fills: none for stores.
struct InFlight {
  std::uint32_t index;   // in the decoded code
  std::uint32_t stored;  // the number of what it stored, 0 for none
  std::uint16_t first;
  std::uint8_t count;
};

// Vector memory and LDS answer in the order of their instructions, scalar memory in any.
struct Waits {
  static constexpr std::uint32_t most = 64;  // what the counters hold; a wave stalls before one more

  InFlight flights[4][most];
  std::uint32_t size[4] = {};
  Stores *lds = nullptr, *memory = nullptr;            // what has not arrived; null where every store arrives at once
  std::uint8_t late[520] = {}, late_scalar[128] = {};  // loads in flight, by register

  void clear() {
    lds = memory = nullptr;
    for (const Counter counter : {Counter::Vector, Counter::Lds, Counter::Scalar, Counter::Store})
      if (const std::uint32_t count = size[static_cast<int>(counter)]) retire(counter, count);
  }
  void add(Counter counter, std::uint32_t index, std::uint32_t first, std::uint32_t count) {
    const auto c = static_cast<int>(counter);
    if (size[c] == most) retire(counter, 1);
    const Stores *const stores = count ? nullptr : stored_by(counter);
    flights[c][size[c]++] = {index, stores ? stores->newest() : 0, static_cast<std::uint16_t>(first),
                             static_cast<std::uint8_t>(count)};
    std::uint8_t *const counts = of(counter);
    for (std::uint32_t r = first; r < first + count; ++r) ++counts[r];
  }
  // At most `left` instructions may still be in flight.
  void wait(Counter counter, std::uint32_t left) {
    const auto c = static_cast<int>(counter);
    if (size[c] <= left || (counter == Counter::Scalar && left)) return;
    retire(counter, size[c] - left);
  }

 private:
  std::uint8_t *of(Counter counter) { return counter == Counter::Scalar ? late_scalar : late; }
  Stores *stored_by(Counter counter) const { return counter == Counter::Lds ? lds : memory; }
  void retire(Counter counter, std::uint32_t count) {
    const auto c = static_cast<int>(counter);
    std::uint32_t stored = 0;
    std::uint8_t *const counts = of(counter);
    for (std::uint32_t n = 0; n < count; ++n) {
      const InFlight flight = flights[c][n];
      for (std::uint32_t r = flight.first; r < std::uint32_t{flight.first} + flight.count; ++r) --counts[r];
      stored = std::max(stored, flight.stored);
    }
    if (Stores *const stores = stored_by(counter); stored && stores) stores->arrive(stored);
    size[c] -= count;
    if (size[c]) std::memmove(flights[c], flights[c] + count, size[c] * sizeof(InFlight));
  }
};

}  // namespace isa
