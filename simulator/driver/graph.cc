#include "simulator/driver/graph.h"

#include <algorithm>
#include <utility>

#include "base/rounding.h"
#include "simulator/driver/event_sharing.h"
#include "simulator/driver/host_worker.h"
#include "simulator/driver/profiler.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

template <typename... Ts>
struct Overload : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overload(Ts...) -> Overload<Ts...>;

// Flattens a graph with its child graphs: a child's nodes are placed between the predecessors and
// the successors of the child node. Returns the indexes of the last nodes for each node of the
// source.
class Flattener {
 public:
  Flattener(State* state, GraphExec* executable) : state_(state), executable_(executable) {}

  // Adds a graph whose first nodes depend on `entries`. Returns its last nodes: when they have run,
  // the whole graph has run.
  std::vector<size_t> Add(const Graph& graph, const std::vector<size_t>& entries) {
    std::map<const GraphNode*, std::vector<size_t>> exits;
    std::vector<size_t> last;
    for (const GraphNode* node : InOrder(graph)) {
      std::vector<size_t> before;
      if (node->dependencies.empty()) before = entries;
      for (const GraphNode* dependency : node->dependencies) {
        const std::vector<size_t>& more = exits[dependency];
        before.insert(before.end(), more.begin(), more.end());
      }
      if (const auto* child = std::get_if<ChildNode>(&node->parameters)) {
        exits[node] = Add(*child->graph, before);
      } else {
        exits[node] = {AddOne(*node, before)};
      }
      if (node->dependents.empty()) {
        last.insert(last.end(), exits[node].begin(), exits[node].end());
      }
    }
    return graph.nodes.empty() ? entries : last;
  }

 private:
  static std::vector<const GraphNode*> InOrder(const Graph& graph) {
    std::vector<const GraphNode*> order;
    std::map<const GraphNode*, size_t> open;
    for (const auto& node : graph.nodes) {
      open[node.get()] = node->dependencies.size();
      if (node->dependencies.empty()) order.push_back(node.get());
    }
    for (size_t i = 0; i < order.size(); ++i) {
      for (const GraphNode* dependent : order[i]->dependents) {
        if (--open[dependent] == 0) order.push_back(dependent);
      }
    }
    return order;
  }

  size_t AddOne(const GraphNode& node, const std::vector<size_t>& before) {
    const size_t index = executable_->nodes.size();
    ExecNode& made = executable_->nodes.emplace_back();
    made.original = node.original;
    made.type = node.Type();
    made.work = MakeNodeWork(state_, node);
    made.note = DescribeNode(*state_, node);
    made.dependency_count = before.size();
    if (const auto* event = std::get_if<EventNode>(&node.parameters)) made.event = event->event;
    for (const size_t dependency : before)
      executable_->nodes[dependency].dependents.push_back(index);
    return index;
  }

  State* state_;
  GraphExec* executable_;
};

// True if the graph and its child graphs have no cycle, so that every node can run.
bool HasOrder(const Graph& graph) {
  std::map<const GraphNode*, size_t> open;
  std::vector<const GraphNode*> ready;
  for (const auto& node : graph.nodes) {
    const auto* child = std::get_if<ChildNode>(&node->parameters);
    if (child != nullptr && !HasOrder(*child->graph)) return false;
    open[node.get()] = node->dependencies.size();
    if (node->dependencies.empty()) ready.push_back(node.get());
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    for (const GraphNode* dependent : ready[i]->dependents) {
      if (--open[dependent] == 0) ready.push_back(dependent);
    }
  }
  return ready.size() == graph.nodes.size();
}

// Charges devices for pages. Pages that a device retains for graphs are used first.
class PageCharges {
 public:
  explicit PageCharges(State* state) : state_(*state) {}

  bool Add(GraphPages* pages) {
    if (pages->charged) return true;
    uint64_t& kept = Graphs().kept[pages->device];
    const uint64_t used = std::min(kept, pages->bytes);
    const uint64_t more = pages->bytes - used;
    if (more != 0 && !state_.machine->memory.Charge(pages->device, more)) return false;
    kept -= used;
    pages->charged = true;
    added_.push_back({pages, more});
    return true;
  }
  void Undo() {
    for (const auto& [pages, more] : added_) {
      state_.machine->memory.Discharge(pages->device, more);
      Graphs().kept[pages->device] += pages->bytes - more;
      pages->charged = false;
    }
  }

