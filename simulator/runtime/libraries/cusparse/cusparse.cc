// Implements cuSPARSE's products of sparse and dense matrices, triangular solvers, and functions on
// indices.
//
// Names and constants are those of NVIDIA's cusparse.h, restated so that the build needs no further
// headers. Modelled: a buffer has an index of 4 bytes for each row of the sparse matrix. The buffer
// of a sort has a key and a position for each entry. The product of two sparse matrices is refused,
// because its number of entries depends on the values.
#include <iterator>

#include "simulator/runtime/libraries/common/element_bytes.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/stand_in.h"

namespace vramstow::simulator {
namespace {

enum Status {
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kExecutionFailed = 6,
  kNotSupported = 10,
};
constexpr const char* kStatusNames[] = {"CUSPARSE_STATUS_SUCCESS",
                                        "CUSPARSE_STATUS_NOT_INITIALIZED",
                                        "CUSPARSE_STATUS_ALLOC_FAILED",
                                        "CUSPARSE_STATUS_INVALID_VALUE",
                                        "CUSPARSE_STATUS_ARCH_MISMATCH",
                                        "CUSPARSE_STATUS_MAPPING_ERROR",
                                        "CUSPARSE_STATUS_EXECUTION_FAILED",
                                        "CUSPARSE_STATUS_INTERNAL_ERROR",
                                        "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
                                        "CUSPARSE_STATUS_ZERO_PIVOT",
                                        "CUSPARSE_STATUS_NOT_SUPPORTED",
                                        "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};

}  // namespace

const LibraryIdentity kLibrary = {"cuSPARSE", kNotSupported, "CUSPARSE_STATUS_NOT_SUPPORTED"};
const StatusCodes kCodes = {kNotInitialized, kAllocFailed, kInvalidValue, kExecutionFailed};
// clang-format off
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD
    VRAMSTOW_KERNEL("cusparse_coo2csr")
    VRAMSTOW_KERNEL("cusparse_coosort")
    VRAMSTOW_KERNEL("cusparse_csrsort")
    VRAMSTOW_KERNEL("cusparse_identity")
    VRAMSTOW_KERNEL("cusparse_sddmm")
    VRAMSTOW_KERNEL("cusparse_spmm")
    VRAMSTOW_KERNEL("cusparse_spmv")
    VRAMSTOW_KERNEL("cusparse_spsm")
    VRAMSTOW_KERNEL("cusparse_spsv");
// clang-format on

namespace {

using P = void*;  // a pointer of any type
using L = int64_t;

// --- Handles and descriptors ---------------------------------------------------------------------

struct SparseHandle : Handle {
  int pointer_mode = 0;
};

int GetPointerMode(P handle, int* mode) {
  const auto* checked = Checked<SparseHandle>(handle);
  if (checked == nullptr) return kNotInitialized;
  if (mode == nullptr) return kInvalidValue;
  *mode = checked->pointer_mode;
  return 0;
}

int SetPointerMode(P handle, int mode) {
  auto* checked = Checked<SparseHandle>(handle);
  if (checked == nullptr) return kNotInitialized;
  if (mode < 0 || mode > 1) return kInvalidValue;
  checked->pointer_mode = mode;
  return 0;
}

// The values of a matrix or a vector: `batches` arrays of `each` elements, whose beginnings are
// `stride` elements apart.
struct Values {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t each = 0;
  P address = nullptr;
  int type = 0;
  int64_t batches = 1;
  int64_t stride = 0;

