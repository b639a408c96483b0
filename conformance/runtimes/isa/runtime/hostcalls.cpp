#include "hostcalls.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "memory.h"
#include "print_text.h"

namespace isa {
namespace {

constexpr u32 packets = 2;  // at work at once, but one waits only for its own answer
constexpr u64 heap_bytes = u64{1} << 18, slab_bytes = u64{1} << 21;
enum Service : u32 { Printf = 2, DeviceMemory = 3 };
enum Descriptor : u64 { Begin = 1, End = 2 };

using CallPayload = u64[8];  // of one lane

// As the device library has them. A packet's number is what the mask leaves of a tagged index; stacks end at 0.
struct CallPacket {
  u64 next, lanes;
  u32 service, control;  // bit 0 of control: not answered yet
};
struct CallBuffer {
  CallPacket *packets;
  CallPayload (*payloads)[lanes];
  u64 *doorbell;
  u64 free, ready, mask;
};
struct SharedCalls {
  CallBuffer buffer;
  u64 doorbell[8];
  CallPacket packets[isa::packets];
  CallPayload payloads[isa::packets][lanes];
};

// Zeros at a multiple of `slab_bytes`, known to kernels' accesses under `name`; 0 where there are none.
u64 mapped(u64 bytes, const char *name) {
  if (bytes > SIZE_MAX - 2 * slab_bytes) return 0;
  void *map =
      mmap(nullptr, bytes + slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return 0;
  const u64 base = (reinterpret_cast<u64>(map) + slab_bytes - 1) & ~(slab_bytes - 1);
  simt::memory().add_global(reinterpret_cast<void *>(base), bytes, name);
  return base;
}

// What printf gets, as 64-bit words: the stream, the format, and the arguments, with strings where they are used.
class PrintMessage {
 public:
  void append(const u64 *words, u64 count) { words_.insert(words_.end(), words, words + count); }
  // Prints it; the number of characters.
  u64 print() {
    const int stream = next() & 1 ? STDERR_FILENO : STDOUT_FILENO;
    const std::string format = string();
    std::string text;
    for (std::size_t at = 0; at < format.size();) {
      if (format[at] != '%') {
        text += format[at++];
        continue;
      }
      const std::size_t end = format.find_first_of("diouxXcsfFeEgGaApn%", at + 1);
      if (end == std::string::npos) break;
      text += conversion(format.substr(at, end + 1 - at));
      at = end + 1;
    }
    simt::print_text(stream, text.data(), text.size());
    return text.size();
  }

 private:
  u64 next() { return at_ < words_.size() ? words_[at_++] : 0; }
  std::string string() {
    std::string text;
    for (bool ends = false; !ends && at_ < words_.size();) {
      char part[8];
      const u64 word = next();
      std::memcpy(part, &word, 8);
      const std::size_t size = strnlen(part, 8);
      text.append(part, size);
      ends = size < 8;
    }
    return text;
  }
  // `spec` is from the percent sign to the letter.
  std::string conversion(const std::string &spec) {
    const char letter = spec.back();
    if (letter == '%') return "%";
    if (letter == 'n') return next(), "";
    std::string plain;
    for (const char c : spec.substr(0, spec.size() - 1))
      if (c == '*')
        plain += std::to_string(static_cast<i32>(next()));
      else if (!std::strchr("hlLqjzt", c))
        plain += c;
    if (std::strchr("diouxX", letter)) {
      const bool is_signed = letter == 'd' || letter == 'i', wide = spec.find_first_of("lqjzt") != std::string::npos;
      u64 value = next();
      if (!wide) value = is_signed ? static_cast<u64>(i64{static_cast<i32>(value)}) : static_cast<u32>(value);
      return formatted(plain + "ll" + letter, value);
    }
    if (letter == 'c') return formatted(plain + letter, static_cast<int>(next()));
    if (letter == 's') return formatted(plain + letter, string().c_str());
    if (letter == 'p') return formatted(plain + letter, reinterpret_cast<void *>(next()));
    return formatted(plain + letter, std::bit_cast<f64>(next()));
  }
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
  template <class T>
  static std::string formatted(const std::string &spec, T value) {
    const int size = std::snprintf(nullptr, 0, spec.c_str(), value);
    std::string text(size < 0 ? 0 : static_cast<std::size_t>(size) + 1, '\0');
    std::snprintf(text.data(), text.size(), spec.c_str(), value);
    if (!text.empty()) text.pop_back();
    return text;
  }
#pragma clang diagnostic pop

  std::vector<u64> words_;
  std::size_t at_ = 0;
};

class CalledHost {
 public:
  u64 buffer() {
    const std::lock_guard lock(mutex_);
    if (shared_) return reinterpret_cast<u64>(shared_.load());
    auto *made = reinterpret_cast<SharedCalls *>(mapped(sizeof(SharedCalls), "host calls"));
    if (!made) return 0;
    made->buffer = {made->packets, made->payloads, made->doorbell, packets | 1, 0, packets - 1};
    made->packets[1].next = packets;
    shared_ = made;
    return reinterpret_cast<u64>(made);
  }
  u64 heap() {
    const std::lock_guard lock(mutex_);
    if (!heap_) heap_ = mapped(heap_bytes, "the heap of malloc");
    return heap_;
  }
  void serve() {
    SharedCalls *const shared = shared_;
    if (!shared || !__atomic_load_n(&shared->buffer.ready, __ATOMIC_ACQUIRE)) return;
    const std::lock_guard lock(mutex_);
    u64 ready = __atomic_exchange_n(&shared->buffer.ready, 0, __ATOMIC_ACQ_REL);
    for (u32 n = 0; ready && n < packets; ++n) {
      CallPacket &packet = shared->packets[ready % packets];
      CallPayload *const payloads = shared->payloads[ready % packets];
      ready = packet.next;
      for (u64 left = packet.lanes; left; left &= left - 1) answer(packet.service, payloads[std::countr_zero(left)]);
      __atomic_store_n(&packet.control, packet.control & ~1u, __ATOMIC_RELEASE);
    }
  }

 private:
  void answer(u32 service, CallPayload &payload) {
    if (service == Printf)
      payload[0] = print(payload);
    else if (service == DeviceMemory)
      payload[0] = payload[0] ? release(payload[0]) : mapped(payload[1], "the heap of malloc");
    else
      throw Fault(Fault::Unknown, "the host call " + std::to_string(service));
  }
  // Bits 5 to 7 of the first word say how many follow it, bits 8 and up which message they belong to.
  u64 print(const CallPayload &payload) {
    const u64 id = payload[0] & Begin ? ++last_ : payload[0] >> 8;
    PrintMessage &message = messages_[id];
    message.append(payload + 1, payload[0] >> 5 & 7);
    if (!(payload[0] & End)) return id << 8;
    const u64 characters = message.print();
    messages_.erase(id);
    return characters;
  }
  static u64 release(u64 address) {
    void *const base = reinterpret_cast<void *>(address);
    simt::Memory::Range range;
    if (!simt::memory().find(base, range) || range.base != base) return 0;
    simt::memory().remove_globals({base});  // an access is a fault from now on
    madvise(base, range.bytes, MADV_DONTNEED);
    return 0;
  }

  std::mutex mutex_;
  std::atomic<SharedCalls *> shared_{nullptr};
  u64 heap_ = 0, last_ = 0;
  std::map<u64, PrintMessage> messages_;
};

CalledHost &host() {
  static CalledHost &instance = *new CalledHost;
  return instance;
}

}  // namespace

u64 hostcall_buffer() { return host().buffer(); }
u64 device_heap() { return host().heap(); }
void serve_hostcalls() { host().serve(); }

}  // namespace isa
