// Runs the scenario that its first argument names, and prints what a program can see of memory from
// cuMemAlloc. It prints only values that must be the same with the pool and without it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/interpose/programs/pool_api.h"

namespace vramstow::host {
namespace {

constexpr size_t kMega = size_t{1} << 20;

CUdeviceptr Allocate(const PoolApi& api, size_t size) {
  CUdeviceptr block = 0;
  HOST_CHECK(api.Alloc(&block, size) == CUDA_SUCCESS);
  HOST_CHECK(block % 256 == 0);
  return block;
}

// Fills a block with numbers and reads them back.
void HoldData(const PoolApi& api, CUdeviceptr block, size_t size, unsigned seed) {
  std::vector<unsigned> out(size / sizeof(unsigned));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<unsigned>(i) * 2654435761U + seed;
  HOST_CHECK(api.CopyToDevice(block, out.data(), size) == CUDA_SUCCESS);
  std::vector<unsigned> in(out.size());
  HOST_CHECK(api.CopyToHost(in.data(), block, size) == CUDA_SUCCESS);
  HOST_CHECK(in == out);
}

void PrintAttribute(const PoolApi& api, const char* name, CUpointer_attribute attribute,
                    CUdeviceptr address, CUdeviceptr base) {
  uint64_t value = 0;
  const CUresult result = api.Attribute(&value, attribute, address);
  const bool relative = attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
                        attribute == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR ||
                        attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
  if (relative && result == CUDA_SUCCESS) value -= base;
  // The values of these attributes are arbitrary, so print only whether they are set.
  if (attribute == CU_POINTER_ATTRIBUTE_CONTEXT || attribute == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
      attribute == CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID) {
    value = value != 0;
  }
  std::printf("  %s %d %llu\n", name, result, static_cast<unsigned long long>(value));
}

void PrintPointer(const PoolApi& api, const char* title, CUdeviceptr address, CUdeviceptr base) {
  std::printf("%s\n", title);
  CUdeviceptr start = 0;
  size_t size = 0;
  const CUresult result = api.AddressRange(&start, &size, address);
  std::printf("  range %d %llu %zu\n", result, result == CUDA_SUCCESS ? start - base : 0ull, size);
  HOST_CHECK(api.AddressRange(nullptr, nullptr, address) == result);
#define PRINT_ATTRIBUTE(name) \
  PrintAttribute(api, #name, CU_POINTER_ATTRIBUTE_##name, address, base);
  PRINT_ATTRIBUTE(CONTEXT)
  PRINT_ATTRIBUTE(MEMORY_TYPE)
  PRINT_ATTRIBUTE(DEVICE_POINTER)
  PRINT_ATTRIBUTE(HOST_POINTER)
  PRINT_ATTRIBUTE(BUFFER_ID)
  PRINT_ATTRIBUTE(IS_MANAGED)
  PRINT_ATTRIBUTE(DEVICE_ORDINAL)
  PRINT_ATTRIBUTE(RANGE_START_ADDR)
  PRINT_ATTRIBUTE(RANGE_SIZE)
  PRINT_ATTRIBUTE(MAPPED)
  PRINT_ATTRIBUTE(ALLOWED_HANDLE_TYPES)
  PRINT_ATTRIBUTE(ACCESS_FLAGS)
  PRINT_ATTRIBUTE(MEMPOOL_HANDLE)
  PRINT_ATTRIBUTE(MAPPING_SIZE)
  PRINT_ATTRIBUTE(MAPPING_BASE_ADDR)
#undef PRINT_ATTRIBUTE
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  uint64_t values[4] = {};
  void* places[] = {&values[0], &values[1], &values[2], &values[3]};
  const CUresult all = api.Attributes(4, wanted, places, address);
  std::printf("  all %d: %u %llu %d %llu\n", all, static_cast<unsigned>(values[0]),
              static_cast<unsigned long long>(values[1]), static_cast<int>(values[2]),
              values[3] == 0 ? 0ull : static_cast<unsigned long long>(values[3] - base));
}

int Queries() {
  const PoolApi api = StartPoolApi();
  for (const size_t size : {size_t{1}, size_t{1000}, 3 * kMega + 17, 64 * kMega}) {
    const CUdeviceptr block = Allocate(api, size);
    const CUdeviceptr neighbour = Allocate(api, size);
    PrintPointer(api, "its beginning", block, block);
    PrintPointer(api, "its last byte", block + size - 1, block);
    std::printf("retain %d unmap %d free range %d\n",
                api.Retain(nullptr, reinterpret_cast<void*>(block)) != CUDA_SUCCESS,
                api.Unmap(block, 2 * kMega) != CUDA_SUCCESS,
                api.AddressFree(block, 2 * kMega) != CUDA_SUCCESS);
    HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
    PrintPointer(api, "after its free", block, block);
    std::printf("freed twice %d, inside %d\n", api.Free(block), api.Free(neighbour + 512));
    HOST_CHECK(api.Free(neighbour) == CUDA_SUCCESS);
  }
  std::printf("nothing %d, no place %d, no bytes %d\n", api.Free(0), api.Alloc(nullptr, 100), [&] {
    CUdeviceptr block = 0;
    return api.Alloc(&block, 0);
  }());
  return 0;
}

int BufferIds() {
  const PoolApi api = StartPoolApi();
  std::vector<uint64_t> ids;
  for (int round = 0; round < 50; ++round) {
    const CUdeviceptr block = Allocate(api, kMega);
    uint64_t id = 0;
    HOST_CHECK(api.Attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, block) == CUDA_SUCCESS);
    ids.push_back(id);
    HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  }
  std::sort(ids.begin(), ids.end());
  HOST_CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
  return 0;
}

int Pitched() {
  const PoolApi api = StartPoolApi();
  for (const unsigned element : {4u, 8u, 16u, 5u, 0u}) {
    for (const size_t width : {size_t{1}, size_t{1000}, size_t{512}, size_t{0}}) {
      CUdeviceptr block = 0;
      size_t pitch = 0;
      const CUresult result = api.AllocPitch(&block, &pitch, width, 100, element);
      std::printf("%u %zu: %d %zu\n", element, width, result, pitch);
      if (result != CUDA_SUCCESS) continue;
      HoldData(api, block, pitch * 100, element);
      CUdeviceptr start = 0;
      size_t size = 0;
      HOST_CHECK(api.AddressRange(&start, &size, block) == CUDA_SUCCESS);
      std::printf("range %zu\n", size);
      HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
    }
  }
  return 0;
}

// The free memory falls when blocks of whole chunks are allocated and rises when they are freed,
// with the pool and without it.
int Info() {
  const PoolApi api = StartPoolApi();
  HOST_CHECK(api.MemGetInfo(nullptr, nullptr) == CUDA_SUCCESS ||
             api.MemGetInfo(nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  size_t before = 0;
  size_t total = 0;
  HOST_CHECK(api.MemGetInfo(&before, &total) == CUDA_SUCCESS);
  std::printf("total %zu\n", total);
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 8; ++i) {
    blocks.push_back(Allocate(api, 32 * kMega));
    size_t now = 0;
    HOST_CHECK(api.MemGetInfo(&now, &total) == CUDA_SUCCESS);
    std::printf("taken %zu\n", before - now);
  }
  for (const CUdeviceptr block : blocks) {
    HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
    size_t now = 0;
    HOST_CHECK(api.MemGetInfo(&now, &total) == CUDA_SUCCESS);
    std::printf("taken %zu\n", before - now);
  }
  return 0;
}

// The context that has ended is still current in this thread. Nothing is allocated in it.
void PrintInEndedContext(const PoolApi& api) {
  CUdeviceptr block = 0;
  std::printf("an allocation in an ended context: %d\n", api.Alloc(&block, kMega));
}

int Contexts() {
  const PoolApi api = StartPoolApi();
  const CUdeviceptr first = Allocate(api, 3 * kMega);
  for (int round = 0; round < 3; ++round) {
    CUcontext other = nullptr;
    HOST_CHECK(api.CtxCreate(&other, 0, 0) == CUDA_SUCCESS);
    const CUdeviceptr second = Allocate(api, 5 * kMega);
    HoldData(api, second, 5 * kMega, 5);
    if (round == 1) HOST_CHECK(api.Free(second) == CUDA_SUCCESS);
    HOST_CHECK(api.CtxDestroy(other) == CUDA_SUCCESS);
    std::printf("of a context that is gone: %d\n", api.Free(second) != CUDA_SUCCESS);
  }
  HoldData(api, first, 3 * kMega, 1);
  // The primary context ends by a reset, and by the release of its last reference.
  HOST_CHECK(api.PrimaryReset(0) == CUDA_SUCCESS);
  std::printf("after a reset: %d\n", api.Free(first) != CUDA_SUCCESS);
  PrintInEndedContext(api);
  CUcontext context = nullptr;
  HOST_CHECK(api.PrimaryRetain(&context, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
  const CUdeviceptr again = Allocate(api, 3 * kMega);
  HoldData(api, again, 3 * kMega, 2);
  for (int references = 0; references < 8; ++references) {
    if (api.PrimaryRelease(0) != CUDA_SUCCESS) break;
  }
  std::printf("after the last reference: %d\n", api.Free(again) != CUDA_SUCCESS);
  PrintInEndedContext(api);
  HOST_CHECK(api.PrimaryRetain(&context, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
  HoldData(api, Allocate(api, kMega), kMega, 3);
  return 0;
}

int Devices() {
  const PoolApi api = LoadPoolApi();
  HOST_CHECK(api.Init(0) == CUDA_SUCCESS);
  CUcontext contexts[2];
  CUdeviceptr blocks[2];
  for (int device = 0; device < 2; ++device) {
    HOST_CHECK(api.PrimaryRetain(&contexts[device], device) == CUDA_SUCCESS);
    HOST_CHECK(api.SetCurrent(contexts[device]) == CUDA_SUCCESS);
    blocks[device] = Allocate(api, 4 * kMega);
    HoldData(api, blocks[device], 4 * kMega, static_cast<unsigned>(device));
    int ordinal = -1;
    HOST_CHECK(api.Attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, blocks[device]) ==
               CUDA_SUCCESS);
    HOST_CHECK(ordinal == device);
  }
  HOST_CHECK(api.CopyPeer(blocks[0], contexts[0], blocks[1], contexts[1], 4 * kMega) ==
             CUDA_SUCCESS);
  // From now on device 1 may access the current and future memory of device 0.
  HOST_CHECK(api.EnablePeer(contexts[0], 0) == CUDA_SUCCESS);
  const auto touch = [&](CUdeviceptr block) {
    HOST_CHECK(api.SetCurrent(contexts[1]) == CUDA_SUCCESS);
    HOST_CHECK(api.SetD8(block, 7, 4 * kMega) == CUDA_SUCCESS);
    HOST_CHECK(api.Synchronize() == CUDA_SUCCESS);
  };
  touch(blocks[0]);
  HOST_CHECK(api.SetCurrent(contexts[0]) == CUDA_SUCCESS);
  const CUdeviceptr later = Allocate(api, 40 * kMega);
  touch(later);
  // All blocks can be freed here, whichever context is current.
  HOST_CHECK(api.Free(later) == CUDA_SUCCESS && api.Free(blocks[0]) == CUDA_SUCCESS);
  HOST_CHECK(api.Free(blocks[1]) == CUDA_SUCCESS);
  return 0;
}

// cuMemFree waits for the work of the context, which events and functions on the host show.
int FreeWaits() {
  const PoolApi api = StartPoolApi();
  for (const unsigned flags : {CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING}) {
    CUstream stream = nullptr;
    CUevent event = nullptr;
    HOST_CHECK(api.StreamCreate(&stream, flags) == CUDA_SUCCESS);
    HOST_CHECK(api.EventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    const CUdeviceptr block = Allocate(api, kMega);
    const CUdeviceptr filled = Allocate(api, kMega);
    bool has_run = false;
    const auto slow = [](void* run) {
      usleep(50'000);
      *static_cast<bool*>(run) = true;
    };
    HOST_CHECK(api.LaunchHostFunc(stream, slow, &has_run) == CUDA_SUCCESS);
    HOST_CHECK(api.SetD8Async(filled, 9, kMega, stream) == CUDA_SUCCESS);
    HOST_CHECK(api.EventRecord(event, stream) == CUDA_SUCCESS);
    HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
    const CUresult done = api.EventQuery(event);
    unsigned char value = 0;
    HOST_CHECK(api.CopyToHost(&value, filled, 1) == CUDA_SUCCESS);
    std::printf("run %d, event %d, value %d\n", has_run, done, value);
    HOST_CHECK(api.StreamSynchronize(stream) == CUDA_SUCCESS);
    HOST_CHECK(api.Free(filled) == CUDA_SUCCESS);
  }
  return 0;
}

// Memory that one context's pool caches is free for the device's other contexts.
int CacheOfAnother() {
  const PoolApi api = StartPoolApi();
  CUcontext other = nullptr;
  HOST_CHECK(api.CtxCreate(&other, 0, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.Free(Allocate(api, 64 * kMega)) == CUDA_SUCCESS);
  const auto free_bytes = [&] {
    size_t free = 0;
    size_t total = 0;
    HOST_CHECK(api.MemGetInfo(&free, &total) == CUDA_SUCCESS);
    return free;
  };
  const size_t before = free_bytes();
  CUcontext first = nullptr;
  HOST_CHECK(api.PrimaryRetain(&first, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(first) == CUDA_SUCCESS);
  const CUdeviceptr block = Allocate(api, 512 * kMega);
  HOST_CHECK(api.SetCurrent(other) == CUDA_SUCCESS);
  std::printf("in use: %zu MiB\n", (before - free_bytes()) / kMega);
  HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  std::printf("freed: %zu MiB\n", (before - free_bytes()) / kMega);
  return 0;
}

// Uses a block of device 0 from a context of device 1, which has no pool, in every kind of call
// that names no context.
int OtherDevices() {
  const PoolApi api = LoadPoolApi();
  HOST_CHECK(api.Init(0) == CUDA_SUCCESS);
  CUcontext contexts[2];
  for (int device = 0; device < 2; ++device) {
    HOST_CHECK(api.PrimaryRetain(&contexts[device], device) == CUDA_SUCCESS);
  }
  HOST_CHECK(api.SetCurrent(contexts[0]) == CUDA_SUCCESS);
  const CUdeviceptr block = Allocate(api, 4 * kMega);
  CUstream owners = nullptr;
  HOST_CHECK(api.StreamCreate(&owners, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(contexts[1]) == CUDA_SUCCESS);
  HoldData(api, block, 4 * kMega, 5);
  HOST_CHECK(api.SetD8(block, 7, kMega) == CUDA_SUCCESS);
  HOST_CHECK(api.CopyDevice(block + kMega, block, kMega) == CUDA_SUCCESS);
  CUstream stream = nullptr;
  HOST_CHECK(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  std::vector<unsigned char> in(3 * kMega, 1);
  HOST_CHECK(api.CopyToHost(in.data(), block, in.size()) == CUDA_SUCCESS);
  std::printf("%d %d\n", in[0], in[2 * kMega - 1]);
  // The work of a stream is done in order, whichever context it is done in.
  for (CUstream each : {stream, owners, CUstream{nullptr}, CU_STREAM_PER_THREAD}) {
    std::vector<unsigned char> out(kMega, static_cast<unsigned char>(in[0] + 1));
    const auto slow = [](void*) { usleep(20'000); };
    HOST_CHECK(api.LaunchHostFunc(each, slow, nullptr) == CUDA_SUCCESS);
    HOST_CHECK(api.CopyToDeviceAsync(block, out.data(), kMega, each) == CUDA_SUCCESS);
    HOST_CHECK(api.CopyDeviceAsync(block + kMega, block, kMega, each) == CUDA_SUCCESS);
    HOST_CHECK(api.SetD8Async(block + 2 * kMega, out[0] + 40, kMega, each) == CUDA_SUCCESS);
    HOST_CHECK(api.CopyToHostAsync(in.data(), block, in.size(), each) == CUDA_SUCCESS);
    HOST_CHECK(api.StreamSynchronize(each) == CUDA_SUCCESS);
    std::printf("%d %d %d\n", in[0], in[kMega], in[2 * kMega]);
  }
  // Memory of the driver's own pool is copied to the block and back.
  CUdeviceptr other = 0;
  HOST_CHECK(api.AllocAsync(&other, kMega, stream) == CUDA_SUCCESS);
  HOST_CHECK(api.CopyDeviceAsync(other, block, kMega, stream) == CUDA_SUCCESS);
  HOST_CHECK(api.CopyDeviceAsync(block + 3 * kMega, other, kMega, stream) == CUDA_SUCCESS);
  HOST_CHECK(api.StreamSynchronize(stream) == CUDA_SUCCESS);
  HOST_CHECK(api.CopyToHost(in.data(), block + 3 * kMega, kMega) == CUDA_SUCCESS);
  std::printf("%d %d\n", in[0], in[kMega - 1]);
  // The host does not wait for work of the block's device that only the host can let finish.
  static std::atomic<bool> may_finish{false};
  const auto wait = [](void*) {
    while (!may_finish) usleep(1000);
  };
  CUstream busy = nullptr;
  HOST_CHECK(api.SetCurrent(contexts[0]) == CUDA_SUCCESS);
  HOST_CHECK(api.StreamCreate(&busy, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
  HOST_CHECK(api.LaunchHostFunc(busy, wait, nullptr) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(contexts[1]) == CUDA_SUCCESS);
  HOST_CHECK(api.SetD8(block, 9, kMega) == CUDA_SUCCESS);
  may_finish = true;
  HOST_CHECK(api.CopyToHost(in.data(), block, kMega) == CUDA_SUCCESS);
  std::printf("%d\n", in[0]);
  HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  return 0;
}

// Fills the pool's cache with all memory of the device.
void FillCache(const PoolApi& api) {
  std::vector<CUdeviceptr> blocks(1);
  while (api.Alloc(&blocks.back(), 64 * kMega) == CUDA_SUCCESS) blocks.push_back(0);
  blocks.pop_back();
  for (const CUdeviceptr block : blocks) HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
}

// Launches a graph that allocates half of the device's memory, which the cache holds.
int MemoryNodes() {
  const PoolApi api = StartPoolApi();
  CUstream stream = nullptr;
  HOST_CHECK(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  HOST_CHECK(api.GraphCreate(&graph, 0) == CUDA_SUCCESS);
  CUDA_MEM_ALLOC_NODE_PARAMS memory = {};
  memory.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  memory.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  memory.bytesize = 1024 * kMega;
  CUgraphNode node = nullptr;
  HOST_CHECK(api.AddMemAlloc(&node, graph, nullptr, 0, &memory) == CUDA_SUCCESS);
  CUgraphNode last = nullptr;
  HOST_CHECK(api.AddMemFree(&last, graph, &node, 1, memory.dptr) == CUDA_SUCCESS);
  FillCache(api);
  CUgraphExec executable = nullptr;
  std::printf("instantiate %d\n", api.Instantiate(&executable, graph, 0));
  const auto fill_again = [&] {
    HOST_CHECK(api.StreamSynchronize(stream) == CUDA_SUCCESS);
    HOST_CHECK(api.GraphMemTrim(0) == CUDA_SUCCESS);
    FillCache(api);
  };
  fill_again();
  std::printf("upload %d\n", api.Upload(executable, stream));
  fill_again();
  std::printf("launch %d\n", api.GraphLaunch(executable, stream));
  HOST_CHECK(api.StreamSynchronize(stream) == CUDA_SUCCESS);
  return 0;
}

// Loads code and sets a limit, for which the driver needs memory that the cache holds. A test lets
// the first call of each fail.
int Code() {
  const PoolApi api = StartPoolApi();
  HOST_CHECK(api.Free(Allocate(api, 512 * kMega)) == CUDA_SUCCESS);
  const char* const code =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a){ ret; }\n";
  CUmodule module = nullptr;
  std::printf("module %d\n", api.ModuleLoadData(&module, code));
  HOST_CHECK(api.Free(Allocate(api, 512 * kMega)) == CUDA_SUCCESS);
  std::printf("limit %d\n", api.SetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * kMega));
  return 0;
}

int Captures() {
  const PoolApi api = StartPoolApi();
  CUstream stream = nullptr;
  HOST_CHECK(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  const CUdeviceptr block = Allocate(api, kMega);
  for (int round = 0; round < 20; ++round) {
    HOST_CHECK(api.BeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    HOST_CHECK(api.SetD8Async(block, 1, kMega, stream) == CUDA_SUCCESS);
    const CUdeviceptr inside = Allocate(api, (round % 5 + 1) * kMega);
    HOST_CHECK(api.Free(inside) == CUDA_SUCCESS);
    HOST_CHECK(api.Free(Allocate(api, 30 * kMega)) == CUDA_SUCCESS);
    CUgraph graph = nullptr;
    HOST_CHECK(api.EndCapture(stream, &graph) == CUDA_SUCCESS && graph != nullptr);
    HOST_CHECK(api.GraphDestroy(graph) == CUDA_SUCCESS);
    HOST_CHECK(api.Free(Allocate(api, 50 * kMega)) == CUDA_SUCCESS);
  }
  // The capture ends because its stream is destroyed.
  HOST_CHECK(api.BeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  api.StreamDestroy(stream);
  HoldData(api, block, kMega, 1);
  return 0;
}

int Threads() {
  const PoolApi api = LoadPoolApi();
  CUcontext context = nullptr;
  HOST_CHECK(api.Init(0) == CUDA_SUCCESS);
  HOST_CHECK(api.PrimaryRetain(&context, 0) == CUDA_SUCCESS);
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([&api, context, number] {
      HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
      std::vector<std::pair<CUdeviceptr, size_t>> blocks;
      unsigned random = number + 1;
      for (int i = 0; i < 300; ++i) {
        random = random * 1664525U + 1013904223U;
        if (blocks.size() > 8 || (random >> 28) < 6) {
          if (blocks.empty()) continue;
          const size_t which = (random >> 8) % blocks.size();
          HoldData(api, blocks[which].first, blocks[which].second, random);
          HOST_CHECK(api.Free(blocks[which].first) == CUDA_SUCCESS);
          blocks.erase(blocks.begin() + static_cast<long>(which));
        } else {
          const size_t size = ((random >> 9) % (i % 10 == 0 ? 4 * kMega : 100'000)) / 4 * 4 + 4;
          blocks.emplace_back(Allocate(api, size), size);
        }
      }
      for (const auto& block : blocks) HOST_CHECK(api.Free(block.first) == CUDA_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

int Forks() {
  const PoolApi api = StartPoolApi();
  const CUdeviceptr block = Allocate(api, kMega);
  const pid_t child = fork();
  if (child == 0) {
    // CUDA does not work in a forked child. The test shows only that the child does not hang and
    // writes no trace.
    CUdeviceptr other = 0;
    const bool refused =
        api.Alloc(&other, kMega) != CUDA_SUCCESS && api.Free(block) != CUDA_SUCCESS;
    std::_Exit(refused ? 0 : 1);
  }
  int status = 0;
  HOST_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  std::printf("child %d\n", WEXITSTATUS(status));
  HoldData(api, block, kMega, 1);
  HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  return 0;
}

int FreeAsync() {
  const PoolApi api = StartPoolApi();
  CUstream stream = nullptr;
  HOST_CHECK(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  for (int round = 0; round < 20; ++round) {
    const CUdeviceptr block = Allocate(api, 3 * kMega);
    HOST_CHECK(api.SetD8Async(block, 1, 3 * kMega, stream) == CUDA_SUCCESS);
    // cuMemFreeAsync need not accept memory of cuMemAlloc: not every driver does.
    const CUresult result = api.FreeAsync(block, stream);
    HOST_CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE);
    if (result != CUDA_SUCCESS) HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  }
  HOST_CHECK(api.StreamSynchronize(stream) == CUDA_SUCCESS);
  // Memory of a stream-ordered pool is freed with cuMemFree.
  CUdeviceptr ordered = 0;
  HOST_CHECK(api.AllocAsync(&ordered, kMega, stream) == CUDA_SUCCESS);
  HOST_CHECK(api.StreamSynchronize(stream) == CUDA_SUCCESS);
  std::printf("%d\n", api.Free(ordered));
  return 0;
}

// Allocates until no memory is left, and frees all blocks. Then the whole memory can be allocated
// again.
int OutOfMemory() {
  const PoolApi api = StartPoolApi();
  for (int round = 0; round < 2; ++round) {
    std::vector<CUdeviceptr> blocks;
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS) {
      CUdeviceptr block = 0;
      result = api.Alloc(&block, 50 * kMega);
      if (result == CUDA_SUCCESS) blocks.push_back(block);
    }
    std::printf("%zu blocks, then %d\n", blocks.size(), result);
    for (const CUdeviceptr block : blocks) HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  }
  return 0;
}

// Frees most of the GPU's memory, and then requests it in ways that the pool does not serve.
int FreedMemory() {
  const PoolApi api = StartPoolApi();
  const auto create = Look<decltype(&::cuMemCreate)>(api.driver, "cuMemCreate");
  const auto release = Look<decltype(&::cuMemRelease)>(api.driver, "cuMemRelease");
  const auto create_array = Look<decltype(&::cuArrayCreate_v2)>(api.driver, "cuArrayCreate_v2");
  const auto destroy_array = Look<decltype(&::cuArrayDestroy)>(api.driver, "cuArrayDestroy");
  const auto free_most = [&] {
    std::vector<CUdeviceptr> blocks;
    for (int i = 0; i < 30; ++i) blocks.push_back(Allocate(api, 50 * kMega));
    for (const CUdeviceptr block : blocks) HOST_CHECK(api.Free(block) == CUDA_SUCCESS);
  };
  free_most();
  CUdeviceptr block = 0;
  HOST_CHECK(api.AllocAsync(&block, 1200 * kMega, nullptr) == CUDA_SUCCESS);
  HOST_CHECK(api.FreeAsync(block, nullptr) == CUDA_SUCCESS);
  HOST_CHECK(api.Synchronize() == CUDA_SUCCESS);
  free_most();
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemGenericAllocationHandle handle = 0;
  // A GPU without virtual memory management refuses this for another reason.
  const CUresult created = create(&handle, 1200 * kMega, &properties, 0);
  HOST_CHECK(created != CUDA_ERROR_OUT_OF_MEMORY);
  HOST_CHECK(created != CUDA_SUCCESS || release(handle) == CUDA_SUCCESS);
  free_most();
  const CUDA_ARRAY_DESCRIPTOR description = {1200, kMega / 4, CU_AD_FORMAT_FLOAT, 1};
  CUarray array = nullptr;
  HOST_CHECK(create_array(&array, &description) == CUDA_SUCCESS);
  HOST_CHECK(destroy_array(array) == CUDA_SUCCESS);
  free_most();
  CUcontext other = nullptr;
  HOST_CHECK(api.CtxCreate(&other, 0, 0) == CUDA_SUCCESS);  // becomes the current context
  HOST_CHECK(api.Free(Allocate(api, 1200 * kMega)) == CUDA_SUCCESS);
  return 0;
}

// Allocates as a training loop does: the same blocks in every iteration, and one wait.
int Steady(int iterations) {
  const PoolApi api = StartPoolApi();
  CUstream stream = nullptr;
  HOST_CHECK(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  std::vector<CUdeviceptr> weights;
  for (int i = 0; i < 10; ++i) weights.push_back(Allocate(api, (i % 4 + 1) * 700'000));
  for (int iteration = 0; iteration < iterations; ++iteration) {
    std::vector<CUdeviceptr> activations;
    for (int layer = 0; layer < 20; ++layer) {
      const size_t size = static_cast<size_t>(layer % 7 + 1) * 900'000;
      activations.push_back(Allocate(api, size));
      HOST_CHECK(api.SetD8Async(activations.back(), 1, size, stream) == CUDA_SUCCESS);
      const CUdeviceptr workspace = Allocate(api, 3 * kMega);
      HOST_CHECK(api.SetD8Async(workspace, 2, 3 * kMega, stream) == CUDA_SUCCESS);
      HOST_CHECK(api.StreamSynchronize(stream) == CUDA_SUCCESS);
      HOST_CHECK(api.Free(workspace) == CUDA_SUCCESS);
    }
    while (!activations.empty()) {
      HOST_CHECK(api.Free(activations.back()) == CUDA_SUCCESS);
      activations.pop_back();
    }
    HOST_CHECK(api.Synchronize() == CUDA_SUCCESS);
  }
  return 0;
}

// Frees after main(), when vramstow has ended.
struct Late {
  PoolApi api{};
  CUdeviceptr block = 0;
  ~Late() {
    if (block == 0) return;
    const CUresult result = api.Free(block);
    HOST_CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED);
  }
};
Late late;

int AtExit() {
  late.api = StartPoolApi();
  late.block = Allocate(late.api, kMega);
  return 0;
}

struct Scenario {
  const char* name;
  int (*run)();
};
constexpr Scenario kScenarios[] = {
    {"queries", Queries},
    {"buffer-ids", BufferIds},
    {"pitched", Pitched},
    {"memory-info", Info},
    {"contexts", Contexts},
    {"cache-of-another", CacheOfAnother},
    {"devices", Devices},
    {"other-devices", OtherDevices},
    {"captures", Captures},
    {"memory-nodes", MemoryNodes},
    {"code", Code},
    {"threads", Threads},
    {"forks", Forks},
    {"steady-3", [] { return Steady(3); }},
    {"steady-200", [] { return Steady(200); }},
    {"free-async", FreeAsync},
    {"free-waits", FreeWaits},
    {"out-of-memory", OutOfMemory},
    {"freed-memory", FreedMemory},
    {"at-exit", AtExit},
};

}  // namespace
}  // namespace vramstow::host

int main(int argc, char** argv) {
  using namespace vramstow::host;  // NOLINT(google-build-using-namespace): a program of one file
  for (const Scenario& scenario : kScenarios) {
    if (argc > 1 && std::strcmp(argv[1], scenario.name) == 0) return scenario.run();
  }
  std::fprintf(stderr, "unknown scenario\n");
  return 98;
}
