// Graphs: work that is kept, from captured streams or node by node, and done when the graph is launched. It is done in
// an order that keeps every dependency, one node after the other.
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hip.h"
#include "registered.h"

using namespace simt;

namespace {

// hipKernelNodeParams
struct KernelParameters {
  Shape block;
  void **extra;
  const void *function;
  Shape grid;
  void **params;
  unsigned shared;
};
// hipMemsetParams
struct FillParameters {
  void *to;
  unsigned element_bytes;
  std::size_t height, pitch;
  unsigned value;
  std::size_t width;
};
struct HostParameters {
  void (*function)(void *);
  void *data;
};

// hipGraphNodeType as of HIP 6; in HIP 5.2 each number is one more.
enum class Type : int { Kernel, Memcpy, Memset, Host, Graph, Empty };

// A launch with its arguments, which are copied when it is made: the caller's may be gone when it is done.
class KeptLaunch {
 public:
  Error set(const void *kernel, Shape grid, Shape block, unsigned shared, void **params, void **extra) {
    const KernelFacts facts = facts_of(kernel);
    std::vector<char> arguments(facts.argument_bytes);
    std::vector<std::size_t> offsets;
    const char *packed = nullptr;
    std::size_t packed_bytes = 0;
    for (void **e = extra; e && *e != reinterpret_cast<void *>(3); e += 2) {
      if (*e == reinterpret_cast<void *>(1)) packed = static_cast<const char *>(e[1]);
      if (*e == reinterpret_cast<void *>(2)) packed_bytes = *static_cast<const std::size_t *>(e[1]);
    }
    for (const KernelFacts::Argument &argument : facts.arguments) {
      if (argument.offset > arguments.size() || arguments.size() - argument.offset < argument.bytes)
        return fail(InvalidImage, "kernel %s: an argument is outside of its segment", facts.shown.c_str());
      const void *from = packed ? packed + argument.offset : params ? params[offsets.size()] : nullptr;
      if (!from || (packed && argument.offset + argument.bytes > packed_bytes))
        return fail(InvalidValue, "kernel %s: argument %zu is not given", facts.shown.c_str(), offsets.size());
      std::memcpy(arguments.data() + argument.offset, from, argument.bytes);
      offsets.push_back(argument.offset);
    }
    kernel_ = kernel;
    grid_ = grid;
    block_ = block;
    shared_ = shared;
    arguments_ = std::move(arguments);
    offsets_ = std::move(offsets);
    return Success;
  }
  Error run() const {
    if (!is_kernel(kernel_))
      return fail(InvalidHandle, "hipGraphLaunch: the module of a kernel of the graph has been unloaded");
    std::vector<char> arguments = arguments_;
    std::vector<void *> params;
    for (const std::size_t offset : offsets_) params.push_back(arguments.data() + offset);
    return launch_kernel(kernel_, grid_, block_, shared_, params.data(), nullptr);
  }
  // With pointers that are valid as long as this is, and is not set again.
  KernelParameters parameters() {
    params_.clear();
    for (const std::size_t offset : offsets_) params_.push_back(arguments_.data() + offset);
    return {{block_.x, block_.y, block_.z}, nullptr, kernel_, {grid_.x, grid_.y, grid_.z}, params_.data(), shared_};
  }

 private:
  const void *kernel_ = nullptr;
  Shape grid_{}, block_{};
  unsigned shared_ = 0;
  std::vector<char> arguments_;
  std::vector<std::size_t> offsets_;
  std::vector<void *> params_;
};

struct Node {
  Type type;
  std::function<int()> work;  // of all but kernels
  KeptLaunch launch;
  std::vector<const Node *> after;

  int run() const { return type == Type::Kernel ? launch.run() : work(); }
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;