  Result All() const {
    if (each <= 0 || batches <= 0) return {};
    return {address, static_cast<size_t>((batches - 1) * stride + each) * BytesOfElement(type)};
  }
};

int Describe(P* descriptor, bool is_right, const Values& values) {
  return is_right && BytesOfElement(values.type) != 0 ? Create(descriptor, values) : kInvalidValue;
}

int DescribeSparse(P* descriptor, L rows, L columns, L entries, P values, int type) {
  return Describe(descriptor, rows >= 0 && columns >= 0 && entries >= 0,
                  {rows, columns, entries, values, type});
}

int DescribeDense(P* descriptor, L rows, L columns, L leading, P values, int type, int order) {
  constexpr int kByColumn = 1;
  const L lines = order == kByColumn ? columns : rows;
  const L line = order == kByColumn ? rows : columns;
  const L elements = lines <= 0 || line <= 0 ? 0 : (lines - 1) * leading + line;
  return Describe(descriptor, rows >= 0 && columns >= 0 && leading >= line,
                  {rows, columns, elements, values, type});
}

int End(P descriptor) {
  delete static_cast<Values*>(descriptor);
  return 0;
}

int GetSize(P matrix, L* rows, L* columns, L* entries) {
  if (matrix == nullptr || rows == nullptr || columns == nullptr || entries == nullptr) {
    return kInvalidValue;
  }
  const auto& values = *static_cast<const Values*>(matrix);
  *rows = values.rows;
  *columns = values.columns;
  *entries = values.each;
  return 0;
}

int SetAddress(P matrix, P address) {
  if (matrix == nullptr) return kInvalidValue;
  static_cast<Values*>(matrix)->address = address;
  return 0;
}

int SetBatches(P matrix, int count, L stride) {
  if (matrix == nullptr || count < 1) return kInvalidValue;
  static_cast<Values*>(matrix)->batches = count;
  static_cast<Values*>(matrix)->stride = stride;
  return 0;
}

// --- Products and solutions ----------------------------------------------------------------------

int Ready(P handle, P sparse) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  return sparse == nullptr ? kInvalidValue : 0;
}

int Space(P handle, P sparse, size_t* bytes) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  if (sparse == nullptr || bytes == nullptr) return kInvalidValue;
  *bytes = static_cast<size_t>(static_cast<const Values*>(sparse)->rows) * sizeof(int32_t);
  return 0;
}

// Queues the computation of `result` from `a` and `b`. `shape` is the sparse matrix, which is one
// of these three operands.
int Compute(P handle, const char* name, P shape, P a, P b, P result) {
  const Handle* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (a == nullptr || b == nullptr || result == nullptr) return kInvalidValue;
  const auto& sparse = *static_cast<const Values*>(shape);
  const Result all = static_cast<const Values*>(result)->All();
  if (all.bytes == 0) return 0;
  return LaunchOf(name, checked->stream, WorkSize(), {all}, sparse.rows, sparse.columns,
                  sparse.each, static_cast<const Values*>(a)->address,
                  static_cast<const Values*>(b)->address, all.address);
}

// --- Indices -------------------------------------------------------------------------------------

Result NumbersAt(const int* numbers, int64_t count) {
  return {numbers, static_cast<size_t>(count) * sizeof *numbers};
}

int SortSpace(P handle, int entries, size_t* bytes) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  if (entries < 0 || bytes == nullptr) return kInvalidValue;
  *bytes = static_cast<size_t>(entries) * 2 * sizeof(int32_t);
  return 0;
}

// Queues a kernel that changes these three arrays; an array that is null does not change.
int Sort(P handle, const char* name, int entries, int* rows, int* columns, int* places) {
  const Handle* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (entries < 0) return kInvalidValue;
  if (entries == 0) return 0;
  return LaunchOf(
      name, checked->stream, WorkSize(),
      {NumbersAt(rows, entries), NumbersAt(columns, entries), NumbersAt(places, entries)}, entries,
      rows, columns, places);
}

int BeginRows(P handle, P indices, int entries, int rows, int* offsets) {
  const Handle* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (entries < 0 || rows < 0 || offsets == nullptr) return kInvalidValue;
  return LaunchOf("cusparse_coo2csr", checked->stream, WorkSize(),
                  {NumbersAt(offsets, int64_t{rows} + 1)}, indices, entries, rows);
}

