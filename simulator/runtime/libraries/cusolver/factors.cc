#include "simulator/runtime/libraries/cusolver/factors.h"

#include <library_types.h>

#include <algorithm>

namespace vramstow::simulator {
namespace {

using Complex = std::complex<double>;

int64_t PivotAt(const void* pivots, bool wide, int64_t i) {
  return wide ? static_cast<const int64_t*>(pivots)[i] : static_cast<const int32_t*>(pivots)[i];
}

void SetPivot(void* pivots, bool wide, int64_t i, int64_t value) {
  if (wide) {
    static_cast<int64_t*>(pivots)[i] = value;
  } else {
    static_cast<int32_t*>(pivots)[i] = static_cast<int32_t>(value);
  }
}

void SwapRows(const Matrix& a, int64_t columns, int64_t one, int64_t other) {
  if (one == other) return;
  for (int64_t column = 0; column < columns; ++column) {
    const Complex kept = a.Get(one, column);
    a.Set(one, column, a.Get(other, column));
    a.Set(other, column, kept);
  }
}

// A triangular matrix as a view: the lower factor whichever triangle is stored, or its transposes.
struct Triangle {
  const Matrix& a;
  bool swapped;    // rows and columns change places
  bool conjugate;  // and values their sign of the imaginary part
  bool unit;       // ones on the diagonal

  Complex Get(int64_t row, int64_t column) const {
    if (unit && row == column) return 1;
    const Complex value = swapped ? a.Get(column, row) : a.Get(row, column);
    return conjugate ? std::conj(value) : value;
  }
};

// Solves with a triangle that is lower (going down) or upper (going up), in place.
void SolveTriangle(const Triangle& triangle, bool lower, int64_t n, int64_t columns,
                   const Matrix& b) {
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t step = 0; step < n; ++step) {
      const int64_t row = lower ? step : n - 1 - step;
      Complex value = b.Get(row, column);
      const int64_t begin = lower ? 0 : row + 1;
      const int64_t end = lower ? row : n;
      for (int64_t k = begin; k < end; ++k) value -= triangle.Get(row, k) * b.Get(k, column);
      b.Set(row, column, value / triangle.Get(row, row));
    }
  }
}

}  // namespace

size_t BytesOfType(int type) {
  switch (type) {
    case CUDA_R_32F:
      return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
      return 8;
    case CUDA_C_64F:
      return 16;
    default:
      return 0;
  }
}

size_t BytesOfMatrix(int type, int64_t rows, int64_t columns, int64_t leading) {
  if (rows <= 0 || columns <= 0) return 0;
  return static_cast<size_t>((columns - 1) * leading + rows) * BytesOfType(type);
}

Complex Matrix::Get(int64_t row, int64_t column) const {
  const int64_t i = column * leading + row;
  switch (type) {
    case CUDA_R_32F:
      return static_cast<const float*>(data)[i];
    case CUDA_R_64F:
      return static_cast<const double*>(data)[i];
    case CUDA_C_32F:
      return static_cast<const std::complex<float>*>(data)[i];
    default:
      return static_cast<const Complex*>(data)[i];
  }
}

void Matrix::Set(int64_t row, int64_t column, const Complex& value) const {
  const int64_t i = column * leading + row;
  switch (type) {
    case CUDA_R_32F:
      static_cast<float*>(data)[i] = static_cast<float>(value.real());
      return;
    case CUDA_R_64F:
      static_cast<double*>(data)[i] = value.real();
      return;
    case CUDA_C_32F:
      static_cast<std::complex<float>*>(data)[i] = std::complex<float>(value);
      return;
    default:
      static_cast<Complex*>(data)[i] = value;
  }
}

int FactorCholesky(const Matrix& a, bool upper, int64_t n) {
  // The lower factor L with A = L·L*; of an upper triangle it is the transposed one that is stored.
  const auto get = [&](int64_t row, int64_t column) {
    return upper ? std::conj(a.Get(column, row)) : a.Get(row, column);
  };
  const auto set = [&](int64_t row, int64_t column, const Complex& value) {
    if (upper) {
      a.Set(column, row, std::conj(value));
    } else {
      a.Set(row, column, value);
    }
  };
  for (int64_t j = 0; j < n; ++j) {
    double diagonal = get(j, j).real();
    for (int64_t k = 0; k < j; ++k) diagonal -= std::norm(get(j, k));
    if (!(diagonal > 0)) return static_cast<int>(j + 1);
    const double root = std::sqrt(diagonal);
    set(j, j, root);
    for (int64_t i = j + 1; i < n; ++i) {
      Complex value = get(i, j);
      for (int64_t k = 0; k < j; ++k) value -= get(i, k) * std::conj(get(j, k));
      set(i, j, value / root);
    }
  }
  return 0;
}

void SolveCholesky(const Matrix& a, bool upper, int64_t n, int64_t columns, const Matrix& b) {
  SolveTriangle({a, upper, upper, false}, true, n, columns, b);
  SolveTriangle({a, !upper, !upper, false}, false, n, columns, b);
}

int FactorLu(const Matrix& a, int64_t rows, int64_t columns, void* pivots, bool wide_pivots) {
  int info = 0;
  for (int64_t j = 0; j < std::min(rows, columns); ++j) {
    int64_t best = j;
    for (int64_t i = j + 1; i < rows && pivots != nullptr; ++i) {
      if (std::abs(a.Get(i, j)) > std::abs(a.Get(best, j))) best = i;
    }
    if (pivots != nullptr) SetPivot(pivots, wide_pivots, j, best + 1);
    if (a.Get(best, j) == Complex(0)) {
      if (info == 0) info = static_cast<int>(j + 1);
      continue;
    }
    SwapRows(a, columns, j, best);
    const Complex pivot = a.Get(j, j);
    for (int64_t i = j + 1; i < rows; ++i) {
      const Complex factor = a.Get(i, j) / pivot;
      a.Set(i, j, factor);
      for (int64_t k = j + 1; k < columns; ++k) a.Set(i, k, a.Get(i, k) - factor * a.Get(j, k));
    }
  }
  return info;
}

void SolveLu(const Matrix& a, Transposition transposition, int64_t n, const void* pivots,
             bool wide_pivots, int64_t columns, const Matrix& b) {
  if (transposition == Transposition::kNone) {
    for (int64_t i = 0; i < n && pivots != nullptr; ++i) {
      SwapRows(b, columns, i, PivotAt(pivots, wide_pivots, i) - 1);
    }
    SolveTriangle({a, false, false, true}, true, n, columns, b);
    SolveTriangle({a, false, false, false}, false, n, columns, b);
    return;
  }
  const bool conjugate = transposition == Transposition::kConjugate;
  SolveTriangle({a, true, conjugate, false}, true, n, columns, b);
  SolveTriangle({a, true, conjugate, true}, false, n, columns, b);
  for (int64_t i = n - 1; i >= 0 && pivots != nullptr; --i) {
    SwapRows(b, columns, i, PivotAt(pivots, wide_pivots, i) - 1);
  }
}

}  // namespace vramstow::simulator