  Node &add(Type type, std::function<int()> work) {
    nodes.push_back(std::make_unique<Node>(Node{type, std::move(work), {}, {}}));
    return *nodes.back();
  }
  bool has(const Node *node) const {
    return std::any_of(nodes.begin(), nodes.end(), [node](const auto &own) { return own.get() == node; });
  }
  // The nodes in an order that keeps their dependencies, as they were added as far as it allows; fewer in a circle.
  std::vector<const Node *> ordered() const {
    std::vector<const Node *> order;
    std::set<const Node *> done;
    for (bool more = true; more;) {
      more = false;
      for (const auto &node : nodes) {
        const auto is_done = [&done](const Node *other) { return done.contains(other); };
        if (is_done(node.get()) || !std::all_of(node->after.begin(), node->after.end(), is_done)) continue;
        order.push_back(node.get());
        done.insert(node.get());
        more = true;
      }
    }
    return order;
  }
};

// A graph as it was when it was instantiated.
struct Executable {
  std::vector<Node> nodes;
  std::map<const Node *, std::size_t> places;  // of the graph's nodes

  int run() const {
    for (const Node &node : nodes)
      if (const int error = node.run()) return error;
    return Success;
  }
};

// Streams of one capture: that which began it, and those that have waited for an event of it. Of each stream and each
// event it has the nodes that the next one begins behind.
struct Capture {
  using Nodes = std::vector<const Node *>;

  const void *origin;
  std::unique_ptr<Graph> graph;
  std::map<const void *, Nodes> streams, events;
  bool any_thread;  // may end it, and not only the one that began it
  std::thread::id thread = std::this_thread::get_id();

  // Whether all work of other streams lies before what the origin would be given next.
  bool is_joined() const {
    std::set<const Node *> done(streams.at(origin).begin(), streams.at(origin).end());
    for (const auto &node : graph->nodes) done.insert(node->after.begin(), node->after.end());
    return std::ranges::all_of(graph->nodes, [&done](const auto &node) { return done.contains(node.get()); });
  }
};

// All graphs of the process. Programs use theirs from one thread at a time; this is locked for those of several.
struct Graphs {
  std::recursive_mutex mutex;
  std::map<const void *, std::unique_ptr<Graph>> graphs;
  std::map<const void *, std::shared_ptr<Executable>> executables;
  std::map<const void *, std::shared_ptr<Capture>> captured;  // by stream

