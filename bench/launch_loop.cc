// Measures what a launch costs the program: launches a kernel with eight pointers over and over.
//
// `launch_loop [LAUNCHES [watched]]` prints the processor time per launch in nanoseconds. With
// `watched` some memory is on the host, so that vramstow examines the arguments (--offload).
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vramstow/vramstow.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "bench/driver_library.h"

namespace {

using vramstow::Find;

constexpr int kPointers = 8;
constexpr char kProgram[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 a, .param "
    ".u64 b, .param .u64 c, .param .u64 d, .param .u64 e, .param .u64 f, .param .u64 g, .param "
    ".u64 h) { ret; }\n";

void Must(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "%s: error %d\n", what, result);
  exit(1);
}

// Returns the number of launches that an argument gives, or 0 if it is no positive number.
int LaunchesFrom(std::string_view text) {
  int launches = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), launches);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::max(launches, 0) : 0;
}

double ProcessorNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int count, char** arguments) {
  const int launches = count > 1 ? LaunchesFrom(arguments[1]) : 100'000;
  if (launches == 0) {
    fprintf(stderr, "launch_loop: LAUNCHES must be a number of at least 1, not '%s'.\n",
            arguments[1]);
    return 2;
  }
  const bool watched = count > 2 && strcmp(arguments[2], "watched") == 0;
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    fprintf(stderr, "there is no driver: %s\n", dlerror());
    return 1;
  }
  auto* allocate = Find<decltype(cuMemAlloc)>(library, "cuMemAlloc_v2");
  auto* launch = Find<decltype(cuLaunchKernel)>(library, "cuLaunchKernel");
  auto* synchronize = Find<decltype(cuStreamSynchronize)>(library, "cuStreamSynchronize");
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  Must(Find<decltype(cuInit)>(library, "cuInit")(0), "cuInit");
  Must(Find<decltype(cuDevicePrimaryCtxRetain)>(library, "cuDevicePrimaryCtxRetain")(&context, 0),
       "cuDevicePrimaryCtxRetain");
  Must(Find<decltype(cuCtxSetCurrent)>(library, "cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  Must(Find<decltype(cuStreamCreate)>(library, "cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING),
       "cuStreamCreate");
  Must(Find<decltype(cuModuleLoadData)>(library, "cuModuleLoadData")(&module, kProgram),
       "cuModuleLoadData");
  Must(Find<decltype(cuModuleGetFunction)>(library, "cuModuleGetFunction")(&kernel, module,
                                                                           "kernel"),
       "cuModuleGetFunction");
  CUdeviceptr cold = 0;
  Must(allocate(&cold, size_t{16} << 20), "cuMemAlloc");
  if (watched) Must(vramstow_offload(nullptr), "vramstow_offload");
  CUdeviceptr blocks[kPointers];
  void* parameters[kPointers];
  for (int i = 0; i < kPointers; ++i) {
    Must(allocate(&blocks[i], size_t{2} << 20), "cuMemAlloc");
    parameters[i] = &blocks[i];
  }
  double spent = 0;
  for (int done = 0; done < launches;) {
    const int end = std::min(launches, done + 1000);
    const double since = ProcessorNs();
    for (; done < end; ++done) {
      launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
    }
    spent += ProcessorNs() - since;
    // Wait now and then, because submitted work would accumulate.
    Must(synchronize(stream), "cuStreamSynchronize");
  }
  printf("%.1f\n", spent / launches);
  return 0;
}
