// Implements the functions that add a graph node of any kind; the parameters name the kind. A kind
// that is not simulated is refused, and its name is printed once.
#include <stdio.h>

#include "simulator/driver/context.h"
#include "simulator/driver/graph.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

#undef cuGraphAddNode
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams

namespace {

CUresult RefuseKind(CUgraphNodeType type) {
  static std::atomic<uint64_t> said{0};
  const uint64_t bit = uint64_t{1} << (static_cast<unsigned>(type) % 64);
  if ((said.fetch_or(bit) & bit) == 0) {
    const char* kind = type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? "conditional graph nodes"
                                                              : "external semaphores in graphs";
    fprintf(stderr, "vramstow: the simulated card does not support %s.\n", kind);
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUDA_KERNEL_NODE_PARAMS Narrow(const CUDA_KERNEL_NODE_PARAMS_v3& given) {
  return {.func = given.func,
          .gridDimX = given.gridDimX,
          .gridDimY = given.gridDimY,
          .gridDimZ = given.gridDimZ,
          .blockDimX = given.blockDimX,
          .blockDimY = given.blockDimY,
          .blockDimZ = given.blockDimZ,
          .sharedMemBytes = given.sharedMemBytes,
          .kernelParams = given.kernelParams,
          .extra = given.extra,
          .kern = given.kern,
          .ctx = given.ctx};
}

CUDA_MEMSET_NODE_PARAMS Narrow(const CUDA_MEMSET_NODE_PARAMS_v2& given) {
  return {given.dst, given.pitch, given.value, given.elementSize, given.width, given.height};
}

CUDA_BATCH_MEM_OP_NODE_PARAMS Narrow(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2& given) {
  return {given.ctx, given.count, given.paramArray, given.flags};
}

CUDA_HOST_NODE_PARAMS Narrow(const CUDA_HOST_NODE_PARAMS_v2& given) {
  return {given.fn, given.userData};
}

CUresult AddMemory(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                   CUDA_MEM_ALLOC_NODE_PARAMS_v2* given) {
  CUDA_MEM_ALLOC_NODE_PARAMS narrow = {given->poolProps, given->accessDescs, given->accessDescCount,
                                       given->bytesize, 0};
  const CUresult result = cuGraphAddMemAllocNode(out, graph, before, count, &narrow);
  if (result == CUDA_SUCCESS) given->dptr = narrow.dptr;
  return result;
}

CUresult AddNodeOfKind(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                       CUgraphNodeParams* given) {
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  switch (given->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS kernel = Narrow(given->kernel);
      return cuGraphAddKernelNode_v2(out, graph, before, count, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return cuGraphAddMemcpyNode(out, graph, before, count, &given->memcpy.copyParams, context);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS fill = Narrow(given->memset);
      return cuGraphAddMemsetNode(out, graph, before, count, &fill, context);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const CUDA_HOST_NODE_PARAMS host = Narrow(given->host);
      return cuGraphAddHostNode(out, graph, before, count, &host);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return cuGraphAddChildGraphNode(out, graph, before, count, given->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return cuGraphAddEmptyNode(out, graph, before, count);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return cuGraphAddEventWaitNode(out, graph, before, count, given->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return cuGraphAddEventRecordNode(out, graph, before, count, given->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return AddMemory(out, graph, before, count, &given->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return cuGraphAddMemFreeNode(out, graph, before, count, given->free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const CUDA_BATCH_MEM_OP_NODE_PARAMS batch = Narrow(given->memOp);
      return cuGraphAddBatchMemOpNode(out, graph, before, count, &batch);
    }
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return RefuseKind(given->type);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

extern "C" {

CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* given) {
  (void)edges;  // edges have no data, as in the other functions
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddNodeOfKind(out, graph, dependencies, count, given);
}

CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, CUgraphNodeParams* given) {
  return cuGraphAddNode_v2(out, graph, dependencies, nullptr, count, given);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (given->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS kernel = Narrow(given->kernel);
      return cuGraphKernelNodeSetParams_v2(node, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return cuGraphMemcpyNodeSetParams(node, &given->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS fill = Narrow(given->memset);
      return cuGraphMemsetNodeSetParams(node, &fill);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const CUDA_HOST_NODE_PARAMS host = Narrow(given->host);
      return cuGraphHostNodeSetParams(node, &host);
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const CUDA_BATCH_MEM_OP_NODE_PARAMS batch = Narrow(given->memOp);
      return cuGraphBatchMemOpNodeSetParams(node, &batch);
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return cuGraphEventWaitNodeSetEvent(node, given->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return cuGraphEventRecordNodeSetEvent(node, given->eventRecord.event);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                  CUgraphNodeParams* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  switch (given->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS kernel = Narrow(given->kernel);
      return cuGraphExecKernelNodeSetParams_v2(executable, node, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return cuGraphExecMemcpyNodeSetParams(executable, node, &given->memcpy.copyParams, context);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS fill = Narrow(given->memset);
      return cuGraphExecMemsetNodeSetParams(executable, node, &fill, context);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const CUDA_HOST_NODE_PARAMS host = Narrow(given->host);
      return cuGraphExecHostNodeSetParams(executable, node, &host);
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const CUDA_BATCH_MEM_OP_NODE_PARAMS batch = Narrow(given->memOp);
      return cuGraphExecBatchMemOpNodeSetParams(executable, node, &batch);
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return cuGraphExecEventWaitNodeSetEvent(executable, node, given->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return cuGraphExecEventRecordNodeSetEvent(executable, node, given->eventRecord.event);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

namespace {

CUresult SetEvent(const char* name, CUgraphNode handle, CUevent event_handle, bool record) {
  return Serve(name, Needs::kInit, [&](Call& call) {
    GraphNode* node = Graphs().nodes.Find(handle);
    Event* event = call.state().events.Find(event_handle);
    if (node == nullptr || event == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto* parameters = std::get_if<EventNode>(&node->parameters);
    if (parameters == nullptr || parameters->record != record) return CUDA_ERROR_INVALID_VALUE;
    parameters->event = event->shared_from_this();
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return SetEvent("cuGraphEventRecordNodeSetEvent", node, event, true);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return SetEvent("cuGraphEventWaitNodeSetEvent", node, event, false);
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph,
                                        CUcontext context, unsigned int launch_value,
                                        unsigned int flags) {
  (void)handle, (void)graph, (void)context, (void)launch_value, (void)flags;
  return RefuseKind(CU_GRAPH_NODE_TYPE_CONDITIONAL);
}

}  // extern "C"
