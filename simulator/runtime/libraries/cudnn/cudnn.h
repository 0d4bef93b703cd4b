// Includes NVIDIA's cudnn.h in the files that define its functions: all functions that it declares
// are exported, and the rest of the library is hidden.
//
// Ownership, threads, errors, units: those of the functions.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_H_

#pragma GCC visibility push(default)
#include <cudnn.h>
#pragma GCC visibility pop

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUDNN_CUDNN_H_
