// Implements graph functions of CUDA 12. The functions without a suffix have no edge data; those
// with _v2 are the same as CUDA 13's functions.
#include "simulator/runtime/cudart/twelve/abi.h"

VRAMSTOW_THIRTEEN(cudaGraphAddDependencies, cudaGraph_t, const cudaGraphNode_t*,
                  const cudaGraphNode_t*, const cudaGraphEdgeData*, size_t);
VRAMSTOW_THIRTEEN(cudaGraphRemoveDependencies, cudaGraph_t, const cudaGraphNode_t*,
                  const cudaGraphNode_t*, const cudaGraphEdgeData*, size_t);
VRAMSTOW_THIRTEEN(cudaGraphAddNode, cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                  const cudaGraphEdgeData*, size_t, cudaGraphNodeParams*);
VRAMSTOW_THIRTEEN(cudaGraphGetEdges, cudaGraph_t, cudaGraphNode_t*, cudaGraphNode_t*,
                  cudaGraphEdgeData*, size_t*);
VRAMSTOW_THIRTEEN(cudaGraphNodeGetDependencies, cudaGraphNode_t, cudaGraphNode_t*,
                  cudaGraphEdgeData*, size_t*);
VRAMSTOW_THIRTEEN(cudaGraphNodeGetDependentNodes, cudaGraphNode_t, cudaGraphNode_t*,
                  cudaGraphEdgeData*, size_t*);

namespace {

// CUDA 12's description of a child graph has no field for the graph's owner, so the graph is
// cloned.
cudaGraphNodeParams WidenedNode(const cudaGraphNodeParams& older) {
  cudaGraphNodeParams newer = older;
  if (newer.type == cudaGraphNodeTypeGraph) {
    newer.graph = {};
    newer.graph.graph = older.graph.graph;
  }
  return newer;
}

cudaError_t AddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                    const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  cudaGraphNodeParams newer = WidenedNode(*parameters);
  const cudaError_t error =
      Thirteen_cudaGraphAddNode(node, graph, dependencies, edges, count, &newer);
  // The caller receives the values that the call fills in, such as the address of an allocation.
  if (newer.type != cudaGraphNodeTypeGraph) *parameters = newer;
  return error;
}

}  // namespace

VRAMSTOW_TWELVE(cudaGraphAddDependencies, cudaGraph_t graph, const cudaGraphNode_t* from,
                const cudaGraphNode_t* to, size_t count) {
  return Thirteen_cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
VRAMSTOW_TWELVE(cudaGraphAddDependencies_v2, cudaGraph_t graph, const cudaGraphNode_t* from,
                const cudaGraphNode_t* to, const cudaGraphEdgeData* edges, size_t count) {
  return Thirteen_cudaGraphAddDependencies(graph, from, to, edges, count);
}
VRAMSTOW_TWELVE(cudaGraphRemoveDependencies, cudaGraph_t graph, const cudaGraphNode_t* from,
                const cudaGraphNode_t* to, size_t count) {
  return Thirteen_cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
VRAMSTOW_TWELVE(cudaGraphRemoveDependencies_v2, cudaGraph_t graph, const cudaGraphNode_t* from,
                const cudaGraphNode_t* to, const cudaGraphEdgeData* edges, size_t count) {
  return Thirteen_cudaGraphRemoveDependencies(graph, from, to, edges, count);
}
VRAMSTOW_TWELVE(cudaGraphAddNode, cudaGraphNode_t* node, cudaGraph_t graph,
                const cudaGraphNode_t* dependencies, size_t count,
                cudaGraphNodeParams* parameters) {
  return AddNode(node, graph, dependencies, nullptr, count, parameters);
}
VRAMSTOW_TWELVE(cudaGraphAddNode_v2, cudaGraphNode_t* node, cudaGraph_t graph,
                const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges, size_t count,
                cudaGraphNodeParams* parameters) {
  return AddNode(node, graph, dependencies, edges, count, parameters);
}
VRAMSTOW_TWELVE(cudaGraphGetEdges, cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                size_t* count) {
  return Thirteen_cudaGraphGetEdges(graph, from, to, nullptr, count);
}
VRAMSTOW_TWELVE(cudaGraphGetEdges_v2, cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                cudaGraphEdgeData* edges, size_t* count) {
  return Thirteen_cudaGraphGetEdges(graph, from, to, edges, count);
}
VRAMSTOW_TWELVE(cudaGraphNodeGetDependencies, cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                size_t* count) {
  return Thirteen_cudaGraphNodeGetDependencies(node, dependencies, nullptr, count);
}
VRAMSTOW_TWELVE(cudaGraphNodeGetDependencies_v2, cudaGraphNode_t node,
                cudaGraphNode_t* dependencies, cudaGraphEdgeData* edges, size_t* count) {
  return Thirteen_cudaGraphNodeGetDependencies(node, dependencies, edges, count);
}
VRAMSTOW_TWELVE(cudaGraphNodeGetDependentNodes, cudaGraphNode_t node, cudaGraphNode_t* dependents,
                size_t* count) {
  return Thirteen_cudaGraphNodeGetDependentNodes(node, dependents, nullptr, count);
}
VRAMSTOW_TWELVE(cudaGraphNodeGetDependentNodes_v2, cudaGraphNode_t node,
                cudaGraphNode_t* dependents, cudaGraphEdgeData* edges, size_t* count) {
  return Thirteen_cudaGraphNodeGetDependentNodes(node, dependents, edges, count);
}
