// Defines functions for two widths: most functions of cuBLAS exist with `int` sizes, and with
// 64-bit sizes and the suffix _64. A definition is written once, as a macro DEFINE(name, Index, …),
// and expanded for both.
//
// Ownership, threads, errors, units: those of the functions.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_WIDTHS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_WIDTHS_H_

#define BOTH_WIDTHS(DEFINE, name, ...) \
  DEFINE(name, int, __VA_ARGS__)       \
  DEFINE(name##_64, int64_t, __VA_ARGS__)

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_WIDTHS_H_
