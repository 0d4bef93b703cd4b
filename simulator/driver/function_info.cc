// Implements the queries of a function's parameters.
//
// The parameters are known from the image or, if the image is compressed, for kernels that
// emulation knows.
#include "simulator/driver/module.h"
#include "simulator/driver/newer_functions.h"

namespace vramstow::simulator {
namespace {

// Returns CUDA_ERROR_NOT_SUPPORTED if the function's parameters are not known.
CUresult ParametersOf(Function* function, std::vector<KernelParameter>* parameters) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *parameters = function->parameters;
  if (function->parameters_known) return CUDA_SUCCESS;
  return FindEmulatedParameters(function, parameters) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult ParameterInfo(Function* function, size_t index, size_t* offset, size_t* bytes) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<KernelParameter> parameters;
  const CUresult result = ParametersOf(function, &parameters);
  if (result != CUDA_SUCCESS) return result;
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (bytes != nullptr) *bytes = parameters[index].bytes;
  return CUDA_SUCCESS;
}

CUresult ParameterCount(Function* function, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<KernelParameter> parameters;
  const CUresult result = ParametersOf(function, &parameters);
  if (result == CUDA_SUCCESS) *count = parameters.size();
  return result;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return Serve("cuFuncGetParamInfo", Needs::kContext, [&](Call&) {
    return ParameterInfo(FindFunctionHandle(function), index, offset, bytes);
  });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return Serve("cuKernelGetParamInfo", Needs::kInit, [&](Call&) {
    return ParameterInfo(FindKernelHandle(kernel), index, offset, bytes);
  });
}

CUresult cuFuncGetParamCount(CUfunction function, size_t* count) {
  return Serve("cuFuncGetParamCount", Needs::kContext,
               [&](Call&) { return ParameterCount(FindFunctionHandle(function), count); });
}

CUresult cuKernelGetParamCount(CUkernel kernel, size_t* count) {
  return Serve("cuKernelGetParamCount", Needs::kInit,
               [&](Call&) { return ParameterCount(FindKernelHandle(kernel), count); });
}

}  // extern "C"
