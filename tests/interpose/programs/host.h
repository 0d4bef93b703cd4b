// Functions that the small programs under test share: they find the driver in the requested way.
#ifndef VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_HOST_H_
#define VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_HOST_H_

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/core/runtime/cuda_abi.h"

namespace vramstow::host {

// Prints the failed condition and ends the program with status 99, so that the test fails.
#define HOST_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::_Exit(99);                                                                    \
    }                                                                                    \
  } while (false)

inline void* OpenDriver(int mode = RTLD_NOW | RTLD_LOCAL) {
  void* driver = dlopen("libcuda.so.1", mode);
  HOST_CHECK(driver != nullptr);
  return driver;
}

template <typename Function>
Function Look(void* handle, const char* symbol) {
  auto* function = reinterpret_cast<Function>(dlsym(handle, symbol));
  HOST_CHECK(function != nullptr);
  return function;
}

using InitFunction = CUresult (*)(unsigned int);
using AllocFunction = CUresult (*)(CUdeviceptr*, size_t);
using FreeFunction = CUresult (*)(CUdeviceptr);
using GetProcAddressFunction = CUresult (*)(const char*, void**, int, cuuint64_t,
                                            CUdriverProcAddressQueryResult*);

// The driver functions that most scenarios need.
struct Api {
  void* driver;
  InitFunction init;
  AllocFunction alloc;
  FreeFunction free;
};

inline Api LoadApi() {
  Api api;
  api.driver = OpenDriver();
  api.init = Look<InitFunction>(api.driver, "cuInit");
  api.alloc = Look<AllocFunction>(api.driver, "cuMemAlloc_v2");
  api.free = Look<FreeFunction>(api.driver, "cuMemFree_v2");
  return api;
}

// Returns the file of the library that contains an address.
inline const char* LibraryOf(const void* address) {
  Dl_info info;
  HOST_CHECK(dladdr(address, &info) != 0);
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash == nullptr ? info.dli_fname : slash + 1;
}

}  // namespace vramstow::host

#endif  // VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_HOST_H_
