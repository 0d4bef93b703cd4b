// Implements graph nodes by kind: adding them, and reading and changing their parameters.
#include "simulator/runtime/cudart/copy_shapes.h"
#include "simulator/runtime/cudart/node_parameters.h"
#include "simulator/runtime/cudart/registry.h"
#include "simulator/runtime/cudart/runtime.h"

using namespace vramstow::simulator::cudart;  // NOLINT(google-build-using-namespace)

namespace {

// --- The driver's three calls for a kind of node
// --------------------------------------------------

// The graph to which a node is added, and the nodes on which it depends.
struct Addition {
  cudaGraphNode_t* node;
  cudaGraph_t graph;
  const cudaGraphNode_t* dependencies;
  size_t count;
};
struct Change {
  cudaGraphNode_t node;
};
struct ExecutableChange {
  cudaGraphExec_t executable;
  cudaGraphNode_t node;
};

CUresult Apply(const DriverTable& driver, const Addition& at, const CUDA_KERNEL_NODE_PARAMS& kernel,
               CUcontext /*context*/) {
  return driver.GraphAddKernelNode(at.node, at.graph, at.dependencies, at.count, &kernel);
}
CUresult Apply(const DriverTable& driver, const Addition& at, const CUDA_MEMCPY3D& copy,
               CUcontext context) {
  return driver.GraphAddMemcpyNode(at.node, at.graph, at.dependencies, at.count, &copy, context);
}
CUresult Apply(const DriverTable& driver, const Addition& at, const CUDA_MEMSET_NODE_PARAMS& memset,
               CUcontext context) {
  return driver.GraphAddMemsetNode(at.node, at.graph, at.dependencies, at.count, &memset, context);
}
CUresult Apply(const DriverTable& driver, Change at, const CUDA_KERNEL_NODE_PARAMS& kernel,
               CUcontext /*context*/) {
  return driver.GraphKernelNodeSetParams(at.node, &kernel);
}
CUresult Apply(const DriverTable& driver, Change at, const CUDA_MEMCPY3D& copy,
               CUcontext /*context*/) {
  return driver.GraphMemcpyNodeSetParams(at.node, &copy);
}
CUresult Apply(const DriverTable& driver, Change at, const CUDA_MEMSET_NODE_PARAMS& memset,
               CUcontext /*context*/) {
  return driver.GraphMemsetNodeSetParams(at.node, &memset);
}
CUresult Apply(const DriverTable& driver, ExecutableChange at,
               const CUDA_KERNEL_NODE_PARAMS& kernel, CUcontext /*context*/) {
  return driver.GraphExecKernelNodeSetParams(at.executable, at.node, &kernel);
}
CUresult Apply(const DriverTable& driver, ExecutableChange at, const CUDA_MEMCPY3D& copy,
               CUcontext context) {
  return driver.GraphExecMemcpyNodeSetParams(at.executable, at.node, &copy, context);
}
CUresult Apply(const DriverTable& driver, ExecutableChange at,
               const CUDA_MEMSET_NODE_PARAMS& memset, CUcontext context) {
  return driver.GraphExecMemsetNodeSetParams(at.executable, at.node, &memset, context);
}

// Calls the driver with the parameters that convert(&parameters) makes.
template <typename Parameters, typename Place, typename Convert>
cudaError_t WithParameters(const Place& at, Convert convert, const char* name) {
  return Call(
      [&](const DriverTable& driver) {
        Parameters parameters;
        CUcontext context = nullptr;
        cudaError_t error = convert(&parameters);
        if (error == cudaSuccess) error = CurrentContext(&context);
        return error != cudaSuccess ? error : FromDriver(Apply(driver, at, parameters, context));
      },
      name);
}

template <typename Given, typename Parameters>
cudaError_t Convert(const Given* given, Parameters* parameters) {
  return given == nullptr ? cudaErrorInvalidValue : ToDriver(*given, parameters);
}
cudaError_t Convert(const cudaMemcpy3DParms* given, CUDA_MEMCPY3D* copy) {
  return given == nullptr ? cudaErrorInvalidValue : Make3D(*given, copy);
}

// Gets the parameters of a node by ask(driver, &parameters), and returns them to the caller by
// give(parameters).
template <typename Parameters, typename Given, typename Ask, typename Give>
cudaError_t GetParameters(Given* given, Ask ask, Give give,
                          const char* name = __builtin_FUNCTION()) {
  return Call(
      [&](const DriverTable& driver) {
        Parameters parameters = {};
        const CUresult result =
            given == nullptr ? CUDA_ERROR_INVALID_VALUE : ask(driver, &parameters);
        if (result == CUDA_SUCCESS) give(parameters, given);
        return result;
      },
      name);
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
    const cudaError_t error = Convert(parameters, &converted);
    return error != cudaSuccess ? error : FromDriver(driver.GraphNodeSetParams(node, &converted));
  });
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters) {
  return Call([&](const DriverTable& driver) {
    CUgraphNodeParams converted;
    const cudaError_t error = Convert(parameters, &converted);
    return error != cudaSuccess
               ? error
               : FromDriver(driver.GraphExecNodeSetParams(executable, node, &converted));
  });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  return GetParameters<CUDA_KERNEL_NODE_PARAMS>(
      parameters,
      [&](const DriverTable& driver, auto* found) {
        return driver.GraphKernelNodeGetParams(node, found);
      },
      [](const auto& found, auto* given) { FromDriver(found, given); });
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  return GetParameters<CUDA_MEMCPY3D>(
      parameters,
      [&](const DriverTable& driver, auto* found) {
        return driver.GraphMemcpyNodeGetParams(node, found);
      },
      Unmake3D);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  return GetParameters<CUDA_MEMSET_NODE_PARAMS>(
      parameters,
      [&](const DriverTable& driver, auto* found) {
        return driver.GraphMemsetNodeGetParams(node, found);
      },
      [](const auto& found, auto* given) { FromDriver(found, given); });
}

