#include "recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include "names.h"

namespace capture {
namespace {

constexpr const char *folder_variable = "CANDLE_PARITY_CAPTURE";
constexpr std::string_view plan_version = "candle-parity capture plan 1";
constexpr const char *log_version = "candle-parity capture log 1", *launch_version = "candle-parity launch 1";

using u64 = std::uint64_t;

u64 nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return u64(now.tv_sec) * 1'000'000'000 + u64(now.tv_nsec);
}

// A parameter as the plan has it.
struct Planned {
  enum Kind { Number, Other, Read, Written } kind;  // an integer, another scalar; a pointer to what is read, or written
  std::size_t bytes;
  bool pointer() const { return kind == Read || kind == Written; }
};
using PlannedKernel = std::vector<Planned>;

// What is to be recorded, as the command has written it: a line `first N`, `every N`, `most_bytes N`, or
// `kernel NAME PARAMETER...`, where a parameter is r or w for a pointer, iN for an integer of N bytes, and sN for
// another scalar.
class Plan {
 public:
  explicit Plan(const std::string &file) {
    std::ifstream lines(file);
    std::string line, word;
    if (!std::getline(lines, line) || line != plan_version) return;
    valid_ = true;
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      words >> word;
      if (word == "first") words >> first;
      if (word == "every") words >> every;
      if (word == "most_bytes") words >> most_bytes;
      if (word == "kernel") add_kernel(words);
    }
  }

  explicit operator bool() const { return valid_; }
  const PlannedKernel *find(const std::string &name) const {
    const auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : &found->second;
  }

  u64 first = 1, every = 0, most_bytes = 0;

 private:
  void add_kernel(std::istringstream &words) {
    std::string name, word;
    PlannedKernel parameters;
    words >> name;
    while (words >> word) {
      const Planned::Kind kind = word[0] == 'r'   ? Planned::Read
                                 : word[0] == 'w' ? Planned::Written
                                 : word[0] == 'i' ? Planned::Number
                                                  : Planned::Other;
      const std::size_t bytes = word.size() > 1 ? std::strtoul(word.c_str() + 1, nullptr, 10) : sizeof(void *);
      parameters.push_back({kind, bytes});
    }
    kernels_.emplace(std::move(name), std::move(parameters));
  }

  bool valid_ = false;
  std::map<std::string, PlannedKernel> kernels_;
};

// A file that is written to its end or reports that it could not be.
class File {
 public:
  explicit File(const std::string &path, int flags = O_TRUNC)
      : descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  bool write(const void *data, std::size_t bytes) {
    const char *at = static_cast<const char *>(data);
    while (bytes && descriptor_ >= 0) {
      const ssize_t count = ::write(descriptor_, at, bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      at += count;
      bytes -= static_cast<std::size_t>(count);
    }
    return descriptor_ >= 0;
  }
  bool write(const std::string &text) { return write(text.data(), text.size()); }

 private:
  int descriptor_;
};

std::string hex(const std::vector<char> &bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string three(const Shape &s) {
  return std::to_string(s.x) + ',' + std::to_string(s.y) + ',' + std::to_string(s.z);
}

// The bytes at `from`, which need not be mapped where nobody knows how many arguments there are.
bool copy_from(const void *from, std::size_t bytes, std::vector<char> &to) {
  to.resize(bytes);
  iovec ours{to.data(), bytes}, theirs{const_cast<void *>(from), bytes};
  if (process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes)) return true;
  if (errno != ENOSYS && errno != EPERM) return false;
  std::memcpy(to.data(), from, bytes);
  return true;
}

// The packed arguments of a launch that gives them as one buffer; HIP and CUDA spell that alike but for its end.
struct Packed {
  const char *data = nullptr;
  std::size_t bytes = 0;

  explicit Packed(void **extra) {
    for (void **e = extra; e && *e && *e != reinterpret_cast<void *>(3); e += 2) {
      if (*e == reinterpret_cast<void *>(1)) data = static_cast<const char *>(e[1]);
      if (*e == reinterpret_cast<void *>(2)) bytes = *static_cast<const std::size_t *>(e[1]);
    }
  }
};

using Arguments = std::vector<std::vector<char>>;

// The arguments' bytes in the order of the plan; false where the kernel's parameters are others.
bool arguments_of(const Launch &launch, const PlannedKernel &planned, Arguments &found) {
  if (launch.known && launch.known->size() != planned.size()) return false;
  const Packed packed(launch.extra);
  std::size_t offset = 0;
  for (std::size_t n = 0; n < planned.size(); ++n) {
    const std::size_t bytes = planned[n].bytes;
    if (launch.known && (*launch.known)[n].bytes != bytes) return false;
    offset = launch.known ? (*launch.known)[n].offset : (offset + bytes - 1) / bytes * bytes;
    const void *from = nullptr;
    if (packed.data && offset + bytes <= packed.bytes) from = packed.data + offset;
    std::vector<char> address;
    if (!packed.data && launch.params && copy_from(launch.params + n, sizeof from, address))
      std::memcpy(&from, address.data(), sizeof from);
    if (!from || !copy_from(from, bytes, found.emplace_back())) return false;
    offset += bytes;
  }
  return true;
}

// What equal launches have in common, besides the kernel: geometry, integers, and which pointers are null.
std::string shape_of(const Launch &launch, const PlannedKernel &planned, const Arguments &arguments) {
  std::string text = three(launch.grid) + ' ' + three(launch.block) + ' ' + std::to_string(launch.shared) + ' ';
  for (std::size_t n = 0; n < planned.size(); ++n) {
    u64 value = 0;
    std::memcpy(&value, arguments[n].data(), std::min(sizeof value, arguments[n].size()));
    text += n ? "," : "";
    text += planned[n].kind == Planned::Number ? std::to_string(value) : planned[n].pointer() && !value ? "null" : "*";
  }
  return text;
}

// A buffer that a launch was given: from the address on to the end of its allocation.
struct Buffer {
  const char *address = nullptr;
  std::size_t behind = 0, bytes = 0;  // bytes before the address in its allocation, and from there on
  bool written = false;
  std::vector<char> before, after;

