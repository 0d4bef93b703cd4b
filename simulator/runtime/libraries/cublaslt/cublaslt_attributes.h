// Reads and writes descriptors with numbered attributes; cuBLASLt has four kinds of them. A
// descriptor is a plain struct that fits into the caller's opaque words; a table maps each
// attribute to its field.
//
// Ownership: the caller owns the descriptor. Threads: as with cuBLASLt, no two threads change one
// descriptor at a time. Errors: CUBLAS_STATUS_INVALID_VALUE for an unknown attribute or a wrong
// size. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLASLT_CUBLASLT_ATTRIBUTES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLASLT_CUBLASLT_ATTRIBUTES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "simulator/runtime/libraries/cublaslt/cublaslt.h"

namespace vramstow::simulator {

struct DescriptorAttribute {
  int id;  // as the header numbers it
  uint16_t offset;
  uint16_t size;
};

// An entry of a table: attribute `id` is stored in `field` of `Struct`.
#define VRAMSTOW_ATTRIBUTE(id, Struct, field) \
  { id, offsetof(Struct, field), sizeof(Struct::field) }

cublasStatus_t SetAttribute(std::span<const DescriptorAttribute> table, void* descriptor, int id,
                            const void* value, size_t size);

// Copies the value of an attribute to the caller. If `size` is 0, only sets *written to the number
// of bytes of the attribute.
cublasStatus_t GetAttribute(std::span<const DescriptorAttribute> table, const void* descriptor,
                            int id, void* value, size_t size, size_t* written);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLASLT_CUBLASLT_ATTRIBUTES_H_
