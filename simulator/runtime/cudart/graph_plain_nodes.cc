// Implements graph nodes whose parameters are the same as the driver's: host functions, child
// graphs, events, external semaphores and allocations.
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

static_assert(sizeof(cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS));
static_assert(sizeof(cudaExternalSemaphoreSignalNodeParams) ==
              sizeof(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS));
static_assert(sizeof(cudaExternalSemaphoreWaitNodeParams) == sizeof(CUDA_EXT_SEM_WAIT_NODE_PARAMS));
static_assert(sizeof(cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const cudaHostNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddHostNode(node, graph, dependencies, count,
                                   SameLayout<const CUDA_HOST_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphHostNodeGetParams(node, SameLayout<CUDA_HOST_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphHostNodeSetParams(node, SameLayout<const CUDA_HOST_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count,
                                       cudaGraph_t child) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddChildGraphNode(node, graph, dependencies, count, child);
  });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* graph) {
  return Call(
      [&](const DriverTable& driver) { return driver.GraphChildGraphNodeGetGraph(node, graph); });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddEmptyNode(node, graph, dependencies, count);
  });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, size_t count,
                                        cudaEvent_t event) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddEventRecordNode(node, graph, dependencies, count, event);
  });
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return Call(
      [&](const DriverTable& driver) { return driver.GraphEventRecordNodeGetEvent(node, event); });
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return Call(
      [&](const DriverTable& driver) { return driver.GraphEventRecordNodeSetEvent(node, event); });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, size_t count,
                                      cudaEvent_t event) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddEventWaitNode(node, graph, dependencies, count, event);
  });
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return Call(
      [&](const DriverTable& driver) { return driver.GraphEventWaitNodeGetEvent(node, event); });
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return Call(
      [&](const DriverTable& driver) { return driver.GraphEventWaitNodeSetEvent(node, event); });
}

cudaError_t cudaGraphAddExternalSemaphoresSignalNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
    const cudaExternalSemaphoreSignalNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddExternalSemaphoresSignalNode(
        node, graph, dependencies, count,
        SameLayout<const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphExternalSemaphoresSignalNodeGetParams(
    cudaGraphNode_t node, cudaExternalSemaphoreSignalNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphExternalSemaphoresSignalNodeGetParams(
        node, SameLayout<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphExternalSemaphoresSignalNodeSetParams(
    cudaGraphNode_t node, const cudaExternalSemaphoreSignalNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphExternalSemaphoresSignalNodeSetParams(
        node, SameLayout<const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphAddExternalSemaphoresWaitNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
    const cudaExternalSemaphoreWaitNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddExternalSemaphoresWaitNode(
        node, graph, dependencies, count,
        SameLayout<const CUDA_EXT_SEM_WAIT_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphExternalSemaphoresWaitNodeGetParams(
    cudaGraphNode_t node, cudaExternalSemaphoreWaitNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphExternalSemaphoresWaitNodeGetParams(
        node, SameLayout<CUDA_EXT_SEM_WAIT_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphExternalSemaphoresWaitNodeSetParams(
    cudaGraphNode_t node, const cudaExternalSemaphoreWaitNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphExternalSemaphoresWaitNodeSetParams(
        node, SameLayout<const CUDA_EXT_SEM_WAIT_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count,
                                     cudaMemAllocNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddMemAllocNode(node, graph, dependencies, count,
                                       SameLayout<CUDA_MEM_ALLOC_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                           cudaMemAllocNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphMemAllocNodeGetParams(node,
                                             SameLayout<CUDA_MEM_ALLOC_NODE_PARAMS>(parameters));
  });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, size_t count,
                                    void* pointer) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphAddMemFreeNode(node, graph, dependencies, count, Address(pointer));
  });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  return Call([&](const DriverTable& driver) {
    return driver.GraphMemFreeNodeGetParams(node, static_cast<CUdeviceptr*>(pointer));
  });
}
