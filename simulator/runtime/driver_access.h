// How the simulator's runtime libraries reach the driver.
//
// Idea: on the way on which every copy of NVIDIA's runtime does it, because that way is what an
// interposer hooks: dlopen("libcuda.so.1"), dlsym of cuDriverGetVersion and cuGetProcAddress_v2,
// then one cuGetProcAddress query per function, keyed by (name, CUDA version, stream flag). Nothing
// links libcuda, so the driver may be the simulator's, a card's, or anybody's.
//
// With primary=private in the SPEC of the simulated driver the functions of primary contexts do not
// come this way: the driver has a door of its own for them, which nothing hooks.
//
// Ownership: the driver is loaded by the first call of Get() and never unloaded; every library that
// links this file has an object of its own, like the private runtimes of the real libraries.
// Threads: everything may be called from any thread.
// Errors: a missing driver or function is a null pointer or false, never a message or an exit.
#ifndef VRAMSTOW_SIMULATOR_RUNTIME_DRIVER_ACCESS_H_
#define VRAMSTOW_SIMULATOR_RUNTIME_DRIVER_ACCESS_H_

#include <cstdint>

namespace vramstow::simulator {

// Which default stream a function shall mean by stream 0 (CUDA's legacy or the thread's own).
enum class DefaultStream { kLegacy, kPerThread };

class DriverAccess {
 public:
  static const DriverAccess& Get();

  // True if libcuda.so.1 was found and has the two functions that all others are found through.
  bool present() const { return get_proc_address_ != nullptr; }

  // What cuDriverGetVersion says, as 1000 × major + 10 × minor; 0 without a driver.
  int version() const { return version_; }

  // The address of driver function `name` ("cuMemAlloc", without an ABI suffix) as CUDA version
  // `version` (3020 for 3.2) defined it, or null if this driver does not have it.
  void* Find(const char* name, int version, DefaultStream stream = DefaultStream::kLegacy) const;

  // The same, with the function's type: access.Find<PFN_cuMemAlloc_v3020>("cuMemAlloc", 3020).
  template <typename Function>
  Function Find(const char* name, int version,
                DefaultStream stream = DefaultStream::kLegacy) const {
    return reinterpret_cast<Function>(Find(name, version, stream));
  }

  // As Find, with the flags of cuGetProcAddress untouched and the driver's whole answer: its result
  // (a CUresult) and, where `status` is not null, the CUdriverProcAddressQueryResult.
  int Query(const char* name, void** function, int version, uint64_t flags, int* status) const;

 private:
  DriverAccess();

  void* get_proc_address_ = nullptr;
  void* private_function_ = nullptr;
  int version_ = 0;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_RUNTIME_DRIVER_ACCESS_H_