// Defines three functions for a kind of node: they add a node, change it, and change it in an
// instantiated graph. The last argument is code that converts the parameters to `to`.
#define VRAMSTOW_UNPACKED(...) __VA_ARGS__
#define VRAMSTOW_NODE(Kind, Suffix, Parameters, parameters, ...)                                  \
  cudaError_t cudaGraphAdd##Kind##Node##Suffix(cudaGraphNode_t* node, cudaGraph_t graph,          \
                                               const cudaGraphNode_t* dependencies, size_t count, \
                                               VRAMSTOW_UNPACKED parameters) {                    \
    return WithParameters<Parameters>(                                                            \
        Addition{node, graph, dependencies, count}, [&](Parameters* to) { return __VA_ARGS__; },  \
        __func__);                                                                                \
  }                                                                                               \
  cudaError_t cudaGraph##Kind##NodeSetParams##Suffix(cudaGraphNode_t node,                        \
                                                     VRAMSTOW_UNPACKED parameters) {              \
    return WithParameters<Parameters>(                                                            \
        Change{node}, [&](Parameters* to) { return __VA_ARGS__; }, __func__);                     \
  }                                                                                               \
  cudaError_t cudaGraphExec##Kind##NodeSetParams##Suffix(                                         \
      cudaGraphExec_t executable, cudaGraphNode_t node, VRAMSTOW_UNPACKED parameters) {           \
    return WithParameters<Parameters>(                                                            \
        ExecutableChange{executable, node}, [&](Parameters* to) { return __VA_ARGS__; },          \
        __func__);                                                                                \
  }

VRAMSTOW_NODE(Kernel, , CUDA_KERNEL_NODE_PARAMS, (const cudaKernelNodeParams* given),
              Convert(given, to))
VRAMSTOW_NODE(Memset, , CUDA_MEMSET_NODE_PARAMS, (const cudaMemsetParams* given),
              Convert(given, to))
VRAMSTOW_NODE(Memcpy, , CUDA_MEMCPY3D, (const cudaMemcpy3DParms* given), Convert(given, to))
VRAMSTOW_NODE(Memcpy, 1D, CUDA_MEMCPY3D,
              (void* destination, const void* source, size_t bytes, cudaMemcpyKind kind),
              Make1D(destination, source, bytes, kind, to))
VRAMSTOW_NODE(Memcpy, ToSymbol, CUDA_MEMCPY3D,
              (const void* symbol, const void* source, size_t bytes, size_t offset,
               cudaMemcpyKind kind),
              CopyToSymbol(symbol, source, bytes, offset, kind, to))
VRAMSTOW_NODE(Memcpy, FromSymbol, CUDA_MEMCPY3D,
              (void* destination, const void* symbol, size_t bytes, size_t offset,
               cudaMemcpyKind kind),
              CopyFromSymbol(destination, symbol, bytes, offset, kind, to))

#undef VRAMSTOW_NODE
#undef VRAMSTOW_UNPACKED
