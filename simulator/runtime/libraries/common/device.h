// Gives every stand-in access to the device: a context, memory, and kernels that represent the work
// of the library. A stand-in is a library of the simulator that replaces one of NVIDIA's libraries
// (cuBLAS, cuDNN and others).
//
// Idea: a stand-in uses the CUDA driver like the library it replaces: it finds the driver as a
// private static runtime does (simulator/runtime/driver_access.h) and calls it from its own code,
// so that a trace names libcublas or libcudnn as the caller. Work becomes a kernel launch on the
// caller's stream, with the real arguments (device addresses among them), so that order, capture
// and kernel time are as on a GPU. The kernels are empty entries of a small PTX module. The driver
// decides what they compute; unless it knows a kernel by name, the kernel's outputs do not change.
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

// The module with the kernels of this library, as PTX text. Each stand-in defines a module of its
// own (see kernels.h).
extern const char kKernelModule[];  // NOLINT(readability-identifier-naming): constant

// Every kernel takes one argument, an array of this many 64-bit words. It holds the arguments of
// the library function, in their order.
inline constexpr size_t kArgumentWords = 32;

// The number of results of a launch. Its grid has a block for each tile of 128 × 128 results, as a
// plausible kernel for `rows` × `columns` × `batch` results would have.
struct WorkSize {
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t batch = 1;
};

// Makes sure that the calling thread has a current context; if it has none, the primary context of
// device 0 becomes current, as with the CUDA runtime.
CUresult EnsureContext();

// Returns the compute capability of the current context's device, as 10 × major + minor (90 for
// 9.0).
CUresult ComputeCapability(int* capability);

// Returns the number of multiprocessors of the current context's device.
CUresult ProcessorCount(int* processors);

// Queues kernel `name` of kKernelModule on `stream`. `words` is copied and has at most
// kArgumentWords.
CUresult LaunchWork(const char* name, CUstream stream, const WorkSize& size, const uint64_t* words,
                    size_t count);

CUresult AllocateDeviceMemory(CUdeviceptr* address, size_t bytes);
CUresult FreeDeviceMemory(CUdeviceptr address);
CUresult ClearDeviceMemory(CUdeviceptr address, size_t bytes, CUstream stream);
CUresult CopyDeviceToHost(void* host, CUdeviceptr device, size_t bytes, CUstream stream);
CUresult Copy2D(const CUDA_MEMCPY2D& copy, CUstream stream);
CUresult SynchronizeStream(CUstream stream);
// True while the stream is captured into a graph; false if the driver returns an error.
bool IsCapturing(CUstream stream);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_LIBRARIES_COMMON_DEVICE_H_