  bool changed() const { return !after.empty() && before != after; }
  std::size_t kept() const { return before.size() + (written || changed() ? after.size() : 0); }
};

class Recorder {
 public:
  static Recorder &instance() {
    static Recorder &only = *new Recorder;  // launches may come while the process ends
    return only;
  }

  std::mutex &mutex() { return mutex_; }
  bool active() const { return active_; }

  int launch(Gpu &gpu, Launch asked, const Go &go) {
    const u64 number = ++count_;
    // A port may call a kernel of the specs by its symbol.
    if (!plan_->find(asked.name)) asked.name = readable(asked.name);
    const PlannedKernel *planned = plan_->find(asked.name);
    const char *state = planned ? "count" : "unknown";
    Arguments arguments;
    std::string shape = three(asked.grid) + ' ' + three(asked.block) + ' ' + std::to_string(asked.shared) + " -";
    std::map<std::size_t, Buffer> buffers;
    if (planned && !arguments_of(asked, *planned, arguments)) {
      state = "parameters";
    } else if (planned) {
      shape = shape_of(asked, *planned, arguments);
      u64 &seen = seen_[asked.name + ' ' + shape];
      const u64 place = seen++;
      if (place < plan_->first || (plan_->every && (place - plan_->first + 1) % plan_->every == 0))
        state = stopped_                         ? "stopped"
                : gpu.is_capturing(asked.stream) ? "graph"
                : gpu.captures()                 ? "capturing"
                                                 : "record";
    }
    const u64 began = nanoseconds();
    const bool records = std::strcmp(state, "record") == 0;
    if (records) state = take_before(gpu, *planned, arguments, buffers);
    const bool recording = records && std::strcmp(state, "record") == 0;
    line("launch " + std::to_string(number) + ' ' + std::to_string(began) + ' ' + state + ' ' + asked.name + ' ' +
         shape);
    const u64 before = records ? nanoseconds() - began : 0;
    const int error = go();
    if (!recording) return error;
    const u64 again = nanoseconds();
    const char *lost = error ? "failed" : take_after(gpu, buffers);
    u64 bytes = 0;
    if (!lost && !write_launch(number, asked, *planned, arguments, buffers, bytes)) lost = "stopped";
    const std::string spent = std::to_string(before + nanoseconds() - again);
    if (lost)
      line("lost " + std::to_string(number) + ' ' + lost + ' ' + spent);
    else
      line("recorded " + std::to_string(number) + ' ' + std::to_string(bytes) + ' ' + spent);
    return error;
  }

  void line(const std::string &text) {
    if (!log_) log_ = open_log();
    if (!log_->write(text + '\n')) stop();
  }

  // A child has its own log; what its parent has in progress is the parent's.
  void forget() {
    log_.reset();
    count_ = 0;
    recorded_bytes_ = 0;
    seen_.clear();
  }

 private:
  Recorder() {
    const char *folder = std::getenv(folder_variable);
    if (!folder || !*folder) return;
    folder_ = folder;
    plan_ = std::make_unique<Plan>(folder_ + "/plan");
    active_ = static_cast<bool>(*plan_);
    if (active_) pthread_atfork(&lock, &unlock, &in_child);
  }
  static void lock() { instance().mutex_.lock(); }
  static void unlock() { instance().mutex_.unlock(); }
  static void in_child() {
    instance().forget();
    instance().mutex_.unlock();
  }

  std::unique_ptr<File> open_log() {
    stem_ = folder_ + '/' + std::to_string(getpid()) + '-' + std::to_string(nanoseconds());
    auto log = std::make_unique<File>(stem_ + ".log", O_APPEND);
    char program[4096] = "";
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    log->write(std::string(log_version) + ' ' +
               std::string(program, static_cast<std::size_t>(std::max<ssize_t>(0, length))) + '\n');
    return log;
  }

