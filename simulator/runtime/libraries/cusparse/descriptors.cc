// Implements the descriptors of sparse and dense matrices for cuSPARSE's generic functions.
#include <new>

#include "simulator/runtime/libraries/common/element_bytes.h"
#include "simulator/runtime/libraries/cusparse/handle.h"

namespace vramstow::simulator {
namespace {

// Describes `batches` arrays of `each` elements, whose beginnings are `stride` elements apart.
Result BatchesAt(const void* address, int type, int64_t each, int64_t batches, int64_t stride) {
  if (each <= 0 || batches <= 0) return {address, 0};
  return {address, static_cast<size_t>((batches - 1) * stride + each) * BytesOfElement(type)};
}

template <typename Descriptor>
int Make(const Descriptor& wish, bool is_right, void** descriptor) {
  if (descriptor == nullptr || !is_right || BytesOfElement(wish.type) == 0) return kInvalidValue;
  *descriptor = new (std::nothrow) Descriptor(wish);
  return *descriptor == nullptr ? kAllocFailed : kSuccess;
}

}  // namespace

Result SparseMatrix::Values() const {
  return BatchesAt(values, type, entries, batches, values_stride);
}

Result DenseMatrix::All() const {
  const int64_t lines = order == kByColumn ? columns : rows;
  const int64_t line = order == kByColumn ? rows : columns;
  if (lines <= 0 || line <= 0) return {values, 0};
  return BatchesAt(values, type, (lines - 1) * leading + line, batches, stride);
}

Result DenseVector::All() const { return BatchesAt(values, type, size, 1, 0); }

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_CUSPARSE int cusparseCreateCsr(void** spMatDescr, int64_t rows, int64_t cols, int64_t nnz,
                                        void* /*csrRowOffsets*/, void* /*csrColInd*/,
                                        void* csrValues, int /*csrRowOffsetsType*/,
                                        int /*csrColIndType*/, int /*idxBase*/, int valueType) {
  return Make(
      SparseMatrix{
          .rows = rows, .columns = cols, .entries = nnz, .values = csrValues, .type = valueType},
      rows >= 0 && cols >= 0 && nnz >= 0, spMatDescr);
}

VRAMSTOW_CUSPARSE int cusparseCreateCoo(void** spMatDescr, int64_t rows, int64_t cols, int64_t nnz,
                                        void* cooRowInd, void* cooColInd, void* cooValues,
                                        int cooIdxType, int idxBase, int valueType) {
  return cusparseCreateCsr(spMatDescr, rows, cols, nnz, cooRowInd, cooColInd, cooValues, cooIdxType,
                           cooIdxType, idxBase, valueType);
}

VRAMSTOW_CUSPARSE int cusparseDestroySpMat(const void* spMatDescr) {
  delete static_cast<const SparseMatrix*>(spMatDescr);
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseSpMatGetSize(const void* spMatDescr, int64_t* rows, int64_t* cols,
                                           int64_t* nnz) {
  const auto* matrix = static_cast<const SparseMatrix*>(spMatDescr);
  if (matrix == nullptr || rows == nullptr || cols == nullptr || nnz == nullptr) {
    return kInvalidValue;
  }
  *rows = matrix->rows;
  *cols = matrix->columns;
  *nnz = matrix->entries;
  return kSuccess;
}

// The attributes say which triangle of the matrix is used and whether its diagonal is 1. They have
// no effect here.
VRAMSTOW_CUSPARSE int cusparseSpMatSetAttribute(void* spMatDescr, int /*attribute*/,
                                                const void* data, size_t /*dataSize*/) {
  return spMatDescr == nullptr || data == nullptr ? kInvalidValue : kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseCsrSetPointers(void* spMatDescr, void* /*csrRowOffsets*/,
                                             void* /*csrColInd*/, void* csrValues) {
  if (spMatDescr == nullptr) return kInvalidValue;
  static_cast<SparseMatrix*>(spMatDescr)->values = csrValues;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseCsrSetStridedBatch(void* spMatDescr, int batchCount,
                                                 int64_t /*offsetsBatchStride*/,
                                                 int64_t columnsValuesBatchStride) {
  if (spMatDescr == nullptr || batchCount < 1) return kInvalidValue;
  auto* matrix = static_cast<SparseMatrix*>(spMatDescr);
  matrix->batches = batchCount;
  matrix->values_stride = columnsValuesBatchStride;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseCreateDnMat(void** dnMatDescr, int64_t rows, int64_t cols, int64_t ld,
                                          void* values, int valueType, int order) {
  return Make(DenseMatrix{.rows = rows,
                          .columns = cols,
                          .leading = ld,
                          .values = values,
                          .type = valueType,
                          .order = order},
              rows >= 0 && cols >= 0 && ld >= (order == DenseMatrix::kByColumn ? rows : cols),
              dnMatDescr);
}

VRAMSTOW_CUSPARSE int cusparseDestroyDnMat(const void* dnMatDescr) {
  delete static_cast<const DenseMatrix*>(dnMatDescr);
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseDnMatSetStridedBatch(void* dnMatDescr, int batchCount,
                                                   int64_t batchStride) {
  if (dnMatDescr == nullptr || batchCount < 1) return kInvalidValue;
  auto* matrix = static_cast<DenseMatrix*>(dnMatDescr);
  matrix->batches = batchCount;
  matrix->stride = batchStride;
  return kSuccess;
}

VRAMSTOW_CUSPARSE int cusparseCreateDnVec(void** dnVecDescr, int64_t size, void* values,
                                          int valueType) {
  return Make(DenseVector{.size = size, .values = values, .type = valueType}, size >= 0,
              dnVecDescr);
}

VRAMSTOW_CUSPARSE int cusparseDestroyDnVec(const void* dnVecDescr) {
  delete static_cast<const DenseVector*>(dnVecDescr);
  return kSuccess;
}
