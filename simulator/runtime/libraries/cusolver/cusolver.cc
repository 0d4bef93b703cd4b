// Implements cuSOLVER's dense functions: the checks of each call, its workspace and its results.
//
// Names and constants are those of NVIDIA's cusolver_common.h and cusolverDn.h, restated so that
// the build needs no further headers. Matrices are untyped pointers here; the letter in a
// function's name says the element type.
//
// Modelled: workspaces are as large as the matrix. Functions with a type letter count them in
// elements, and the generic functions in bytes. The results of batched functions do not change if
// their addresses lie on the device.
#include <library_types.h>

#include <algorithm>
#include <climits>

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
  kNotSupported = 9,
};

}  // namespace

const LibraryIdentity kLibrary = {"cuSOLVER", kNotSupported, "CUSOLVER_STATUS_NOT_SUPPORTED"};
const StatusCodes kCodes = {kNotInitialized, kAllocFailed, kInvalidValue, kExecutionFailed};
// clang-format off
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD
    VRAMSTOW_KERNEL("cusolver_geev")
    VRAMSTOW_KERNEL("cusolver_geqrf")
    VRAMSTOW_KERNEL("cusolver_gesvd")
    VRAMSTOW_KERNEL("cusolver_getrf")
    VRAMSTOW_KERNEL("cusolver_getrs")
    VRAMSTOW_KERNEL("cusolver_orgqr")
    VRAMSTOW_KERNEL("cusolver_ormqr")
    VRAMSTOW_KERNEL("cusolver_potrf")
    VRAMSTOW_KERNEL("cusolver_potrf_batched")
    VRAMSTOW_KERNEL("cusolver_potrs")
    VRAMSTOW_KERNEL("cusolver_potrs_batched")
    VRAMSTOW_KERNEL("cusolver_syevd")
    VRAMSTOW_KERNEL("cusolver_sytrf");
// clang-format on

namespace {

using P = void*;  // a pointer of any type
using L = int64_t;

bool IsSolved(int type) {
  return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F || type == CUDA_C_64F;
}

// Returns true if a matrix can have this shape and this distance between columns.
bool IsShape(int64_t rows, int64_t columns, int64_t leading) {
  return rows >= 0 && columns >= 0 && leading >= (rows > 1 ? rows : 1);
}

// --- Workspaces ----------------------------------------------------------------------------------

// Stores the size of the workspace for `count` matrices in *elements.
int Space(P handle, int rows, int columns, int leading, int* elements, int count = 1) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  if (elements == nullptr || !IsShape(rows, columns, leading) || count < 0) return kInvalidValue;
  const int64_t one = int64_t{rows} * columns;
  if (one > INT_MAX || one * count > INT_MAX) return kInvalidValue;
  *elements = static_cast<int>(one * count);
  return 0;
}

int SpaceBytes(P handle, int64_t rows, int64_t columns, int64_t leading, int type, size_t* device,
               size_t* host, int64_t count = 1) {
  if (Checked(handle) == nullptr) return kNotInitialized;
  if (device == nullptr || host == nullptr || !IsShape(rows, columns, leading) || !IsSolved(type) ||
      count < 0) {
    return kInvalidValue;
  }
  *device = static_cast<size_t>(rows * columns * count) * BytesOfElement(type);
  *host = 0;
  return 0;
}

// --- Results -------------------------------------------------------------------------------------

