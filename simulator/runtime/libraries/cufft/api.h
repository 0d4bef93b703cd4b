// Declares the part of cuFFT's C interface that the stand-in implements. Names, constants and
// layouts are those of NVIDIA's cufft.h and cufftXt.h; they are restated here, so that the build
// needs no further headers.
//
// Ownership: a plan belongs to the library until it is destroyed. Threads: any. Errors:
// cufftResult. Units: elements.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_API_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_API_H_

#include <cstddef>

#define VRAMSTOW_CUFFT extern "C" __attribute__((visibility("default")))

using cufftHandle = int;  // NOLINT(readability-identifier-naming): the header's name

// NOLINTBEGIN(readability-identifier-naming): the header's names
enum cufftResult {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_NOT_SUPPORTED = 16,
};

enum cufftType {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69,
};
// NOLINTEND(readability-identifier-naming)

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUFFT_API_H_
