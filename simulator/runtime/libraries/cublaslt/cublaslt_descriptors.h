// Defines the contents of cuBLASLt's opaque descriptors. The public structs are arrays of words,
// which a caller may also place on the stack, so the contents must fit into the smallest form that
// CUDA 13 had.
//
// Ownership: the …Create functions allocate and the …Destroy functions free; the …Init functions
// use the caller's memory. Threads: one descriptor is used by one thread at a time. Errors: returns
// null for an invalid descriptor. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLASLT_CUBLASLT_DESCRIPTORS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLASLT_CUBLASLT_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>

#include "simulator/runtime/libraries/cublaslt/cublaslt.h"

namespace vramstow::simulator {

struct MatrixLayout {
  int32_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0;
  uint64_t columns = 0;
  int64_t leading = 0;
  int64_t batch_stride = 0;
  int64_t plane_offset = 0;
  int32_t batch_count = 1;
  uint32_t batch_mode = 0;
};
static_assert(sizeof(MatrixLayout) <= 8 * sizeof(uint64_t));

struct MatmulDescription {
  int32_t compute_type = CUBLAS_COMPUTE_32F;
  int32_t scale_type = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transa = CUBLAS_OP_N;
  int32_t transb = CUBLAS_OP_N;
  int32_t transc = CUBLAS_OP_N;
  int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int32_t sm_count_target = 0;
  int32_t aux_type = -1;
  int32_t bias_type = -1;
  int32_t a_scale_mode = 0;
  int32_t b_scale_mode = 0;
  int32_t c_scale_mode = 0;
  int32_t d_scale_mode = 0;
  int32_t aux_scale_mode = 0;
  int32_t d_out_scale_mode = 0;
  int8_t fast_accumulation = 0;
  void* bias = nullptr;
  int64_t bias_stride = 0;
  void* aux = nullptr;
  int64_t aux_leading = 0;
  int64_t aux_stride = 0;
  int64_t alpha_vector_stride = 0;
  void* a_scale = nullptr;
  void* b_scale = nullptr;
  void* c_scale = nullptr;
  void* d_scale = nullptr;
  void* d_maximum = nullptr;
  void* aux_scale = nullptr;
  void* aux_maximum = nullptr;
  void* d_out_scale = nullptr;
  void* emulation = nullptr;
  int64_t alpha_stride = 0;
  int64_t beta_stride = 0;
};
static_assert(sizeof(MatmulDescription) <= 32 * sizeof(uint64_t));

struct MatmulPreference {
  uint32_t search_mode = CUBLASLT_SEARCH_BEST_FIT;
  uint32_t reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint64_t maximum_workspace = 0;
  uint64_t implementation_mask = ~0ull;
  uint32_t alignment_a = 256;
  uint32_t alignment_b = 256;
  uint32_t alignment_c = 256;
  uint32_t alignment_d = 256;
  float maximum_waves = 0;
  uint32_t grouped_reduction = 0;
  uint32_t grouped_rows = 0;
  uint32_t grouped_columns = 0;
};
static_assert(sizeof(MatmulPreference) <= 8 * sizeof(uint64_t));

struct TransformDescription {
  int32_t scale_type = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transa = CUBLAS_OP_N;
  int32_t transb = CUBLAS_OP_N;
};
static_assert(sizeof(TransformDescription) <= 8 * sizeof(uint64_t));

// The only algorithm of the stand-in; a caller's configuration of it is stored and has no effect.
struct MatmulAlgorithm {
  uint32_t magic = 0;  // kAlgorithmMagic once initialised
  int32_t id = 0;
  uint32_t tile = 0;
  int32_t split_k = 1;
  uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
  uint32_t swizzling = 0;
  uint32_t custom = 0;
  uint32_t stages = 0;
  uint16_t inner_shape = 0;
  uint16_t cluster_shape = 0;
};
static_assert(sizeof(MatmulAlgorithm) <= sizeof(cublasLtMatmulAlgo_t));

inline constexpr uint32_t kAlgorithmMagic = 0x76737467;

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLASLT_CUBLASLT_DESCRIPTORS_H_
