// Counts the cost of hits: a thread that may make no system call but write allocates blocks from
// the pool's cache, or frees them ("allocate" or "free"), and calls of malloc are counted. The
// program exits with 0 if there were no system calls and no calls of malloc.
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/interpose/programs/pool_api.h"

extern "C" {
void* __libc_malloc(size_t size);
void __libc_free(void* block);

std::atomic<bool> counting{false};
std::atomic<int> heap_calls{0};

// The program's own functions take precedence over every library's.
void* malloc(size_t size) {
  if (counting.load(std::memory_order_relaxed)) heap_calls.fetch_add(1);
  return __libc_malloc(size);
}
void free(void* block) {
  if (counting.load(std::memory_order_relaxed)) heap_calls.fetch_add(1);
  __libc_free(block);
}
}

namespace vramstow::host {
namespace {

constexpr int kBlocks = 64;

void AllocateAll(const PoolApi& api, CUdeviceptr* blocks) {
  for (int i = 0; i < kBlocks; ++i) {
    HOST_CHECK(api.Alloc(&blocks[i], static_cast<size_t>(i + 1) * 50'000) == CUDA_SUCCESS);
  }
}

void FreeAll(const PoolApi& api, CUdeviceptr* blocks) {
  for (int i = 0; i < kBlocks; ++i) HOST_CHECK(api.Free(blocks[i]) == CUDA_SUCCESS);
}

int Run(bool frees) {
  const PoolApi api = LoadPoolApi();
  CUcontext context = nullptr;
  HOST_CHECK(api.Init(0) == CUDA_SUCCESS && api.PrimaryRetain(&context, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
  static CUdeviceptr blocks[kBlocks];
  for (int round = 0; round < 3; ++round) {
    AllocateAll(api, blocks);
    FreeAll(api, blocks);
  }
  if (frees) AllocateAll(api, blocks);
  int ends[2];
  HOST_CHECK(pipe(ends) == 0);
  std::thread strict([&] {
    HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
    // The first calls of a thread do some work that is done only once.
    CUdeviceptr warm = 0;
    HOST_CHECK(api.Alloc(&warm, 3000) == CUDA_SUCCESS && api.Free(warm) == CUDA_SUCCESS);
    HOST_CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    counting.store(true);
    if (frees) {
      FreeAll(api, blocks);
    } else {
      AllocateAll(api, blocks);
    }
    counting.store(false);
    const char done = 'd';
    if (write(ends[1], &done, 1) != 1) return;
    syscall(SYS_exit, 0);
  });
  pollfd wait = {ends[0], POLLIN, 0};
  const bool done = poll(&wait, 1, 60'000) == 1;
  if (!done) std::fprintf(stderr, "a system call was made\n");
  if (heap_calls.load() != 0) std::fprintf(stderr, "%d calls of malloc\n", heap_calls.load());
  std::_Exit(done && heap_calls.load() == 0 ? 0 : 1);
}

}  // namespace
}  // namespace vramstow::host

int main(int argc, char** argv) {
  return vramstow::host::Run(argc > 1 && std::strcmp(argv[1], "free") == 0);
}
