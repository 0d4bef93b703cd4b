// Implements matrix multiplication through cuBLASLt: the heuristic, the checks and the launch.
//
// Modelled: there is one algorithm. It requests a workspace if splitting k pays off on a GPU, which
// is the case with few tiles and a long k. The workspace holds two float partial results for every
// element of D. If the caller's preference allows less, the algorithm uses no workspace, so the
// heuristic never requests more than is allowed.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "simulator/runtime/libraries/common/blas_handle.h"
#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/cublas/status.h"
#include "simulator/runtime/libraries/cublaslt/cublaslt_descriptors.h"

namespace vramstow::simulator {

const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("cublaslt_matmul")
    VRAMSTOW_KERNEL("cublaslt_matrix_transform");

namespace {

constexpr int kAlgorithmId = 66;  // arbitrary; the same id is accepted later

template <typename Struct, typename Opaque>
const Struct* As(const Opaque* descriptor) {
  static_assert(sizeof(Struct) <= sizeof(Opaque));
  return reinterpret_cast<const Struct*>(descriptor);
}

// The sizes of a matrix product whose matrix descriptors are consistent.
struct Problem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
};

bool Transposed(int32_t operation) { return operation != CUBLAS_OP_N; }

// Checks the leading dimension, which spans a column in column order and a row in row order; the
// tiled orders have other rules, which are not checked.
bool LeadingFits(const MatrixLayout& layout) {
  if (layout.order == CUBLASLT_ORDER_COL) {
    return layout.leading >= static_cast<int64_t>(layout.rows);
  }
  if (layout.order == CUBLASLT_ORDER_ROW) {
    return layout.leading >= static_cast<int64_t>(layout.columns);
  }
  return true;
}

cublasStatus_t Check(const MatmulDescription* description, const MatrixLayout* a,
                     const MatrixLayout* b, const MatrixLayout* c, const MatrixLayout* d,
                     Problem* problem) {
  if (description == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (description->transa < CUBLAS_OP_N || description->transa > CUBLAS_OP_C ||
      description->transb < CUBLAS_OP_N || description->transb > CUBLAS_OP_C) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (description->transc != CUBLAS_OP_N) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool ta = Transposed(description->transa);
  const bool tb = Transposed(description->transb);
  const uint64_t m = ta ? a->columns : a->rows;
  const uint64_t k = ta ? a->rows : a->columns;
  const uint64_t n = tb ? b->rows : b->columns;
  const bool shapes_fit = (tb ? b->columns : b->rows) == k && d->rows == m && d->columns == n &&
                          c->rows == m && c->columns == n;
  const bool batches_fit = a->batch_count == d->batch_count && b->batch_count == d->batch_count &&
                           c->batch_count == d->batch_count && d->batch_count >= 1;
  if (!shapes_fit || !batches_fit || !LeadingFits(*a) || !LeadingFits(*b) || !LeadingFits(*c) ||
      !LeadingFits(*d)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *problem = {static_cast<int64_t>(m), static_cast<int64_t>(n), static_cast<int64_t>(k),
              d->batch_count};
  return CUBLAS_STATUS_SUCCESS;
}

// Returns the workspace for splitting k, or 0 if splitting k does not pay off (see the head of this
// file).
size_t WantedWorkspace(const Problem& problem) {
  const int64_t tiles = ((problem.m + 127) / 128) * ((problem.n + 127) / 128) * problem.batch;
  constexpr int64_t kFewTiles = 64;
  constexpr int64_t kLongK = 4096;
  if (tiles == 0 || tiles >= kFewTiles || problem.k < kLongK) {
    return 0;
  }
  return static_cast<size_t>(problem.m * problem.n * problem.batch) * sizeof(float) * 2;
}

MatmulAlgorithm AlgorithmFor(const Problem& problem, size_t workspace) {
  MatmulAlgorithm algorithm;
  algorithm.magic = kAlgorithmMagic;
  algorithm.id = kAlgorithmId;
  if (workspace > 0 && WantedWorkspace(problem) <= workspace && WantedWorkspace(problem) > 0) {
    algorithm.split_k = 2;
    algorithm.reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  }
  return algorithm;
}

size_t NeededWorkspace(const Problem& problem, const MatmulAlgorithm& algorithm) {
  return algorithm.split_k > 1 ? static_cast<size_t>(problem.m * problem.n * problem.batch) *
                                     sizeof(float) * algorithm.split_k
                               : 0;
}

float Waves(const Problem& problem) {
  const int64_t tiles = ((problem.m + 127) / 128) * ((problem.n + 127) / 128) * problem.batch;
  return static_cast<float>(tiles) / 132.0f;
}

void Fill(cublasLtMatmulHeuristicResult_t* result, const Problem& problem,
          const MatmulAlgorithm& algorithm) {
  memset(result, 0, sizeof(*result));
  memcpy(&result->algo, &algorithm, sizeof(algorithm));
  result->workspaceSize = NeededWorkspace(problem, algorithm);
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = Waves(problem);
}

// Stores a scalar as two argument words: its bytes if it lies on the host, else its address.
void PushScalar(const void* value, bool on_host, int32_t type, uint64_t* words) {
  words[0] = words[1] = 0;
  if (!on_host) {
    words[0] = reinterpret_cast<uint64_t>(value);
  } else if (value != nullptr) {
    const size_t bytes = type == CUDA_C_64F                         ? 16
                         : type == CUDA_R_64F || type == CUDA_C_32F ? 8
                         : type == CUDA_R_16F                       ? 2
                                                                    : 4;
    memcpy(words, value, bytes);
  }
}

// Returns the kernel's word about types: the types of alpha, beta and the bias, and a bit that is
// set if the call uses a feature which the words do not describe (row order, scales, an auxiliary
// output, …).
uint64_t Notes(const MatmulDescription& description, const MatrixLayout& a, const MatrixLayout& b,
               const MatrixLayout& c, const MatrixLayout& d) {
  const bool plain = a.order == CUBLASLT_ORDER_COL && b.order == CUBLASLT_ORDER_COL &&
                     c.order == CUBLASLT_ORDER_COL && d.order == CUBLASLT_ORDER_COL &&
                     c.type == d.type && description.a_scale == nullptr &&
                     description.b_scale == nullptr && description.c_scale == nullptr &&
                     description.d_scale == nullptr && description.aux == nullptr &&
                     description.fill_mode == CUBLAS_FILL_MODE_FULL &&
                     description.pointer_mode <= CUBLASLT_POINTER_MODE_DEVICE;
  const int32_t bias = description.bias_type >= 0 ? description.bias_type : d.type;
  return static_cast<uint64_t>(description.scale_type & 0xFF) |
         static_cast<uint64_t>(bias & 0xFF) << 8 | (plain ? 0 : uint64_t{1} << 16);
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc, cublasLtMatrixLayout_t Adesc,
    cublasLtMatrixLayout_t Bdesc, cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
    cublasLtMatmulPreference_t preference, int requestedAlgoCount,
    cublasLtMatmulHeuristicResult_t heuristicResultsArray[], int* returnAlgoCount) {
  if (!IsLtHandle(lightHandle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (requestedAlgoCount <= 0 || heuristicResultsArray == nullptr || returnAlgoCount == nullptr ||
      preference == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *returnAlgoCount = 0;
  Problem problem;
  cublasStatus_t status =
      Check(As<MatmulDescription>(operationDesc), As<MatrixLayout>(Adesc), As<MatrixLayout>(Bdesc),
            As<MatrixLayout>(Cdesc), As<MatrixLayout>(Ddesc), &problem);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  const size_t allowed = As<MatmulPreference>(preference)->maximum_workspace;
  Fill(&heuristicResultsArray[0], problem, AlgorithmFor(problem, allowed));
  *returnAlgoCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t lightHandle, cublasComputeType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, int requestedAlgoCount,
                                        int algoIdsArray[], int* returnAlgoCount) {
  if (!IsLtHandle(lightHandle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (requestedAlgoCount <= 0 || algoIdsArray == nullptr || returnAlgoCount == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  algoIdsArray[0] = kAlgorithmId;
  *returnAlgoCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t lightHandle, cublasComputeType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, int algoId,
                                      cublasLtMatmulAlgo_t* algo) {
  if (!IsLtHandle(lightHandle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (algo == nullptr || algoId != kAlgorithmId) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  memset(algo, 0, sizeof(*algo));
  const MatmulAlgorithm algorithm = AlgorithmFor(Problem{}, 0);
  memcpy(algo, &algorithm, sizeof(algorithm));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle,
                                       cublasLtMatmulDesc_t operationDesc,
                                       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (!IsLtHandle(lightHandle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const auto* algorithm = As<MatmulAlgorithm>(algo);
  if (algo == nullptr || result == nullptr || algorithm->magic != kAlgorithmMagic) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  Problem problem;
  cublasStatus_t status =
      Check(As<MatmulDescription>(operationDesc), As<MatrixLayout>(Adesc), As<MatrixLayout>(Bdesc),
            As<MatrixLayout>(Cdesc), As<MatrixLayout>(Ddesc), &problem);
  if (status == CUBLAS_STATUS_SUCCESS) {
    // The documentation says that the call does not change `result->algo`, which may be the same
    // object as `*algo`.
    result->workspaceSize = NeededWorkspace(problem, *algorithm);
    result->state = CUBLAS_STATUS_SUCCESS;
    result->wavesCount = Waves(problem);
  }
  return status;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
                              const void* alpha, const void* A, cublasLtMatrixLayout_t Adesc,
                              const void* B, cublasLtMatrixLayout_t Bdesc, const void* beta,
                              const void* C, cublasLtMatrixLayout_t Cdesc, void* D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspaceSizeInBytes, cudaStream_t stream) {
  if (!IsLtHandle(lightHandle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  const auto* description = As<MatmulDescription>(computeDesc);
  const auto* a = As<MatrixLayout>(Adesc);
  const auto* b = As<MatrixLayout>(Bdesc);
  const auto* c = As<MatrixLayout>(Cdesc);
  const auto* d = As<MatrixLayout>(Ddesc);
  Problem problem;
  cublasStatus_t status = Check(description, a, b, c, d, &problem);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  const auto* algorithm = As<MatmulAlgorithm>(algo);
  if (alpha == nullptr ||
      (algo != nullptr && (algorithm->magic != kAlgorithmMagic ||
                           NeededWorkspace(problem, *algorithm) > workspaceSizeInBytes)) ||
      (workspace == nullptr && workspaceSizeInBytes > 0 && algo != nullptr &&
       NeededWorkspace(problem, *algorithm) > 0)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (problem.m == 0 || problem.n == 0) {
    return CUBLAS_STATUS_SUCCESS;
  }
  if (A == nullptr || B == nullptr || D == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool on_host = description->pointer_mode == CUBLASLT_POINTER_MODE_HOST;
  uint64_t scalars[4];
  PushScalar(alpha, on_host, description->scale_type, &scalars[0]);
  PushScalar(beta, on_host, description->scale_type, &scalars[2]);
  const uint64_t words[] = {static_cast<uint64_t>(description->transa),
                            static_cast<uint64_t>(description->transb),
                            static_cast<uint64_t>(problem.m),
                            static_cast<uint64_t>(problem.n),
                            static_cast<uint64_t>(problem.k),
                            static_cast<uint64_t>(problem.batch),
                            scalars[0],
                            scalars[1],
                            reinterpret_cast<uint64_t>(A),
                            static_cast<uint64_t>(a->type),
                            static_cast<uint64_t>(a->leading),
                            static_cast<uint64_t>(a->batch_stride),
                            reinterpret_cast<uint64_t>(B),
                            static_cast<uint64_t>(b->type),
                            static_cast<uint64_t>(b->leading),
                            static_cast<uint64_t>(b->batch_stride),
                            scalars[2],
                            scalars[3],
                            reinterpret_cast<uint64_t>(C),
                            reinterpret_cast<uint64_t>(D),
                            static_cast<uint64_t>(d->type),
                            static_cast<uint64_t>(d->leading),
                            static_cast<uint64_t>(d->batch_stride),
                            description->epilogue,
                            reinterpret_cast<uint64_t>(description->bias),
                            reinterpret_cast<uint64_t>(description->aux),
                            reinterpret_cast<uint64_t>(workspace),
                            workspaceSizeInBytes,
                            static_cast<uint64_t>(c->leading),
                            static_cast<uint64_t>(c->batch_stride),
                            Notes(*description, *a, *b, *c, *d),
                            static_cast<uint64_t>(on_host ? 0 : 1)};
  static_assert(std::size(words) == kArgumentWords);
  return StatusOf(LaunchWork("cublaslt_matmul", stream, {problem.m, problem.n, problem.batch},
                             words, std::size(words)));
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t lightHandle,
                                       cublasLtMatrixTransformDesc_t transformDesc,
                                       const void* alpha, const void* A,
                                       cublasLtMatrixLayout_t Adesc, const void* beta,
                                       const void* B, cublasLtMatrixLayout_t Bdesc, void* C,
                                       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream) {
  if (!IsLtHandle(lightHandle)) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  if (transformDesc == nullptr || alpha == nullptr || C == nullptr || Cdesc == nullptr ||
      (A != nullptr) != (Adesc != nullptr) || (B != nullptr) != (Bdesc != nullptr) ||
      (B != nullptr && beta == nullptr)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto* target = As<MatrixLayout>(Cdesc);
  const uint64_t words[] = {reinterpret_cast<uint64_t>(A), reinterpret_cast<uint64_t>(B),
                            reinterpret_cast<uint64_t>(C), target->rows, target->columns};
  return StatusOf(LaunchWork("cublaslt_matrix_transform", stream,
                             {static_cast<int64_t>(target->rows),
                              static_cast<int64_t>(target->columns), target->batch_count},
                             words, std::size(words)));
}