  Graph *find(const void *handle) {
    const auto it = graphs.find(handle);
    return it == graphs.end() ? nullptr : it->second.get();
  }
  Graph *put(std::unique_ptr<Graph> graph) {
    Graph *const raw = graph.get();
    graphs[raw] = std::move(graph);
    return raw;
  }
  Node *node(const void *handle) {
    for (const auto &[key, graph] : graphs)
      for (const auto &node : graph->nodes)
        if (node.get() == handle) return node.get();
    return nullptr;
  }
};
Graphs &all() {
  static Graphs &instance = *new Graphs;
  return instance;
}
std::unique_lock<std::recursive_mutex> locked() { return std::unique_lock(all().mutex); }

// ---- captures

bool captures(const void *stream) {
  const auto lock = locked();
  return all().captured.contains(stream);
}

// A node of the graph that `stream` is captured into, behind those that the stream's work and events ask for. Fails
// where another thread has ended the capture meanwhile.
Error kept(const void *stream, Type type, std::function<int()> work, KeptLaunch launch = {}) {
  const auto it = all().captured.find(stream);
  if (it == all().captured.end())
    return fail(StreamCaptureInvalidated, "the capture of the stream was ended while this call was made");
  Node &node = it->second->graph->add(type, std::move(work));
  node.launch = std::move(launch);
  node.after = std::exchange(it->second->streams[stream], {&node});
  return Success;
}
Error keep(const void *stream, Keeper::Work kind, std::function<int()> work) {
  const Type type = kind == Keeper::Work::Copy ? Type::Memcpy : kind == Keeper::Work::Fill ? Type::Memset : Type::Host;
  const auto lock = locked();
  return kept(stream, type, std::move(work));
}
Error keep_launch(const void *kernel, Shape grid, Shape block, unsigned shared, void **params, void **extra,
                  const void *stream) {
  const auto lock = locked();
  KeptLaunch launch;
  if (const Error error = launch.set(kernel, grid, block, shared, params, extra)) return error;
  return kept(stream, Type::Kernel, nullptr, std::move(launch));
}
bool records(const void *event, const void *stream) {
  const auto lock = locked();
  const auto it = all().captured.find(stream);
  for (auto &[other, capture] : all().captured) capture->events.erase(event);
  if (it == all().captured.end()) return false;
  it->second->events[event] = it->second->streams[stream];
  return true;
}
bool waits(const void *stream, const void *event) {
  const auto lock = locked();
  for (const auto &[other, capture] : all().captured) {
    const auto recorded = capture->events.find(event);
    if (recorded == capture->events.end()) continue;
    const std::shared_ptr<Capture> joined = capture;
    if (all().captured.emplace(stream, joined).first->second == joined)
      for (const Node *node : recorded->second)
        if (auto &before = joined->streams[stream]; std::ranges::find(before, node) == before.end())
          before.push_back(node);
    return true;
  }
  return false;
}
void forgets(const void *stream) {
  const auto lock = locked();
  const auto it = all().captured.find(stream);
  if (it == all().captured.end()) return;
  const std::shared_ptr<Capture> capture = it->second;
  const bool whole = capture->origin == stream;  // else it has only been joined to another one's
  std::erase_if(all().captured,
                [&](const auto &row) { return row.first == stream || (whole && row.second == capture); });
  capture->streams.erase(stream);
}

[[gnu::constructor]] void keep_for_graphs() {
  static constexpr Keeper ours{captures, keep, keep_launch, records, waits, forgets};
  keeper = &ours;
}

// ---- graphs and nodes by their handles

Error no_graph(const char *call) { return fail(InvalidValue, "%s: this is not a graph", call); }
Error no_node(const char *call) { return fail(InvalidValue, "%s: this is not a node of a graph", call); }

Error add(const char *call, const Node **out, const void *handle, const Node *const *after, std::size_t count,
          Type type, std::function<int()> work, KeptLaunch launch = {}) {
  const auto lock = locked();
  Graph *const graph = all().find(handle);
  if (!graph || !out) return no_graph(call);
  for (std::size_t n = 0; n < count; ++n)
    if (!graph->has(after[n])) return no_node(call);
  Node &node = graph->add(type, std::move(work));
  node.launch = std::move(launch);
  if (count) node.after.assign(after, after + count);
  *out = &node;
  return Success;
}

// The launch that `given` describes, whose function is one of a module or a kernel's host function.
Error launch_of(const char *call, const KernelParameters *given, KeptLaunch &launch) {
  const void *kernel;
  if (!given) return fail(InvalidValue, "%s: the parameters are null", call);
  if (const Error error = registry().find(call, given->function, kernel)) return error;
  const Shape g = given->grid, b = given->block;
  return launch.set(kernel, {g.x, g.y, g.z}, {b.x, b.y, b.z}, given->shared, given->params, given->extra);
}

int fill_as(const FillParameters &p) {
  const auto fill_row = [&p](char *row) {
    return p.element_bytes == 1   ? hipMemsetD8(row, static_cast<unsigned char>(p.value), p.width)
           : p.element_bytes == 2 ? hipMemsetD16(row, static_cast<unsigned short>(p.value), p.width)
                                  : hipMemsetD32(row, static_cast<int>(p.value), p.width);
  };
  for (std::size_t row = 0; row < std::max<std::size_t>(p.height, 1); ++row)
    if (const int error = fill_row(static_cast<char *>(p.to) + row * p.pitch)) return error;
  return Success;
}

template <class Nodes>
Error list(const char *call, const Nodes &found, const Node **out, std::size_t *count) {
  if (!count) return fail(InvalidValue, "%s: the pointer to the number is null", call);
  if (out)
    for (std::size_t n = 0; n < std::min(*count, found.size()); ++n) out[n] = found[n];
  *count = out ? std::min(*count, found.size()) : found.size();
  return Success;
}

Error instantiate(const char *call, const void **out, const void *handle) {
  const auto lock = locked();
  const Graph *const graph = all().find(handle);
  if (!graph || !out) return no_graph(call);
  const std::vector<const Node *> order = graph->ordered();
  if (order.size() != graph->nodes.size())
    return fail(InvalidValue, "%s: the nodes of the graph depend on each other in a circle", call);
  auto made = std::make_shared<Executable>();
  for (const Node *node : order) {
    made->places[node] = made->nodes.size();
    made->nodes.push_back(*node);
  }
  *out = made.get();
  all().executables[made.get()] = std::move(made);
  return Success;
}

}  // namespace

