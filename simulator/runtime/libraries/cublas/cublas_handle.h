// The state behind a cublasHandle_t.
//
// Modelled: a handle owns a default workspace in device memory, allocated when the handle is
// created and freed when it is destroyed, and two small blocks, as cuBLAS 13.1 had on an H100
// (docs/card.md). Source: the documentation of cublasSetWorkspace says that the default pool is
// allocated during the creation of the context, and names a size per architecture; see
// DefaultWorkspaceBytes. CUBLAS_WORKSPACE_CONFIG sets another size, as with cuBLAS.
//
// Ownership: cublasCreate allocates, cublasDestroy frees. Threads: as with cuBLAS, one handle is
// used by one thread at a time. Errors: cuBLAS's status codes. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_HANDLE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_HANDLE_H_

#include <cuda.h>

#include <cstddef>

#include "simulator/runtime/libraries/common/blas_handle.h"
#include "simulator/runtime/libraries/cublas/cublas.h"
#include "simulator/runtime/libraries/cublas/status.h"

struct cublasContext : vramstow::simulator::BlasHandleHead {
  CUstream stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int sm_count_target = 0;  // 0: all multiprocessors
  // Settings for the emulation of floating point by other formats, which are stored and have no
  // effect.
  cublasEmulationStrategy_t emulation_strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
  cudaEmulationSpecialValuesSupport special_values = CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT;
  cudaEmulationMantissaControl mantissa_control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
  int max_mantissa_bits = 0;
  int mantissa_bit_offset = 0;
  int* mantissa_bit_count = nullptr;

  CUdeviceptr state[2] = {};
  CUdeviceptr default_workspace = 0;
  size_t default_workspace_bytes = 0;
  CUdeviceptr user_workspace = 0;  // 0: the default one is used
  size_t user_workspace_bytes = 0;
};

namespace vramstow::simulator {

inline constexpr size_t kBlasStateBytes[] = {128 * 1024, 1024};

// Returns the handle if it is valid, else null (the call then returns
// CUBLAS_STATUS_NOT_INITIALIZED).
cublasContext* CheckedHandle(cublasHandle_t handle);

// Returns the size of the default workspace. `configuration` is the value of
// CUBLAS_WORKSPACE_CONFIG, or null. The value consists of ":SIZE:COUNT" pairs with SIZE in KiB
// (":4096:2:16:8"); a value of another form is ignored. If no valid value is given, the size is 64
// MiB for compute capability 9.0 and 10.x (for cuBLAS 12 the documented 32 MiB), 12 MiB for 12.x,
// and 4 MiB for all other GPUs.
size_t DefaultWorkspaceBytes(int compute_capability, const char* configuration);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_HANDLE_H_
