// Handlers for memory that graphs allocate and free when they are launched. With --offload they
// also handle memory that the nodes of a graph name. A graph uses this memory at each launch, so it
// is not moved from then on.
//
// record.h describes what all handlers have in common.
#ifndef VRAMSTOW_INTERPOSE_CORE_HANDLERS_GRAPH_MEMORY_H_
#define VRAMSTOW_INTERPOSE_CORE_HANDLERS_GRAPH_MEMORY_H_

#include "base/keep_errno.h"
#include "interpose/core/handlers/record.h"
#include "interpose/core/handlers/stream_operations.h"

namespace vramstow::handlers {

template <typename Call>
CUresult RecordNode(const Call& call, EventKind kind, CUresult result, uint64_t node,
                    uint64_t address, uint64_t bytes, int16_t device) {
  Event event;
  event.kind = kind;
  event.memory = MemoryKind::kDeviceStream;
  event.result = result;
  event.object = node;
  event.address = address;
  event.size = event.requested = bytes;
  event.device = device;
  Record(call, event);
  return result;
}

template <typename Call>
CUresult GraphAddMemFreeNode(const Call& call, CUgraphNode* node, CUgraph graph,
                             const CUgraphNode* dependencies, size_t dependency_count,
                             CUdeviceptr dptr) {
  const CUresult result = call.Forward(node, graph, dependencies, dependency_count, dptr);
  return RecordNode(call, EventKind::kGraphFree, result, Output(result, node), dptr, 0, kNoDevice);
}

// Returns the device of a graph's allocation, or kNoDevice. The host can access memory that has no
// device, so the pools are notified of it.
template <typename Call>
int16_t DeviceOfNode(const Call& call, CUresult result, const CUmemLocation& location) {
  const int16_t device = DeviceOf(location);
  if (result == CUDA_SUCCESS && device == kNoDevice) call.pools().SharedMemoryMade();
  return device;
}

template <typename Call>
CUresult GraphAddMemAllocNode(const Call& call, CUgraphNode* node, CUgraph graph,
                              const CUgraphNode* dependencies, size_t dependency_count,
                              CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  const CUresult result = call.Forward(node, graph, dependencies, dependency_count, parameters);
  const bool readable = parameters != nullptr;
  return RecordNode(
      call, EventKind::kGraphAllocate, result, Output(result, node),
      readable ? Output(result, &parameters->dptr) : 0, readable ? parameters->bytesize : 0,
      readable ? DeviceOfNode(call, result, parameters->poolProps.location) : kNoDevice);
}

// --- The memory that a node names
template <typename Argument>
void PinArgument(Offloading*, Argument) {}
template <typename Description>
void PinKernel(Offloading* offloading, const Description* kernel, CUfunction function) {
  offloading->PinArguments(function, kernel->kernelParams, kernel->extra);
}
template <typename Description>
void PinKernelOfAnyKind(Offloading* offloading, const Description* kernel) {
  const auto of_library = reinterpret_cast<CUfunction>(kernel->kern);
  PinKernel(offloading, kernel, kernel->func != nullptr ? kernel->func : of_library);
}
inline void PinArgument(Offloading* offloading, const CUDA_KERNEL_NODE_PARAMS_v1* kernel) {
  if (kernel != nullptr) PinKernel(offloading, kernel, kernel->func);
}
inline void PinArgument(Offloading* offloading, const CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  if (kernel != nullptr) PinKernelOfAnyKind(offloading, kernel);
}
inline void PinArgument(Offloading* offloading, const CUDA_MEMCPY3D* copy) {
  if (copy == nullptr) return;
  offloading->Pin(copy->srcDevice);
  offloading->Pin(copy->dstDevice);
}
inline void PinArgument(Offloading* offloading, const CUDA_MEMSET_NODE_PARAMS* fill) {
  if (fill != nullptr) offloading->Pin(fill->dst);
}
template <typename Description>
void PinOperations(Offloading* offloading, const Description& batch) {
  VisitOperations(batch.paramArray, batch.count,
                  [offloading](CUdeviceptr address) { offloading->Pin(address); });
}
inline void PinArgument(Offloading* offloading, const CUDA_BATCH_MEM_OP_NODE_PARAMS* batch) {
  if (batch != nullptr) PinOperations(offloading, *batch);
}
inline void PinArgument(Offloading* offloading, CUgraphNodeParams* node) {
  if (node == nullptr) return;
  if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) PinKernelOfAnyKind(offloading, &node->kernel);
  if (node->type == CU_GRAPH_NODE_TYPE_MEMCPY) PinArgument(offloading, &node->memcpy.copyParams);
  if (node->type == CU_GRAPH_NODE_TYPE_MEMSET) offloading->Pin(node->memset.dst);
  if (node->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) PinOperations(offloading, node->memOp);
}

// Forwards to the overload for a pointer to const. Without this function, overload resolution would
// choose the empty template for a pointer to non-const.
inline void PinArgument(Offloading* offloading, CUDA_MEMCPY3D* copy) {
  PinArgument(offloading, static_cast<const CUDA_MEMCPY3D*>(copy));
}

// Handles a call that makes or changes a node of a graph.
template <typename Call, typename... Arguments>
CUresult SetNode(const Call& call, Arguments... arguments) {
  {
    const PoolService::Submission submission(call.pools());
    Offloading& offloading = submission.offloading();
    if (offloading.MayMove()) (PinArgument(&offloading, arguments), ...);
  }
  return call.Forward(arguments...);
}

// Records the node if it is a memory node; nodes of all other kinds are ignored.
template <typename Call>
void RecordIfMemoryNode(const Call& call, CUresult result, const CUgraphNode* node,
                        const CUgraphNodeParams* parameters) {
  if (parameters == nullptr) return;
  if (parameters->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    RecordNode(call, EventKind::kGraphAllocate, result, Output(result, node),
               Output(result, &parameters->alloc.dptr), parameters->alloc.bytesize,
               DeviceOfNode(call, result, parameters->alloc.poolProps.location));
  } else if (parameters->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    RecordNode(call, EventKind::kGraphFree, result, Output(result, node), parameters->free.dptr, 0,
               kNoDevice);
  }
}

template <typename Call>
CUresult GraphAddNode(const Call& call, CUgraphNode* node, CUgraph graph,
                      const CUgraphNode* dependencies, size_t dependency_count,
                      CUgraphNodeParams* parameters) {
  const CUresult result = SetNode(call, node, graph, dependencies, dependency_count, parameters);
  RecordIfMemoryNode(call, result, node, parameters);
  return result;
}

template <typename Call>
CUresult GraphAddNode(const Call& call, CUgraphNode* node, CUgraph graph,
                      const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                      size_t dependency_count, CUgraphNodeParams* parameters) {
  const CUresult result =
      SetNode(call, node, graph, dependencies, edges, dependency_count, parameters);
  RecordIfMemoryNode(call, result, node, parameters);
  return result;
}

template <typename Call>
CUresult DeviceGraphMemTrim(const Call& call, CUdevice device) {
  return RecordNode(call, EventKind::kGraphTrim, call.Forward(device), 0, 0, 0,
                    static_cast<int16_t>(device));
}

}  // namespace vramstow::handlers

#endif  // VRAMSTOW_INTERPOSE_CORE_HANDLERS_GRAPH_MEMORY_H_
