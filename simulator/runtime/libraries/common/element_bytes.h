// Returns the bytes of one element for the numbers of cudaDataType_t (library_types.h).
//
// Ownership: none. Threads: a pure function. Errors: returns 0 if no matrix has elements of that
// type. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_ELEMENT_BYTES_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_ELEMENT_BYTES_H_

#include <library_types.h>

#include <cstddef>

namespace vramstow::simulator {

constexpr size_t BytesOfElement(int type) {
  switch (type) {
    case CUDA_R_8I:
      return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_C_16F:
    case CUDA_C_16BF:
      return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_ELEMENT_BYTES_H_
