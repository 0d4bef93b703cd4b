// Implements creating, querying, changing, instantiating and launching graphs.
#include <stdio.h>

#include <algorithm>

#include "simulator/driver/capture.h"
#include "simulator/driver/context.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/stream.h"
#include "simulator/driver/use_watch.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

// Returns only the number if the array is null; otherwise fills it with as many nodes as fit and
// sets the rest to null.
CUresult GiveNodes(const std::vector<GraphNode*>& found, CUgraphNode* nodes, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes != nullptr) {
    for (size_t i = 0; i < *count; ++i) {
      nodes[i] = i < found.size() ? ToHandle(found[i]) : nullptr;
    }
    *count = std::min(*count, found.size());
  } else {
    *count = found.size();
  }
  return CUDA_SUCCESS;
}

template <typename Body>
CUresult WithGraph(const char* name, CUgraph handle, Body&& body) {
  return Serve(name, Needs::kInit, [&](Call& call) -> CUresult {
    Graph* graph = Graphs().graphs.Find(handle);
    return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : body(call, graph);
  });
}

template <typename Body>
CUresult WithNode(const char* name, CUgraphNode handle, Body&& body) {
  return Serve(name, Needs::kInit, [&](Call& call) -> CUresult {
    GraphNode* node = Graphs().nodes.Find(handle);
    return node == nullptr ? CUDA_ERROR_INVALID_VALUE : body(call, node);
  });
}

template <typename Body>
CUresult WithExec(const char* name, CUgraphExec handle, Body&& body) {
  return Serve(name, Needs::kContext, [&](Call& call) -> CUresult {
    GraphExec* executable = Graphs().executables.Find(handle);
    return executable == nullptr ? CUDA_ERROR_INVALID_VALUE : body(call, executable);
  });
}

// Adds the ranges that the enabled nodes read and write.
void AddUses(const GraphExec& executable, std::vector<vramstowSimulatorRange>* uses) {
  for (const ExecNode& node : executable.nodes) {
    if (node.enabled && node.work != nullptr) node.work->AddUses(uses);
  }
}

CUresult GetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                  size_t* count) {
  return WithGraph("cuGraphGetEdges", handle, [&](Call&, Graph* graph) {
    std::vector<GraphNode*> sources;
    std::vector<GraphNode*> targets;
    for (const auto& node : graph->nodes) {
      for (GraphNode* dependency : node->dependencies) {
        sources.push_back(dependency);
        targets.push_back(node.get());
      }
    }
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (data != nullptr) std::fill_n(data, std::min(*count, sources.size()), CUgraphEdgeData{});
    size_t both = *count;
    const CUresult result = GiveNodes(sources, from, &both);
    return result != CUDA_SUCCESS ? result : GiveNodes(targets, to, count);
  });
}

CUresult GetNeighbours(const char* name, CUgraphNode handle, bool before, CUgraphNode* nodes,
                       CUgraphEdgeData* data, size_t* count) {
  return WithNode(name, handle, [&](Call&, GraphNode* node) {
    const std::vector<GraphNode*>& found = before ? node->dependencies : node->dependents;
    if (count != nullptr && data != nullptr) {
      std::fill_n(data, std::min(*count, found.size()), CUgraphEdgeData{});
    }
    return GiveNodes(found, nodes, count);
  });
}

CUresult ChangeEdges(const char* name, CUgraph handle, const CUgraphNode* from,
                     const CUgraphNode* to, size_t count, bool add) {
  return WithGraph(name, handle, [&](Call&, Graph* graph) {
    if (count > 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i) {
      GraphNode* source = Graphs().nodes.Find(from[i]);
      GraphNode* target = Graphs().nodes.Find(to[i]);
      if (source == nullptr || target == nullptr || source->graph != graph ||
          target->graph != graph) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      // Adding an existing edge or removing a missing one is refused. Instantiation detects a
      // cycle.
      if (!(add ? AddEdge(source, target) : RemoveEdge(source, target))) {
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    return CUDA_SUCCESS;
  });
}

CUresult InstantiateGraph(const char* name, CUgraphExec* handle, CUgraph graph_handle,
                          unsigned long long flags) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    Graph* graph = Graphs().graphs.Find(graph_handle);
    if (handle == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    GraphExec* executable = nullptr;
    const CUresult result = Instantiate(call, graph, flags, &executable);
    if (result == CUDA_SUCCESS) *handle = reinterpret_cast<CUgraphExec>(executable);
    return result;
  });
}

