// Two processes share one block. The first process allocates it and passes on a handle. The second
// one opens the handle, reads the data of the first process, and writes data that the first process
// reads. The program prints only values that must be the same with the pool and without it.
// Usage: pool_sharer [BYTES [PRESSURE]], where BYTES are allocated before the blocks, and PRESSURE
// bytes are allocated while the handle of a block is on its way.
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/interpose/programs/pool_api.h"

namespace vramstow::host {
namespace {

constexpr size_t kMega = size_t{1} << 20;

using GetHandle = decltype(&::cuIpcGetMemHandle);
using OpenHandle = decltype(&::cuIpcOpenMemHandle_v2);
using CloseHandle = decltype(&::cuIpcCloseMemHandle);

std::vector<unsigned> Pattern(size_t size, unsigned seed) {
  std::vector<unsigned> words(size / sizeof(unsigned));
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<unsigned>(i) * 40503U + seed;
  return words;
}

void Expect(const PoolApi& api, CUdeviceptr block, size_t size, unsigned seed) {
  std::vector<unsigned> words(size / sizeof(unsigned));
  HOST_CHECK(api.CopyToHost(words.data(), block, size) == CUDA_SUCCESS);
  HOST_CHECK(words == Pattern(size, seed));
}

void Write(const PoolApi& api, CUdeviceptr block, size_t size, unsigned seed) {
  HOST_CHECK(api.CopyToDevice(block, Pattern(size, seed).data(), size) == CUDA_SUCCESS);
}

void Send(int pipe, const CUipcMemHandle& handle) {
  HOST_CHECK(write(pipe, &handle, sizeof handle) == sizeof handle);
}

CUipcMemHandle Receive(int pipe) {
  CUipcMemHandle handle;
  HOST_CHECK(read(pipe, &handle, sizeof handle) == sizeof handle);
  return handle;
}

// The driver knows the whole block at each of its addresses, as memory of the current context.
void ExpectOneBlock(const PoolApi& api, CUdeviceptr block, size_t size) {
  for (const size_t offset : {size_t{0}, size / 2, size - 1}) {
    CUdeviceptr start = 0;
    size_t found = 0;
    HOST_CHECK(api.AddressRange(&start, &found, block + offset) == CUDA_SUCCESS);
    HOST_CHECK(start == block && found == size);
    CUcontext context = nullptr;
    HOST_CHECK(api.Attribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, block + offset) ==
               CUDA_SUCCESS);
    HOST_CHECK(context != nullptr);
  }
}

int Open(int pipe, const std::vector<size_t>& sizes) {
  const PoolApi api = StartPoolApi();
  auto* open = Look<OpenHandle>(api.driver, "cuIpcOpenMemHandle_v2");
  auto* close_handle = Look<CloseHandle>(api.driver, "cuIpcCloseMemHandle");
  unsigned seed = 1;
  for (const size_t size : sizes) {
    const CUipcMemHandle handle = Receive(pipe);
    CUdeviceptr block = 0;
    HOST_CHECK(open(&block, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
    CUdeviceptr again = 0;
    HOST_CHECK(open(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
    HOST_CHECK(again == block);
    HOST_CHECK(open(&again, handle, 2) != CUDA_SUCCESS);
    ExpectOneBlock(api, block, size);
    Expect(api, block, size, seed);
    Write(api, block, size, seed + 100);
    HOST_CHECK(close_handle(block) == CUDA_SUCCESS);
    Expect(api, block, size, seed + 100);
    HOST_CHECK(close_handle(block) == CUDA_SUCCESS);
    HOST_CHECK(close_handle(block) != CUDA_SUCCESS);
    ++seed;
  }
  // This handle came from the other process and is changed by one bit, so it must be refused.
  CUipcMemHandle wrong = Receive(pipe);
  wrong.reserved[20] = static_cast<char>(wrong.reserved[20] ^ 1);
  CUdeviceptr block = 0;
  HOST_CHECK(open(&block, wrong, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
  // The end of the context closes the block.
  const CUipcMemHandle last = Receive(pipe);
  HOST_CHECK(open(&block, last, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
  HOST_CHECK(api.PrimaryReset(0) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  HOST_CHECK(api.PrimaryRetain(&context, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
  HOST_CHECK(api.AddressRange(nullptr, nullptr, block) != CUDA_SUCCESS);
  HOST_CHECK(close_handle(block) != CUDA_SUCCESS);
  return 0;
}

std::vector<CUdeviceptr> Press(const PoolApi& api, size_t bytes) {
  constexpr size_t kBlock = 50 * kMega;
  std::vector<CUdeviceptr> blocks(bytes / kBlock);
  for (CUdeviceptr& block : blocks) HOST_CHECK(api.Alloc(&block, kBlock) == CUDA_SUCCESS);
  return blocks;
}

struct Memory {
  size_t held;
  size_t pressure;
};

int Give(int pipe, pid_t child, const std::vector<size_t>& sizes, const Memory& memory) {
  const PoolApi api = StartPoolApi();
  auto* get = Look<GetHandle>(api.driver, "cuIpcGetMemHandle");
  auto* open = Look<OpenHandle>(api.driver, "cuIpcOpenMemHandle_v2");
  auto* ask = Look<decltype(&::cuPointerGetAttribute)>(api.driver, "cuPointerGetAttribute");
  CUdeviceptr before = 0;  // makes blocks begin inside of a chunk
  HOST_CHECK(api.Alloc(&before, memory.held) == CUDA_SUCCESS);
  std::vector<CUdeviceptr> blocks;
  CUipcMemHandle handle;
  for (const size_t size : sizes) {
    CUdeviceptr block = 0;
    HOST_CHECK(api.Alloc(&block, size) == CUDA_SUCCESS);
    blocks.push_back(block);
    Write(api, block, size, static_cast<unsigned>(blocks.size()));
    unsigned capable = 0;
    HOST_CHECK(ask(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, block) ==
               CUDA_SUCCESS);
    HOST_CHECK((get(&handle, block) == CUDA_SUCCESS) == (capable != 0));
    HOST_CHECK(get(&handle, block) == CUDA_SUCCESS);
    std::printf("%zu\n", size);
    std::fflush(stdout);
    const std::vector<CUdeviceptr> others = Press(api, memory.pressure);
    Send(pipe, handle);
    for (const CUdeviceptr other : others) HOST_CHECK(api.Free(other) == CUDA_SUCCESS);
  }
  CUdeviceptr own = 0;
  HOST_CHECK(open(&own, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS);
  Send(pipe, handle);
  Send(pipe, handle);
  int status = 0;
  HOST_CHECK(waitpid(child, &status, 0) == child);
  HOST_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (size_t i = 0; i < blocks.size(); ++i) {
    Expect(api, blocks[i], sizes[i], static_cast<unsigned>(i) + 101);
    HOST_CHECK(api.Free(blocks[i]) == CUDA_SUCCESS);
  }
  std::puts("shared");
  return 0;
}

int Share(const Memory& memory) {
  // The last block has more chunks than a message has room for descriptors.
  const std::vector<size_t> sizes = {4096, 3 * kMega + 512, 20 * kMega, 300 * kMega};
  int ends[2];
  HOST_CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    std::_Exit(Open(ends[0], sizes));
  }
  close(ends[0]);
  return Give(ends[1], child, sizes, memory);
}

}  // namespace
}  // namespace vramstow::host

int main(int argc, char** argv) {
  return vramstow::host::Share({.held = argc > 1 ? std::stoull(argv[1]) : 700'000,
                                .pressure = argc > 2 ? std::stoull(argv[2]) : 0});
}