// ---- capturing

SIMT_API int hipStreamBeginCapture(void *stream, int mode) {
  constexpr int relaxed = 2;  // hipStreamCaptureModeRelaxed
  if (const Error error = check_handle("hipStreamBeginCapture", stream)) return error;
  const auto lock = locked();
  if (!stream) return fail(StreamCaptureUnsupported, "hipStreamBeginCapture: the null stream cannot be captured");
  if (captures(stream)) return fail(IllegalState, "hipStreamBeginCapture: the stream is being captured already");
  all().captured[stream] =
      std::make_shared<Capture>(Capture{stream, std::make_unique<Graph>(), {{stream, {}}}, {}, mode == relaxed});
  return Success;
}
SIMT_API int hipStreamEndCapture(void *stream, const void **graph) {
  const auto lock = locked();
  const auto it = all().captured.find(stream);
  if (it == all().captured.end()) return fail(IllegalState, "hipStreamEndCapture: the stream is not being captured");
  const std::shared_ptr<Capture> capture = it->second;
  if (capture->origin != stream)
    return fail(StreamCaptureUnmatched, "hipStreamEndCapture: the capture was begun on another stream");
  if (!capture->any_thread && capture->thread != std::this_thread::get_id())
    return fail(StreamCaptureWrongThread, "hipStreamEndCapture: another thread has begun the capture, not as relaxed");
  if (!graph) return fail(InvalidValue, "hipStreamEndCapture: the output pointer is null");
  std::erase_if(all().captured, [&capture](const auto &row) { return row.second == capture; });
  *graph = nullptr;
  if (!capture->is_joined())
    return fail(StreamCaptureUnjoined, "hipStreamEndCapture: another stream has work that this one has not waited for");
  *graph = all().put(std::move(capture->graph));
  return Success;
}
SIMT_API int hipStreamIsCapturing(void *stream, int *status) {
  if (const Error error = check_handle("hipStreamIsCapturing", stream)) return error;
  if (!status) return fail(InvalidValue, "hipStreamIsCapturing: the output pointer is null");
  *status = captures(stream);
  return Success;
}
SIMT_API int hipStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id) {
  if (const int error = hipStreamIsCapturing(stream, status)) return error;
  const auto lock = locked();
  const auto it = all().captured.find(stream);
  if (id) *id = it == all().captured.end() ? 0 : reinterpret_cast<std::uintptr_t>(it->second.get());
  return Success;
}
// Called by the emulated libraries: `work` with `data`, which says whether it succeeded, becomes a node of the graph
// that `stream` is captured into, and `release` is called when no graph needs it any more. 0 where the stream is not
// captured.
SIMT_API int hipcpuKeepForGraph(const char *function, void *stream, int (*work)(void *), void (*release)(void *),
                                void *data) {
  const auto lock = locked();
  if (!captures(stream)) return 0;
  const std::shared_ptr<void> owned(data, release);
  kept(stream, Type::Host, [name = std::string(function), work, owned] {
    return work(owned.get()) ? +Success : fail(LaunchFailure, "hipGraphLaunch: %s has failed", name.c_str());
  });
  return 1;
}
SIMT_API int hipThreadExchangeStreamCaptureMode(int *mode) {
  thread_local int current = 0;  // hipStreamCaptureModeGlobal
  if (!mode) return fail(InvalidValue, "hipThreadExchangeStreamCaptureMode: the pointer is null");
  std::swap(*mode, current);
  return Success;
}

