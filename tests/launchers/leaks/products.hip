// Launchers that compute nothing: what they allocate, and what of it they give back, is all that they are for.
#include <hip/hip_runtime.h>

#define LAUNCHER(name)                                                                                         \
  extern "C" void launch_mmvq_gguf_##name##_plain(const void *, const void *, void *, int, int rows, int, int, \
                                                  int columns, void *stream)

static hipStream_t as_stream(void *stream) { return static_cast<hipStream_t>(stream); }

// ---- what is left behind at every call

LAUNCHER(q4_0_f32) {
  void *room = nullptr;
  (void)hipMalloc(&room, 64);
}
LAUNCHER(q4_1_f32) {
  for (int times = 0; times < 2; ++times) {
    void *room = nullptr;
    (void)hipMallocAsync(&room, 32, as_stream(stream));
  }
}
LAUNCHER(q5_0_f32) {
  void *room = nullptr;
  (void)hipHostMalloc(&room, 4096, 0);
}
LAUNCHER(q5_1_f32) {
  hipStream_t another;
  (void)hipStreamCreateWithFlags(&another, hipStreamNonBlocking);
}
LAUNCHER(q8_0_f32) {
  hipEvent_t events[2];
  for (hipEvent_t &event : events) (void)hipEventCreateWithFlags(&event, hipEventDisableTiming);
  (void)hipEventDestroy(events[0]);
}
// A workspace that is replaced by a larger one, at every call.
LAUNCHER(q6_k_f32) {
  static void *room = nullptr;
  static size_t bytes = 0;
  (void)hipFree(room);
  (void)hipMalloc(&room, bytes += 256);
}

// ---- what is not

// A workspace and an event, from the first call on.
LAUNCHER(q4_0_f16) {
  static void *room = nullptr;
  static hipEvent_t event = nullptr;
  if (room == nullptr) (void)hipMalloc(&room, 1 << 16);
  if (event == nullptr) (void)hipEventCreate(&event);
}
// A workspace that is replaced where a larger one is needed, and whose predecessors are kept for work that is under
// way.
LAUNCHER(q4_1_f16) {
  static void *room = nullptr;
  static size_t bytes = 0;
  const size_t needed = 4 * size_t(rows) * columns;
  if (needed <= bytes) return;
  (void)hipMalloc(&room, bytes = needed);
}
// A stream of a pool for each call, which are all there after a while.
LAUNCHER(q5_0_f16) {
  static hipStream_t streams[12] = {};
  static unsigned calls = 0;
  hipStream_t &next = streams[calls++ % 12];
  if (next == nullptr) (void)hipStreamCreate(&next);
}
// What the call before has left, which the next one frees.
LAUNCHER(q5_1_f16) {
  static void *before = nullptr;
  (void)hipFree(before);
  (void)hipMallocAsync(&before, 128, as_stream(stream));
}
LAUNCHER(q8_0_f16) {
  void *room = nullptr;
  hipEvent_t event;
  hipStream_t another;
  (void)hipMalloc(&room, 64);
  (void)hipEventCreate(&event);
  (void)hipStreamCreate(&another);
  (void)hipStreamDestroy(another);
  (void)hipEventDestroy(event);
  (void)hipFreeAsync(room, as_stream(stream));
}
