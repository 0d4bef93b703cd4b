#include "simulator/runtime/driver_access.h"

#include <cuda.h>
#include <dlfcn.h>

namespace vramstow::simulator {

namespace {

using GetProcAddress = CUresult(CUDAAPI*)(const char*, void**, int, cuuint64_t,
                                          CUdriverProcAddressQueryResult*);
using DriverGetVersion = CUresult(CUDAAPI*)(int*);
using PrivateFunction = void* (*)(const char*);

}  // namespace

const DriverAccess& DriverAccess::Get() {
  // The object is leaked, because it is used until the very end of the process, after the
  // destructors of static objects.
  static const DriverAccess* access = new DriverAccess;
  return *access;
}

DriverAccess::DriverAccess() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return;
  }
  auto get_version = reinterpret_cast<DriverGetVersion>(dlsym(library, "cuDriverGetVersion"));
  auto find = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (get_version == nullptr || find == nullptr || get_version(&version_) != CUDA_SUCCESS) {
    version_ = 0;
    return;
  }
  private_function_ = dlsym(library, "vramstowSimulatorPrivateFunction");
  // cuGetProcAddress may return a different cuGetProcAddress than the exported one (an interposer
  // does that). So it is queried in the documented way, and the exported one is used if there is no
  // answer.
  void* better = nullptr;
  if (find("cuGetProcAddress", &better, 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) ==
          CUDA_SUCCESS &&
      better != nullptr) {
    get_proc_address_ = better;
  } else {
    get_proc_address_ = reinterpret_cast<void*>(find);
  }
}

int DriverAccess::Query(const char* name, void** function, int version, uint64_t flags,
                        int* status) const {
  if (!present()) {
    return CUDA_ERROR_NOT_FOUND;
  }
  CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CUresult result =
      reinterpret_cast<GetProcAddress>(get_proc_address_)(name, function, version, flags, &answer);
  if (status != nullptr) {
    *status = answer;
  }
  return result;
}

void* DriverAccess::Find(const char* name, int version, DefaultStream stream) const {
  if (private_function_ != nullptr) {
    void* door = reinterpret_cast<PrivateFunction>(private_function_)(name);
    if (door != nullptr) return door;
  }
  uint64_t flags = stream == DefaultStream::kPerThread
                       ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                       : CU_GET_PROC_ADDRESS_DEFAULT;
  void* function = nullptr;
  int status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (Query(name, &function, version, flags, &status) != CUDA_SUCCESS ||
      status != CU_GET_PROC_ADDRESS_SUCCESS) {
    return nullptr;
  }
  return function;
}

}  // namespace vramstow::simulator
