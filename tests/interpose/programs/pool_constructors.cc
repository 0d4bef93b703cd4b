// Loads and unloads a library (its first argument) whose constructor allocates device memory, while
// other threads allocate device memory with ever new call stacks. The program ends unless there is
// a deadlock.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/interpose/programs/pool_api.h"

namespace vramstow::host {
namespace {

constexpr int kThreads = 3;
constexpr int kLoads = 150;

std::atomic<bool> is_over{false};

// Allocates and frees a block below a call stack that differs for each value of `turns`.
__attribute__((noinline)) void TakeByTheseTurns(const PoolApi& api, unsigned turns, int left) {
  if (left == 0) {
    CUdeviceptr block = 0;
    HOST_CHECK(api.Alloc(&block, size_t{1} + (turns % 64) * 500'000) == CUDA_SUCCESS);
    HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  } else if ((turns >> left & 1) != 0) {
    TakeByTheseTurns(api, turns, left - 1);
    asm volatile("");
  } else {
    TakeByTheseTurns(api, turns, left - 1);
    asm volatile("nop");
  }
}

void TakeMemory(const PoolApi& api, CUcontext context, unsigned turns) {
  HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
  for (; !is_over.load(); turns = turns * 1664525 + 1013904223) {
    TakeByTheseTurns(api, turns >> 8, 12);
  }
}

int Main(const char* library) {
  const PoolApi api = LoadPoolApi();
  CUcontext context = nullptr;
  HOST_CHECK(api.Init(0) == CUDA_SUCCESS);
  HOST_CHECK(api.PrimaryRetain(&context, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(TakeMemory, api, context, i + 1);
  for (int i = 0; i < kLoads; ++i) {
    void* const loaded = dlopen(library, RTLD_NOW);
    HOST_CHECK(loaded != nullptr);
    dlclose(loaded);
  }
  is_over.store(true);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace vramstow::host

int main(int argc, char** argv) { return argc == 2 ? vramstow::host::Main(argv[1]) : 2; }
