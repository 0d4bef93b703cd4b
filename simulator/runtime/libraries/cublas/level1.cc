// BLAS level 1: vectors. Results that are one value (dot, nrm2, asum, iamax, iamin) are waited for
// in host pointer mode, as cuBLAS does.
#include "simulator/runtime/libraries/cublas/call.h"
#include "simulator/runtime/libraries/cublas/widths.h"

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

using vramstow::simulator::BytesOf;
using vramstow::simulator::Call;
using vramstow::simulator::kDataType;

// One vector in, one value out: nrm2, asum, iamax, iamin.
#define REDUCE(name, Index, kernel, T, Result)                                                  \
  cublasStatus_t name(cublasHandle_t handle, Index n, const T* x, Index incx, Result* result) { \
    return Call(handle, kernel)                                                                 \
        .Extent(n)                                                                              \
        .Array(x)                                                                               \
        .Type(kDataType<T>)                                                                     \
        .Number(incx)                                                                           \
        .Spread(n, 1)                                                                           \
        .LaunchForResult(result, sizeof(Result));                                               \
  }
BOTH_WIDTHS(REDUCE, cublasSnrm2_v2, "cublas_nrm2", float, float)
BOTH_WIDTHS(REDUCE, cublasDnrm2_v2, "cublas_nrm2", double, double)
BOTH_WIDTHS(REDUCE, cublasScnrm2_v2, "cublas_nrm2", cuComplex, float)
BOTH_WIDTHS(REDUCE, cublasDznrm2_v2, "cublas_nrm2", cuDoubleComplex, double)
BOTH_WIDTHS(REDUCE, cublasSasum_v2, "cublas_asum", float, float)
BOTH_WIDTHS(REDUCE, cublasDasum_v2, "cublas_asum", double, double)
BOTH_WIDTHS(REDUCE, cublasScasum_v2, "cublas_asum", cuComplex, float)
BOTH_WIDTHS(REDUCE, cublasDzasum_v2, "cublas_asum", cuDoubleComplex, double)

#define INDEX_OF(name, Index, kernel, T) REDUCE(name, Index, kernel, T, Index)
BOTH_WIDTHS(INDEX_OF, cublasIsamax_v2, "cublas_iamax", float)
BOTH_WIDTHS(INDEX_OF, cublasIdamax_v2, "cublas_iamax", double)
BOTH_WIDTHS(INDEX_OF, cublasIcamax_v2, "cublas_iamax", cuComplex)
BOTH_WIDTHS(INDEX_OF, cublasIzamax_v2, "cublas_iamax", cuDoubleComplex)
BOTH_WIDTHS(INDEX_OF, cublasIsamin_v2, "cublas_iamin", float)
BOTH_WIDTHS(INDEX_OF, cublasIdamin_v2, "cublas_iamin", double)
BOTH_WIDTHS(INDEX_OF, cublasIcamin_v2, "cublas_iamin", cuComplex)
BOTH_WIDTHS(INDEX_OF, cublasIzamin_v2, "cublas_iamin", cuDoubleComplex)

#define REDUCE_EX(name, Index, kernel)                                                   \
  cublasStatus_t name(cublasHandle_t handle, Index n, const void* x, cudaDataType xType, \
                      Index incx, void* result, cudaDataType resultType, cudaDataType) { \
    return Call(handle, kernel)                                                          \
        .Extent(n)                                                                       \
        .Array(x)                                                                        \
        .Type(xType)                                                                     \
        .Number(incx)                                                                    \
        .Type(resultType)                                                                \
        .Spread(n, 1)                                                                    \
        .LaunchForResult(result, BytesOf(resultType));                                   \
  }
BOTH_WIDTHS(REDUCE_EX, cublasNrm2Ex, "cublas_nrm2")
BOTH_WIDTHS(REDUCE_EX, cublasAsumEx, "cublas_asum")

#define INDEX_OF_EX(name, Index, kernel)                                                 \
  cublasStatus_t name(cublasHandle_t handle, Index n, const void* x, cudaDataType xType, \
                      Index incx, Index* result) {                                       \
    return Call(handle, kernel)                                                          \
        .Extent(n)                                                                       \
        .Array(x)                                                                        \
        .Type(xType)                                                                     \
        .Number(incx)                                                                    \
        .Spread(n, 1)                                                                    \
        .LaunchForResult(result, sizeof(Index));                                         \
  }
BOTH_WIDTHS(INDEX_OF_EX, cublasIamaxEx, "cublas_iamax")
BOTH_WIDTHS(INDEX_OF_EX, cublasIaminEx, "cublas_iamin")

