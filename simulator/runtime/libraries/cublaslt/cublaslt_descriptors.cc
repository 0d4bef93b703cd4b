#include "simulator/runtime/libraries/cublaslt/cublaslt_descriptors.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "simulator/runtime/libraries/cublaslt/cublaslt_attributes.h"

namespace vramstow::simulator {
namespace {

constexpr DescriptorAttribute kLayoutAttributes[] = {
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, MatrixLayout, type),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, MatrixLayout, order),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, MatrixLayout, rows),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, MatrixLayout, columns),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, MatrixLayout, leading),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, MatrixLayout, batch_count),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, MatrixLayout, batch_stride),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, MatrixLayout, plane_offset),
    VRAMSTOW_ATTRIBUTE(8 /* _BATCH_MODE */, MatrixLayout, batch_mode),
};

// Attributes whose names CUDA 13.0's header does not have yet are written as numbers.
constexpr DescriptorAttribute kMatmulAttributes[] = {
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, MatmulDescription, compute_type),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, MatmulDescription, scale_type),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, MatmulDescription, pointer_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, MatmulDescription, transa),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, MatmulDescription, transb),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, MatmulDescription, transc),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FILL_MODE, MatmulDescription, fill_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, MatmulDescription, epilogue),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, MatmulDescription, bias),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, MatmulDescription, bias_stride),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, MatmulDescription, aux),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, MatmulDescription, aux_leading),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, MatmulDescription,
                       aux_stride),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, MatmulDescription,
                       alpha_vector_stride),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, MatmulDescription, sm_count_target),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, MatmulDescription, a_scale),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, MatmulDescription, b_scale),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, MatmulDescription, c_scale),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, MatmulDescription, d_scale),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, MatmulDescription, d_maximum),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, MatmulDescription, aux_type),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, MatmulDescription,
                       aux_scale),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, MatmulDescription,
                       aux_maximum),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FAST_ACCUM, MatmulDescription, fast_accumulation),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, MatmulDescription, bias_type),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, MatmulDescription, a_scale_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, MatmulDescription, b_scale_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, MatmulDescription, c_scale_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, MatmulDescription, d_scale_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, MatmulDescription,
                       aux_scale_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, MatmulDescription, d_out_scale),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, MatmulDescription, d_out_scale_mode),
    VRAMSTOW_ATTRIBUTE(38 /* _EMULATION_DESCRIPTOR */, MatmulDescription, emulation),
    VRAMSTOW_ATTRIBUTE(39 /* _ALPHA_BATCH_STRIDE */, MatmulDescription, alpha_stride),
    VRAMSTOW_ATTRIBUTE(40 /* _BETA_BATCH_STRIDE */, MatmulDescription, beta_stride),
};

constexpr DescriptorAttribute kPreferenceAttributes[] = {
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, MatmulPreference, search_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, MatmulPreference,
                       maximum_workspace),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, MatmulPreference,
                       reduction_mask),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, MatmulPreference, alignment_a),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, MatmulPreference, alignment_b),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, MatmulPreference, alignment_c),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, MatmulPreference, alignment_d),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, MatmulPreference, maximum_waves),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, MatmulPreference, implementation_mask),
    VRAMSTOW_ATTRIBUTE(13 /* _GROUPED_AVERAGE_REDUCTION_DIM */, MatmulPreference,
                       grouped_reduction),
    VRAMSTOW_ATTRIBUTE(14 /* _GROUPED_DESC_D_AVERAGE_ROWS */, MatmulPreference, grouped_rows),
    VRAMSTOW_ATTRIBUTE(15 /* _GROUPED_DESC_D_AVERAGE_COLS */, MatmulPreference, grouped_columns),
};

constexpr DescriptorAttribute kTransformAttributes[] = {
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, TransformDescription, scale_type),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, TransformDescription,
                       pointer_mode),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, TransformDescription, transa),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, TransformDescription, transb),
};

constexpr DescriptorAttribute kAlgorithmAttributes[] = {
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_ID, MatmulAlgorithm, id),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_TILE_ID, MatmulAlgorithm, tile),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, MatmulAlgorithm, split_k),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, MatmulAlgorithm, reduction),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, MatmulAlgorithm, swizzling),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, MatmulAlgorithm, custom),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_STAGES_ID, MatmulAlgorithm, stages),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, MatmulAlgorithm, inner_shape),
    VRAMSTOW_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, MatmulAlgorithm, cluster_shape),
};

