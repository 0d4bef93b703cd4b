// Computes matrix products as cuBLAS defines them: column-major, D = activation(αAB + βC + bias).
//
// Products of float, half and bfloat16 are accumulated in float, those of double and integers in
// double. Ownership: values. Threads: no state. Errors: returns an Outcome. Units: elements for
// distances.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_MATMUL_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_MATMUL_H_

#include "simulator/kernels/named/element.h"
#include "simulator/kernels/named/emulation.h"

namespace vramstow::simulator {

struct Matrix {
  uint64_t address = 0;
  Element element = Element::kNone;
  int64_t leading = 0;      // distance between columns
  bool transposed = false;  // the transpose is multiplied

  // Returns the bytes from the first to the last element of a matrix with this many stored rows and
  // columns.
  uint64_t Bytes(int64_t rows, int64_t columns) const {
    return static_cast<uint64_t>((columns - 1) * leading + rows) * BytesOf(element);
  }
};

enum class Activation : uint8_t { kNone, kRelu, kGelu };

struct Product {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  double alpha = 1;
  double beta = 0;
  Matrix a = {};
  Matrix b = {};
  Matrix c = {};  // not read if beta is 0
  Matrix d = {};
  uint64_t bias = 0;  // m elements; 0: there is no bias
  Element bias_element = Element::kNone;
  Activation activation = Activation::kNone;
};

Outcome Multiply(const Product& product, KernelMemory* memory);

// Returns the type with this number in CUDA's header library_types.h.
Element ElementOfCuda(uint64_t data_type);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_MATMUL_H_