// Returns the memory of `count` matrices whose beginnings are `stride` elements apart. The result
// has no bytes if the address is null.
Result MatricesAt(const void* address, int type, int64_t rows, int64_t columns, int64_t leading,
                  int64_t stride = 0, int64_t count = 1) {
  if (address == nullptr || rows <= 0 || columns <= 0 || count <= 0) return {};
  const int64_t elements = (count - 1) * stride + (columns - 1) * leading + rows;
  return {address, static_cast<size_t>(elements) * BytesOfElement(type)};
}
Result VectorAt(const void* address, int type, int64_t count) {
  return MatricesAt(address, type, count, 1, count);
}
Result InfoAt(const int* info, int64_t count = 1) { return VectorAt(info, CUDA_R_32I, count); }
// Returns the memory of a vector of real numbers, for example of singular values. The numbers have
// the precision of `type`, which may be a type of complex numbers.
Result RealsAt(const void* address, int type, int64_t count) {
  const bool is_single = type == CUDA_R_32F || type == CUDA_C_32F;
  return VectorAt(address, is_single ? CUDA_R_32F : CUDA_R_64F, count);
}

// --- Work ----------------------------------------------------------------------------------------

// Queues the kernel of a call if its arguments are valid and its matrices are not empty.
template <typename... Values>
int Solve(P handle, const char* name, int type, bool is_right, bool is_empty,
          std::initializer_list<Result> results, Values... values) {
  const Handle* checked = Checked(handle);
  if (checked == nullptr) return kNotInitialized;
  if (!is_right || !IsSolved(type)) return kInvalidValue;
  if (is_empty) return 0;
  return LaunchOf(name, checked->stream, WorkSize(), results, type, values...);
}

int Potrf(P handle, int type, int uplo, int64_t n, P a, int64_t lda, int* info) {
  return Solve(handle, "cusolver_potrf", type,
               IsShape(n, n, lda) && (a != nullptr || n == 0) && info != nullptr, n == 0,
               {MatricesAt(a, type, n, n, lda), InfoAt(info)}, uplo, n, a, lda, info);
}

int PotrfBatched(P handle, int type, int uplo, int n, P a, int lda, int* infos, int batch) {
  return Solve(handle, "cusolver_potrf_batched", type,
               IsShape(n, n, lda) && batch >= 0 && a != nullptr && infos != nullptr,
               n == 0 || batch == 0, {InfoAt(infos, batch)}, uplo, n, a, lda, infos, batch);
}

int Potrs(P handle, int type, int uplo, int64_t n, int64_t columns, P a, int64_t lda, P b,
          int64_t ldb, int* info) {
  return Solve(handle, "cusolver_potrs", type,
               IsShape(n, n, lda) && IsShape(n, columns, ldb) && info != nullptr,
               n == 0 || columns == 0, {MatricesAt(b, type, n, columns, ldb), InfoAt(info)}, uplo,
               n, columns, a, lda, b, ldb, info);
}

int PotrsBatched(P handle, int type, int uplo, int n, int columns, P a, int lda, P b, int ldb,
                 int* info, int batch) {
  return Solve(
      handle, "cusolver_potrs_batched", type,
      IsShape(n, n, lda) && IsShape(n, columns, ldb) && batch >= 0 && a != nullptr && b != nullptr,
      n == 0 || columns == 0 || batch == 0, {InfoAt(info)}, uplo, n, columns, a, lda, b, ldb, info,
      batch);
}

// Pivots have 64 bits if `wide` is true, otherwise 32 bits.
int Getrf(P handle, int type, int64_t rows, int64_t columns, P a, int64_t lda, P pivots, bool wide,
          int* info) {
  return Solve(
      handle, "cusolver_getrf", type, IsShape(rows, columns, lda) && info != nullptr,
      rows == 0 || columns == 0,
      {MatricesAt(a, type, rows, columns, lda),
       VectorAt(pivots, wide ? CUDA_R_64F : CUDA_R_32I, std::min(rows, columns)), InfoAt(info)},
      rows, columns, a, lda, pivots, wide, info);
}

int Getrs(P handle, int type, int transposition, int64_t n, int64_t columns, P a, int64_t lda,
          P pivots, bool wide, P b, int64_t ldb, int* info) {
  return Solve(handle, "cusolver_getrs", type,
               IsShape(n, n, lda) && IsShape(n, columns, ldb) && transposition >= 0 &&
                   transposition <= 2 && info != nullptr,
               n == 0 || columns == 0, {MatricesAt(b, type, n, columns, ldb), InfoAt(info)},
               transposition, n, columns, a, lda, pivots, wide, b, ldb, info);
}

