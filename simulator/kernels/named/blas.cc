// Emulates the kernels that the stand-ins for cuBLAS and cuBLASLt queue: products of matrices and
// operations on vectors.
//
// Their one argument is an array of 32 words, written in the order of the library function's
// arguments (simulator/runtime/libraries, cublas/call.h and cublaslt/matmul.cc). Word 31 is the
// pointer mode: 0 if the words hold the scalars themselves, 1 if they hold the scalars' device
// addresses.
#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "simulator/kernels/named/matmul.h"

namespace vramstow::simulator {
namespace {

constexpr size_t kPointerMode = 31;

uint64_t Word(const KernelLaunch& launch, size_t i) { return launch.Get<uint64_t>(i); }
int64_t Signed(const KernelLaunch& launch, size_t i) { return launch.Get<int64_t>(i); }

Outcome ReadScalar(const KernelLaunch& launch, KernelMemory* memory, size_t word, Element element,
                   double* value) {
  if (element == Element::kNone) return Outcome::kNotUnderstood;
  const char* at = launch.words + 8 * word;
  if (Word(launch, kPointerMode) != 0) {
    if (Word(launch, word) == 0) {  // the caller gave no scalar
      *value = 0;
      return Outcome::kDone;
    }
    at = memory->At(Word(launch, word), BytesOf(element), false);
    if (at == nullptr) return Outcome::kIllegalAddress;
  }
  LoadElements(element, at, 0, 1, value);
  return Outcome::kDone;
}

// True if addresses can be computed from these sizes and strides without overflow.
bool IsSane(std::initializer_list<int64_t> sizes) {
  constexpr int64_t kMax = int64_t{1} << 30;
  return std::all_of(sizes.begin(), sizes.end(),
                     [](int64_t size) { return size > -kMax && size < kMax; });
}

bool ReadMatrix(const KernelLaunch& launch, size_t address, size_t type, size_t leading,
                Matrix* matrix) {
  matrix->address = Word(launch, address);
  matrix->element = ElementOfCuda(Word(launch, type));
  matrix->leading = Signed(launch, leading);
  return matrix->element != Element::kNone && matrix->leading > 0 && IsSane({matrix->leading});
}

// True if the product of `batch` matrices exceeds the launch's limit.
bool IsTooLarge(const KernelLaunch& launch, const Product& product, int64_t batch) {
  const double operations = 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
                            static_cast<double>(std::max<int64_t>(product.k, 1)) *
                            static_cast<double>(batch);
  return operations > static_cast<double>(launch.limits.operations);
}

uint64_t Offset(const Matrix& matrix, int64_t elements) {
  return static_cast<uint64_t>(elements) * BytesOf(matrix.element);
}

// Marks as not computed the memory into which a batch of results, `stride` elements apart, would
// have been written.
Outcome MarkUncomputed(const Matrix& result, const Product& product, int64_t batch, int64_t stride,
                       KernelMemory* memory) {
  Matrix at = result;
  for (int64_t i = 0; i < batch && product.m > 0 && product.n > 0; ++i) {
    at.address = result.address + Offset(result, i * stride);
    memory->At(at.address, at.Bytes(product.m, product.n), true);
  }
  return Outcome::kTooLarge;
}

// The argument words are transa, transb, m, n, k, α (2 words), A, type, lda, stride, B, type, ldb,
// stride, β (2 words), C, type, ldc, stride, batch, and the type of α and β. If `by_address` is
// true, A, B and C are arrays of addresses.
Outcome RunGemm(const KernelLaunch& launch, KernelMemory* memory, bool by_address) {
  Product product{.m = Signed(launch, 2), .n = Signed(launch, 3), .k = Signed(launch, 4)};
  if (!ReadMatrix(launch, 7, 8, 9, &product.a) || !ReadMatrix(launch, 11, 12, 13, &product.b) ||
      !ReadMatrix(launch, 17, 18, 19, &product.c)) {
    return Outcome::kNotUnderstood;
  }
  product.a.transposed = Word(launch, 0) != 0;
  product.b.transposed = Word(launch, 1) != 0;
  const int64_t batch = Signed(launch, 21);
  if (!IsSane({product.m, product.n, product.k, batch, Signed(launch, 10), Signed(launch, 14),
               Signed(launch, 20)})) {
    return Outcome::kNotUnderstood;
  }
  if (IsTooLarge(launch, product, batch)) {
    if (by_address) return Outcome::kTooLarge;
    product.c.address = Word(launch, 17);
    return MarkUncomputed(product.c, product, batch, Signed(launch, 20), memory);
  }
  const Element scalar = ElementOfCuda(Word(launch, 22));
  Outcome outcome = ReadScalar(launch, memory, 5, scalar, &product.alpha);
  if (outcome == Outcome::kDone) outcome = ReadScalar(launch, memory, 15, scalar, &product.beta);
  Matrix* matrices[] = {&product.a, &product.b, &product.c};
  constexpr size_t kAddresses[] = {7, 11, 17};
  for (int64_t i = 0; i < batch && outcome == Outcome::kDone; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      Matrix& matrix = *matrices[j];
      const uint64_t start = Word(launch, kAddresses[j]);
      if (by_address) {
        const char* entry = memory->At(start + 8 * static_cast<uint64_t>(i), 8, false);
        if (entry == nullptr) return Outcome::kIllegalAddress;
        memcpy(&matrix.address, entry, 8);
      } else {
        matrix.address = start + Offset(matrix, i * Signed(launch, kAddresses[j] + 3));
      }
    }
    product.d = product.c;
    outcome = Multiply(product, memory);
  }
  return outcome;
}

// Emulates cublasLtMatmul (cublaslt/matmul.cc writes the words). Bits of the epilogue: relu 2, bias
// 4, gelu 32.
Outcome RunLtMatmul(const KernelLaunch& launch, KernelMemory* memory) {
  constexpr uint64_t kRelu = 2;
  constexpr uint64_t kBias = 4;
  constexpr uint64_t kGelu = 32;
  Product product{.m = Signed(launch, 2), .n = Signed(launch, 3), .k = Signed(launch, 4)};
  const int64_t batch = Signed(launch, 5);
  const uint64_t epilogue = Word(launch, 23) & ~uint64_t{1};
  const uint64_t notes = Word(launch, 30);  // types of α and β, of the bias; 1 << 16: refused
  if (!ReadMatrix(launch, 8, 9, 10, &product.a) || !ReadMatrix(launch, 12, 13, 14, &product.b) ||
      !ReadMatrix(launch, 19, 20, 21, &product.d) || (notes >> 16) != 0 ||
      (epilogue & ~(kRelu | kBias | kGelu)) != 0 ||
      !IsSane({product.m, product.n, product.k, batch, Signed(launch, 11), Signed(launch, 15),
               Signed(launch, 22), Signed(launch, 28), Signed(launch, 29)})) {
    return Outcome::kNotUnderstood;
  }
  product.a.transposed = Word(launch, 0) != 0;
  product.b.transposed = Word(launch, 1) != 0;
  product.c = product.d;
  product.c.address = Word(launch, 18);
  product.c.leading = Signed(launch, 28);
  if (IsTooLarge(launch, product, batch)) {
    product.d.address = Word(launch, 19);
    return MarkUncomputed(product.d, product, batch, Signed(launch, 22), memory);
  }
  const Element scalar = ElementOfCuda(notes & 0xFF);
  Outcome outcome = ReadScalar(launch, memory, 6, scalar, &product.alpha);
  if (outcome == Outcome::kDone) outcome = ReadScalar(launch, memory, 16, scalar, &product.beta);
  if ((epilogue & kBias) != 0) {
    product.bias = Word(launch, 24);
    product.bias_element = ElementOfCuda(notes >> 8 & 0xFF);
    if (product.bias_element == Element::kNone) return Outcome::kNotUnderstood;
  }
  if ((epilogue & kRelu) != 0) product.activation = Activation::kRelu;
  if ((epilogue & kGelu) != 0) product.activation = Activation::kGelu;
  const Product first = product;
  for (int64_t i = 0; i < batch && outcome == Outcome::kDone; ++i) {
    product.a.address = first.a.address + Offset(first.a, i * Signed(launch, 11));
    product.b.address = first.b.address + Offset(first.b, i * Signed(launch, 15));
    product.c.address = first.c.address + Offset(first.c, i * Signed(launch, 29));
    product.d.address = first.d.address + Offset(first.d, i * Signed(launch, 22));
    outcome = Multiply(product, memory);
  }
  return outcome;
}

// A vector, and the distance between its elements. If the distance is negative, the vector begins
// at its last element in memory.
struct Vector {
  char* bytes = nullptr;
  Element element = Element::kNone;
  int64_t stride = 0;

