// Blocks allocates and frees PyTorch's device memory from the pool.
//
// Idea: the fast path is one call of the pool and a few additions. PyTorch's own allocator handles
// what the pool does not serve: devices without virtual memory, private pools that use an allocator
// of the application, and blocks that were allocated before the adapter was installed.
//
// Ownership: a block belongs to PyTorch until Free(). Threads: any. Errors: PyTorch's exceptions.
// Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_BLOCKS_H_
#define VRAMSTOW_ADAPTERS_TORCH_BLOCKS_H_

#include <unistd.h>

#include "adapters/torch/device.h"
#include "adapters/torch/history.h"
#include "adapters/torch/memory_fraction.h"
#include "adapters/torch/native.h"
#include "adapters/torch/out_of_memory.h"
#include "adapters/torch/statistics.h"

namespace vramstow::torch_adapter {

class Blocks {
 public:
  // `deleter` is the function that PyTorch calls to free a block; it calls Free().
  Blocks(const vramstow_framework* table, Native native, c10::DeleterFnPtr deleter,
         Devices* devices, History* history, Statistics* statistics, MemoryFraction* fraction,
         OutOfMemory* out_of_memory);

  DataPtr AllocateData(size_t size);
  // Returns null for 0 bytes.
  void* Allocate(DeviceIndex device, size_t size, cudaStream_t stream);
  void* AllocateOnCurrentStream(size_t size);
  // Allocates at an address where memory of this stream and private pool is cached. Returns null if
  // none is cached there.
  void* AllocateAt(uint64_t address, const Request& request);
  DataPtr AllocateDataAt(uint64_t address, size_t size);
  void Free(void* data);
  void RecordStream(const DataPtr& data, c10::cuda::CUDAStream stream);
  // Returns the address of the block that contains `data`, and stores its size in *size.
  void* BaseOf(void* data, size_t* size) const;
  // Returns false if `data` is in no live block of the pool.
  bool Find(const void* data, BlockRange* range) const;
  // Returns a DataPtr that frees the block.
  DataPtr Own(void* data, DeviceIndex device) const {
    return {data, data, deleter_, c10::Device(c10::DeviceType::CUDA, device)};
  }

  // True if the pool serves this device. The first call opens the pool.
  bool IsServed(Device* device) {
    return device->handle.load(std::memory_order_acquire) >= 0 || Open(device);
  }
  // Sets PyTorch's switch between caching and no caching.
  void set_enabled(bool value) { enabled_.store(value, std::memory_order_relaxed); }

 private:
  bool Open(Device* device);
  int Ask(const Request& request, vramstow_framework_block* block);
  void* AllocateSlowly(const Request& request, int result, Context context);
  bool FreeMemoryOfApplication() const;
  bool AskReserves(const Request& request, vramstow_framework_block* block);
  void* NoteAllocated(const Request& request, const vramstow_framework_block& block,
                      Context context);
  void NoteFreed(const vramstow_framework_block& block);
  bool FreeRecorded(void* data);
  void FreeUnrecorded(void* data);
  void FreeInForkedChild(void* data) const;
  void ReportToProfiler(void* data, int64_t change, Device* device);
  BlockRange RangeOf(const vramstow_framework_block& block) const;

  const vramstow_framework* const table_;
  const bool names_callers_;  // the trace has stacks, so operators and modules are named
  const Native native_;
  const c10::DeleterFnPtr deleter_;
  Devices* const devices_;
  History* const history_;
  Statistics* const statistics_;
  MemoryFraction* const fraction_;
  OutOfMemory* const out_of_memory_;
  std::atomic<bool> enabled_;
  const pid_t process_ = getpid();  // differs in forked children
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_BLOCKS_H_