 private:
  State& state_;
  std::vector<std::pair<GraphPages*, uint64_t>> added_;  // with the bytes that the device gave
};

CUresult ChargeAllocations(State* state, const Graph& graph, GraphExec* executable) {
  PageCharges charges(state);
  for (const auto& node : graph.nodes) {
    if (const auto* free = std::get_if<FreeNode>(&node->parameters)) {
      executable->freed.insert(free->address);
    }
    const auto* allocation = std::get_if<AllocateNode>(&node->parameters);
    if (allocation == nullptr) continue;
    if (!charges.Add(allocation->pages.get())) {
      charges.Undo();
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    executable->pages.push_back(allocation->pages);
  }
  return CUDA_SUCCESS;
}

// Memory that a launch allocates and does not free belongs to the application until the application
// frees it.
CUresult AllocateAtLaunch(GraphExec* executable) {
  auto& live = Graphs().live;
  const bool again = (executable->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  for (const auto& pages : executable->pages) {
    if (live.contains(pages->address) && !again) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& pages : executable->pages) {
    Memory& memory = pages->state->machine->memory;
    if (executable->freed.contains(pages->address)) continue;
    live[pages->address] = pages;
    if (memory.FindExact(pages->address) == nullptr) {
      memory.AddPoolBlock(pages->device, pages->address, pages->bytes, pages->requested,
                          pages->owner, nullptr);
    }
  }
  return CUDA_SUCCESS;
}

// Returns what a launch holds until it has ended: its own pages, and those of other graphs that it
// frees. The addresses of the latter belong to no block any more.
std::vector<std::shared_ptr<GraphPages>> HeldByLaunch(const GraphExec& executable) {
  std::vector<std::shared_ptr<GraphPages>> held = executable.pages;
  const auto is_own = [&](uint64_t address) {
    return std::ranges::any_of(executable.pages,
                               [address](const auto& pages) { return pages->address == address; });
  };
  for (const uint64_t address : executable.freed) {
    const auto live = Graphs().live.find(address);
    if (live == Graphs().live.end() || is_own(address)) continue;
    State* const state = live->second->state;
    Block* const block = state->machine->memory.FindExact(address);
    if (block != nullptr) held.push_back(FreeGraphBlock(state, block));
  }
  return held;
}

}  // namespace

GraphPages::~GraphPages() {
  Memory& memory = state->machine->memory;
  if (Block* block = memory.FindExact(address)) memory.Release(block);
  memory.ReturnPages(device, address, bytes, /*charged=*/false);
  if (charged) Graphs().kept[device] += bytes;
}

void TrimGraphMemory(State* state, int device) {
  state->machine->memory.Discharge(device, std::exchange(Graphs().kept[device], 0));
}

std::shared_ptr<GraphPages> AllocateGraphPages(State* state, int device, uint64_t bytes,
                                               const Context* owner) {
  const uint64_t size = RoundUp(bytes, kDevicePage);
  Memory& memory = state->machine->memory;
  const uint64_t address = size < bytes ? 0 : memory.AllocatePages(device, size, false);
  if (address == 0) return nullptr;
  memory.AddPoolBlock(device, address, size, bytes, owner, nullptr);
  return std::shared_ptr<GraphPages>(
      new GraphPages{state, owner, device, address, size, bytes, false});
}

std::shared_ptr<GraphPages> FreeGraphBlock(State* state, Block* block) {
  const auto found = Graphs().live.extract(block->address);
  state->machine->memory.Release(block);
  return found.empty() ? nullptr : found.mapped();
}

GraphTables& Graphs() {
  static auto* tables = new GraphTables;
  return *tables;
}

CUgraphNodeType GraphNode::Type() const {
  return std::visit(Overload{[](const EmptyNode&) { return CU_GRAPH_NODE_TYPE_EMPTY; },
                             [](const KernelNode&) { return CU_GRAPH_NODE_TYPE_KERNEL; },
                             [](const CopyNode&) { return CU_GRAPH_NODE_TYPE_MEMCPY; },
                             [](const FillNode&) { return CU_GRAPH_NODE_TYPE_MEMSET; },
                             [](const HostNode&) { return CU_GRAPH_NODE_TYPE_HOST; },
                             [](const ChildNode&) { return CU_GRAPH_NODE_TYPE_GRAPH; },
                             [](const EventNode& node) {
                               return node.record ? CU_GRAPH_NODE_TYPE_EVENT_RECORD
                                                  : CU_GRAPH_NODE_TYPE_WAIT_EVENT;
                             },
                             [](const AllocateNode&) { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; },
                             [](const FreeNode&) { return CU_GRAPH_NODE_TYPE_MEM_FREE; },
                             [](const ValuesNode&) { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }},
                    parameters);
}

Graph* NewGraph(State* state) {
  auto graph = std::make_unique<Graph>();
  graph->id = ++state->next_id;
  return Graphs().graphs.Add(std::move(graph));
}

void ReleaseUserObject(UserObject* object, uint64_t count) {
  object->references -= std::min(object->references, count);
  if (object->references > 0) return;
  // The destructor belongs to the application; like any host function it must not call the driver.
  object->destroy(object->pointer);
  Graphs().user_objects.Remove(object);
}

void DestroyExecutable(GraphExec* executable) {
  const std::vector<UserObject*> objects = std::move(executable->user_objects);
  Graphs().executables.Remove(executable);
  for (UserObject* object : objects) ReleaseUserObject(object, 1);
}

void DestroyGraph(Graph* graph) {
  while (!graph->nodes.empty()) {
    RemoveNode(graph->nodes.back().get());
  }
  for (const auto& [object, count] : graph->user_objects) ReleaseUserObject(object, count);
  Graphs().graphs.Remove(graph);
}

GraphNode* AddNode(State* state, Graph* graph, Context* context, NodeParameters parameters,
                   const std::vector<GraphNode*>& dependencies) {
  auto node = std::make_unique<GraphNode>();
  GraphNode* made = node.get();
  made->graph = graph;
  made->id = made->original = ++state->next_id;
  made->context = context;
  made->parameters = std::move(parameters);
  graph->nodes.push_back(std::move(node));
  Graphs().nodes.Note(made);
  for (GraphNode* dependency : dependencies) AddEdge(dependency, made);
  return made;
}

void RemoveNode(GraphNode* node) {
  for (GraphNode* from : std::vector<GraphNode*>(node->dependencies)) RemoveEdge(from, node);
  for (GraphNode* to : std::vector<GraphNode*>(node->dependents)) RemoveEdge(node, to);
  Graphs().nodes.Forget(node);
  std::erase_if(node->graph->nodes, [&](const auto& owned) { return owned.get() == node; });
}

bool AddEdge(GraphNode* from, GraphNode* to) {
  if (from == to || from->graph != to->graph) return false;
  if (std::find(to->dependencies.begin(), to->dependencies.end(), from) != to->dependencies.end()) {
    return false;
  }
  to->dependencies.push_back(from);
  from->dependents.push_back(to);
  return true;
}

bool RemoveEdge(GraphNode* from, GraphNode* to) {
  if (std::erase(to->dependencies, from) == 0) return false;
  std::erase(from->dependents, to);
  return true;
}

void CloneInto(State* state, const Graph& source, Graph* target) {
  std::map<const GraphNode*, GraphNode*> clones;
  for (const auto& node : source.nodes) {
    GraphNode* clone = AddNode(state, target, node->context, node->parameters, {});
    clone->original = node->original;
    clone->appended = node->appended;
    clones[node.get()] = clone;
  }
  for (const auto& node : source.nodes) {
    for (const GraphNode* dependency : node->dependencies) {
      AddEdge(clones[dependency], clones[node.get()]);
    }
  }
  for (const auto& [object, count] : source.user_objects) {
    object->references += count;
    target->user_objects[object] += count;
  }
}

KernelNode MakeKernelNode(State* state, Context* context, const Launch& launch) {
  KernelNode node;
  node.launch = launch;
  node.caller_parameters = launch.parameters;
  node.launch.parameters = nullptr;
  node.launch.extra = nullptr;
  node.work = MakeLaunchWork(state, context, launch);
  return node;
}

namespace {

// The work of a graph node, followed by work that a library appended to that node.
class WorkInOrder : public Work {
 public:
  WorkInOrder(std::shared_ptr<Work> first, std::vector<std::shared_ptr<Work>> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}
  void Run(uint64_t time_ns) override {
    first_->Run(time_ns);
    for (const std::shared_ptr<Work>& work : rest_) work->Run(time_ns);
  }
  uint64_t DurationNs() const override {
    uint64_t duration = first_->DurationNs();
    for (const std::shared_ptr<Work>& work : rest_) duration += work->DurationNs();
    return duration;
  }
  int Engine() const override {
    int engine = first_->Engine();
    for (const std::shared_ptr<Work>& work : rest_) engine = std::max(engine, work->Engine());
    return engine;
  }
  void AddUses(std::vector<vramstowSimulatorRange>* uses) const override {
    first_->AddUses(uses);
    for (const std::shared_ptr<Work>& work : rest_) work->AddUses(uses);
  }

 private:
  std::shared_ptr<Work> first_;
  std::vector<std::shared_ptr<Work>> rest_;
};

std::shared_ptr<Work> MakeOwnWork(State* state, const GraphNode& node) {
  using Made = std::shared_ptr<Work>;
  return std::visit(
      Overload{
          [](const KernelNode& kernel) { return kernel.work; },
          [&](const CopyNode& copy) -> Made {
            return MakeCopyWork(state, node.context, copy.box, {});
          },
          [&](const FillNode& fill) -> Made { return MakeFillWork(state, node.context, fill.box); },
          [&](const ValuesNode& node_values) -> Made {
            return MakeValuesWork(state, node.context, node_values.values);
          },
          [](const HostNode& host) -> Made {
            return std::make_shared<HostFunction>(
                [function = host.function, user = host.user] { function(user); });
          },
          [](const auto&) -> Made { return nullptr; }},
      node.parameters);
}

}  // namespace

std::shared_ptr<Work> MakeNodeWork(State* state, const GraphNode& node) {
  std::shared_ptr<Work> own = MakeOwnWork(state, node);
  if (node.appended.empty() || own == nullptr) return own;
  return std::make_shared<WorkInOrder>(std::move(own), node.appended);
}

CUresult Instantiate(Call& call, Graph* graph, unsigned long long flags, GraphExec** executable) {
  if (!HasOrder(*graph)) return CUDA_ERROR_INVALID_VALUE;  // the graph has a cycle
  auto made = std::make_unique<GraphExec>();
  made->id = ++call.state().next_id;
  made->context = call.context();
  made->flags = flags;
  const CUresult result = ChargeAllocations(&call.state(), *graph, made.get());
  if (result != CUDA_SUCCESS) return result;
  for (const auto& [object, count] : graph->user_objects) {
    ++object->references;
    made->user_objects.push_back(object);
  }
  Flattener(&call.state(), made.get()).Add(*graph, {});
  *executable = Graphs().executables.Add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult LaunchGraph(Call& call, GraphExec* executable, Stream* stream) {
  const CUresult allocated = AllocateAtLaunch(executable);
  if (allocated != CUDA_SUCCESS) return allocated;
  Timeline& timeline = call.machine().timeline;
  if (!executable->last.Reached()) {
    timeline.Enqueue(stream->queue, nullptr, {executable->last}, 0);
  }
  std::vector<ExecNode>& nodes = executable->nodes;
  std::vector<size_t> open(nodes.size());
  std::vector<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    open[i] = nodes[i].dependency_count;
    if (open[i] == 0) ready.push_back(i);
  }
  Mark last = Submit(call, stream, nullptr);
  while (!ready.empty()) {
    const size_t pick = call.machine().random.Below(ready.size());
    ExecNode& node = nodes[ready[pick]];
    ready[pick] = ready.back();
    ready.pop_back();
    for (const size_t dependent : node.dependents) {
      if (--open[dependent] == 0) ready.push_back(dependent);
    }
    if (!node.enabled) continue;
    if (node.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
      last = timeline.Enqueue(stream->queue, nullptr, AwaitedMarks(call, node.event.get()), 0);
    } else if (node.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
      last = RecordNow(call, node.event.get(), stream);
    } else if (node.work != nullptr) {
      last = Submit(call, stream, Observed(call, *stream, node.work, [&] {
                      node.note.graph = static_cast<uint32_t>(executable->id);
                      return node.note;
                    }));
    }
  }
  std::vector<std::shared_ptr<GraphPages>> held = HeldByLaunch(*executable);
  if (!held.empty()) last = Submit(call, stream, KeepPages(std::move(held)));
  executable->last = last;
  return CUDA_SUCCESS;
}

}  // namespace vramstow::simulator
