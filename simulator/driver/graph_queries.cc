// Implements queries of graphs and nodes of any kind: ids, the graph that contains a node, and the
// functions that read parameters of any kind.
#include "simulator/driver/graph.h"
#include "simulator/driver/newer_functions.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

#undef cuGraphKernelNodeGetParams

extern "C" {
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* out);
}

namespace {

// Answers a query of a node, under the lock.
template <typename Value, typename Answer>
CUresult Ask(const char* name, CUgraphNode handle, Value* out, Answer&& answer) {
  return Serve(name, Needs::kInit, [&](Call&) {
    const GraphNode* node = Graphs().nodes.Find(handle);
    if (node == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = answer(*node);
    return CUDA_SUCCESS;
  });
}

CUresult DescribeKernelNode(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v3* out) {
  CUDA_KERNEL_NODE_PARAMS given = {};
  const CUresult result = cuGraphKernelNodeGetParams_v2(node, &given);
  out->func = given.func;
  out->gridDimX = given.gridDimX;
  out->gridDimY = given.gridDimY;
  out->gridDimZ = given.gridDimZ;
  out->blockDimX = given.blockDimX;
  out->blockDimY = given.blockDimY;
  out->blockDimZ = given.blockDimZ;
  out->sharedMemBytes = given.sharedMemBytes;
  out->kernelParams = given.kernelParams;
  out->extra = given.extra;
  out->kern = given.kern;
  out->ctx = given.ctx;
  return result;
}

CUresult DescribeFillNode(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS_v2* out) {
  CUDA_MEMSET_NODE_PARAMS given = {};
  const CUresult result = cuGraphMemsetNodeGetParams(node, &given);
  out->dst = given.dst;
  out->pitch = given.pitch;
  out->value = given.value;
  out->elementSize = given.elementSize;
  out->width = given.width;
  out->height = given.height;
  return result;
}

CUresult ReadAllocation(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS_v2* out) {
  CUDA_MEM_ALLOC_NODE_PARAMS given = {};
  const CUresult result = cuGraphMemAllocNodeGetParams(node, &given);
  out->poolProps = given.poolProps;
  out->accessDescs = given.accessDescs;
  out->accessDescCount = given.accessDescCount;
  out->bytesize = given.bytesize;
  out->dptr = given.dptr;
  return result;
}

}  // namespace

extern "C" {

CUresult cuGraphNodeGetParams(CUgraphNode node, CUgraphNodeParams* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  const CUresult result = cuGraphNodeGetType(node, &type);
  if (result != CUDA_SUCCESS) return result;
  *out = {};
  out->type = type;
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return DescribeKernelNode(node, &out->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return cuGraphMemcpyNodeGetParams(node, &out->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return DescribeFillNode(node, &out->memset);
    case CU_GRAPH_NODE_TYPE_HOST: {
      CUDA_HOST_NODE_PARAMS host = {};
      const CUresult read = cuGraphHostNodeGetParams(node, &host);
      out->host.fn = host.fn;
      out->host.userData = host.userData;
      return read;
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {};
      const CUresult read = cuGraphBatchMemOpNodeGetParams(node, &batch);
      out->memOp = {batch.ctx, batch.count, batch.paramArray, batch.flags};
      return read;
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return cuGraphChildGraphNodeGetGraph(node, &out->graph.graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return cuGraphEventWaitNodeGetEvent(node, &out->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return cuGraphEventRecordNodeGetEvent(node, &out->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return ReadAllocation(node, &out->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return cuGraphMemFreeNodeGetParams(node, &out->free.dptr);
    default:
      return CUDA_SUCCESS;  // such a node has no parameters
  }
}

CUresult cuGraphNodeGetContainingGraph(CUgraphNode node, CUgraph* out) {
  return Ask("cuGraphNodeGetContainingGraph", node, out,
             [](const GraphNode& found) { return ToHandle(found.graph); });
}

// Returns the number that cuGraphDebugDotPrint writes.
CUresult cuGraphNodeGetLocalId(CUgraphNode node, unsigned int* out) {
  return Ask("cuGraphNodeGetLocalId", node, out,
             [](const GraphNode& found) { return static_cast<unsigned>(found.id); });
}

CUresult cuGraphNodeGetToolsId(CUgraphNode node, unsigned long long* out) {
  return Ask("cuGraphNodeGetToolsId", node, out, [](const GraphNode& found) {
    return static_cast<unsigned long long>(found.graph->id << 32 | found.id);
  });
}

CUresult cuGraphGetId(CUgraph handle, unsigned int* out) {
  return Serve("cuGraphGetId", Needs::kInit, [&](Call&) {
    const Graph* graph = Graphs().graphs.Find(handle);
    if (graph == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = static_cast<unsigned>(graph->id);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecGetId(CUgraphExec handle, unsigned int* out) {
  return Serve("cuGraphExecGetId", Needs::kInit, [&](Call&) {
    const GraphExec* executable = Graphs().executables.Find(handle);
    if (executable == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = static_cast<unsigned>(executable->id);
    return CUDA_SUCCESS;
  });
}

// Attributes of kernel nodes are accepted and have no effect, so there is nothing to copy.
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return Serve("cuGraphKernelNodeCopyAttributes", Needs::kInit, [&](Call&) {
    const GraphNode* nodes[] = {Graphs().nodes.Find(to), Graphs().nodes.Find(from)};
    for (const GraphNode* node : nodes) {
      if (node == nullptr || node->Type() != CU_GRAPH_NODE_TYPE_KERNEL) {
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
