// What every stand-in needs of the device: a context, memory, and kernels that stand for its work.
//
// Idea: a stand-in is a user of the CUDA driver like the library it stands for: it finds the driver
// as a private static runtime does (simulator/runtime/driver_access.h) and calls it from its own
// code, so that a trace names libcublas or libcudnn as the caller. Work becomes a kernel launch on
// the caller's stream, with the real arguments (device addresses among them): order, capture and
// kernel time then hold as on a card. The kernels are empty entries of a small PTX module; what
// they compute is up to the driver, and unless it knows them by name their outputs stay as they
// were.
//
// Ownership: the module and its kernels live as long as the process. Memory belongs to the caller.
// Threads: all functions may be called from any thread. Errors: the driver's result; without a
// driver CUDA_ERROR_SYSTEM_DRIVER_MISMATCH. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_DEVICE_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_DEVICE_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace vramstow::simulator {

// The module with this library's kernels, as PTX text; each stand-in defines it (see kernels.h).
extern const char kKernelModule[];  // NOLINT(readability-identifier-naming): constant

// Every kernel takes one argument of this many 64-bit words: what the call was about, in the order
// of the library function's arguments.
inline constexpr size_t kArgumentWords = 32;

// How a launch is spread over the device, as a plausible kernel for `rows` × `columns` × `batch`
// results would be: tiles of 128 × 128.
struct WorkSize {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t batch = 1;
};

// Makes sure that the calling thread has a current context; without one the primary context of
// device 0 becomes current, as with the CUDA runtime.
CUresult EnsureContext();

// The compute capability of the current context's device, as 10 × major + minor (90 for 9.0).
CUresult ComputeCapability(int* capability);

// How many multiprocessors the current context's device has.
CUresult ProcessorCount(int* processors);

// Queues kernel `name` of kKernelModule on `stream`. `words` is copied; at most kArgumentWords.
CUresult LaunchWork(const char* name, CUstream stream, const WorkSize& size, const uint64_t* words,
                    size_t count);

CUresult AllocateDeviceMemory(CUdeviceptr* address, size_t bytes);
CUresult FreeDeviceMemory(CUdeviceptr address);
CUresult ClearDeviceMemory(CUdeviceptr address, size_t bytes, CUstream stream);
CUresult CopyDeviceToHost(void* host, CUdeviceptr device, size_t bytes, CUstream stream);
CUresult Copy2D(const CUDA_MEMCPY2D& copy, CUstream stream);
CUresult SynchronizeStream(CUstream stream);
// True while the stream records into a graph; an error of the driver counts as false.
bool IsCapturing(CUstream stream);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_DEVICE_H_
