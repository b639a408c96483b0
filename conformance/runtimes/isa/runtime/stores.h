// Stores that nobody but their own wave or block has to see yet: they are made at once, and taken back while others
// run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace isa {

// In the order of their instructions, in which they arrive.
class Stores {
 public:
  bool empty() const { return first_ == records_.size(); }
  // The number of the last instruction that has stored.
  std::uint32_t newest() const { return last_; }

  // `bytes` at `at` are stored next by `instruction`, which is another number for each.
  void note(std::uint8_t *at, std::uint32_t bytes, std::uint64_t instruction, std::uint64_t round) {
    if (pieces_.size() > most) arrive(last_);
    if (empty() || records_.back().instruction != instruction)
      records_.push_back({instruction, round, ++last_, static_cast<std::uint32_t>(pieces_.size()), at, at});
    Record &record = records_.back();
    record.low = std::min(record.low, at);
    record.high = std::max(record.high, at + bytes);
    if (pieces_.size() > record.piece && pieces_.back().at + pieces_.back().bytes == at)
      pieces_.back().bytes += bytes;
    else
      pieces_.push_back({at, bytes, static_cast<std::uint32_t>(other_.size())});
    other_.insert(other_.end(), at, at + bytes);
  }
  // Everyone sees what was stored up to the instruction with this number.
  void arrive(std::uint32_t number) {
    while (!empty() && records_[first_].number <= number) {
      const std::size_t end = first_ + 1 < records_.size() ? records_[first_ + 1].piece : pieces_.size();
      if (taken_back_)
        for (std::size_t n = records_[first_].piece; n < end; ++n)
          std::memcpy(pieces_[n].at, other_.data() + pieces_[n].offset, pieces_[n].bytes);
      ++first_;
    }
    if (empty()) clear();
  }
  // Before an atomic instruction changes `bytes` at `at`.
  void arrive_at(const std::uint8_t *at, std::uint32_t bytes) {
    std::uint32_t number = 0;
    for (std::size_t n = first_; n < records_.size(); ++n)
      if (at < records_[n].high && at + bytes > records_[n].low) number = records_[n].number;
    if (number) arrive(number);
  }
  void arrive_if_before(std::uint64_t round) {
    while (!empty() && records_[first_].round < round) arrive(records_[first_].number);
  }
  void take_back() {
    if (empty() || taken_back_) return;
    taken_back_ = true;
    for (std::size_t n = pieces_.size(); n-- > records_[first_].piece;) exchange(pieces_[n]);
  }
  void put_again() {
    if (!taken_back_) return;
    taken_back_ = false;
    for (std::size_t n = records_[first_].piece; n < pieces_.size(); ++n) exchange(pieces_[n]);
  }
  void clear() {
    records_.clear();
    pieces_.clear();
    other_.clear();
    first_ = 0;
    taken_back_ = false;
  }

 private:
  static constexpr std::size_t most = 1 << 14;  // pieces; what is more arrives
  struct Record {
    std::uint64_t instruction, round;
    std::uint32_t number, piece;  // the first of its pieces
    std::uint8_t *low, *high;
  };
  struct Piece {
    std::uint8_t *at;
    std::uint32_t bytes, offset;  // where the bytes are that are not in memory
  };
  void exchange(const Piece &piece) {
    std::swap_ranges(piece.at, piece.at + piece.bytes, other_.data() + piece.offset);
  }

  std::vector<Record> records_;
  std::vector<Piece> pieces_;
  std::vector<std::uint8_t> other_;
  std::size_t first_ = 0;
  std::uint32_t last_ = 0;
  bool taken_back_ = false;
};

}  // namespace isa