#define DOT(name, Index, T)                                                               \
  cublasStatus_t name(cublasHandle_t handle, Index n, const T* x, Index incx, const T* y, \
                      Index incy, T* result) {                                            \
    return Call(handle, "cublas_dot")                                                     \
        .Extent(n)                                                                        \
        .Array(x)                                                                         \
        .Type(kDataType<T>)                                                               \
        .Number(incx)                                                                     \
        .Array(y)                                                                         \
        .Type(kDataType<T>)                                                               \
        .Number(incy)                                                                     \
        .Spread(n, 1)                                                                     \
        .LaunchForResult(result, sizeof(T));                                              \
  }
BOTH_WIDTHS(DOT, cublasSdot_v2, float)
BOTH_WIDTHS(DOT, cublasDdot_v2, double)
BOTH_WIDTHS(DOT, cublasCdotu_v2, cuComplex)
BOTH_WIDTHS(DOT, cublasCdotc_v2, cuComplex)
BOTH_WIDTHS(DOT, cublasZdotu_v2, cuDoubleComplex)
BOTH_WIDTHS(DOT, cublasZdotc_v2, cuDoubleComplex)

#define DOT_EX(name, Index, ...)                                                               \
  cublasStatus_t name(cublasHandle_t handle, Index n, const void* x, cudaDataType xType,       \
                      Index incx, const void* y, cudaDataType yType, Index incy, void* result, \
                      cudaDataType resultType, cudaDataType) {                                 \
    return Call(handle, "cublas_dot")                                                          \
        .Extent(n)                                                                             \
        .Array(x)                                                                              \
        .Type(xType)                                                                           \
        .Number(incx)                                                                          \
        .Array(y)                                                                              \
        .Type(yType)                                                                           \
        .Number(incy)                                                                          \
        .Type(resultType)                                                                      \
        .Spread(n, 1)                                                                          \
        .LaunchForResult(result, BytesOf(resultType));                                         \
  }
BOTH_WIDTHS(DOT_EX, cublasDotEx)
BOTH_WIDTHS(DOT_EX, cublasDotcEx)

#define SCAL(name, Index, T, Scale)                                                           \
  cublasStatus_t name(cublasHandle_t handle, Index n, const Scale* alpha, T* x, Index incx) { \
    return Call(handle, "cublas_scal")                                                        \
        .Extent(n)                                                                            \
        .Scalar(alpha, kDataType<Scale>)                                                      \
        .Array(x)                                                                             \
        .Type(kDataType<T>)                                                                   \
        .Number(incx)                                                                         \
        .Spread(n, 1)                                                                         \
        .Launch();                                                                            \
  }
BOTH_WIDTHS(SCAL, cublasSscal_v2, float, float)
BOTH_WIDTHS(SCAL, cublasDscal_v2, double, double)
BOTH_WIDTHS(SCAL, cublasCscal_v2, cuComplex, cuComplex)
BOTH_WIDTHS(SCAL, cublasCsscal_v2, cuComplex, float)
BOTH_WIDTHS(SCAL, cublasZscal_v2, cuDoubleComplex, cuDoubleComplex)
BOTH_WIDTHS(SCAL, cublasZdscal_v2, cuDoubleComplex, double)

#define SCAL_EX(name, Index, ...)                                                                \
  cublasStatus_t name(cublasHandle_t handle, Index n, const void* alpha, cudaDataType alphaType, \
                      void* x, cudaDataType xType, Index incx, cudaDataType) {                   \
    return Call(handle, "cublas_scal")                                                           \
        .Extent(n)                                                                               \
        .Scalar(alpha, alphaType)                                                                \
        .Array(x)                                                                                \
        .Type(xType)                                                                             \
        .Number(incx)                                                                            \
        .Spread(n, 1)                                                                            \
        .Launch();                                                                               \
  }
BOTH_WIDTHS(SCAL_EX, cublasScalEx)

#define AXPY(name, Index, T)                                                                  \
  cublasStatus_t name(cublasHandle_t handle, Index n, const T* alpha, const T* x, Index incx, \
                      T* y, Index incy) {                                                     \
    return Call(handle, "cublas_axpy")                                                        \
        .Extent(n)                                                                            \
        .Scalar(alpha, kDataType<T>)                                                          \
        .Array(x)                                                                             \
        .Type(kDataType<T>)                                                                   \
        .Number(incx)                                                                         \
        .Array(y)                                                                             \
        .Type(kDataType<T>)                                                                   \
        .Number(incy)                                                                         \
        .Spread(n, 1)                                                                         \
        .Launch();                                                                            \
  }
BOTH_WIDTHS(AXPY, cublasSaxpy_v2, float)
BOTH_WIDTHS(AXPY, cublasDaxpy_v2, double)
BOTH_WIDTHS(AXPY, cublasCaxpy_v2, cuComplex)
BOTH_WIDTHS(AXPY, cublasZaxpy_v2, cuDoubleComplex)

