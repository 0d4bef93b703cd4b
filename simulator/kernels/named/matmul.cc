#include "simulator/kernels/named/matmul.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace vramstow::simulator {
namespace {

// The size of a block of D that is computed at a time; its rows of A fit into the L1 cache.
constexpr int64_t kRows = 64;
constexpr int64_t kColumns = 4;

// Returns a matrix as numbers, column by column without gaps, transposed if matrix.transposed is
// set.
template <typename T>
std::vector<T> Pack(const Matrix& matrix, const char* bytes, int64_t rows, int64_t columns) {
  std::vector<T> packed(static_cast<size_t>(rows * columns));
  const auto width = static_cast<int64_t>(BytesOf(matrix.element));
  for (int64_t j = 0; j < columns; ++j) {
    const char* from = bytes + (matrix.transposed ? j : j * matrix.leading) * width;
    const int64_t stride = matrix.transposed ? matrix.leading * width : width;
    LoadElements(matrix.element, from, stride, static_cast<size_t>(rows), packed.data() + j * rows);
  }
  return packed;
}

// Copies kRows rows of a packed matrix, beginning at `row`: kRows numbers for each column. Rows
// after the end of the matrix become zeros.
template <typename T>
void CutPanel(const std::vector<T>& packed, int64_t m, int64_t k, int64_t row, T* panel) {
  const int64_t rows = std::min(kRows, m - row);
  for (int64_t i = 0; i < k; ++i) {
    std::copy_n(packed.data() + i * m + row, rows, panel + i * kRows);
    std::fill_n(panel + i * kRows + rows, kRows - rows, T{0});
  }
}

// Computes sums[c][r] = Σ panel(r, i) b(i, column c) for a whole block.
template <typename T>
void MultiplyBlock(const T* panel, const T* b, int64_t k, const int64_t (&columns)[kColumns],
                   T (&sums)[kColumns][kRows]) {
  for (auto& column : sums) std::fill_n(column, kRows, T{0});
  for (int64_t i = 0; i < k; ++i) {
    const T* from = panel + i * kRows;
    const T x0 = b[columns[0] * k + i];
    const T x1 = b[columns[1] * k + i];
    const T x2 = b[columns[2] * k + i];
    const T x3 = b[columns[3] * k + i];
    for (int64_t r = 0; r < kRows; ++r) {
      sums[0][r] += from[r] * x0;
      sums[1][r] += from[r] * x1;
      sums[2][r] += from[r] * x2;
      sums[3][r] += from[r] * x3;
    }
  }
}

// Computes GELU in its tanh form (Hendrycks, Gimpel 2016).
template <typename T>
T Gelu(T a) {
  constexpr T kScale = std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  const T inner = kScale * (a + static_cast<T>(0.044715) * a * a * a);
  return static_cast<T>(0.5) * a * (1 + std::tanh(inner));
}

template <typename T>
class Multiplier {
 public:
  Multiplier(const Product& product, const char* a, const char* b, const char* c, const char* bias,
             char* d)
      : product_(product),
        a_(Pack<T>(product.a, a, product.m, product.k)),
        b_(Pack<T>(product.b, b, product.k, product.n)),
        c_(c),
        d_(d) {
    if (bias == nullptr) return;
    bias_.resize(static_cast<size_t>(product.m));
    LoadElements(product.bias_element, bias, static_cast<int64_t>(BytesOf(product.bias_element)),
                 bias_.size(), bias_.data());
  }

  void Run() {
    T sums[kColumns][kRows];
    std::vector<T> panel(static_cast<size_t>(product_.k * kRows));
    for (int64_t row = 0; row < product_.m; row += kRows) {
      CutPanel(a_, product_.m, product_.k, row, panel.data());
      for (int64_t column = 0; column < product_.n; column += kColumns) {
        int64_t columns[kColumns];
        for (int64_t i = 0; i < kColumns; ++i) columns[i] = std::min(column + i, product_.n - 1);
        MultiplyBlock(panel.data(), b_.data(), product_.k, columns, sums);
        for (int64_t i = 0; i < kColumns && column + i < product_.n; ++i) {
          Finish(row, std::min(kRows, product_.m - row), column + i, sums[i]);
        }
      }
    }
  }

