// Declares the names of functions that CUDA 12 and CUDA 13 define differently, for libcudart.so.12.
//
// Idea: the objects of libcudart.so.13 are linked once more, with the functions that changed
// between CUDA 12 and 13 renamed to vramstow13_NAME (see CMakeLists.txt); this folder defines their
// names as CUDA 12 does. The macros here give both of them separate C++ names, because the headers
// of CUDA 13 declare NAME differently.
//
// Ownership: none. Threads: any. Errors: those of the functions. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_TWELVE_ABI_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_TWELVE_ABI_H_

#include "simulator/runtime/cudart/api.h"

// Macro arguments are types, names and parameter lists here.
// NOLINTBEGIN(bugprone-macro-parentheses)

// Declares CUDA 13's function as Thirteen_NAME.
#define VRAMSTOW_THIRTEEN(name, ...) \
  extern "C" cudaError_t Thirteen_##name(__VA_ARGS__) __asm__("vramstow13_" #name)

// Begins the definition of the function that libcudart.so.12 exports as NAME.
#define VRAMSTOW_TWELVE(name, ...)                       \
  extern "C" __attribute__((visibility("default")))      \
  cudaError_t Twelve_##name(__VA_ARGS__) __asm__(#name); \
  cudaError_t Twelve_##name(__VA_ARGS__)

// NOLINTEND(bugprone-macro-parentheses)

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_TWELVE_ABI_H_