const char* NameOf(int status) {
  const bool known = status >= 0 && static_cast<size_t>(status) < std::size(kStatusNames);
  return known ? kStatusNames[status] : "unknown status";
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

extern "C" {
__attribute__((visibility("default"))) const char* cusparseGetErrorName(int status) {
  return NameOf(status);
}
__attribute__((visibility("default"))) const char* cusparseGetErrorString(int status) {
  return NameOf(status);
}
}

VRAMSTOW_ROW(cusparseCreate, (P * h), CreateHandle<SparseHandle>(h))
VRAMSTOW_ROW(cusparseDestroy, (P h), Destroy<SparseHandle>(h))
VRAMSTOW_ROW(cusparseGetVersion, (P h, int* version),
             Checked(h) == nullptr ? kNotInitialized : GetVersion(kCusparseVersion, version))
VRAMSTOW_ROW(cusparseGetProperty, (int part, int* value),
             GetProperty(kCusparseVersion, part, value))
VRAMSTOW_ROW(cusparseSetStream, (P h, CUstream stream), SetStream(h, stream))
VRAMSTOW_ROW(cusparseGetStream, (P h, CUstream* stream), GetStream(h, stream))
VRAMSTOW_ROW(cusparseSetPointerMode, (P h, int mode), SetPointerMode(h, mode))
VRAMSTOW_ROW(cusparseGetPointerMode, (P h, int* mode), GetPointerMode(h, mode))

VRAMSTOW_ROW(cusparseCreateCsr,
             (P * m, L rows, L columns, L entries, P, P, P values, int, int, int, int type),
             DescribeSparse(m, rows, columns, entries, values, type))
VRAMSTOW_ROW(cusparseCreateCoo,
             (P * m, L rows, L columns, L entries, P, P, P values, int, int, int type),
             DescribeSparse(m, rows, columns, entries, values, type))
VRAMSTOW_ROW(cusparseDestroySpMat, (P m), End(m))
VRAMSTOW_ROW(cusparseSpMatGetSize, (P m, L* rows, L* columns, L* entries),
             GetSize(m, rows, columns, entries))
// The attribute says which triangle of the matrix is used, or whether its diagonal is 1. It has no
// effect here.
VRAMSTOW_ROW(cusparseSpMatSetAttribute, (P m, int, P data, size_t),
             m == nullptr || data == nullptr ? kInvalidValue : 0)
VRAMSTOW_ROW(cusparseCsrSetPointers, (P m, P, P, P values), SetAddress(m, values))
VRAMSTOW_ROW(cusparseCsrSetStridedBatch, (P m, int count, L, L stride),
             SetBatches(m, count, stride))
VRAMSTOW_ROW(cusparseCreateDnMat, (P * m, L rows, L columns, L ld, P values, int type, int order),
             DescribeDense(m, rows, columns, ld, values, type, order))
VRAMSTOW_ROW(cusparseDestroyDnMat, (P m), End(m))
VRAMSTOW_ROW(cusparseDnMatSetStridedBatch, (P m, int count, L stride), SetBatches(m, count, stride))
VRAMSTOW_ROW(cusparseCreateDnVec, (P * v, L size, P values, int type),
             Describe(v, size >= 0, {size, 1, size, values, type}))
VRAMSTOW_ROW(cusparseDestroyDnVec, (P v), End(v))

VRAMSTOW_ROW(cusparseSpMM_bufferSize, (P h, int, int, P, P a, P, P, P, int, int, size_t* bytes),
             Space(h, a, bytes))
VRAMSTOW_ROW(cusparseSpMM_preprocess, (P h, int, int, P, P a, P, P, P, int, int, P), Ready(h, a))
VRAMSTOW_ROW(cusparseSpMM, (P h, int, int, P, P a, P b, P, P c, int, int, P),
             Compute(h, "cusparse_spmm", a, a, b, c))
VRAMSTOW_ROW(cusparseSpMV_bufferSize, (P h, int, P, P a, P, P, P, int, int, size_t* bytes),
             Space(h, a, bytes))
VRAMSTOW_ROW(cusparseSpMV, (P h, int, P, P a, P x, P, P y, int, int, P),
             Compute(h, "cusparse_spmv", a, a, x, y))
VRAMSTOW_ROW(cusparseSDDMM_bufferSize, (P h, int, int, P, P, P, P, P c, int, int, size_t* bytes),
             Space(h, c, bytes))
VRAMSTOW_ROW(cusparseSDDMM_preprocess, (P h, int, int, P, P, P, P, P c, int, int, P), Ready(h, c))
VRAMSTOW_ROW(cusparseSDDMM, (P h, int, int, P, P a, P b, P, P c, int, int, P),
             Compute(h, "cusparse_sddmm", c, a, b, c))
VRAMSTOW_ROW(cusparseSpSV_createDescr, (P * d), Create<Values>(d))
VRAMSTOW_ROW(cusparseSpSV_destroyDescr, (P d), End(d))
VRAMSTOW_ROW(cusparseSpSV_bufferSize, (P h, int, P, P a, P, P, int, int, P, size_t* bytes),
             Space(h, a, bytes))
VRAMSTOW_ROW(cusparseSpSV_analysis, (P h, int, P, P a, P, P, int, int, P, P), Ready(h, a))
VRAMSTOW_ROW(cusparseSpSV_solve, (P h, int, P, P a, P x, P y, int, int, P),
             Compute(h, "cusparse_spsv", a, a, x, y))
VRAMSTOW_ROW(cusparseSpSM_createDescr, (P * d), Create<Values>(d))
VRAMSTOW_ROW(cusparseSpSM_destroyDescr, (P d), End(d))
VRAMSTOW_ROW(cusparseSpSM_bufferSize, (P h, int, int, P, P a, P, P, int, int, P, size_t* bytes),
             Space(h, a, bytes))
VRAMSTOW_ROW(cusparseSpSM_analysis, (P h, int, int, P, P a, P, P, int, int, P, P), Ready(h, a))
VRAMSTOW_ROW(cusparseSpSM_solve, (P h, int, int, P, P a, P b, P c, int, int, P),
             Compute(h, "cusparse_spsm", a, a, b, c))

VRAMSTOW_ROW(cusparseXcoo2csr, (P h, P rows, int entries, int m, int* offsets, int),
             BeginRows(h, rows, entries, m, offsets))
VRAMSTOW_ROW(cusparseXcoosort_bufferSizeExt, (P h, int, int, int entries, P, P, size_t* bytes),
             SortSpace(h, entries, bytes))
VRAMSTOW_ROW(cusparseXcoosortByRow,
             (P h, int, int, int entries, int* rows, int* columns, int* p, P),
             Sort(h, "cusparse_coosort", entries, rows, columns, p))
VRAMSTOW_ROW(cusparseXcsrsort_bufferSizeExt, (P h, int, int, int entries, P, P, size_t* bytes),
             SortSpace(h, entries, bytes))
VRAMSTOW_ROW(cusparseXcsrsort, (P h, int, int, int entries, P, P, int* columns, int* p, P),
             Sort(h, "cusparse_csrsort", entries, nullptr, columns, p))
VRAMSTOW_ROW(cusparseCreateIdentityPermutation, (P h, int n, int* p),
             Sort(h, "cusparse_identity", n, nullptr, nullptr, p))
