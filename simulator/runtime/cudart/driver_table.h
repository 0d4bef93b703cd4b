// The driver functions that the runtime calls, as one table of pointers (driver_functions.txt).
//
// Idea: there are two tables: one with CUDA's ordinary meaning of stream 0 and one with the
// per-thread meaning. Each is filled at its first use by cuGetProcAddress queries. Members are
// named as the driver's functions without "cu", because cuda.h defines many names with "cu" as
// macros.
//
// Ownership: the tables live as long as the process. Threads: read-only once made. Errors: a
// function that the driver does not have is replaced by one that returns CUDA_ERROR_NOT_SUPPORTED
// and prints the name once on stderr, so no member is null. Units: none.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_CUDART_DRIVER_TABLE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_CUDART_DRIVER_TABLE_H_

#include <cuda.h>
#include <cudaTypedefs.h>

#include "simulator/runtime/driver_access.h"

namespace vramstow::simulator::cudart {

// The types of cudaProfilerTypedefs.h, which includes a header that the packages on PyPI do not
// have.
using PFN_cuProfilerStart_v4000 = CUresult(CUDAAPI*)();
using PFN_cuProfilerStop_v4000 = CUresult(CUDAAPI*)();

struct DriverTable {
#define DRIVER_FUNCTION(name, version) PFN_cu##name##_v##version name = nullptr;
#define DRIVER_STREAM_FUNCTION(name, version, per_thread_version) \
  PFN_cu##name##_v##version name = nullptr;
#include <cudart_driver_functions.def>
#undef DRIVER_FUNCTION
#undef DRIVER_STREAM_FUNCTION

  // Returns the table for this meaning of stream 0. Without a driver, all its functions return
  // errors.
  static const DriverTable& Get(DefaultStream stream);
};

}  // namespace vramstow::simulator::cudart

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_CUDART_DRIVER_TABLE_H_
