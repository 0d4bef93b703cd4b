// KernelNames finds a kernel's name, and decides by the name whether the kernel may write
// addresses.
//
// Idea: a kernel uses the memory that its arguments point to. Some kernels also write addresses
// into memory, where a later kernel reads them, for example a kernel that prepares a group of
// matrix products. Kernels of PyTorch, cuBLAS, cuDNN, CUTLASS, FlashAttention, NCCL and Inductor do
// not; they are recognised by their names. A kernel with any other name is assumed to write
// addresses.
//
// Ownership: names belong to the driver. Threads: any. Errors: null if the driver gives no name.
// Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_NAMES_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_NAMES_H_

#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/handle_kinds.h"

namespace vramstow {

// Returns the kernel's name as the compiler wrote it, or null.
const char* KernelName(const Driver& driver, HandleKind kind, CUfunction function);

// Returns true if kernels of this name write no address into memory. `name` may be null.
bool WritesNoAddresses(const char* name);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_NAMES_H_
