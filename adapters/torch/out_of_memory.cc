#include "adapters/torch/out_of_memory.h"

#include <cstdio>
#include <iterator>
#include <string>
#include <utility>

#include "adapters/torch/failure_ends.h"
#include "adapters/torch/operators.h"

namespace vramstow::torch_adapter {
namespace {

// Formats a size as PyTorch's messages do.
std::string FormatSize(uint64_t size) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB"};
  if (size <= 1024) return std::to_string(size) + " bytes";
  auto number = static_cast<double>(size) / 1024;
  size_t unit = 0;
  for (; number > 1024 && unit + 1 < std::size(kUnits); ++unit) number /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %s", number, kUnits[unit]);
  return text;
}

std::string Holders(const vramstow_framework_shortage& shortage) {
  std::string text;
  for (int i = 0; i < shortage.holder_count && i < 3; ++i) {
    char address[32];
    std::snprintf(address, sizeof address, "0x%llx",
                  static_cast<unsigned long long>(shortage.holders[i].address));
    text += (i == 0 ? " The largest live blocks: " : ", ") + FormatSize(shortage.holders[i].bytes) +
            " at " + address;
  }
  return text.empty() ? text : text + ".";
}

std::string Message(const Device& device, uint64_t size,
                    const vramstow_framework_shortage& shortage, int64_t allocated,
                    int64_t reserved) {
  std::string text = "CUDA out of memory. Tried to allocate " + FormatSize(size) + ". GPU " +
                     std::to_string(device.index) + " has a total capacity of " +
                     FormatSize(shortage.device_total_bytes) + " of which " +
                     FormatSize(shortage.device_free_bytes) + " is free. ";
  if (shortage.limit_bytes != 0) text += FormatSize(shortage.limit_bytes) + " allowed; ";
  text += "Of the allocated memory " + FormatSize(static_cast<uint64_t>(allocated)) +
          " is allocated by PyTorch, and " +
          FormatSize(static_cast<uint64_t>(reserved > allocated ? reserved - allocated : 0)) +
          " is reserved by PyTorch but unallocated. Served by vramstow's pool: the largest free "
          "range is " +
          FormatSize(shortage.largest_free_bytes) + ", " + FormatSize(shortage.pending_bytes) +
          " wait for submitted work.";
  return text + Holders(shortage) +
         " vramstow analyze says where the memory went (vramstow help analyze.md).";
}

}  // namespace

void OutOfMemory::AddObserver(OutOfMemoryObserver observer) {
  const MutexLock lock(&mutex_);
  observers_.push_back(std::move(observer));
}

// Returns the pool's report, with the device's present free memory.
vramstow_framework_shortage OutOfMemory::Describe(const Request& request) const {
  vramstow_framework_shortage shortage{};
  table_->shortage(request.device->handle, &shortage);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  // The pool makes no report for a request that is larger than any device.
  if (shortage.requested_bytes != request.size) shortage = {};
  shortage.device_free_bytes = free_bytes;
  shortage.device_total_bytes = total_bytes;
  return shortage;
}

void OutOfMemory::CallObservers(const Request& request, uint64_t total_bytes, uint64_t free_bytes) {
  std::vector<OutOfMemoryObserver> observers;
  {
    const MutexLock lock(&mutex_);
    observers = observers_;
  }
  for (const auto& observer : observers) {
    observer(request.device->index, request.size, total_bytes, free_bytes);
  }
}

void OutOfMemory::Report(const Request& request) const {
  vramstow_framework_name names[Operators::kMaxNames];
  const int count = table_->keeps_stacks() != 0 ? Operators::Names(names) : 0;
  table_->refused(request.device->handle.load(std::memory_order_relaxed), request.size,
                  NumberOf(request.stream), names, count,
                  torch_failure::FailureEnds::InsideFramework() ? 1 : 0);
}

void OutOfMemory::Raise(const Request& request) {
  Device* device = request.device;
  Report(request);
  device->out_of_memory.fetch_add(1, std::memory_order_relaxed);
  const vramstow_framework_shortage shortage = Describe(request);
  const int64_t allocated = device->counters.allocated_bytes();
  const int64_t reserved = device->counters.reserved_bytes();
  c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(request.size),
                                   static_cast<size_t>(allocated), static_cast<size_t>(reserved),
                                   c10::Device(c10::DeviceType::CUDA, device->index));
  history_->Record(TraceEntry::OOM,
                   {device->index, shortage.device_free_bytes, request.size, request.stream,
                    device->pools.IdOf(request.pool)},
                   history_->Gather(caching::RecordContext::ALLOC));
  CallObservers(request,
                shortage.limit_bytes != 0 ? shortage.limit_bytes : shortage.device_total_bytes,
                shortage.device_free_bytes);
  TORCH_CHECK_WITH(OutOfMemoryError, false,
                   Message(*device, request.size, shortage, allocated, reserved));
  __builtin_unreachable();
}

}  // namespace vramstow::torch_adapter
