// Implements cuSPARSE's generic products and triangular solvers if their results have a known size.
// The product of two sparse matrices is refused, because its number of entries depends on the
// values.
#include <new>

#include "simulator/runtime/libraries/cusparse/handle.h"

namespace vramstow::simulator {
namespace {

int TellBuffer(void* handle, const void* sparse, size_t* bytes) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  if (sparse == nullptr || bytes == nullptr) return kInvalidValue;
  *bytes = static_cast<const SparseMatrix*>(sparse)->BufferBytes();
  return kSuccess;
}

int Ready(void* handle, const void* sparse) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  return sparse == nullptr ? kInvalidValue : kSuccess;
}

// Multiplies a sparse matrix and a dense one. `result` is a DenseMatrix or a DenseVector.
template <typename Dense>
int Compute(void* handle, const char* name, const void* sparse, const void* dense,
            const void* result) {
  const cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (sparse == nullptr || dense == nullptr || result == nullptr) return kInvalidValue;
  const auto& matrix = *static_cast<const SparseMatrix*>(sparse);
  const Result all = static_cast<const Dense*>(result)->All();
  if (all.bytes == 0) return kSuccess;
  return LaunchSparse(
      *checked, name,
      {Word(matrix.rows), Word(matrix.columns), Word(matrix.entries), Word(matrix.values),
       Word(static_cast<const Dense*>(dense)->values), Word(all.address)},
      {all});
}

struct Solution {};

int MakeSolution(void** descriptor) {
  if (descriptor == nullptr) return kInvalidValue;
  *descriptor = new (std::nothrow) Solution;
  return *descriptor == nullptr ? kAllocFailed : kSuccess;
}