// ---- graphs

SIMT_API int hipGraphCreate(const void **graph, unsigned) {
  const auto lock = locked();
  if (!graph) return fail(InvalidValue, "hipGraphCreate: the output pointer is null");
  *graph = all().put(std::make_unique<Graph>());
  return Success;
}
SIMT_API int hipGraphDestroy(const void *graph) {
  const auto lock = locked();
  return all().graphs.erase(graph) ? Success : no_graph("hipGraphDestroy");
}
SIMT_API int hipGraphGetNodes(const void *handle, const Node **nodes, std::size_t *count) {
  const auto lock = locked();
  const Graph *const graph = all().find(handle);
  return graph ? list("hipGraphGetNodes", graph->ordered(), nodes, count) : no_graph("hipGraphGetNodes");
}
SIMT_API int hipGraphGetRootNodes(const void *handle, const Node **nodes, std::size_t *count) {
  const auto lock = locked();
  const Graph *const graph = all().find(handle);
  if (!graph) return no_graph("hipGraphGetRootNodes");
  std::vector<const Node *> roots;
  for (const auto &node : graph->nodes)
    if (node->after.empty()) roots.push_back(node.get());
  return list("hipGraphGetRootNodes", roots, nodes, count);
}
SIMT_API int hipGraphNodeGetType(const void *handle, int *type) {
  const auto lock = locked();
  const Node *const node = all().node(handle);
  if (!node || !type) return no_node("hipGraphNodeGetType");
  *type = static_cast<int>(node->type);
  return Success;
}
SIMT_API int hipGraphAddDependencies(const void *handle, const Node *const *from, Node *const *to, std::size_t count) {
  const auto lock = locked();
  const Graph *const graph = all().find(handle);
  if (!graph) return no_graph("hipGraphAddDependencies");
  for (std::size_t n = 0; n < count; ++n) {
    if (!graph->has(from[n]) || !graph->has(to[n])) return no_node("hipGraphAddDependencies");
    to[n]->after.push_back(from[n]);
  }
  return Success;
}

// ---- nodes