int Sytrf(P handle, int type, int uplo, int n, P a, int lda, int* pivots, int* info) {
  return Solve(handle, "cusolver_sytrf", type,
               IsShape(n, n, lda) && info != nullptr && (a != nullptr || n == 0), n == 0,
               {MatricesAt(a, type, n, n, lda), InfoAt(pivots, n), InfoAt(info)}, uplo, n, a, lda);
}

int Geqrf(P handle, int type, int64_t m, int64_t n, P a, int64_t lda, P tau, int* info) {
  return Solve(handle, "cusolver_geqrf", type, IsShape(m, n, lda) && info != nullptr,
               m == 0 || n == 0,
               {MatricesAt(a, type, m, n, lda), VectorAt(tau, type, std::min(m, n)), InfoAt(info)},
               m, n, a, lda, tau);
}

int Orgqr(P handle, int type, int m, int n, int k, P a, int lda, int* info) {
  return Solve(handle, "cusolver_orgqr", type,
               IsShape(m, n, lda) && k >= 0 && k <= n && n <= m && info != nullptr,
               m == 0 || n == 0, {MatricesAt(a, type, m, n, lda), InfoAt(info)}, m, n, k, a, lda);
}

int Ormqr(P handle, int type, int side, int m, int n, P a, P c, int ldc, int* info) {
  return Solve(handle, "cusolver_ormqr", type, IsShape(m, n, ldc) && info != nullptr,
               m == 0 || n == 0, {MatricesAt(c, type, m, n, ldc), InfoAt(info)}, side, m, n, a, c,
               ldc);
}

// Replaces `count` matrices of n × n, which lie one after the other, by their eigenvectors.
int Syevd(P handle, int type, int jobz, int uplo, int64_t n, P a, int64_t lda, P values, int* info,
          int64_t count = 1) {
  return Solve(handle, "cusolver_syevd", type,
               IsShape(n, n, lda) && count >= 0 && info != nullptr &&
                   (n == 0 || (a != nullptr && values != nullptr)),
               n == 0 || count == 0,
               {MatricesAt(a, type, n, n, lda, lda * n, count), RealsAt(values, type, n * count),
                InfoAt(info, count)},
               jobz, uplo, n, a, lda, values, count);
}

// The singular vectors of one side. If there are no columns, there are no results. Strides are in
// elements.
struct Vectors {
  P address;
  int64_t rows;
  int64_t columns;
  int64_t leading;
  int64_t stride = 0;

  Result At(int type, int64_t count) const {
    return MatricesAt(address, type, rows, columns, leading, stride, count);
  }
};

int Gesvd(P handle, int type, int64_t m, int64_t n, P a, int64_t lda, P values, const Vectors& left,
          const Vectors& right, int* info, int64_t count = 1) {
  return Solve(handle, "cusolver_gesvd", type,
               IsShape(m, n, lda) && count >= 0 && info != nullptr && values != nullptr,
               m == 0 || n == 0 || count == 0,
               {RealsAt(values, type, std::min(m, n) * count), left.At(type, count),
                right.At(type, count), InfoAt(info, count)},
               m, n, a, lda, values, left.address, right.address, count);
}

// Returns how many singular vectors a job letter requests: 'A' requests all, 'S' as many as there
// are singular values, and other letters none.
int64_t VectorsOf(signed char job, int64_t all, int64_t values) {
  return job == 'A' ? all : job == 'S' ? values : 0;
}

