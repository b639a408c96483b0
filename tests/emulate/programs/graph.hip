// Graphs: from captured streams, with a fork and a changed node, and node by node. Calls a function that is not
// emulated.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <thread>

#define CHECK(call)                                           \
  if (const hipError_t error = (call); error != hipSuccess) { \
    std::printf("%s: %s\n", #call, hipGetErrorName(error));   \
    return 1;                                                 \
  }

__global__ void add(int *x, int by) { *x += by; }
__global__ void multiply(int *x, int by) { *x *= by; }

namespace {

int value_of(const int *x) {
  int value = -1;
  return hipMemcpy(&value, x, sizeof value, hipMemcpyDeviceToHost) == hipSuccess ? value : -1;
}

int captured(int *x) {
  hipStream_t stream, other;
  hipEvent_t forked, joined;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamCreate(&other));
  CHECK(hipEventCreate(&forked));
  CHECK(hipEventCreate(&joined));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  CHECK(hipMemsetAsync(x, 0, sizeof *x, stream));
  for (int by = 1; by < 3; ++by) add<<<1, 1, 0, stream>>>(x, by);  // its arguments are gone when the graph is launched
  CHECK(hipEventRecord(forked, stream));
  CHECK(hipStreamWaitEvent(other, forked, 0));
  multiply<<<1, 1, 0, other>>>(x, 10);
  CHECK(hipEventRecord(joined, other));
  CHECK(hipStreamWaitEvent(stream, joined, 0));
  hipStreamCaptureStatus status;
  CHECK(hipStreamIsCapturing(other, &status));
  std::printf("%d %s ", status == hipStreamCaptureStatusActive, hipGetErrorName(hipStreamSynchronize(stream)));
  hipGraph_t graph;
  CHECK(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  std::printf("%d ", value_of(x));
  CHECK(hipGraphLaunch(executable, stream));
  std::printf("%d ", value_of(x));

  hipGraphNode_t nodes[4];
  std::size_t count = 4;
  CHECK(hipGraphGetNodes(graph, nodes, &count));
  hipGraphNodeType type;
  CHECK(hipGraphNodeGetType(nodes[1], &type));
  hipKernelNodeParams parameters;
  CHECK(hipGraphKernelNodeGetParams(nodes[1], &parameters));
  int by = 5;
  void *arguments[] = {parameters.kernelParams[0], &by};
  parameters.kernelParams = arguments;
  CHECK(hipGraphExecKernelNodeSetParams(executable, nodes[1], &parameters));
  CHECK(hipGraphLaunch(executable, stream));
  // The number is that of HIP 6 and 7, whatever headers this is compiled with.
  std::printf("%zu %d %d\n", count, static_cast<int>(type) == 0, value_of(x));
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  return 0;
}

// A capture is not ended on a stream that has only joined it. While that stream has work which the first one has not
// waited for it ends without a graph, and neither stream is captured any more.
int unjoined(int *x) {
  hipStream_t stream, other;
  hipEvent_t forked;
  hipGraph_t graph;
  hipStreamCaptureStatus status;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamCreate(&other));
  CHECK(hipEventCreate(&forked));
  for (int work = 0; work < 2; ++work) {
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    add<<<1, 1, 0, stream>>>(x, 1);
    CHECK(hipEventRecord(forked, stream));
    CHECK(hipStreamWaitEvent(other, forked, 0));
    if (work) add<<<1, 1, 0, other>>>(x, 1);
    std::printf("%s ", hipGetErrorName(hipStreamEndCapture(other, &graph)));
    std::printf("%s ", hipGetErrorName(hipStreamEndCapture(stream, &graph)));
    CHECK(hipStreamIsCapturing(other, &status));
    std::printf("%d %d\n", graph == nullptr, status == hipStreamCaptureStatusNone);
  }
  return 0;
}

// Another thread than the one that began a capture can end it only if it is relaxed; else the capture goes on.
int ended_elsewhere() {
  hipStream_t stream;
  hipGraph_t graph;
  CHECK(hipStreamCreate(&stream));
  for (const hipStreamCaptureMode mode : {hipStreamCaptureModeGlobal, hipStreamCaptureModeRelaxed}) {
    hipError_t error = hipSuccess;
    CHECK(hipStreamBeginCapture(stream, mode));
    std::thread([&] { error = hipStreamEndCapture(stream, &graph); }).join();
    std::printf("%s\n", hipGetErrorName(error));
    if (error != hipSuccess) CHECK(hipStreamEndCapture(stream, &graph));
  }
  return 0;
}

// Every call with a stream is kept, and done by each launch of the graph alone.
int kept(int *x) {
  hipStream_t stream;
  int called = 0;
  CHECK(hipMemset(x, 0, sizeof *x));
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  CHECK(hipMemsetD32Async(x, 8, 1, stream));
  add<<<1, 1, 0, stream>>>(x, 1);
  CHECK(hipMemset2DAsync(reinterpret_cast<char *>(x) + 1, 3, 1, 3, 1, stream));
  CHECK(hipLaunchHostFunc(stream, [](void *data) { ++*static_cast<int *>(data); }, &called));
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  std::printf("%d %d ", value_of(x), called);
  for (int i = 0; i < 2; ++i) CHECK(hipGraphLaunch(executable, stream));
  std::printf("%#x %d\n", value_of(x), called);
  return 0;
}

// A capture ends with its stream, though another stream gets the handle.
int destroyed() {
  hipStream_t streams[8];
  for (hipStream_t &stream : streams) {
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  }
  for (hipStream_t &stream : streams) CHECK(hipStreamDestroy(stream));
  int captured = 0;
  for (hipStream_t &stream : streams) {
    hipStreamCaptureStatus status;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamIsCapturing(stream, &status));
    captured += status != hipStreamCaptureStatusNone;
  }
  std::printf("%d\n", captured);
  return 0;
}

int built(int *x) {
  hipGraph_t graph;
  hipGraphExec_t executable;
  hipGraphNode_t first, second, third;
  int by = 7, host = 3;
  void *arguments[] = {&x, &by};
  CHECK(hipGraphCreate(&graph, 0));
  hipKernelNodeParams parameters = {};
  parameters.blockDim = parameters.gridDim = dim3(1);
  parameters.func = reinterpret_cast<void *>(add);
  parameters.kernelParams = arguments;
  CHECK(hipGraphAddKernelNode(&second, graph, nullptr, 0, &parameters));
  CHECK(hipGraphAddMemcpyNode1D(&first, graph, nullptr, 0, x, &host, sizeof host, hipMemcpyHostToDevice));
  CHECK(hipGraphAddDependencies(graph, &first, &second, 1));
  hipHostNodeParams called = {[](void *data) { *static_cast<int *>(data) += 1; }, &host};
  CHECK(hipGraphAddHostNode(&third, graph, &second, 1, &called));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, nullptr));
  std::printf("%d %d\n", value_of(x), host);
  CHECK(hipGraphAddDependencies(graph, &third, &first, 1));
  std::printf("%s\n", hipGetErrorName(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0)));
  return 0;
}

}  // namespace

int main() {
  int *x;
  CHECK(hipMalloc(reinterpret_cast<void **>(&x), sizeof *x));
  CHECK(hipMemset(x, 0xff, sizeof *x));
  if (captured(x) || unjoined(x) || ended_elsewhere() || kept(x) || destroyed() || built(x)) return 1;
  hipArray *array = nullptr;
  const hipChannelFormatDesc format = {};
  for (int i = 0; i < 2; ++i) std::printf("%s\n", hipGetErrorName(hipMallocArray(&array, &format, 1, 1, 0)));
  return 3;
}
