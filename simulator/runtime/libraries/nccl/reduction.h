// What a reduction does to the elements of NCCL's data types.
//
// Idea: types of 16 and 8 bits are added up in float and rounded once at the end; integers wrap.
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

// Bytes of an element; 0 for a type that NCCL does not know.
size_t BytesOf(ncclDataType_t type);

// output[i] = the sum (or whatever `operation` is) of inputs[r][i] in the order of r. ncclAvg
// divides by the number of inputs.
void Reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const void*>& inputs,
            size_t count, void* output);

// The same for `copies` inputs that are all like `input`, which may be the output.
void ReduceSame(ncclDataType_t type, ncclRedOp_t operation, int copies, const void* input,
                size_t count, void* output);

// data[i] *= *scalar, an element of the same type.
void Scale(ncclDataType_t type, const void* scalar, size_t count, void* data);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_NCCL_REDUCTION_H_
