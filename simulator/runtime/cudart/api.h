// Includes CUDA's public headers, so that the functions they declare are exported by this library;
// all other symbols are hidden by the version script (made from names.txt).
//
// Files that hold functions with a per-thread variant are compiled twice, the second time with
// CUDA_API_PER_THREAD_DEFAULT_STREAM. The header then renames each function, for example cudaMemcpy
// to cudaMemcpy_ptds, and Driver() returns the table whose stream 0 is the thread's own. No suffix
// is written by hand.
//
// Ownership: none. Threads: any. Errors: cudaError_t of the functions. Units: those of the
// functions.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_API_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_API_H_

#pragma GCC visibility push(default)
#include <cuda.h>
#include <cuda_runtime_api.h>

// Declared by cuda_profiler_api.h, which the packages on PyPI do not have.
extern "C" cudaError_t CUDARTAPI cudaProfilerStart(void);
extern "C" cudaError_t CUDARTAPI cudaProfilerStop(void);
#pragma GCC visibility pop

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_API_H_
