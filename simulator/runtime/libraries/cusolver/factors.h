// What the kernels of the cuSOLVER stand-in compute: Cholesky and LU factors, and solutions with
// them, of column-major matrices of the four BLAS types, in double precision.
//
// Source: the textbook algorithms (Golub, Van Loan: Matrix Computations, sections 3.4 and 4.2) with
// LAPACK's conventions for info and pivots.
//
// Threads: pure functions over memory. Errors: info, as LAPACK's. Units: elements.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_FACTORS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_FACTORS_H_

#include <complex>
#include <cstddef>
#include <cstdint>

namespace vramstow::simulator {

// A matrix in memory; `type` is a cudaDataType.
struct Matrix {
  int type = 0;
  void* data = nullptr;
  int64_t leading = 1;

  std::complex<double> Get(int64_t row, int64_t column) const;
  void Set(int64_t row, int64_t column, const std::complex<double>& value) const;
};

// Bytes of an element; 0 for a type that is not float, double or complex of either.
size_t BytesOfType(int type);
// Bytes from the first element of a matrix to its last.
size_t BytesOfMatrix(int type, int64_t rows, int64_t columns, int64_t leading);

// The triangle becomes the factor. Returns 0, or the order of the leading minor that is not
// positive.
int FactorCholesky(const Matrix& a, bool upper, int64_t n);
void SolveCholesky(const Matrix& a, bool upper, int64_t n, int64_t columns, const Matrix& b);

// Rows are exchanged if `pivots` is not null; pivots count from 1. Returns 0, or the first column
// whose pivot is zero, from 1.
int FactorLu(const Matrix& a, int64_t rows, int64_t columns, void* pivots, bool wide_pivots);

enum class Transposition { kNone = 0, kTranspose = 1, kConjugate = 2 };
void SolveLu(const Matrix& a, Transposition transposition, int64_t n, const void* pivots,
             bool wide_pivots, int64_t columns, const Matrix& b);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_FACTORS_H_