// Replaces the parameters of an executable by those of a graph with the same nodes and edges. As
// documented, nothing else may differ.
CUgraphExecUpdateResult Update(Call& call, GraphExec* executable, Graph* graph) {
  GraphExec* fresh = nullptr;
  if (Instantiate(call, graph, executable->flags, &fresh) != CUDA_SUCCESS) {
    return CU_GRAPH_EXEC_UPDATE_ERROR;
  }
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  if (fresh->nodes.size() != executable->nodes.size()) {
    result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  for (size_t i = 0; result == CU_GRAPH_EXEC_UPDATE_SUCCESS && i < fresh->nodes.size(); ++i) {
    const ExecNode& before = executable->nodes[i];
    const ExecNode& after = fresh->nodes[i];
    if (before.type != after.type) {
      result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    } else if (before.dependents != after.dependents ||
               before.dependency_count != after.dependency_count) {
      result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    }
  }
  if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    for (size_t i = 0; i < fresh->nodes.size(); ++i) {
      executable->nodes[i].work = fresh->nodes[i].work;
      executable->nodes[i].note = fresh->nodes[i].note;
      executable->nodes[i].event = fresh->nodes[i].event;
    }
  }
  // The allocations of the graph may differ from those before it.
  if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    executable->pages.swap(fresh->pages);
    executable->freed.swap(fresh->freed);
    executable->user_objects.swap(fresh->user_objects);
  }
  DestroyExecutable(fresh);
  return result;
}

}  // namespace

