// Implements graphs: nodes with parameters and dependencies, and their executable form.
//
// Idea: a node's parameters are a plain variant; the work is made from them when the graph is
// instantiated. A launch enqueues the nodes one by one into the stream, in an order that the seed
// chooses among those that the dependencies allow. Nodes without a path between them thus run in
// any order, but never at the same time. An error that is due to a missing dependency becomes
// visible in this way, too.
//
// Ownership: a graph owns its nodes and child graphs; the tables in Graphs() own graphs and
// executables. Threads: the caller holds the driver's lock. Errors: returns a CUresult.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_GRAPH_H_
#define VRAMSTOW_SIMULATOR_DRIVER_GRAPH_H_

#include <set>
#include <variant>

#include "simulator/driver/copy.h"
#include "simulator/driver/fill.h"
#include "simulator/driver/module.h"
#include "simulator/driver/stream_values.h"

namespace vramstow::simulator {

struct Graph;

struct EmptyNode {};
struct KernelNode {
  Launch launch;                       // without pointers to arguments
  std::shared_ptr<Work> work;          // made with the node, because its arguments are read then
  void** caller_parameters = nullptr;  // the caller's pointer, returned by queries
};
struct CopyNode {
  CopyBox box;
  CUDA_MEMCPY3D shape = {};  // the caller's description; a row for a captured copy
};
struct FillNode {
  FillBox box;
};
struct HostNode {
  CUhostFn function = nullptr;
  void* user = nullptr;
};
struct ChildNode {
  std::shared_ptr<Graph> graph;
};
struct EventNode {
  std::shared_ptr<Event> event;
  bool record = false;
};
// An allocation of a graph: its addresses, and, from the first instantiation on, the device memory
// behind them. It lives as long as a graph or an executable refers to it, and while it is allocated
// by a launch and not freed (destroying a graph does not free it, as documented). After that, the
// device memory is retained for other graphs until it is trimmed.
struct GraphPages {
  State* state = nullptr;
  const Context* owner = nullptr;
  int device = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint64_t requested = 0;
  bool charged = false;
  ~GraphPages();
};
// Reserves the addresses and adds the application's block. Returns null if no addresses are left.
std::shared_ptr<GraphPages> AllocateGraphPages(State* state, int device, uint64_t bytes,
                                               const Context* owner);
// Frees a block that was allocated by a graph and is freed by the application outside of the graph.
// The result owns the pages. The caller releases it when work that was submitted before has ended.
std::shared_ptr<GraphPages> FreeGraphBlock(State* state, Block* block);
// Returns work that holds the pages until a stream reaches it.
std::shared_ptr<Work> KeepPages(std::vector<std::shared_ptr<GraphPages>> pages);
// Frees the memory that the device retains for graphs and that no graph uses.
void TrimGraphMemory(State* state, int device);

struct AllocateNode {
  std::shared_ptr<GraphPages> pages;
  CUDA_MEM_ALLOC_NODE_PARAMS given = {};
};
struct FreeNode {
  uint64_t address = 0;
};
using NodeParameters = std::variant<EmptyNode, KernelNode, CopyNode, FillNode, HostNode, ChildNode,
                                    EventNode, AllocateNode, FreeNode, ValuesNode>;

struct GraphNode {
  Graph* graph = nullptr;
  uint64_t id = 0;        // unique in the process
  uint64_t original = 0;  // id of the node that this one was cloned from, or its own
  Context* context = nullptr;
  NodeParameters parameters;
  std::vector<std::shared_ptr<Work>> appended;  // runs right after the work, as a part of it
  std::vector<GraphNode*> dependencies;         // in the order they were added
  std::vector<GraphNode*> dependents;

  CUgraphNodeType Type() const;
};

struct UserObject {
  CUhostFn destroy = nullptr;
  void* pointer = nullptr;
  uint64_t references = 0;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::map<UserObject*, uint64_t> user_objects;
  uint64_t id = 0;
};

struct ExecNode {
  uint64_t original = 0;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::shared_ptr<Event> event;
  std::shared_ptr<Work> work;
  vramstowSimulatorWork note = {};  // the profiler's record of the work
  std::vector<size_t> dependents;
  size_t dependency_count = 0;
  bool enabled = true;
};

struct GraphExec {
  uint64_t id = 0;
  Context* context = nullptr;
  unsigned long long flags = 0;
  std::vector<ExecNode> nodes;
  Mark last;  // end of the previous launch: launches never overlap
  std::vector<std::shared_ptr<GraphPages>> pages;  // pages of allocation nodes
  std::set<uint64_t> freed;                        // addresses that its own nodes free
  std::vector<UserObject*> user_objects;           // a reference to each of them
};

struct GraphTables {
  Handles<Graph> graphs;
  Handles<GraphNode> nodes;
  Handles<GraphExec> executables;
  Handles<UserObject> user_objects;
  std::map<uint64_t, std::shared_ptr<GraphPages>> live;  // allocated by a launch and not freed
  std::map<int, uint64_t> kept;  // bytes charged to each device that no graph uses any more
};
GraphTables& Graphs();

inline CUgraph ToHandle(Graph* graph) { return reinterpret_cast<CUgraph>(graph); }
inline CUgraphNode ToHandle(GraphNode* node) { return reinterpret_cast<CUgraphNode>(node); }

Graph* NewGraph(State* state);
void DestroyGraph(Graph* graph);
GraphNode* AddNode(State* state, Graph* graph, Context* context, NodeParameters parameters,
                   const std::vector<GraphNode*>& dependencies);
void RemoveNode(GraphNode* node);
bool AddEdge(GraphNode* from, GraphNode* to);
bool RemoveEdge(GraphNode* from, GraphNode* to);
void CloneInto(State* state, const Graph& source, Graph* target);

CUresult Instantiate(Call& call, Graph* graph, unsigned long long flags, GraphExec** executable);
// Makes the work of a node. Returns null for a node that does nothing by itself.
std::shared_ptr<Work> MakeNodeWork(State* state, const GraphNode& node);
CUresult LaunchGraph(Call& call, GraphExec* executable, Stream* stream);
KernelNode MakeKernelNode(State* state, Context* context, const Launch& launch);
void ReleaseUserObject(UserObject* object, uint64_t count);
// Destroys the executable. Memory of a launch that has not ended stays until it has ended.
void DestroyExecutable(GraphExec* executable);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_GRAPH_H_