// Queues the computation of eigenvalues, which are complex numbers of the type `type_w`.
int Geev(P handle, int type, int64_t n, P a, int64_t lda, int type_w, P w, int type_left,
         const Vectors& left, int type_right, const Vectors& right, int* info) {
  return Solve(handle, "cusolver_geev", type,
               IsShape(n, n, lda) && info != nullptr && (n == 0 || (a != nullptr && w != nullptr)),
               n == 0,
               {MatricesAt(a, type, n, n, lda), VectorAt(w, type_w, n), left.At(type_left, 1),
                right.At(type_right, 1), InfoAt(info)},
               n, a, lda, w, left.address, right.address);
}

// A parameter object has no contents, because nothing is computed that the parameters would tune.
int CheckParameters(P object) { return Checked(object) == nullptr ? kInvalidValue : 0; }

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_ROW(cusolverGetVersion, (int* version), GetVersion(kCusolverVersion, version))
VRAMSTOW_ROW(cusolverGetProperty, (int part, int* value),
             GetProperty(kCusolverVersion, part, value))
VRAMSTOW_ROW(cusolverDnCreate, (P * h), CreateHandle(h))
VRAMSTOW_ROW(cusolverDnDestroy, (P h), Destroy(h))
VRAMSTOW_ROW(cusolverDnSetStream, (P h, CUstream stream), SetStream(h, stream))
VRAMSTOW_ROW(cusolverDnGetStream, (P h, CUstream* stream), GetStream(h, stream))
VRAMSTOW_ROW(cusolverDnCreateParams, (P * object), Create<Handle>(object))
VRAMSTOW_ROW(cusolverDnDestroyParams, (P object), Destroy(object, kInvalidValue))
VRAMSTOW_ROW(cusolverDnCreateGesvdjInfo, (P * object), Create<Handle>(object))
VRAMSTOW_ROW(cusolverDnDestroyGesvdjInfo, (P object), Destroy(object, kInvalidValue))
VRAMSTOW_ROW(cusolverDnXgesvdjSetTolerance, (P object, double), CheckParameters(object))
VRAMSTOW_ROW(cusolverDnXgesvdjSetMaxSweeps, (P object, int), CheckParameters(object))
VRAMSTOW_ROW(cusolverDnXgesvdjSetSortEig, (P object, int), CheckParameters(object))
VRAMSTOW_ROW(cusolverDnCreateSyevjInfo, (P * object), Create<Handle>(object))
VRAMSTOW_ROW(cusolverDnDestroySyevjInfo, (P object), Destroy(object, kInvalidValue))
VRAMSTOW_ROW(cusolverDnXsyevjSetTolerance, (P object, double), CheckParameters(object))
VRAMSTOW_ROW(cusolverDnXsyevjSetMaxSweeps, (P object, int), CheckParameters(object))
VRAMSTOW_ROW(cusolverDnXsyevjSetSortEig, (P object, int), CheckParameters(object))

// The macros below define a function for each type letter. The functions for complex matrices may
// have another name.
#define VRAMSTOW_LETTER(letter, number, name, parameters, ...)                                \
  extern "C" __attribute__((visibility("default"))) int cusolverDn##letter##name parameters { \
    [[maybe_unused]] constexpr int type = number;                                             \
    return __VA_ARGS__;                                                                       \
  }
#define VRAMSTOW_LETTERS(real, complex, parameters, ...)           \
  VRAMSTOW_LETTER(S, CUDA_R_32F, real, parameters, __VA_ARGS__)    \
  VRAMSTOW_LETTER(D, CUDA_R_64F, real, parameters, __VA_ARGS__)    \
  VRAMSTOW_LETTER(C, CUDA_C_32F, complex, parameters, __VA_ARGS__) \
  VRAMSTOW_LETTER(Z, CUDA_C_64F, complex, parameters, __VA_ARGS__)
#define VRAMSTOW_SAME(name, parameters, ...) VRAMSTOW_LETTERS(name, name, parameters, __VA_ARGS__)

VRAMSTOW_SAME(potrf_bufferSize, (P h, int, int n, P, int lda, int* space),
              Space(h, n, n, lda, space))