// Writes `value` into a descriptor of `size` bytes in the caller's memory.
template <typename Struct>
cublasStatus_t Initialize(void* descriptor, size_t size, const Struct& value) {
  if (descriptor == nullptr || size < sizeof(Struct)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  memset(descriptor, 0, size);
  memcpy(descriptor, &value, sizeof(Struct));
  return CUBLAS_STATUS_SUCCESS;
}

// Makes a descriptor of the public type `Opaque` that holds `value`.
template <typename Opaque, typename Struct>
cublasStatus_t Create(Opaque** descriptor, const Struct& value) {
  if (descriptor == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  auto* created = new (std::nothrow) Opaque;
  if (created == nullptr) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
  Initialize(created, sizeof(Opaque), value);
  *descriptor = created;
  return CUBLAS_STATUS_SUCCESS;
}

MatrixLayout LayoutOf(cudaDataType type, uint64_t rows, uint64_t columns, int64_t leading) {
  MatrixLayout layout;
  layout.type = type;
  layout.rows = rows;
  layout.columns = columns;
  layout.leading = leading;
  return layout;
}

MatmulDescription MatmulOf(cublasComputeType_t compute_type, cudaDataType_t scale_type) {
  MatmulDescription description;
  description.compute_type = compute_type;
  description.scale_type = scale_type;
  return description;
}

TransformDescription TransformOf(cudaDataType scale_type) {
  TransformDescription description;
  description.scale_type = scale_type;
  return description;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t matLayout, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld) {
  return Initialize(matLayout, size, LayoutOf(type, rows, cols, ld));
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* matLayout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  return Create(matLayout, LayoutOf(type, rows, cols, ld));
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t matmulDesc, size_t size,
                                               cublasComputeType_t computeType,
                                               cudaDataType_t scaleType) {
  return Initialize(matmulDesc, size, MatmulOf(computeType, scaleType));
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* matmulDesc,
                                        cublasComputeType_t computeType, cudaDataType_t scaleType) {
  return Create(matmulDesc, MatmulOf(computeType, scaleType));
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t pref, size_t size) {
  return Initialize(pref, size, MatmulPreference{});
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* pref) {
  return Create(pref, MatmulPreference{});
}

cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t transformDesc,
                                                        size_t size, cudaDataType scaleType) {
  return Initialize(transformDesc, size, TransformOf(scaleType));
}

cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* transformDesc,
                                                 cudaDataType scaleType) {
  return Create(transformDesc, TransformOf(scaleType));
}

// Defines the functions that destroy a descriptor, and that set and get its attributes. They are
// alike for all kinds of descriptors.
#define VRAMSTOW_DESCRIPTOR(stem, Handle, AttributeType, table)                             \
  cublasStatus_t stem##Destroy(Handle descriptor) {                                         \
    delete descriptor;                                                                      \
    return CUBLAS_STATUS_SUCCESS;                                                           \
  }                                                                                         \
  cublasStatus_t stem##SetAttribute(Handle descriptor, AttributeType attr, const void* buf, \
                                    size_t sizeInBytes) {                                   \
    return SetAttribute(table, descriptor, attr, buf, sizeInBytes);                         \
  }                                                                                         \
  cublasStatus_t stem##GetAttribute(Handle descriptor, AttributeType attr, void* buf,       \
                                    size_t sizeInBytes, size_t* sizeWritten) {              \
    return GetAttribute(table, descriptor, attr, buf, sizeInBytes, sizeWritten);            \
  }
VRAMSTOW_DESCRIPTOR(cublasLtMatrixLayout, cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,
                    kLayoutAttributes)
VRAMSTOW_DESCRIPTOR(cublasLtMatmulDesc, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
                    kMatmulAttributes)
VRAMSTOW_DESCRIPTOR(cublasLtMatmulPreference, cublasLtMatmulPreference_t,
                    cublasLtMatmulPreferenceAttributes_t, kPreferenceAttributes)
VRAMSTOW_DESCRIPTOR(cublasLtMatrixTransformDesc, cublasLtMatrixTransformDesc_t,
                    cublasLtMatrixTransformDescAttributes_t, kTransformAttributes)

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    const void* buf, size_t sizeInBytes) {
  if (attr == CUBLASLT_ALGO_CONFIG_ID) {  // documented as read-only
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return SetAttribute(kAlgorithmAttributes, algo, attr, buf, sizeInBytes);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attr,
                                                    void* buf, size_t sizeInBytes,
                                                    size_t* sizeWritten) {
  return GetAttribute(kAlgorithmAttributes, algo, attr, buf, sizeInBytes, sizeWritten);
}