 private:
  void Finish(int64_t row, int64_t rows, int64_t column, T* sums) {
    const auto count = static_cast<size_t>(rows);
    for (int64_t r = 0; r < rows; ++r) sums[r] *= static_cast<T>(product_.alpha);
    if (product_.beta != 0) {
      T before[kRows];
      const auto width = static_cast<int64_t>(BytesOf(product_.c.element));
      LoadElements(product_.c.element, c_ + (column * product_.c.leading + row) * width, width,
                   count, before);
      for (int64_t r = 0; r < rows; ++r) sums[r] += static_cast<T>(product_.beta) * before[r];
    }
    if (!bias_.empty()) {
      for (int64_t r = 0; r < rows; ++r) sums[r] += bias_[static_cast<size_t>(row + r)];
    }
    if (product_.activation == Activation::kRelu) {
      for (int64_t r = 0; r < rows; ++r) sums[r] = sums[r] < 0 ? 0 : sums[r];
    } else if (product_.activation == Activation::kGelu) {
      for (int64_t r = 0; r < rows; ++r) sums[r] = Gelu(sums[r]);
    }
    const auto width = static_cast<int64_t>(BytesOf(product_.d.element));
    StoreElements(product_.d.element, sums, count, d_ + (column * product_.d.leading + row) * width,
                  width);
  }

  const Product& product_;
  const std::vector<T> a_;
  const std::vector<T> b_;
  std::vector<T> bias_;
  const char* c_;
  char* d_;
};

// Returns the bytes of a matrix. If the matrix is not empty and the result is null, the matrix must
// not be accessed.
char* Find(KernelMemory* memory, const Matrix& matrix, int64_t rows, int64_t columns, bool write) {
  return memory->At(matrix.address, matrix.Bytes(rows, columns), write);
}

}  // namespace

Outcome Multiply(const Product& product, KernelMemory* memory) {
  if (product.m <= 0 || product.n <= 0 || product.k < 0) return Outcome::kDone;
  const Matrix& a = product.a;
  const Matrix& b = product.b;
  const char* a_bytes = nullptr;
  const char* b_bytes = nullptr;
  if (product.k > 0) {
    a_bytes = a.transposed ? Find(memory, a, product.k, product.m, false)
                           : Find(memory, a, product.m, product.k, false);
    b_bytes = b.transposed ? Find(memory, b, product.n, product.k, false)
                           : Find(memory, b, product.k, product.n, false);
    if (a_bytes == nullptr || b_bytes == nullptr) return Outcome::kIllegalAddress;
  }
  const char* c_bytes = nullptr;
  if (product.beta != 0) {
    c_bytes = Find(memory, product.c, product.m, product.n, false);
    if (c_bytes == nullptr) return Outcome::kIllegalAddress;
  }
  const char* bias = nullptr;
  if (product.bias != 0) {
    bias = memory->At(product.bias,
                      static_cast<uint64_t>(product.m) * BytesOf(product.bias_element), false);
    if (bias == nullptr) return Outcome::kIllegalAddress;
  }
  char* d_bytes = Find(memory, product.d, product.m, product.n, true);
  if (d_bytes == nullptr) return Outcome::kIllegalAddress;
  if (!memory->Begin()) return Outcome::kUncomputed;
  if (product.a.element == Element::kFloat || product.a.element == Element::kHalf ||
      product.a.element == Element::kBfloat16) {
    Multiplier<float>(product, a_bytes, b_bytes, c_bytes, bias, d_bytes).Run();
  } else {
    Multiplier<double>(product, a_bytes, b_bytes, c_bytes, bias, d_bytes).Run();
  }
  return Outcome::kDone;
}

Element ElementOfCuda(uint64_t data_type) {
  switch (data_type) {
    case 0:
      return Element::kFloat;
    case 1:
      return Element::kDouble;
    case 2:
      return Element::kHalf;
    case 3:
      return Element::kInt8;
    case 8:
      return Element::kUint8;
    case 10:
      return Element::kInt32;
    case 14:
      return Element::kBfloat16;
    default:
      return Element::kNone;
  }
}

}  // namespace vramstow::simulator
