// Declares the part of cuSOLVER's C interface that the stand-in implements. Names, constants and
// signatures are those of NVIDIA's cusolver_common.h and cusolverDn.h; they are restated here, so
// that the build needs no further headers. Matrices are untyped pointers here; the letter in a
// function's name says the element type.
//
// Ownership: a handle belongs to the library until it is destroyed. Threads: one handle is used by
// one thread at a time. Errors: cusolverStatus_t. Units: elements.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_API_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_API_H_

#include <cstddef>
#include <cstdint>

#define VRAMSTOW_CUSOLVER extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): the header's names
enum cusolverStatus_t {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_NOT_INITIALIZED = 1,
  CUSOLVER_STATUS_ALLOC_FAILED = 2,
  CUSOLVER_STATUS_INVALID_VALUE = 3,
  CUSOLVER_STATUS_EXECUTION_FAILED = 6,
  CUSOLVER_STATUS_NOT_SUPPORTED = 9,
};
struct cusolverDnContext;
struct cusolverDnParams;
using cusolverDnHandle_t = cusolverDnContext*;
using cusolverDnParams_t = cusolverDnParams*;
// NOLINTEND(readability-identifier-naming)

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUSOLVER_API_H_
