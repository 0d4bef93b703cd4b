// What can be asked about a function's parameters.
//
// They are known from the image, and, where it is compressed, for kernels that simulator/effects
// knows by name.
#include "simulator/driver/kernel_effect.h"

namespace vramstow::simulator {
namespace {

CUresult ParameterInfo(const void* handle, size_t index, size_t* offset, size_t* bytes) {
  Function* function = FindFunctionHandle(handle);
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<KernelParameter> parameters = function->parameters;
  if (!function->parameters_known) {
    const Effect* effect = FindEffect(function);
    if (effect == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    size_t at = 0;
    for (const Argument& argument : effect->arguments()) {
      at = (at + argument.alignment - 1) / argument.alignment * argument.alignment;
      parameters.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(argument.bytes)});
      at += argument.bytes;
    }
  }
  if (index >= parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (bytes != nullptr) *bytes = parameters[index].bytes;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return Serve("cuFuncGetParamInfo", Needs::kContext,
               [&](Call&) { return ParameterInfo(function, index, offset, bytes); });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return Serve("cuKernelGetParamInfo", Needs::kInit,
               [&](Call&) { return ParameterInfo(kernel, index, offset, bytes); });
}

}  // extern "C"