VRAMSTOW_SAME(potrf, (P h, int uplo, int n, P a, int lda, P, int, int* info),
              Potrf(h, type, uplo, n, a, lda, info))
VRAMSTOW_SAME(potrfBatched, (P h, int uplo, int n, P a, int lda, int* infos, int batch),
              PotrfBatched(h, type, uplo, n, a, lda, infos, batch))
VRAMSTOW_SAME(potrs, (P h, int uplo, int n, int columns, P a, int lda, P b, int ldb, int* info),
              Potrs(h, type, uplo, n, columns, a, lda, b, ldb, info))
VRAMSTOW_SAME(potrsBatched,
              (P h, int uplo, int n, int columns, P a, int lda, P b, int ldb, int* info, int batch),
              PotrsBatched(h, type, uplo, n, columns, a, lda, b, ldb, info, batch))
VRAMSTOW_SAME(getrf_bufferSize, (P h, int m, int n, P, int lda, int* space),
              Space(h, m, n, lda, space))
VRAMSTOW_SAME(getrf, (P h, int m, int n, P a, int lda, P, int* pivots, int* info),
              Getrf(h, type, m, n, a, lda, pivots, false, info))
VRAMSTOW_SAME(getrs,
              (P h, int t, int n, int columns, P a, int lda, int* pivots, P b, int ldb, int* info),
              Getrs(h, type, t, n, columns, a, lda, pivots, false, b, ldb, info))
VRAMSTOW_SAME(sytrf_bufferSize, (P h, int n, P, int lda, int* space), Space(h, n, n, lda, space))
VRAMSTOW_SAME(sytrf, (P h, int uplo, int n, P a, int lda, int* pivots, P, int, int* info),
              Sytrf(h, type, uplo, n, a, lda, pivots, info))

VRAMSTOW_SAME(geqrf_bufferSize, (P h, int m, int n, P, int lda, int* space),
              Space(h, m, n, lda, space))
VRAMSTOW_SAME(geqrf, (P h, int m, int n, P a, int lda, P tau, P, int, int* info),
              Geqrf(h, type, m, n, a, lda, tau, info))
VRAMSTOW_LETTERS(orgqr_bufferSize, ungqr_bufferSize,
                 (P h, int m, int n, int, P, int lda, P, int* space), Space(h, m, n, lda, space))
VRAMSTOW_LETTERS(orgqr, ungqr, (P h, int m, int n, int k, P a, int lda, P, P, int, int* info),
                 Orgqr(h, type, m, n, k, a, lda, info))
VRAMSTOW_LETTERS(ormqr_bufferSize, unmqr_bufferSize,
                 (P h, int, int, int m, int n, int, P, int, P, P, int ldc, int* space),
                 Space(h, m, n, ldc, space))
VRAMSTOW_LETTERS(ormqr, unmqr,
                 (P h, int side, int, int m, int n, int, P a, int, P, P c, int ldc, P, int,
                  int* info),
                 Ormqr(h, type, side, m, n, a, c, ldc, info))

VRAMSTOW_LETTERS(syevd_bufferSize, heevd_bufferSize,
                 (P h, int, int, int n, P, int lda, P, int* space), Space(h, n, n, lda, space))
VRAMSTOW_LETTERS(syevd, heevd,
                 (P h, int jobz, int uplo, int n, P a, int lda, P w, P, int, int* info),
                 Syevd(h, type, jobz, uplo, n, a, lda, w, info))
VRAMSTOW_LETTERS(syevj_bufferSize, heevj_bufferSize,
                 (P h, int, int, int n, P, int lda, P, int* space, P), Space(h, n, n, lda, space))
VRAMSTOW_LETTERS(syevj, heevj,
                 (P h, int jobz, int uplo, int n, P a, int lda, P w, P, int, int* info, P),
                 Syevd(h, type, jobz, uplo, n, a, lda, w, info))