SIMT_API int hipGraphAddEmptyNode(const Node **node, const void *graph, const Node *const *after, std::size_t count) {
  return add("hipGraphAddEmptyNode", node, graph, after, count, Type::Empty, [] { return +Success; });
}
SIMT_API int hipGraphAddKernelNode(const Node **node, const void *graph, const Node *const *after, std::size_t count,
                                   const KernelParameters *given) {
  KeptLaunch launch;
  if (const Error error = launch_of("hipGraphAddKernelNode", given, launch)) return error;
  return add("hipGraphAddKernelNode", node, graph, after, count, Type::Kernel, nullptr, std::move(launch));
}
SIMT_API int hipGraphAddMemcpyNode1D(const Node **node, const void *graph, const Node *const *after, std::size_t count,
                                     void *to, const void *from, std::size_t bytes, int kind) {
  return add("hipGraphAddMemcpyNode1D", node, graph, after, count, Type::Memcpy,
             [=] { return copy("hipGraphAddMemcpyNode1D", to, from, bytes, kind); });
}
SIMT_API int hipGraphAddMemsetNode(const Node **node, const void *graph, const Node *const *after, std::size_t count,
                                   const FillParameters *given) {
  if (!given) return fail(InvalidValue, "hipGraphAddMemsetNode: the parameters are null");
  return add("hipGraphAddMemsetNode", node, graph, after, count, Type::Memset,
             [parameters = *given] { return fill_as(parameters); });
}
SIMT_API int hipGraphAddHostNode(const Node **node, const void *graph, const Node *const *after, std::size_t count,
                                 const HostParameters *given) {
  if (!given || !given->function) return fail(InvalidValue, "hipGraphAddHostNode: the function is null");
  return add("hipGraphAddHostNode", node, graph, after, count, Type::Host, [host = *given] {
    host.function(host.data);
    return +Success;
  });
}
SIMT_API int hipGraphAddChildGraphNode(const Node **node, const void *graph, const Node *const *after,
                                       std::size_t count, const void *child) {
  const void *made;
  if (const Error error = instantiate("hipGraphAddChildGraphNode", &made, child)) return error;
  const auto lock = locked();
  const auto it = all().executables.find(made);
  const std::shared_ptr<Executable> inner = it->second;
  all().executables.erase(it);
  return add("hipGraphAddChildGraphNode", node, graph, after, count, Type::Graph, [inner] { return inner->run(); });
}
SIMT_API int hipGraphKernelNodeGetParams(const void *handle, KernelParameters *out) {
  const auto lock = locked();
  Node *const node = all().node(handle);
  if (!node || node->type != Type::Kernel || !out) return no_node("hipGraphKernelNodeGetParams");
  *out = node->launch.parameters();
  return Success;
}
SIMT_API int hipGraphKernelNodeSetParams(const void *handle, const KernelParameters *given) {
  const auto lock = locked();
  Node *const node = all().node(handle);
  if (!node || node->type != Type::Kernel) return no_node("hipGraphKernelNodeSetParams");
  return launch_of("hipGraphKernelNodeSetParams", given, node->launch);
}

// ---- executables

SIMT_API int hipGraphInstantiate(const void **out, const void *graph, const Node **bad, char *log, std::size_t bytes) {
  if (bad) *bad = nullptr;
  if (log && bytes) *log = '\0';
  return instantiate("hipGraphInstantiate", out, graph);
}
SIMT_API int hipGraphInstantiateWithFlags(const void **out, const void *graph, unsigned long long) {
  return instantiate("hipGraphInstantiateWithFlags", out, graph);
}
SIMT_API int hipGraphUpload(const void *, void *stream) { return check_stream("hipGraphUpload", stream); }
SIMT_API int hipGraphExecDestroy(const void *handle) {
  const auto lock = locked();
  return all().executables.erase(handle) ? Success
                                         : fail(InvalidValue, "hipGraphExecDestroy: this is not an instantiated graph");
}
SIMT_API int hipGraphLaunch(const void *handle, void *stream) {
  if (const Error error = check_stream("hipGraphLaunch", stream)) return error;
  std::shared_ptr<Executable> found;
  {
    const auto lock = locked();
    const auto it = all().executables.find(handle);
    if (it == all().executables.end()) return fail(InvalidValue, "hipGraphLaunch: this is not an instantiated graph");
    found = it->second;
    if (captures(stream)) return kept(stream, Type::Graph, [found] { return found->run(); });
  }
  return found->run();
}
SIMT_API int hipGraphExecKernelNodeSetParams(const void *handle, const Node *node, const KernelParameters *given) {
  const auto lock = locked();
  const auto it = all().executables.find(handle);
  if (it == all().executables.end())
    return fail(InvalidValue, "hipGraphExecKernelNodeSetParams: this is not an instantiated graph");
  Executable &executable = *it->second;
  const auto place = executable.places.find(node);
  if (place == executable.places.end() || executable.nodes[place->second].type != Type::Kernel)
    return no_node("hipGraphExecKernelNodeSetParams");
  return launch_of("hipGraphExecKernelNodeSetParams", given, executable.nodes[place->second].launch);
}
