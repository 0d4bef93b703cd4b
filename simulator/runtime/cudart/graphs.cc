// Implements the functions about whole graphs, except those that only forward their arguments
// (forwards.txt). Nodes of each kind are in graph_nodes.cc.
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

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

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
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
