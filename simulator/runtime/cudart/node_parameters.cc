#include "simulator/runtime/cudart/node_parameters.h"

#include <cstring>

#include "simulator/runtime/cudart/copy_shapes.h"
#include "simulator/runtime/cudart/registry.h"

namespace vramstow::simulator::cudart {

static_assert(sizeof(cudaGraphNodeParams) == sizeof(CUgraphNodeParams));
static_assert(sizeof(cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));

namespace {

// True if the runtime's structure for this kind of node is a prefix of the driver's, so that the
// union can be copied.
bool HasDriversLayout(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeHost:
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
      return true;
    default:
      return false;
  }
}

template <typename Kernel, typename Result>
cudaError_t FillKernel(const Kernel& kernel, Result* result) {
  *result = {};
  result->gridDimX = kernel.gridDim.x;
  result->gridDimY = kernel.gridDim.y;
  result->gridDimZ = kernel.gridDim.z;
  result->blockDimX = kernel.blockDim.x;
  result->blockDimY = kernel.blockDim.y;
  result->blockDimZ = kernel.blockDim.z;
  result->sharedMemBytes = kernel.sharedMemBytes;
  result->kernelParams = kernel.kernelParams;
  result->extra = kernel.extra;
  return FindKernel(kernel.func, &result->kern);
}

template <typename Memset>
cudaError_t FillMemset(const Memset& memset, CUDA_MEMSET_NODE_PARAMS* result) {
  *result = {Address(memset.dst), memset.pitch, memset.value,
             memset.elementSize,  memset.width, memset.height};
  return cudaSuccess;
}

}  // namespace

cudaError_t CurrentContext(CUcontext* context) {
  return FromDriver(Driver().CtxGetCurrent(context));
}

cudaError_t ToDriver(const cudaKernelNodeParams& kernel, CUDA_KERNEL_NODE_PARAMS* result) {
  return FillKernel(kernel, result);
}

void FromDriver(const CUDA_KERNEL_NODE_PARAMS& kernel, cudaKernelNodeParams* result) {
  void* function = kernel.kern;
  if (function == nullptr) {
    function = kernel.func;
  } else {
    RememberKernel(kernel.kern);
  }
  *result = {};
  result->func = function;
  result->gridDim = dim3{kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ};
  result->blockDim = dim3{kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ};
  result->sharedMemBytes = kernel.sharedMemBytes;
  result->kernelParams = kernel.kernelParams;
  result->extra = kernel.extra;
}

cudaError_t ToDriver(const cudaMemsetParams& memset, CUDA_MEMSET_NODE_PARAMS* result) {
  return FillMemset(memset, result);
}

void FromDriver(const CUDA_MEMSET_NODE_PARAMS& memset, cudaMemsetParams* result) {
  *result = {};
  result->dst = reinterpret_cast<void*>(memset.dst);
  result->pitch = memset.pitch;
  result->value = memset.value;
  result->elementSize = memset.elementSize;
  result->width = memset.width;
  result->height = memset.height;
}

cudaError_t ToDriver(const cudaGraphNodeParams& node, CUgraphNodeParams* result) {
  *result = {};
  result->type = static_cast<CUgraphNodeType>(node.type);
  if (HasDriversLayout(node.type)) {
    static_assert(sizeof(node.reserved1) == sizeof(result->reserved1));
    memcpy(result->reserved1, node.reserved1, sizeof(node.reserved1));
    return cudaSuccess;
  }
  CUcontext context = nullptr;
  cudaError_t error = CurrentContext(&context);
  if (error != cudaSuccess) {
    return error;
  }
  switch (node.type) {
    case cudaGraphNodeTypeKernel:
      return FillKernel(node.kernel, &result->kernel);
    case cudaGraphNodeTypeMemset: {
      CUDA_MEMSET_NODE_PARAMS memset = {};
      error = FillMemset(node.memset, &memset);
      memcpy(&result->memset, &memset, sizeof(memset));
      result->memset.ctx = context;
      return error;
    }
    case cudaGraphNodeTypeMemcpy:
      result->memcpy.copyCtx = context;
      return Make3D(node.memcpy.copyParams, &result->memcpy.copyParams);
    case cudaGraphNodeTypeConditional:
      result->conditional.handle = node.conditional.handle;
      result->conditional.type = static_cast<CUgraphConditionalNodeType>(node.conditional.type);
      result->conditional.size = node.conditional.size;
      result->conditional.ctx = context;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

void CopyResults(const CUgraphNodeParams& node, cudaGraphNodeParams* result) {
  if (result->type == cudaGraphNodeTypeMemAlloc) {
    result->alloc.dptr = reinterpret_cast<void*>(node.alloc.dptr);
  } else if (result->type == cudaGraphNodeTypeConditional) {
    result->conditional.phGraph_out = node.conditional.phGraph_out;
  }
}

}  // namespace vramstow::simulator::cudart