extern "C" {

CUresult cuGraphCreate(CUgraph* handle, unsigned int flags) {
  return Serve("cuGraphCreate", Needs::kInit, [&](Call& call) {
    if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *handle = ToHandle(NewGraph(&call.state()));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return WithGraph("cuGraphDestroy", handle, [](Call& call, Graph* graph) {
    if (IsCaptured(call.state(), graph)) return CUDA_ERROR_ILLEGAL_STATE;
    DestroyGraph(graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph handle) {
  return WithGraph("cuGraphClone", handle, [&](Call& call, Graph* graph) {
    if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Graph* made = NewGraph(&call.state());
    CloneInto(&call.state(), *graph, made);
    *clone = ToHandle(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph clone) {
  return WithGraph("cuGraphNodeFindInClone", clone, [&](Call&, Graph* graph) {
    const GraphNode* wanted = Graphs().nodes.Find(original);
    if (found == nullptr || wanted == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& node : graph->nodes) {
      if (node->original != wanted->original) continue;
      *found = ToHandle(node.get());
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return WithGraph("cuGraphGetNodes", handle, [&](Call&, Graph* graph) {
    std::vector<GraphNode*> found;
    for (const auto& node : graph->nodes) found.push_back(node.get());
    return GiveNodes(found, nodes, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return WithGraph("cuGraphGetRootNodes", handle, [&](Call&, Graph* graph) {
    std::vector<GraphNode*> found;
    for (const auto& node : graph->nodes) {
      if (node->dependencies.empty()) found.push_back(node.get());
    }
    return GiveNodes(found, nodes, count);
  });
}

#undef cuGraphGetEdges
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return GetEdges(graph, from, to, nullptr, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* data, size_t* count) {
  return GetEdges(graph, from, to, data, count);
}

#undef cuGraphNodeGetDependencies
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return GetNeighbours("cuGraphNodeGetDependencies", node, true, nodes, nullptr, count);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data,
                                       size_t* count) {
  return GetNeighbours("cuGraphNodeGetDependencies", node, true, nodes, data, count);
}

#undef cuGraphNodeGetDependentNodes
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return GetNeighbours("cuGraphNodeGetDependentNodes", node, false, nodes, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes,
                                         CUgraphEdgeData* data, size_t* count) {
  return GetNeighbours("cuGraphNodeGetDependentNodes", node, false, nodes, data, count);
}

#undef cuGraphAddDependencies
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t count) {
  return ChangeEdges("cuGraphAddDependencies", graph, from, to, count, true);
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* data, size_t count) {
  (void)data;
  return ChangeEdges("cuGraphAddDependencies", graph, from, to, count, true);
}

#undef cuGraphRemoveDependencies
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return ChangeEdges("cuGraphRemoveDependencies", graph, from, to, count, false);
}
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* data, size_t count) {
  (void)data;
  return ChangeEdges("cuGraphRemoveDependencies", graph, from, to, count, false);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  return WithNode("cuGraphNodeGetType", handle, [&](Call&, GraphNode* node) {
    if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = node->Type();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroyNode(CUgraphNode handle) {
  return WithNode("cuGraphDestroyNode", handle, [](Call& call, GraphNode* node) {
    // The next node of a capture may depend on it.
    if (IsCaptured(call.state(), node->graph)) return CUDA_ERROR_ILLEGAL_STATE;
    RemoveNode(node);
    return CUDA_SUCCESS;
  });
}

#undef cuGraphInstantiate
CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, CUgraphNode* error, char* log,
                            size_t log_size) {
  if (error != nullptr) *error = nullptr;
  if (log != nullptr && log_size > 0) *log = '\0';
  return InstantiateGraph("cuGraphInstantiate", executable, graph, 0);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* executable, CUgraph graph, CUgraphNode* error,
                               char* log, size_t log_size) {
  return cuGraphInstantiate(executable, graph, error, log, log_size);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                     unsigned long long flags) {
  return InstantiateGraph("cuGraphInstantiateWithFlags", executable, graph, flags);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* executable, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result =
      InstantiateGraph("cuGraphInstantiateWithParams", executable, graph, parameters->flags);
  parameters->hErrNode_out = nullptr;
  parameters->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return WithExec("cuGraphExecGetFlags", handle, [&](Call&, GraphExec* executable) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = executable->flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  std::vector<vramstowSimulatorRange> uses;
  const UseWatch& watch = UseWatch::Global();
  if (watch.is_watched()) {
    // The name is not that of a launch, so that a fail= rule for launches does not apply to it.
    WithExec("uses of a graph", handle, [&](Call&, GraphExec* executable) {
      AddUses(*executable, &uses);
      return CUDA_SUCCESS;
    });
    watch.Report(uses.data(), uses.size());
  }
  return WithExec("cuGraphLaunch", handle, [&](Call& call, GraphExec* executable) {
    Stream* stream = FindStream(call, stream_handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != nullptr) return RefuseCapturing(call, stream);
    const CUresult implicit = RefuseImplicit(call, stream);
    if (implicit != CUDA_SUCCESS) return implicit;
    return LaunchGraph(call, executable, stream);
  });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
  return WithExec("cuGraphUpload", handle, [&](Call& call, GraphExec*) {
    return FindStream(call, stream_handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
}

// A launch in progress continues, because it shares the ownership of its work and of its memory.
CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return WithExec("cuGraphExecDestroy", handle, [](Call&, GraphExec* executable) {
    DestroyExecutable(executable);
    return CUDA_SUCCESS;
  });
}

#undef cuGraphExecUpdate
CUresult cuGraphExecUpdate(CUgraphExec handle, CUgraph graph_handle, CUgraphNode* error,
                           CUgraphExecUpdateResult* result) {
  return WithExec("cuGraphExecUpdate", handle, [&](Call& call, GraphExec* executable) {
    Graph* graph = Graphs().graphs.Find(graph_handle);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUgraphExecUpdateResult outcome = Update(call, executable, graph);
    if (error != nullptr) *error = nullptr;
    if (result != nullptr) *result = outcome;
    return outcome == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
                                                   : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  });
}
CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph,
                              CUgraphExecUpdateResultInfo* info) {
  CUgraphExecUpdateResult outcome = CU_GRAPH_EXEC_UPDATE_ERROR;
  const CUresult result = cuGraphExecUpdate(executable, graph, nullptr, &outcome);
  if (info != nullptr) *info = {.result = outcome, .errorNode = nullptr, .errorFromNode = nullptr};
  return result;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned int enabled) {
  return WithExec("cuGraphNodeSetEnabled", handle, [&](Call&, GraphExec* executable) {
    const GraphNode* node = Graphs().nodes.Find(node_handle);
    if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (ExecNode& candidate : executable->nodes) {
      if (candidate.original != node->original) continue;
      candidate.enabled = enabled != 0;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned int* enabled) {
  return WithExec("cuGraphNodeGetEnabled", handle, [&](Call&, GraphExec* executable) {
    const GraphNode* node = Graphs().nodes.Find(node_handle);
    if (node == nullptr || enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const ExecNode& candidate : executable->nodes) {
      if (candidate.original != node->original) continue;
      *enabled = candidate.enabled;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned int flags) {
  (void)flags;
  return WithGraph("cuGraphDebugDotPrint", handle, [&](Call&, Graph* graph) {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    FILE* file = fopen(path, "we");
    if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
    fprintf(file, "digraph graph_%llu {\n", static_cast<unsigned long long>(graph->id));
    for (const auto& node : graph->nodes) {
      const auto id = static_cast<unsigned long long>(node->id);
      fprintf(file, "  n%llu [label=\"type %d\"];\n", id, static_cast<int>(node->Type()));
      for (const GraphNode* dependent : node->dependents) {
        fprintf(file, "  n%llu -> n%llu;\n", id, static_cast<unsigned long long>(dependent->id));
      }
    }
    fputs("}\n", file);
    fclose(file);
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectCreate(CUuserObject* handle, void* pointer, CUhostFn destroy,
                            unsigned int references, unsigned int flags) {
  return Serve("cuUserObjectCreate", Needs::kInit, [&](Call&) {
    if (handle == nullptr || destroy == nullptr || references == 0 ||
        flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto object = std::make_unique<UserObject>(UserObject{destroy, pointer, references});
    *handle = reinterpret_cast<CUuserObject>(Graphs().user_objects.Add(std::move(object)));
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count) {
  return Serve("cuUserObjectRetain", Needs::kInit, [&](Call&) {
    UserObject* object = Graphs().user_objects.Find(handle);
    if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    object->references += count;
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count) {
  return Serve("cuUserObjectRelease", Needs::kInit, [&](Call&) {
    UserObject* object = Graphs().user_objects.Find(handle);
    if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    ReleaseUserObject(object, count);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count,
                                 unsigned int flags) {
  return WithGraph("cuGraphRetainUserObject", graph_handle, [&](Call&, Graph* graph) {
    UserObject* object = Graphs().user_objects.Find(handle);
    if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) object->references += count;
    graph->user_objects[object] += count;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int count) {
  return WithGraph("cuGraphReleaseUserObject", graph_handle, [&](Call&, Graph* graph) {
    UserObject* object = Graphs().user_objects.Find(handle);
    const auto found = graph->user_objects.find(object);
    if (object == nullptr || found == graph->user_objects.end() || found->second < count) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    found->second -= count;
    if (found->second == 0) graph->user_objects.erase(found);
    ReleaseUserObject(object, count);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
