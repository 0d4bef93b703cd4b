// KernelNames: what kernels are called, and what a name tells of a kernel.
//
// Idea: a kernel uses the memory that its arguments name. A few also write addresses into memory,
// where a later kernel finds them: those that prepare groups of matrix products, for example. What
// kernels of PyTorch, cuBLAS, cuDNN, CUTLASS, FlashAttention, NCCL and Inductor do is known by
// their names; of all others it is assumed.
//
// Ownership: none; names are the driver's. Threads: any. Errors: null: the driver does not say.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_NAMES_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_NAMES_H_

#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/handle_kinds.h"

namespace vramstow {

// What the kernel's source calls it, as the compiler wrote it.
const char* KernelName(const Driver& driver, HandleKind kind, CUfunction function);

// Whether a kernel of this name, which may be null, is known to write no address into memory.
bool WritesNoAddresses(const char* name);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_NAMES_H_
