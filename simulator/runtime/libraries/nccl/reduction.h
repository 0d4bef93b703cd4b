// Implements reductions of the elements of NCCL's data types.
//
// Idea: 16-bit and 8-bit floats are summed in float and rounded once at the end; integers wrap
// around.
//
// Ownership: none. Threads: pure functions. Errors: none; the caller has checked type and
// operation. Units: elements.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_REDUCTION_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_REDUCTION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/runtime/libraries/nccl/nccl.h"

namespace vramstow::simulator {

// Returns the bytes of an element, or 0 for a type that NCCL does not have.
size_t BytesOf(ncclDataType_t type);

// Computes output[i] as the sum (or another `operation`) of inputs[r][i] in the order of r. ncclAvg
// divides by the number of inputs.
void Reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& inputs,
            size_t count, void* output);

// Computes the reduction of `copies` inputs that are all equal to `input`. `output` may be the same
// memory as `input`.
void ReduceSame(ncclDataType_t type, ncclRedOp_t operation, int copies, const void* input,
                size_t count, void* output);

// Multiplies data[i] by *scalar, an element of the same type.
void Scale(ncclDataType_t type, const void* scalar, size_t count, void* data);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_REDUCTION_H_
