// Implements the queries of a function's parameters, which are known from its image.
#include "simulator/driver/module.h"
#include "simulator/driver/newer_functions.h"

namespace vramstow::simulator {
namespace {

// Returns CUDA_ERROR_NOT_SUPPORTED if the image is compressed, so that the parameters are not
// known.
CUresult Check(const Function* function) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return function->parameters_known ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult ParameterInfo(const Function* function, size_t index, size_t* offset, size_t* bytes) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = Check(function);
  if (result != CUDA_SUCCESS) return result;
  if (index >= function->parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->parameters[index].offset;
  if (bytes != nullptr) *bytes = function->parameters[index].bytes;
  return CUDA_SUCCESS;
}

CUresult ParameterCount(const Function* function, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = Check(function);
  if (result == CUDA_SUCCESS) *count = function->parameters.size();
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