#define AXPY_EX(name, Index, ...)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, Index n, const void* alpha, cudaDataType alphaType,  \
                      const void* x, cudaDataType xType, Index incx, void* y, cudaDataType yType, \
                      Index incy, cudaDataType) {                                                 \
    return Call(handle, "cublas_axpy")                                                            \
        .Extent(n)                                                                                \
        .Scalar(alpha, alphaType)                                                                 \
        .Array(x)                                                                                 \
        .Type(xType)                                                                              \
        .Number(incx)                                                                             \
        .Array(y)                                                                                 \
        .Type(yType)                                                                              \
        .Number(incy)                                                                             \
        .Spread(n, 1)                                                                             \
        .Launch();                                                                                \
  }
BOTH_WIDTHS(AXPY_EX, cublasAxpyEx)

// Two vectors, no value: copy, swap.
#define MOVE(name, Index, kernel, From, T)                                                     \
  cublasStatus_t name(cublasHandle_t handle, Index n, From* x, Index incx, T* y, Index incy) { \
    return Call(handle, kernel)                                                                \
        .Extent(n)                                                                             \
        .Array(x)                                                                              \
        .Type(kDataType<T>)                                                                    \
        .Number(incx)                                                                          \
        .Array(y)                                                                              \
        .Type(kDataType<T>)                                                                    \
        .Number(incy)                                                                          \
        .Spread(n, 1)                                                                          \
        .Launch();                                                                             \
  }
BOTH_WIDTHS(MOVE, cublasScopy_v2, "cublas_copy", const float, float)
BOTH_WIDTHS(MOVE, cublasDcopy_v2, "cublas_copy", const double, double)
BOTH_WIDTHS(MOVE, cublasCcopy_v2, "cublas_copy", const cuComplex, cuComplex)
BOTH_WIDTHS(MOVE, cublasZcopy_v2, "cublas_copy", const cuDoubleComplex, cuDoubleComplex)
BOTH_WIDTHS(MOVE, cublasSswap_v2, "cublas_swap", float, float)
BOTH_WIDTHS(MOVE, cublasDswap_v2, "cublas_swap", double, double)
BOTH_WIDTHS(MOVE, cublasCswap_v2, "cublas_swap", cuComplex, cuComplex)
BOTH_WIDTHS(MOVE, cublasZswap_v2, "cublas_swap", cuDoubleComplex, cuDoubleComplex)

#define MOVE_EX(name, Index, kernel, From)                                                     \
  cublasStatus_t name(cublasHandle_t handle, Index n, From* x, cudaDataType xType, Index incx, \
                      void* y, cudaDataType yType, Index incy) {                               \
    return Call(handle, kernel)                                                                \
        .Extent(n)                                                                             \
        .Array(x)                                                                              \
        .Type(xType)                                                                           \
        .Number(incx)                                                                          \
        .Array(y)                                                                              \
        .Type(yType)                                                                           \
        .Number(incy)                                                                          \
        .Spread(n, 1)                                                                          \
        .Launch();                                                                             \
  }
BOTH_WIDTHS(MOVE_EX, cublasCopyEx, "cublas_copy", const void)
BOTH_WIDTHS(MOVE_EX, cublasSwapEx, "cublas_swap", void)

#define ROT(name, Index, T, Cosine, Sine)                                                 \
  cublasStatus_t name(cublasHandle_t handle, Index n, T* x, Index incx, T* y, Index incy, \
                      const Cosine* c, const Sine* s) {                                   \
    return Call(handle, "cublas_rot")                                                     \
        .Extent(n)                                                                        \
        .Array(x)                                                                         \
        .Type(kDataType<T>)                                                               \
        .Number(incx)                                                                     \
        .Array(y)                                                                         \
        .Type(kDataType<T>)                                                               \
        .Number(incy)                                                                     \
        .Scalar(c, kDataType<Cosine>)                                                     \
        .Scalar(s, kDataType<Sine>)                                                       \
        .Spread(n, 1)                                                                     \
        .Launch();                                                                        \
  }
BOTH_WIDTHS(ROT, cublasSrot_v2, float, float, float)
BOTH_WIDTHS(ROT, cublasDrot_v2, double, double, double)
BOTH_WIDTHS(ROT, cublasCrot_v2, cuComplex, float, cuComplex)
BOTH_WIDTHS(ROT, cublasCsrot_v2, cuComplex, float, float)
BOTH_WIDTHS(ROT, cublasZrot_v2, cuDoubleComplex, double, cuDoubleComplex)
BOTH_WIDTHS(ROT, cublasZdrot_v2, cuDoubleComplex, double, double)

// NOLINTEND(bugprone-macro-parentheses)
