// A kernel's printf.
#include <unistd.h>

#include <cstring>

#include "options.h"
#include "worker.h"

namespace {

void write_all(const char *text, unsigned long bytes) {
  while (bytes) {
    const ssize_t n = write(STDOUT_FILENO, text, bytes);
    if (n <= 0) break;
    text += n;
    bytes -= static_cast<unsigned long>(n);
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void simt_print(const char *text, unsigned long bytes) {
  simt::Worker *worker = simt::Worker::current();  // none where the host code of a launcher prints
  if (worker) worker->set_busy(true);
  const std::uint64_t limit = simt::options().print_bytes(), before = simt::options().count_printed(bytes);
  const std::uint64_t left = before < limit ? limit - before : 0;
  write_all(text, bytes < left ? bytes : left);
  if (before <= limit && bytes > left) {  // true once: of the call that crosses the limit
    static constexpr char notice[] =
        "\n[the output of kernels has reached the option print_bytes; the rest is left out]\n";
    write_all(notice, sizeof notice - 1);
  }
  if (worker) worker->set_busy(false);
}
