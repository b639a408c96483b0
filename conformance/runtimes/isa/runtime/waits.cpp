// The instructions that wait for loads, and what is said where one is missing.
#include "machine.h"

namespace isa {
namespace {

struct Place {
  Counter counter;
  u32 left;  // what may stay in flight
  u32 index;
};

// The last load into register `r` that is in flight.
Place last_into(const Waits &waits, u32 r, bool scalar) {
  for (const Counter counter : {Counter::Vector, Counter::Lds, Counter::Scalar}) {
    if ((counter == Counter::Scalar) != scalar) continue;
    const auto c = static_cast<int>(counter);
    for (u32 n = waits.size[c]; n-- > 0;) {
      const InFlight &flight = waits.flights[c][n];
      if (r >= flight.first && r < u32{flight.first} + flight.count)
        return {counter, scalar ? 0 : waits.size[c] - 1 - n, flight.index};
    }
  }
  return {Counter::Vector, 0, 0};
}

std::string wait_text(u32 generation, const Place &place) {
  static constexpr const char *old[] = {"vmcnt", "lgkmcnt", "lgkmcnt"}, *rdna4[] = {"load", "ds", "km"};
  const auto c = static_cast<int>(place.counter);
  const std::string left = std::to_string(place.left);
  return generation >= 12 ? "s_wait_" + std::string(rdna4[c]) + "cnt " + left
                          : "s_waitcnt " + std::string(old[c]) + "(" + left + ")";
}

// s_waitcnt: where its counters are (the ISA documents, "S_WAITCNT").
void wait_for_all(Wave &w, const Inst &i) {
  const u32 generation = w.launch->code->generation, n = i.constant;
  const u32 vector = generation == 11 ? n >> 10 & 63 : (n & 15) | (n >> 14 & 3) << 4;
  const u32 other = generation == 11 ? n >> 4 & 63 : generation == 10 ? n >> 8 & 63 : n >> 8 & 15;
  w.waits.wait(Counter::Vector, vector);
  w.waits.wait(Counter::Lds, other);
  w.waits.wait(Counter::Scalar, other);
}

template <Counter counter, int shift>
void wait_for(Wave &w, const Inst &i) {
  w.waits.wait(counter, i.constant >> shift & 63);
}
template <Counter counter, Counter other, int shift>
void wait_for_two(Wave &w, const Inst &i) {
  w.waits.wait(counter, i.constant >> shift & 63);
  w.waits.wait(other, i.constant & 63);
}
void wait_until_idle(Wave &w, const Inst &) {
  for (const Counter counter : {Counter::Vector, Counter::Lds, Counter::Scalar}) w.waits.wait(counter, 0);
}

constexpr Semantics wait_rows[] = {
    {"s_waitcnt", &wait_for_all},
    {"s_wait_idle", &wait_until_idle},
    {"s_waitcnt_vmcnt", &wait_for<Counter::Vector, 0>},
    {"s_waitcnt_lgkmcnt", &wait_for_two<Counter::Lds, Counter::Scalar, 0>},
    {"s_waitcnt_vscnt", &wait_for<Counter::Store, 0>},
    {"s_wait_loadcnt", &wait_for<Counter::Vector, 0>},
    {"s_wait_dscnt", &wait_for<Counter::Lds, 0>},
    {"s_wait_kmcnt", &wait_for<Counter::Scalar, 0>},
    {"s_wait_loadcnt_dscnt", &wait_for_two<Counter::Vector, Counter::Lds, 8>},
    {"s_wait_storecnt_dscnt", &wait_for_two<Counter::Store, Counter::Lds, 8>},
    {"s_wait_storecnt", &wait_for<Counter::Store, 0>},
};

}  // namespace

void Wave::too_early(u32 r, bool scalar, bool written) const {
  const Code &code = *launch->code;
  const Place place = last_into(waits, r, scalar);
  throw Fault(Fault::Other, (scalar ? "s" : "v") + std::to_string(r) + (written ? " written by " : " read by ") +
                                mnemonic(code.target, code.insts[pc - 1]) + " before " +
                                wait_text(code.generation, place) + " for the " +
                                mnemonic(code.target, code.insts[place.index]) + " at " +
                                launch->address(code.insts[place.index]));
}

Run find_wait(const char *name) { return find_row(wait_rows, name); }

}  // namespace isa
