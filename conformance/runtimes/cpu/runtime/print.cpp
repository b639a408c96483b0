// A kernel's printf.
#include <unistd.h>

#include "print_text.h"
#include "worker.h"

extern "C" __attribute__((visibility("default"))) void simt_print(const char *text, unsigned long bytes) {
  simt::Worker *worker = simt::Worker::current();  // none where the host code of a launcher prints
  if (worker) worker->set_busy(true);
  simt::print_text(STDOUT_FILENO, text, bytes);
  if (worker) worker->set_busy(false);
}