int EndSolution(void* descriptor) {
  delete static_cast<Solution*>(descriptor);
  return kSuccess;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_CUSPARSE int cusparseSpMM_bufferSize(void* handle, int /*opA*/, int /*opB*/,
                                              const void* /*alpha*/, const void* matA,
                                              const void* /*matB*/, const void* /*beta*/,
                                              void* /*matC*/, int /*computeType*/, int /*alg*/,
                                              size_t* bufferSize) {
  return TellBuffer(handle, matA, bufferSize);
}
VRAMSTOW_CUSPARSE int cusparseSpMM_preprocess(void* handle, int /*opA*/, int /*opB*/,
                                              const void* /*alpha*/, const void* matA,
                                              const void* /*matB*/, const void* /*beta*/,
                                              void* /*matC*/, int /*computeType*/, int /*alg*/,
                                              void* /*externalBuffer*/) {
  return Ready(handle, matA);
}
VRAMSTOW_CUSPARSE int cusparseSpMM(void* handle, int /*opA*/, int /*opB*/, const void* /*alpha*/,
                                   const void* matA, const void* matB, const void* /*beta*/,
                                   void* matC, int /*computeType*/, int /*alg*/,
                                   void* /*externalBuffer*/) {
  return Compute<DenseMatrix>(handle, "cusparse_spmm", matA, matB, matC);
}

VRAMSTOW_CUSPARSE int cusparseSpMV_bufferSize(void* handle, int /*opA*/, const void* /*alpha*/,
                                              const void* matA, const void* /*vecX*/,
                                              const void* /*beta*/, void* /*vecY*/,
                                              int /*computeType*/, int /*alg*/,
                                              size_t* bufferSize) {
  return TellBuffer(handle, matA, bufferSize);
}
VRAMSTOW_CUSPARSE int cusparseSpMV(void* handle, int /*opA*/, const void* /*alpha*/,
                                   const void* matA, const void* vecX, const void* /*beta*/,
                                   void* vecY, int /*computeType*/, int /*alg*/,
                                   void* /*externalBuffer*/) {
  return Compute<DenseVector>(handle, "cusparse_spmv", matA, vecX, vecY);
}

VRAMSTOW_CUSPARSE int cusparseSDDMM_bufferSize(void* handle, int /*opA*/, int /*opB*/,
                                               const void* /*alpha*/, const void* /*matA*/,
                                               const void* /*matB*/, const void* /*beta*/,
                                               void* matC, int /*computeType*/, int /*alg*/,
                                               size_t* bufferSize) {
  return TellBuffer(handle, matC, bufferSize);
}
VRAMSTOW_CUSPARSE int cusparseSDDMM_preprocess(void* handle, int /*opA*/, int /*opB*/,
                                               const void* /*alpha*/, const void* /*matA*/,
                                               const void* /*matB*/, const void* /*beta*/,
                                               void* matC, int /*computeType*/, int /*alg*/,
                                               void* /*externalBuffer*/) {
  return Ready(handle, matC);
}
// Computes the entries of a sparse matrix from the product of two dense ones.
VRAMSTOW_CUSPARSE int cusparseSDDMM(void* handle, int /*opA*/, int /*opB*/, const void* /*alpha*/,
                                    const void* matA, const void* matB, const void* /*beta*/,
                                    void* matC, int /*computeType*/, int /*alg*/,
                                    void* /*externalBuffer*/) {
  const cusparseContext* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (matA == nullptr || matB == nullptr || matC == nullptr) return kInvalidValue;
  const auto& matrix = *static_cast<const SparseMatrix*>(matC);
  const Result values = matrix.Values();
  if (values.bytes == 0) return kSuccess;
  return LaunchSparse(*checked, "cusparse_sddmm",
                      {Word(matrix.rows), Word(matrix.columns), Word(matrix.entries),
                       Word(static_cast<const DenseMatrix*>(matA)->values),
                       Word(static_cast<const DenseMatrix*>(matB)->values), Word(values.address)},
                      {values});
}

VRAMSTOW_CUSPARSE int cusparseSpSV_createDescr(void** descr) { return MakeSolution(descr); }
VRAMSTOW_CUSPARSE int cusparseSpSV_destroyDescr(void* descr) { return EndSolution(descr); }
VRAMSTOW_CUSPARSE int cusparseSpSV_bufferSize(void* handle, int /*opA*/, const void* /*alpha*/,
                                              const void* matA, const void* /*vecX*/,
                                              void* /*vecY*/, int /*computeType*/, int /*alg*/,
                                              void* /*spsvDescr*/, size_t* bufferSize) {
  return TellBuffer(handle, matA, bufferSize);
}
VRAMSTOW_CUSPARSE int cusparseSpSV_analysis(void* handle, int /*opA*/, const void* /*alpha*/,
                                            const void* matA, const void* /*vecX*/, void* /*vecY*/,
                                            int /*computeType*/, int /*alg*/, void* /*spsvDescr*/,
                                            void* /*externalBuffer*/) {
  return Ready(handle, matA);
}
VRAMSTOW_CUSPARSE int cusparseSpSV_solve(void* handle, int /*opA*/, const void* /*alpha*/,
                                         const void* matA, const void* vecX, void* vecY,
                                         int /*computeType*/, int /*alg*/, void* /*spsvDescr*/) {
  return Compute<DenseVector>(handle, "cusparse_spsv", matA, vecX, vecY);
}

VRAMSTOW_CUSPARSE int cusparseSpSM_createDescr(void** descr) { return MakeSolution(descr); }
VRAMSTOW_CUSPARSE int cusparseSpSM_destroyDescr(void* descr) { return EndSolution(descr); }
VRAMSTOW_CUSPARSE int cusparseSpSM_bufferSize(void* handle, int /*opA*/, int /*opB*/,
                                              const void* /*alpha*/, const void* matA,
                                              const void* /*matB*/, void* /*matC*/,
                                              int /*computeType*/, int /*alg*/, void* /*spsmDescr*/,
                                              size_t* bufferSize) {
  return TellBuffer(handle, matA, bufferSize);
}
VRAMSTOW_CUSPARSE int cusparseSpSM_analysis(void* handle, int /*opA*/, int /*opB*/,
                                            const void* /*alpha*/, const void* matA,
                                            const void* /*matB*/, void* /*matC*/,
                                            int /*computeType*/, int /*alg*/, void* /*spsmDescr*/,
                                            void* /*externalBuffer*/) {
  return Ready(handle, matA);
}
VRAMSTOW_CUSPARSE int cusparseSpSM_solve(void* handle, int /*opA*/, int /*opB*/,
                                         const void* /*alpha*/, const void* matA, const void* matB,
                                         void* matC, int /*computeType*/, int /*alg*/,
                                         void* /*spsmDescr*/) {
  return Compute<DenseMatrix>(handle, "cusparse_spsm", matA, matB, matC);
}
