// Includes NVIDIA's cublas_api.h in the files that define its functions: all functions that it
// declares are exported (the rest of the library is hidden), and no macro of cublas_v2.h renames
// them.
//
// Ownership, threads, errors, units: those of the functions.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_H_

#pragma GCC visibility push(default)
#include <cublas_api.h>
#pragma GCC visibility pop

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUBLAS_CUBLAS_H_
