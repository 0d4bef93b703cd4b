// Gives the simulator's runtime libraries access to the driver.
//
// Idea: this uses the same sequence of calls as every copy of NVIDIA's runtime, because an
// interposer hooks that sequence: dlopen("libcuda.so.1"), dlsym of cuDriverGetVersion and
// cuGetProcAddress_v2, then one cuGetProcAddress query per function, keyed by (name, CUDA version,
// stream flag). Nothing links libcuda, so the driver may be the simulated one, NVIDIA's, or
// another.
//
// With primary=private in the SPEC of the simulated driver the functions of primary contexts are
// not found this way: the driver has a separate function that returns them, which is never hooked.
//
// Ownership: the first call of Get() loads the driver, which is never unloaded; every library that
// links this file has an object of its own, like the private runtimes of the real libraries.
// Threads: everything may be called from any thread. Errors: a missing driver or function is a null
// pointer or false, never a message or an exit.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_DRIVER_ACCESS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_DRIVER_ACCESS_H_

#include <cstdint>

namespace vramstow::simulator {

// The default stream that stream 0 means to a function: CUDA's legacy stream or the thread's own.
enum class DefaultStream { kLegacy, kPerThread };

class DriverAccess {
 public:
  static const DriverAccess& Get();

  // True if libcuda.so.1 was found and has the two functions by which all others are found.
  bool present() const { return get_proc_address_ != nullptr; }

  // The version that cuDriverGetVersion returned, as 1000 × major + 10 × minor; 0 without a driver.
  int version() const { return version_; }

  // Returns the address of driver function `name` ("cuMemAlloc", without an ABI suffix) as CUDA
  // version `version` (3020 for 3.2) defined it, or null if this driver does not have it.
  void* Find(const char* name, int version, DefaultStream stream = DefaultStream::kLegacy) const;

  // Returns the address of a driver function as a pointer with the function's type, or null:
  // access.Find<PFN_cuMemAlloc_v3020>("cuMemAlloc", 3020).
  template <typename Function>
  Function Find(const char* name, int version,
                DefaultStream stream = DefaultStream::kLegacy) const {
    return reinterpret_cast<Function>(Find(name, version, stream));
  }

  // Finds a driver function by a query with the given flags of cuGetProcAddress. Returns the
  // driver's CUresult and, if `status` is not null, stores the CUdriverProcAddressQueryResult
  // there.
  int Query(const char* name, void** function, int version, uint64_t flags, int* status) const;

 private:
  DriverAccess();

  void* get_proc_address_ = nullptr;
  void* private_function_ = nullptr;
  int version_ = 0;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_DRIVER_ACCESS_H_
