// Implements changes of instantiated graphs.
#include "simulator/runtime/cudart/copy_shapes.h"
#include "simulator/runtime/cudart/node_parameters.h"
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

cudaError_t SetCopy(const DriverTable& driver, cudaGraphExec_t executable, cudaGraphNode_t node,
                    const CUDA_MEMCPY3D& copy) {
  CUcontext context = nullptr;
  cudaError_t error = CurrentContext(&context);
  return error != cudaSuccess
             ? error
             : FromDriver(driver.GraphExecMemcpyNodeSetParams(executable, node, &copy, context));
}

}  // namespace

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUgraphNodeParams converted;
    cudaError_t error =
        parameters == nullptr ? cudaErrorInvalidValue : ToDriver(*parameters, &converted);
    return error != cudaSuccess
               ? error
               : FromDriver(driver.GraphExecNodeSetParams(executable, node, &converted));
  });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_KERNEL_NODE_PARAMS converted;
    cudaError_t error =
        parameters == nullptr ? cudaErrorInvalidValue : ToDriver(*parameters, &converted);
    return error != cudaSuccess
               ? error
               : FromDriver(driver.GraphExecKernelNodeSetParams(executable, node, &converted));
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = parameters == nullptr ? cudaErrorInvalidValue : Make3D(*parameters, &copy);
    return error != cudaSuccess ? error : SetCopy(driver, executable, node, copy);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node,
                                               void* destination, const void* source, size_t bytes,
                                               cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = Make1D(destination, source, bytes, kind, &copy);
    return error != cudaSuccess ? error : SetCopy(driver, executable, node, copy);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t executable,
                                                     cudaGraphNode_t node, const void* symbol,
                                                     const void* source, size_t bytes,
                                                     size_t offset, cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = CopyToSymbol(symbol, source, bytes, offset, kind, &copy);
    return error != cudaSuccess ? error : SetCopy(driver, executable, node, copy);
  });
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t executable,
                                                       cudaGraphNode_t node, void* destination,
                                                       const void* symbol, size_t bytes,
                                                       size_t offset, cudaMemcpyKind kind) {
  return Call([&](const DriverTable& driver) {
    CUDA_MEMCPY3D copy;
    cudaError_t error = CopyFromSymbol(destination, symbol, bytes, offset, kind, &copy);
    return error != cudaSuccess ? error : SetCopy(driver, executable, node, copy);
  });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
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
                                : FromDriver(driver.GraphExecMemsetNodeSetParams(
                                      executable, node, &converted, context));
  });
}
