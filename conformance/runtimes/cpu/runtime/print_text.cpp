#include "print_text.h"

#include <unistd.h>

#include "options.h"

namespace simt {
namespace {

void write_all(int file, const char *text, unsigned long bytes) {
  while (bytes) {
    const ssize_t n = write(file, text, bytes);
    if (n <= 0) break;
    text += n;
    bytes -= static_cast<unsigned long>(n);
  }
}

}  // namespace

void print_text(int file, const char *text, unsigned long bytes) {
  const std::uint64_t limit = options().print_bytes(), before = options().count_printed(bytes);
  const std::uint64_t left = before < limit ? limit - before : 0;
  write_all(file, text, bytes < left ? bytes : left);
  if (before <= limit && bytes > left) {  // true once: of the call that crosses the limit
    static constexpr char notice[] =
        "\n[the output of kernels has reached the option print_bytes; the rest is left out]\n";
    write_all(file, notice, sizeof notice - 1);
  }
}

}  // namespace simt