VRAMSTOW_LETTERS(syevjBatched_bufferSize, heevjBatched_bufferSize,
                 (P h, int, int, int n, P, int lda, P, int* space, P, int batch),
                 Space(h, n, n, lda, space, batch))
VRAMSTOW_LETTERS(syevjBatched, heevjBatched,
                 (P h, int jobz, int uplo, int n, P a, int lda, P w, P, int, int* info, P,
                  int batch),
                 Syevd(h, type, jobz, uplo, n, a, lda, w, info, batch))

VRAMSTOW_SAME(gesvd_bufferSize, (P h, int m, int n, int* space),
              Space(h, m, n, std::max(m, 1), space))
VRAMSTOW_SAME(gesvd,
              (P h, signed char left, signed char right, int m, int n, P a, int lda, P s, P u,
               int ldu, P v, int ldv, P, int, P, int* info),
              Gesvd(h, type, m, n, a, lda, s, {u, m, VectorsOf(left, m, std::min(m, n)), ldu},
                    {v, VectorsOf(right, n, std::min(m, n)), n, ldv}, info))
VRAMSTOW_SAME(gesvdj_bufferSize,
              (P h, int, int, int m, int n, P, int lda, P, P, int, P, int, int* space, P),
              Space(h, m, n, lda, space))
VRAMSTOW_SAME(gesvdj,
              (P h, int jobz, int econ, int m, int n, P a, int lda, P s, P u, int ldu, P v, int ldv,
               P, int, int* info, P),
              Gesvd(h, type, m, n, a, lda, s,
                    {jobz == 0 ? nullptr : u, m, econ == 0 ? m : std::min(m, n), ldu},
                    {jobz == 0 ? nullptr : v, n, econ == 0 ? n : std::min(m, n), ldv}, info))
VRAMSTOW_SAME(gesvdjBatched_bufferSize,
              (P h, int, int m, int n, P, int lda, P, P, int, P, int, int* space, P, int batch),
              Space(h, m, n, lda, space, batch))
VRAMSTOW_SAME(gesvdjBatched,
              (P h, int jobz, int m, int n, P a, int lda, P s, P u, int ldu, P v, int ldv, P, int,
               int* info, P, int batch),
              Gesvd(h, type, m, n, a, lda, s, {jobz == 0 ? nullptr : u, m, m, ldu, L{ldu} * m},
                    {jobz == 0 ? nullptr : v, n, n, ldv, L{ldv} * n}, info, batch))
VRAMSTOW_SAME(gesvdaStridedBatched_bufferSize,
              (P h, int, int, int m, int n, P, int lda, L, P, L, P, int, L, P, int, L, int* space,
               int batch),
              Space(h, m, n, lda, space, batch))
VRAMSTOW_SAME(gesvdaStridedBatched,
              (P h, int jobz, int rank, int m, int n, P a, int lda, L, P s, L, P u, int ldu,
               L stride_u, P v, int ldv, L stride_v, P, int, int* info, double*, int batch),
              Gesvd(h, type, m, n, a, lda, s, {jobz == 0 ? nullptr : u, m, rank, ldu, stride_u},
                    {jobz == 0 ? nullptr : v, n, rank, ldv, stride_v}, info, batch))

VRAMSTOW_ROW(cusolverDnXpotrf_bufferSize,
             (P h, P, int, L n, int type, P, L lda, int, size_t* device, size_t* host),
             SpaceBytes(h, n, n, lda, type, device, host))
VRAMSTOW_ROW(cusolverDnXpotrf,
             (P h, P, int uplo, L n, int type, P a, L lda, int, P, size_t, P, size_t, int* info),
             Potrf(h, type, uplo, n, a, lda, info))
VRAMSTOW_ROW(cusolverDnXpotrs,
             (P h, P, int uplo, L n, L columns, int type, P a, L lda, int, P b, L ldb, int* info),
             Potrs(h, type, uplo, n, columns, a, lda, b, ldb, info))
