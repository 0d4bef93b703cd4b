// Implements graph nodes by kind: adding them, and reading and changing their parameters.
#include "simulator/runtime/cudart/copy_shapes.h"
#include "simulator/runtime/cudart/node_parameters.h"
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

cudaError_t AddCopy(const DriverTable& driver, cudaGraphNode_t* node, cudaGraph_t graph,
                    const cudaGraphNode_t* dependencies, size_t count, const CUDA_MEMCPY3D& copy) {
  CUcontext context = nullptr;
  cudaError_t error = CurrentContext(&context);
  return error != cudaSuccess ? error
                              : FromDriver(driver.GraphAddMemcpyNode(node, graph, dependencies,
                                                                     count, &copy, context));
}

}  // namespace

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                             const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                             size_t count, cudaGraphNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUgraphNodeParams converted;
    cudaError_t error =
        parameters == nullptr ? cudaErrorInvalidValue : ToDriver(*parameters, &converted);
    if (error == cudaSuccess) {
      error = FromDriver(driver.GraphAddNode(
          node, graph, dependencies, SameLayout<const CUgraphEdgeData>(edges), count, &converted));
    }
    if (error == cudaSuccess) {
      CopyResults(converted, parameters);
    }
    return error;
  });
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUgraphNodeParams converted;
    cudaError_t error =
        parameters == nullptr ? cudaErrorInvalidValue : ToDriver(*parameters, &converted);
    return error != cudaSuccess ? error : FromDriver(driver.GraphNodeSetParams(node, &converted));
  });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaKernelNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_KERNEL_NODE_PARAMS converted;
    cudaError_t error =
        parameters == nullptr ? cudaErrorInvalidValue : ToDriver(*parameters, &converted);
    return error != cudaSuccess ? error
                                : FromDriver(driver.GraphAddKernelNode(node, graph, dependencies,
                                                                       count, &converted));
  });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_KERNEL_NODE_PARAMS converted = {};
    CUresult result = parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                            : driver.GraphKernelNodeGetParams(node, &converted);
    if (result == CUDA_SUCCESS) {
      FromDriver(converted, parameters);
    }
    return result;
  });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_KERNEL_NODE_PARAMS converted;
    cudaError_t error =
        parameters == nullptr ? cudaErrorInvalidValue : ToDriver(*parameters, &converted);
    return error != cudaSuccess ? error
                                : FromDriver(driver.GraphKernelNodeSetParams(node, &converted));
  });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = parameters == nullptr ? cudaErrorInvalidValue : Make3D(*parameters, &copy);
    return error != cudaSuccess ? error : AddCopy(driver, node, graph, dependencies, count, copy);
  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count,
                                     void* destination, const void* source, size_t bytes,
                                     cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = Make1D(destination, source, bytes, kind, &copy);
    return error != cudaSuccess ? error : AddCopy(driver, node, graph, dependencies, count, copy);
  });
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count,
                                           const void* symbol, const void* source, size_t bytes,
                                           size_t offset, cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = CopyToSymbol(symbol, source, bytes, offset, kind, &copy);
    return error != cudaSuccess ? error : AddCopy(driver, node, graph, dependencies, count, copy);
  });
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count,
                                             void* destination, const void* symbol, size_t bytes,
                                             size_t offset, cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = CopyFromSymbol(destination, symbol, bytes, offset, kind, &copy);
    return error != cudaSuccess ? error : AddCopy(driver, node, graph, dependencies, count, copy);
  });
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy = {};
    CUresult result = parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                            : driver.GraphMemcpyNodeGetParams(node, &copy);
    if (result == CUDA_SUCCESS) {
      Unmake3D(copy, parameters);
    }
    return result;
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const cudaMemcpy3DParms* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = parameters == nullptr ? cudaErrorInvalidValue : Make3D(*parameters, &copy);
    return error != cudaSuccess ? error : FromDriver(driver.GraphMemcpyNodeSetParams(node, &copy));
  });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* destination,
                                           const void* source, size_t bytes, cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = Make1D(destination, source, bytes, kind, &copy);
    return error != cudaSuccess ? error : FromDriver(driver.GraphMemcpyNodeSetParams(node, &copy));
  });
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol,
                                                 const void* source, size_t bytes, size_t offset,
                                                 cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = CopyToSymbol(symbol, source, bytes, offset, kind, &copy);
    return error != cudaSuccess ? error : FromDriver(driver.GraphMemcpyNodeSetParams(node, &copy));
  });
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* destination,
                                                   const void* symbol, size_t bytes, size_t offset,
                                                   cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = CopyFromSymbol(destination, symbol, bytes, offset, kind, &copy);
    return error != cudaSuccess ? error : FromDriver(driver.GraphMemcpyNodeSetParams(node, &copy));
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMSET_NODE_PARAMS converted;
    CUcontext context = nullptr;
    cudaError_t error =
        parameters == nullptr ? cudaErrorInvalidValue : ToDriver(*parameters, &converted);
    if (error == cudaSuccess) {
      error = CurrentContext(&context);
    }
    return error != cudaSuccess ? error
                                : FromDriver(driver.GraphAddMemsetNode(node, graph, dependencies,
                                                                       count, &converted, context));
  });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMSET_NODE_PARAMS converted = {};
    CUresult result = parameters == nullptr ? CUDA_ERROR_INVALID_VALUE
                                            : driver.GraphMemsetNodeGetParams(node, &converted);
    if (result == CUDA_SUCCESS) {
      FromDriver(converted, parameters);
    }
    return result;
  });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMSET_NODE_PARAMS converted;
    cudaError_t error =
        parameters == nullptr ? cudaErrorInvalidValue : ToDriver(*parameters, &converted);
    return error != cudaSuccess ? error
                                : FromDriver(driver.GraphMemsetNodeSetParams(node, &converted));
  });
}