  // Nothing more can be written: what was recorded until now is whole.
  void stop() {
    if (stopped_) return;
    stopped_ = true;
    const int error = errno;
    File mark(stem_ + ".stopped");
    std::fprintf(stderr, "candle-parity capture: %s cannot be written (%s): no launch is recorded from here on\n",
                 folder_.c_str(), std::strerror(error));
  }

  // Why the launch cannot be recorded, or "record".
  const char *take_before(Gpu &gpu, const PlannedKernel &planned, const Arguments &arguments,
                          std::map<std::size_t, Buffer> &buffers) {
    u64 bytes = 0;
    for (std::size_t n = 0; n < planned.size(); ++n) {
      const char *address = nullptr;
      if (!planned[n].pointer()) continue;
      std::memcpy(&address, arguments[n].data(), sizeof address);
      if (!address) continue;
      Range range;
      if (!gpu.find(address, range) || address < range.begin || address > range.begin + range.bytes) return "range";
      Buffer &buffer = buffers[n];
      buffer.address = address;
      buffer.behind = static_cast<std::size_t>(address - range.begin);
      buffer.bytes = range.bytes - buffer.behind;
      buffer.written = planned[n].kind == Planned::Written;
      bytes += buffer.bytes * (buffer.written ? 2 : 1);
    }
    if (bytes > plan_->most_bytes - std::min(plan_->most_bytes, recorded_bytes_)) return "room";
    if (!gpu.wait()) return "device";
    for (auto &[n, buffer] : buffers) {
      buffer.before.resize(buffer.bytes);
      if (buffer.bytes && !gpu.read(buffer.before.data(), buffer.address, buffer.bytes)) return "device";
    }
    return "record";
  }

  const char *take_after(Gpu &gpu, std::map<std::size_t, Buffer> &buffers) {
    if (!gpu.wait()) return "failed";
    for (auto &[n, buffer] : buffers) {
      buffer.after.resize(buffer.bytes);
      if (buffer.bytes && !gpu.read(buffer.after.data(), buffer.address, buffer.bytes)) return "failed";
    }
    return nullptr;
  }

  // One file: a line with the format, a line of JSON, then the buffers' bytes. It has its name once it is whole.
  bool write_launch(u64 number, const Launch &launch, const PlannedKernel &planned, const Arguments &arguments,
                    const std::map<std::size_t, Buffer> &buffers, u64 &bytes) {
    std::string rows;
    for (std::size_t n = 0; n < planned.size(); ++n) {
      const auto found = buffers.find(n);
      rows += n ? "," : "";
      if (!planned[n].pointer()) {
        rows += "{\"value\":\"" + hex(arguments[n]) + "\"}";
      } else if (found == buffers.end()) {
        rows += "null";
      } else {
        const Buffer &buffer = found->second;
        const bool has_after = buffer.written || buffer.changed();
        rows += "{\"address\":" + std::to_string(reinterpret_cast<std::uintptr_t>(buffer.address)) +
                ",\"behind\":" + std::to_string(buffer.behind) + ",\"bytes\":" + std::to_string(buffer.bytes) +
                ",\"after\":" + (has_after ? "true" : "false") + '}';
        bytes += buffer.kept();
      }
    }
    const std::string head = std::string(launch_version) + "\n{\"kernel\":\"" + launch.name +
                             "\",\"launch\":" + std::to_string(number) + ",\"grid\":[" + three(launch.grid) +
                             "],\"block\":[" + three(launch.block) + "],\"shared\":" + std::to_string(launch.shared) +
                             ",\"args\":[" + rows + "]}\n";
    const std::string path = stem_ + '-' + std::to_string(number) + ".launch", unfinished = path + ".part";
    File file(unfinished);
    bool whole = file.write(head);
    for (const auto &[n, buffer] : buffers) {
      whole = whole && file.write(buffer.before.data(), buffer.before.size());
      if (buffer.written || buffer.changed()) whole = whole && file.write(buffer.after.data(), buffer.after.size());
    }
    if (whole && std::rename(unfinished.c_str(), path.c_str()) == 0) {
      recorded_bytes_ += bytes;
      return true;
    }
    stop();
    std::remove(unfinished.c_str());
    return false;
  }

  std::mutex mutex_;
  bool active_ = false, stopped_ = false;
  std::string folder_, stem_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<File> log_;
  std::map<std::string, u64> seen_;
  u64 count_ = 0, recorded_bytes_ = 0;
};

// How deep this thread is in launches: the library may make one through another.
thread_local int depth = 0;

class Inside {
 public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
};

}  // namespace

int launched(Gpu &gpu, const Launch &launch, const Go &go) {
  const Inside inside;
  Recorder &recorder = Recorder::instance();
  if (depth > 1 || !recorder.active()) return go();
  const std::lock_guard lock(recorder.mutex());
  return recorder.launch(gpu, launch, go);
}

void note(const char *what) {
  Recorder &recorder = Recorder::instance();
  if (depth || !recorder.active()) return;
  const std::lock_guard lock(recorder.mutex());
  recorder.line(std::string("note ") + what);
}

}  // namespace capture
