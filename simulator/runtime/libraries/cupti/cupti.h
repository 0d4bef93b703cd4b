// Includes NVIDIA's cupti.h in the files that define its functions: all functions that it declares
// are exported.
//
// Ownership, threads, errors, units: those of the functions.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_H_

#pragma GCC visibility push(default)
#include <cupti.h>
#pragma GCC visibility pop

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_CUPTI_CUPTI_H_
