#include "interpose/core/runtime/kernel_names.h"

#include <algorithm>
#include <string_view>

#include "interpose/core/runtime/driver.h"

namespace vramstow {
namespace {

// Parts of kernel names. A kernel whose name contains one of them writes no addresses into memory.
constexpr std::string_view kKnown[] = {
    "2at6native",                                 // PyTorch's own, as compilers write at::native
    "at::native",                                 // also PyTorch's own, written by hand
    "cudnn",       "cutlass",     "cublas",       // libraries that put their own names first
    "xmma",        "nvjet",       "gemm",         // matrix products of cuBLAS
    "gemv",        "splitK",      "dot_kernel",   //
    "convolve",    "winograd",    "wgrad",        // convolutions of cuDNN
    "dgrad",       "im2col",      "bn_fw",        //
    "bn_bw",       "RNN_",        "LSTM_",        //
    "flash_fwd",   "flash_bwd",   "fmha",         // attention
    "ncclDev",     "triton_poi_", "triton_red_",  // collectives; Inductor's kernels
    "triton_per_", "triton_tem_",
};
// Exceptions to kKnown. A kernel whose name contains one of these parts does read addresses from
// memory, or writes addresses there.
constexpr std::string_view kNotThese[] = {
    "arange",  // PyTorch makes tables of addresses with it
    "rouped",  // part of "grouped": groups of matrix products
    "PtrArray", "ptr_array", "pointer_array",
};

}  // namespace

const char* KernelName(const Driver& driver, HandleKind kind, CUfunction function) {
  const char* name = nullptr;
  CUresult result = CUDA_ERROR_INVALID_HANDLE;
  if (kind == HandleKind::kFunction && driver.cuFuncGetName() != nullptr) {
    result = driver.cuFuncGetName()(&name, function);
  }
  if (kind == HandleKind::kKernel && driver.cuKernelGetName() != nullptr) {
    result = driver.cuKernelGetName()(&name, reinterpret_cast<CUkernel>(function));
  }
  return result == CUDA_SUCCESS ? name : nullptr;
}

bool WritesNoAddresses(const char* name) {
  if (name == nullptr) return false;
  const std::string_view all = name;
  const auto has = [&](std::string_view part) { return all.find(part) != std::string_view::npos; };
  return std::any_of(std::begin(kKnown), std::end(kKnown), has) &&
         std::none_of(std::begin(kNotThese), std::end(kNotThese), has);
}

}  // namespace vramstow