VRAMSTOW_ROW(cusolverDnXgetrf_bufferSize,
             (P h, P, L m, L n, int type, P, L lda, int, size_t* device, size_t* host),
             SpaceBytes(h, m, n, lda, type, device, host))
VRAMSTOW_ROW(cusolverDnXgetrf,
             (P h, P, L m, L n, int type, P a, L lda, L* pivots, int, P, size_t, P, size_t,
              int* info),
             Getrf(h, type, m, n, a, lda, pivots, true, info))
VRAMSTOW_ROW(cusolverDnXgetrs,
             (P h, P, int t, L n, L columns, int type, P a, L lda, L* pivots, int, P b, L ldb,
              int* info),
             Getrs(h, type, t, n, columns, a, lda, pivots, true, b, ldb, info))
VRAMSTOW_ROW(cusolverDnXsytrs_bufferSize,
             (P h, int, L n, L, int type, P, L lda, L*, int, P, L, size_t* device, size_t* host),
             SpaceBytes(h, n, n, lda, type, device, host))
VRAMSTOW_ROW(cusolverDnXsytrs,
             (P h, int uplo, L n, L columns, int type, P a, L lda, L*, int, P b, L ldb, P, size_t,
              P, size_t, int* info),
             Potrs(h, type, uplo, n, columns, a, lda, b, ldb, info))
VRAMSTOW_ROW(cusolverDnXgeqrf_bufferSize,
             (P h, P, L m, L n, int type, P, L lda, int, P, int, size_t* device, size_t* host),
             SpaceBytes(h, m, n, lda, type, device, host))
VRAMSTOW_ROW(cusolverDnXgeqrf,
             (P h, P, L m, L n, int type, P a, L lda, int, P tau, int, P, size_t, P, size_t,
              int* info),
             Geqrf(h, type, m, n, a, lda, tau, info))
VRAMSTOW_ROW(cusolverDnXsyevd_bufferSize,
             (P h, P, int, int, L n, int type, P, L lda, int, P, int, size_t* device, size_t* host),
             SpaceBytes(h, n, n, lda, type, device, host))
VRAMSTOW_ROW(cusolverDnXsyevd,
             (P h, P, int jobz, int uplo, L n, int type, P a, L lda, int, P w, int, P, size_t, P,
              size_t, int* info),
             Syevd(h, type, jobz, uplo, n, a, lda, w, info))
VRAMSTOW_ROW(cusolverDnXsyevBatched_bufferSize,
             (P h, P, int, int, L n, int type, P, L lda, int, P, int, size_t* device, size_t* host,
              L batch),
             SpaceBytes(h, n, n, lda, type, device, host, batch))
VRAMSTOW_ROW(cusolverDnXsyevBatched,
             (P h, P, int jobz, int uplo, L n, int type, P a, L lda, int, P w, int, P, size_t, P,
              size_t, int* info, L batch),
             Syevd(h, type, jobz, uplo, n, a, lda, w, info, batch))
VRAMSTOW_ROW(cusolverDnXgeev_bufferSize,
             (P h, P, int, int, L n, int type, P, L lda, int, P, int, P, L, int, P, L, int,
              size_t* device, size_t* host),
             SpaceBytes(h, n, n, lda, type, device, host))
VRAMSTOW_ROW(cusolverDnXgeev,
             (P h, P, int left, int right, L n, int type, P a, L lda, int type_w, P w,
              int type_left, P vl, L ldvl, int type_right, P vr, L ldvr, int, P, size_t, P, size_t,
              int* info),
             Geev(h, type, n, a, lda, type_w, w, type_left, {vl, n, left == 0 ? 0 : n, ldvl},
                  type_right, {vr, n, right == 0 ? 0 : n, ldvr}, info))

#undef VRAMSTOW_SAME
#undef VRAMSTOW_LETTERS
#undef VRAMSTOW_LETTER