  double Get(int64_t i) const {
    double value = 0;
    LoadElements(element, bytes + i * stride, 0, 1, &value);
    return value;
  }
  void Set(int64_t i, double value) const {
    StoreElements(element, &value, 1, bytes + i * stride, 0);
  }
};

Outcome FindVector(KernelMemory* memory, uint64_t address, uint64_t type, int64_t increment,
                   int64_t count, bool write, Vector* vector) {
  vector->element = ElementOfCuda(type);
  if (vector->element == Element::kNone || !IsSane({increment, count}))
    return Outcome::kNotUnderstood;
  const auto width = static_cast<int64_t>(BytesOf(vector->element));
  const int64_t reach = (count - 1) * std::abs(increment);
  vector->bytes = memory->At(address, static_cast<uint64_t>((reach + 1) * width), write);
  if (vector->bytes == nullptr) return Outcome::kIllegalAddress;
  vector->stride = increment * width;
  if (increment < 0) vector->bytes += reach * width;
  return Outcome::kDone;
}

// Finds a vector x. Argument word 0 is its length; the words from number `word` on are its address,
// type and increment.
Outcome FindFirst(const KernelLaunch& launch, KernelMemory* memory, size_t word, bool write,
                  Vector* x) {
  const int64_t count = Signed(launch, 0);
  if (count <= 0) return Outcome::kNotUnderstood;
  if (static_cast<uint64_t>(count) > launch.limits.bytes / 8) return Outcome::kTooLarge;
  return FindVector(memory, Word(launch, word), Word(launch, word + 1), Signed(launch, word + 2),
                    count, write, x);
}

Outcome StoreValue(KernelMemory* memory, uint64_t address, Element element, double value) {
  char* to = memory->At(address, BytesOf(element), true);
  if (to == nullptr) return Outcome::kIllegalAddress;
  if (!memory->Begin()) return Outcome::kUncomputed;
  StoreElements(element, &value, 1, to, 0);
  return Outcome::kDone;
}

// The argument words are n, x, type, incx, y, type, incy, optionally the type of the result, and
// the result's address.
Outcome RunDot(const KernelLaunch& launch, KernelMemory* memory) {
  Vector x;
  Vector y;
  Outcome outcome = FindFirst(launch, memory, 1, false, &x);
  if (outcome != Outcome::kDone) return outcome;
  const int64_t count = Signed(launch, 0);
  outcome =
      FindVector(memory, Word(launch, 4), Word(launch, 5), Signed(launch, 6), count, false, &y);
  if (outcome != Outcome::kDone) return outcome;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += x.Get(i) * y.Get(i);
  // Some kernels have one more word, the type of the result. It stands before the word with the
  // result's address.
  const bool typed = Word(launch, 8) != 0;
  return StoreValue(memory, Word(launch, typed ? 8 : 7),
                    typed ? ElementOfCuda(Word(launch, 7)) : x.element, sum);
}

// The argument words are n, x, type, incx, optionally the type of the result, and the result's
// address.
Outcome RunNorm(const KernelLaunch& launch, KernelMemory* memory, bool squares) {
  Vector x;
  const Outcome outcome = FindFirst(launch, memory, 1, false, &x);
  if (outcome != Outcome::kDone) return outcome;
  double sum = 0;
  for (int64_t i = 0; i < Signed(launch, 0); ++i) {
    sum += squares ? x.Get(i) * x.Get(i) : std::abs(x.Get(i));
  }
  const bool typed = Word(launch, 5) != 0;
  return StoreValue(memory, Word(launch, typed ? 5 : 4),
                    typed ? ElementOfCuda(Word(launch, 4)) : x.element,
                    squares ? std::sqrt(sum) : sum);
}

// The argument words are trans, m, n, α (2 words), A, lda, x, incx, β (2 words), y, incy, and type.
Outcome RunGemv(const KernelLaunch& launch, KernelMemory* memory) {
  const bool transposed = Word(launch, 0) != 0;
  const int64_t rows = Signed(launch, 1);
  const int64_t columns = Signed(launch, 2);
  const uint64_t type = Word(launch, 13);
  Matrix a{
      .address = Word(launch, 5), .element = ElementOfCuda(type), .leading = Signed(launch, 6)};
  if (a.element == Element::kNone || rows <= 0 || columns <= 0 || a.leading < rows ||
      !IsSane({rows, columns, a.leading}))
    return Outcome::kNotUnderstood;
  if (IsTooLarge(launch, {.m = rows, .n = columns, .k = 1}, 1)) return Outcome::kTooLarge;
  double alpha = 0;
  double beta = 0;
  Vector x;
  Vector y;
  Outcome outcome = ReadScalar(launch, memory, 3, a.element, &alpha);
  if (outcome == Outcome::kDone) outcome = ReadScalar(launch, memory, 9, a.element, &beta);
  if (outcome == Outcome::kDone) {
    outcome = FindVector(memory, Word(launch, 7), type, Signed(launch, 8),
                         transposed ? rows : columns, false, &x);
  }
  if (outcome == Outcome::kDone) {
    outcome = FindVector(memory, Word(launch, 11), type, Signed(launch, 12),
                         transposed ? columns : rows, true, &y);
  }
  const char* bytes = memory->At(a.address, a.Bytes(rows, columns), false);
  if (outcome == Outcome::kDone && bytes == nullptr) outcome = Outcome::kIllegalAddress;
  if (outcome == Outcome::kDone && !memory->Begin()) outcome = Outcome::kUncomputed;
  if (outcome != Outcome::kDone) return outcome;
  const auto width = static_cast<int64_t>(BytesOf(a.element));
  for (int64_t i = 0; i < (transposed ? columns : rows); ++i) {
    double sum = 0;
    for (int64_t j = 0; j < (transposed ? rows : columns); ++j) {
      double value = 0;
      const int64_t at = transposed ? i * a.leading + j : j * a.leading + i;
      LoadElements(a.element, bytes + at * width, 0, 1, &value);
      sum += value * x.Get(j);
    }
    y.Set(i, alpha * sum + (beta == 0 ? 0 : beta * y.Get(i)));
  }
  return Outcome::kDone;
}

constexpr struct {
  std::string_view kernel;
  Emulation run;
} kKernels[] = {
    {"cublas_gemm", [](const KernelLaunch& launch,
                       KernelMemory* memory) { return RunGemm(launch, memory, false); }},
    {"cublas_gemm_strided_batched",
     [](const KernelLaunch& launch, KernelMemory* memory) {
       return RunGemm(launch, memory, false);
     }},
    {"cublas_gemm_batched", [](const KernelLaunch& launch,
                               KernelMemory* memory) { return RunGemm(launch, memory, true); }},
    {"cublaslt_matmul", RunLtMatmul},
    {"cublas_dot", RunDot},
    {"cublas_nrm2", [](const KernelLaunch& launch,
                       KernelMemory* memory) { return RunNorm(launch, memory, true); }},
    {"cublas_asum", [](const KernelLaunch& launch,
                       KernelMemory* memory) { return RunNorm(launch, memory, false); }},
    {"cublas_gemv", RunGemv},
};

}  // namespace

Emulation FindEmulation(std::string_view kernel) {
  for (const auto& entry : kKernels) {
    if (kernel == entry.kernel) return entry.run;
  }
  return nullptr;
}

}  // namespace vramstow::simulator
