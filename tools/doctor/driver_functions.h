// DriverFunctions calls the driver's functions for the probes; each is looked up when it is called.
//
// Ownership: the library stays open. Threads: one at a time. Errors: returns the CUresult, or
// kNoFunction. Units: none.
#ifndef VRAMSTOW_TOOLS_DOCTOR_DRIVER_FUNCTIONS_H_
#define VRAMSTOW_TOOLS_DOCTOR_DRIVER_FUNCTIONS_H_

#include <cuda.h>
#include <dlfcn.h>

#include <climits>
#include <cstdlib>
#include <string>

#include "base/host_mapping.h"

namespace vramstow {

class DriverFunctions {
 public:
  static constexpr int kNoFunction = -1;  // in place of a CUresult

  static void* Open() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); }
  explicit DriverFunctions(void* library) : library_(library) {}

  bool has(const char* name) const { return dlsym(library_, name) != nullptr; }
  bool simulated() const { return has("vramstowSimulatorDescription"); }

  // Returns the file of the library, with links resolved; empty if the dynamic linker does not know
  // it.
  std::string Path() const {
    Dl_info about = {};
    if (dladdr(dlsym(library_, "cuInit"), &about) == 0 || about.dli_fname == nullptr) return "";
    char real[PATH_MAX];
    return realpath(about.dli_fname, real) == nullptr ? about.dli_fname : real;
  }

  template <typename... Arguments>
  int Call(const char* name, Arguments... arguments) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) return kNoFunction;
    return reinterpret_cast<CUresult (*)(Arguments...)>(found)(arguments...);
  }

  std::string NameOf(int result) const {
    const char* name = nullptr;
    if (result == kNoFunction) return "the driver does not have the function";
    Call("cuGetErrorName", static_cast<CUresult>(result), &name);
    return name == nullptr ? "error " + std::to_string(result) : name;
  }

  bool Attribute(int attribute, CUdevice device, int* value) const {
    return Call("cuDeviceGetAttribute", value, static_cast<CUdevice_attribute>(attribute),
                device) == CUDA_SUCCESS;
  }

  // Returns the UUID as nvidia-smi writes it; empty if the driver does not return it.
  std::string UuidOf(CUdevice device) const {
    CUuuid uuid{};
    char text[kDeviceUuidBytes] = "";
    int result = Call("cuDeviceGetUuid_v2", &uuid, device);
    if (result != CUDA_SUCCESS) result = Call("cuDeviceGetUuid", &uuid, device);
    if (result == CUDA_SUCCESS) WriteDeviceUuid(uuid.bytes, text);
    return text;
  }

 private:
  void* library_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_DRIVER_FUNCTIONS_H_
