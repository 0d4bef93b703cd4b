// BlasHandleHead is the common beginning of cuBLAS and cuBLASLt handles. The documentation allows a
// cublasHandle_t to be cast to a cublasLtHandle_t, and PyTorch does so; therefore both stand-ins,
// which are two libraries, use this structure.
//
// Ownership: cublasCreate/cublasLtCreate allocate; the matching destroy function frees and clears
// `magic`. Threads: one handle is used by one thread at a time. Errors: returns false. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_BLAS_HANDLE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_BLAS_HANDLE_H_

#include <cuda.h>

#include <cstdint>

namespace vramstow::simulator {

inline constexpr uint64_t kBlasMagic = 0x76737441'53414c42;    // a handle of cublasCreate
inline constexpr uint64_t kBlasLtMagic = 0x7673744c'53414c42;  // a handle of cublasLtCreate

struct BlasHandleHead {
  uint64_t magic = 0;
};

// True if `handle` was made by cublasCreate or cublasLtCreate and is not destroyed.
inline bool IsLtHandle(const void* handle) {
  const auto* head = static_cast<const BlasHandleHead*>(handle);
  return head != nullptr && (head->magic == kBlasMagic || head->magic == kBlasLtMagic);
}

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_BLAS_HANDLE_H_
