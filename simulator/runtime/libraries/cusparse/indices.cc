// Implements cuSPARSE's functions on indices: the beginnings of rows, sorting, and the permutation
// that sorts.
#include <cstdint>

#include "simulator/runtime/libraries/cusparse/handle.h"

namespace vramstow::simulator {
namespace {

constexpr size_t kSortBytes = 2 * sizeof(int32_t);  // modelled: a key and its place

Result NumbersAt(const int* numbers, int64_t count) {
  return {numbers, numbers == nullptr ? 0 : static_cast<size_t>(count) * sizeof *numbers};
}

int TellSortBuffer(void* handle, int entries, size_t* bytes) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  if (entries < 0 || bytes == nullptr) return kInvalidValue;
  *bytes = static_cast<size_t>(entries) * kSortBytes;
  return kSuccess;
}

// Queues a kernel that changes these three arrays; an array that is null does not change.
int Sort(void* handle, const char* name, int entries, int* rows, int* columns, int* places) {
  const cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (entries < 0) return kInvalidValue;
  if (entries == 0) return kSuccess;
  return LaunchSparse(
      *checked, name, {Word(int64_t{entries}), Word(rows), Word(columns), Word(places)},
      {NumbersAt(rows, entries), NumbersAt(columns, entries), NumbersAt(places, entries)});
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_CUSPARSE int cusparseXcoo2csr(void* handle, const int* cooRowInd, int nnz, int m,
                                       int* csrSortedRowPtr, int /*idxBase*/) {
  const cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (nnz < 0 || m < 0 || csrSortedRowPtr == nullptr) return kInvalidValue;
  return LaunchSparse(*checked, "cusparse_coo2csr",
                      {Word(cooRowInd), Word(int64_t{nnz}), Word(int64_t{m})},
                      {NumbersAt(csrSortedRowPtr, int64_t{m} + 1)});
}

VRAMSTOW_CUSPARSE int cusparseXcoosort_bufferSizeExt(void* handle, int /*m*/, int /*n*/, int nnz,
                                                     const int* /*cooRowsA*/,
                                                     const int* /*cooColsA*/,
                                                     size_t* pBufferSizeInBytes) {
  return TellSortBuffer(handle, nnz, pBufferSizeInBytes);
}
VRAMSTOW_CUSPARSE int cusparseXcoosortByRow(void* handle, int /*m*/, int /*n*/, int nnz,
                                            int* cooRowsA, int* cooColsA, int* P,
                                            void* /*pBuffer*/) {
  return Sort(handle, "cusparse_coosort", nnz, cooRowsA, cooColsA, P);
}

VRAMSTOW_CUSPARSE int cusparseXcsrsort_bufferSizeExt(void* handle, int /*m*/, int /*n*/, int nnz,
                                                     const int* /*csrRowPtrA*/,
                                                     const int* /*csrColIndA*/,
                                                     size_t* pBufferSizeInBytes) {
  return TellSortBuffer(handle, nnz, pBufferSizeInBytes);
}
VRAMSTOW_CUSPARSE int cusparseXcsrsort(void* handle, int /*m*/, int /*n*/, int nnz,
                                       const void* /*descrA*/, const int* /*csrRowPtrA*/,
                                       int* csrColIndA, int* P, void* /*pBuffer*/) {
  return Sort(handle, "cusparse_csrsort", nnz, nullptr, csrColIndA, P);
}

VRAMSTOW_CUSPARSE int cusparseCreateIdentityPermutation(void* handle, int n, int* p) {
  return Sort(handle, "cusparse_identity", n, nullptr, nullptr, p);
}
