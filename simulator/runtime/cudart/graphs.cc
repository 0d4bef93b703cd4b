// Implements graphs as a whole: creating, traversing, changing and instantiating them. Nodes of
// each kind are in graph_nodes.cc; launching is in launch.cc.
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData));
static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo));
static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return Call([&](const DriverTable& driver) { return driver.GraphCreate(graph, flags); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Call([&](const DriverTable& driver) { return driver.GraphDestroy(graph); });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return Call([&](const DriverTable& driver) { return driver.GraphClone(clone, original); });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original,
                                     cudaGraph_t clone) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphNodeFindInClone(node, original, clone);
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return Call([&](const DriverTable& driver) {
    CUgraphNodeType kind = CU_GRAPH_NODE_TYPE_EMPTY;
    CUresult result =
        type == nullptr ? CUDA_ERROR_INVALID_VALUE : driver.GraphNodeGetType(node, &kind);
    if (result == CUDA_SUCCESS) {
      *type = static_cast<cudaGraphNodeType>(kind);
    }
    return result;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return Call([&](const DriverTable& driver) { return driver.GraphGetNodes(graph, nodes, count); });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return Call(
      [&](const DriverTable& driver) { return driver.GraphGetRootNodes(graph, nodes, count); });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, size_t* count) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphGetEdges(graph, from, to, SameLayout<CUgraphEdgeData>(edges), count);
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edges, size_t* count) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphNodeGetDependencies(node, dependencies, SameLayout<CUgraphEdgeData>(edges),
                                           count);
  });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents,
                                           cudaGraphEdgeData* edges, size_t* count) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphNodeGetDependentNodes(node, dependents, SameLayout<CUgraphEdgeData>(edges),
                                             count);
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                     size_t count) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddDependencies(graph, from, to, SameLayout<const CUgraphEdgeData>(edges),
                                       count);
  });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                        size_t count) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphRemoveDependencies(graph, from, to, SameLayout<const CUgraphEdgeData>(edges),
                                          count);
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return Call([&](const DriverTable& driver) { return driver.GraphDestroyNode(node); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphInstantiateWithFlags(executable, graph, flags);
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  return Call([&](const DriverTable& driver) {
    cuuint64_t value = 0;
    CUresult result =
        flags == nullptr ? CUDA_ERROR_INVALID_VALUE : driver.GraphExecGetFlags(executable, &value);
    if (result == CUDA_SUCCESS) {
      *flags = value;
    }
    return result;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return Call([&](const DriverTable& driver) { return driver.GraphExecDestroy(executable); });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphExecUpdate(executable, graph, SameLayout<CUgraphExecUpdateResultInfo>(info));
  });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned enabled) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphNodeSetEnabled(executable, node, enabled);
  });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned* enabled) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphNodeGetEnabled(executable, node, enabled);
  });
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned flags) {
  return Call(
      [&](const DriverTable& driver) { return driver.GraphDebugDotPrint(graph, path, flags); });
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy,
                                 unsigned initial_count, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    return driver.UserObjectCreate(object, pointer, destroy, initial_count, flags);
  });
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  return Call([&](const DriverTable& driver) { return driver.UserObjectRetain(object, count); });
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return Call([&](const DriverTable& driver) { return driver.UserObjectRelease(object, count); });
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count,
                                      unsigned flags) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphRetainUserObject(graph, object, count, flags);
  });
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphReleaseUserObject(graph, object, count);
  });
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                             unsigned default_value, unsigned flags) {
  return Call([&](const DriverTable& driver) {
    CUcontext context = nullptr;
    cuuint64_t value = 0;
    CUresult result = handle == nullptr ? CUDA_ERROR_INVALID_VALUE : driver.CtxGetCurrent(&context);
    if (result == CUDA_SUCCESS) {
      result = driver.GraphConditionalHandleCreate(&value, graph, context, default_value, flags);
    }
    if (result == CUDA_SUCCESS) {
      *handle = value;
    }
    return result;
  });
}
