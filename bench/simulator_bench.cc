// Measures what the simulated driver costs the host: a pair of cuMemAlloc and cuMemFree, a launch,
// and frequent queries of a framework; both alone, and on a simulated GPU that is shared with other
// processes.
//
// VRAMSTOW_TEST_DRIVER names the driver; the SPEC has the form of VRAMSTOW_SIMULATE. If
// VRAMSTOW_RUN_ID is set, the GPU is shared.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <vector>

#include "bench/driver_library.h"

namespace vramstow {
namespace {

constexpr char kProgram[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel() { ret; }\n";

struct Driver {
  void* library = dlopen(getenv("VRAMSTOW_TEST_DRIVER") != nullptr ? getenv("VRAMSTOW_TEST_DRIVER")
                                                                   : VRAMSTOW_SIMULATED_DRIVER,
                         RTLD_NOW);
  decltype(cuMemAlloc)* allocate = Find<decltype(cuMemAlloc)>(library, "cuMemAlloc_v2");
  decltype(cuMemFree)* free = Find<decltype(cuMemFree)>(library, "cuMemFree_v2");
  decltype(cuLaunchKernel)* launch = Find<decltype(cuLaunchKernel)>(library, "cuLaunchKernel");
  decltype(cuStreamSynchronize)* synchronize =
      Find<decltype(cuStreamSynchronize)>(library, "cuStreamSynchronize");
  decltype(cuCtxGetCurrent)* current = Find<decltype(cuCtxGetCurrent)>(library, "cuCtxGetCurrent");
  decltype(cuMemGetInfo)* info = Find<decltype(cuMemGetInfo)>(library, "cuMemGetInfo_v2");
  CUfunction kernel = nullptr;
  CUstream stream = nullptr;

  Driver() {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    Find<decltype(cuInit)>(library, "cuInit")(0);
    Find<decltype(cuDevicePrimaryCtxRetain)>(library, "cuDevicePrimaryCtxRetain")(&context, 0);
    Find<decltype(cuCtxSetCurrent)>(library, "cuCtxSetCurrent")(context);
    Find<decltype(cuStreamCreate)>(library, "cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING);
    Find<decltype(cuModuleLoadData)>(library, "cuModuleLoadData")(&module, kProgram);
    Find<decltype(cuModuleGetFunction)>(library, "cuModuleGetFunction")(&kernel, module, "kernel");
  }
};

const Driver& GetDriver() {
  static const Driver driver;
  return driver;
}

void BM_AllocateAndFree(benchmark::State& state) {
  const Driver& driver = GetDriver();
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    CUdeviceptr block = 0;
    if (driver.allocate(&block, bytes) != CUDA_SUCCESS) state.SkipWithError("out of memory");
    driver.free(block);
  }
}
BENCHMARK(BM_AllocateAndFree)->Arg(512)->Arg(2 << 20)->Arg(512 << 20);

void BM_AllocateAndFreeAmongTenThousand(benchmark::State& state) {
  const Driver& driver = GetDriver();
  std::vector<CUdeviceptr> blocks(10000);
  for (CUdeviceptr& block : blocks) driver.allocate(&block, 2 << 20);
  for (auto _ : state) {
    CUdeviceptr block = 0;
    driver.allocate(&block, 2 << 20);
    driver.free(block);
  }
  for (const CUdeviceptr block : blocks) driver.free(block);
}
BENCHMARK(BM_AllocateAndFreeAmongTenThousand);

void BM_Launch(benchmark::State& state) {
  const Driver& driver = GetDriver();
  int count = 0;
  for (auto _ : state) {
    driver.launch(driver.kernel, 1, 1, 1, 32, 1, 1, 0, driver.stream, nullptr, nullptr);
    // Wait now and then, because submitted work would accumulate.
    if (++count % 1024 == 0) driver.synchronize(driver.stream);
  }
  driver.synchronize(driver.stream);
}
BENCHMARK(BM_Launch);

void BM_GetCurrentContext(benchmark::State& state) {
  const Driver& driver = GetDriver();
  CUcontext context = nullptr;
  for (auto _ : state) driver.current(&context);
}
BENCHMARK(BM_GetCurrentContext);

void BM_GetInfo(benchmark::State& state) {
  const Driver& driver = GetDriver();
  size_t free = 0;
  for (auto _ : state) driver.info(&free, nullptr);
}
BENCHMARK(BM_GetInfo);

}  // namespace
}  // namespace vramstow

BENCHMARK_MAIN();
