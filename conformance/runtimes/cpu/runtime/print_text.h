// Text that kernels print.
#pragma once

namespace simt {

// Writes to a file descriptor, all kernels together up to the option print_bytes.
void print_text(int file, const char *text, unsigned long bytes);

}  // namespace simt
