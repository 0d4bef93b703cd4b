// Implements the observer: PyTorch's own allocator serves the program, and what it does becomes
// events of the trace.
//
// Idea: a run observes by the Forwarder. Where that is not possible, and in a process to which
// vramstow was attached, PyTorch calls trace trackers for every allocation and every free, and
// nothing is replaced. In both cases it calls out-of-memory observers for every request that fails.
// One source serves PyTorch 2.4 to 2.15: differences between releases are found with `requires`.
//
// Ownership: one observer, never destroyed. Threads: trackers run under the lock of a device's
// allocator, so each device's state has one user at a time. A tracker uses no heap, takes no lock
// of other code, and calls neither the driver nor Python nor the dynamic linker. Errors: the
// reason, as the end of a sentence; then nothing is observed. Units: bytes.
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <type_traits>

#include "adapters/torch/observer/adoption.h"
#include "adapters/torch/observer/block_sizes.h"
#include "adapters/torch/observer/forwarder.h"
#include "adapters/torch/observer/out_of_memory_event.h"
#include "include/vramstow/framework.h"
#include "include/vramstow/vramstow.h"

namespace c10::CachingAllocator {
class AcceleratorAllocatorConfig;  // does not exist in every release
}  // namespace c10::CachingAllocator

namespace vramstow::torch_observer {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using Entry = caching::TraceEntry;

// The class with PyTorch's settings for block sizes. If this release has the newer class, that one
// is used.
template <typename Newer>
constexpr bool kIsComplete = requires {
  Newer::max_split_size();
};
using NewerConfig = c10::CachingAllocator::AcceleratorAllocatorConfig;
using Config =
    std::conditional_t<kIsComplete<NewerConfig>, NewerConfig, caching::CUDAAllocatorConfig>;

long CurrentThread() { return syscall(SYS_gettid); }

class Observer {
 public:
  static constexpr int kMaxDevices = 64;
  // Expandable segments are mapped in multiples of this size.
  static constexpr uint64_t kMappedPart = uint64_t{2} << 20;

  // `attachment` is null if vramstow has been present since the process started.
  Observer(const vramstow_framework_trace* trace, const vramstow_framework_attachment* attachment)
      : trace_(trace), attachment_(attachment) {}

  // Starts to observe an allocator that has no memory yet.
  void Begin();
  // Starts to observe an allocator and adopts its present blocks. Returns false if this PyTorch
  // does not report snapshots to trackers.
  bool Adopt(caching::CUDAAllocator* allocator);
  void End();

  void OnEntry(const Entry& entry);

 private:
  struct Device {
    BlockSizes sizes;
    Adoption adoption;
  };

  void AdoptSegment(const caching::SegmentInfo& segment, Device* device, uint64_t* blocks,
                    uint64_t* bytes);
  void OnSnapshot();
  void Reserve(int kind, const Entry& entry);
  void Reserve(int kind, int64_t device, uint64_t address, uint64_t size, void* stream);

  void OnAllocate(const Entry& entry, Device* device);
  void OnFreeRequested(const Entry& entry, Device* device);
  void OnFreeCompleted(const Entry& entry, Device* device);
  void OnGrown(const Entry& entry);
  void OnShrunk(const Entry& entry);
  void Emit(int kind, int64_t device, uint64_t address, uint64_t size, uint64_t requested,
            void* stream);

  const vramstow_framework_trace* const trace_;
  const vramstow_framework_attachment* const attachment_;
  std::array<Device, kMaxDevices> devices_;
  std::atomic<long> adopter_{0};  // the thread that takes snapshots to adopt, or 0
  int snapshots_ = 0;             // how many of its snapshots were taken
};

void Observer::Emit(int kind, int64_t device, uint64_t address, uint64_t size, uint64_t requested,
                    void* stream) {
  const vramstow_framework_event event = {kind,      static_cast<int32_t>(device),
                                          address,   size,
                                          requested, reinterpret_cast<uint64_t>(stream)};
  trace_->emit(&event);
}

void Observer::OnAllocate(const Entry& entry, Device* device) {
  const uint64_t requested = static_cast<uint64_t>(entry.size_);
  const uint64_t divisions =
      requested <= kMaxRoundedAlike ? 0 : Config::roundup_power2_divisions(requested);
  const uint64_t rounded = RoundSize(requested, divisions);
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  const uint64_t max_split = rounded <= kMaxCutAlways ? 0 : Config::max_split_size();
  const uint64_t size = device->sizes.Allocate(address, rounded, max_split);
  Emit(VRAMSTOW_EVENT_ALLOCATE, entry.device_, address, size, requested, entry.stream_);
}

void Observer::OnFreeRequested(const Entry& entry, Device* device) {
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  Emit(VRAMSTOW_EVENT_FREE, entry.device_, address, device->sizes.SizeOf(address),
       static_cast<uint64_t>(entry.size_), entry.stream_);
}

void Observer::OnFreeCompleted(const Entry& entry, Device* device) {
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  Emit(VRAMSTOW_EVENT_FREE_COMPLETED, entry.device_, address, device->sizes.Release(address),
       static_cast<uint64_t>(entry.size_), entry.stream_);
}

// Reports a segment that PyTorch reserves or releases. Called if the driver is not hooked.
void Observer::Reserve(int kind, int64_t device, uint64_t address, uint64_t size, void* stream) {
  const vramstow_framework_event event = {kind, static_cast<int32_t>(device),      address, size,
                                          size, reinterpret_cast<uint64_t>(stream)};
  attachment_->reserve(&event);
}

void Observer::Reserve(int kind, const Entry& entry) {
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  const uint64_t size = static_cast<uint64_t>(entry.size_);
  if (entry.action_ == Entry::SEGMENT_ALLOC || entry.action_ == Entry::SEGMENT_FREE) {
    return Reserve(kind, entry.device_, address, size, entry.stream_);
  }
  // PyTorch may map a range in one call and unmap it in several, so each part is reported
  // separately.
  for (uint64_t done = 0; done < size; done += kMappedPart) {
    Reserve(kind, entry.device_, address + done, std::min(kMappedPart, size - done), entry.stream_);
  }
}

void Observer::OnGrown(const Entry& entry) {
  trace_->reserve(static_cast<int>(entry.device_), static_cast<int64_t>(entry.size_), 0);
  if (attachment_ != nullptr) Reserve(VRAMSTOW_EVENT_ALLOCATE, entry);
}

void Observer::OnShrunk(const Entry& entry) {
  trace_->reserve(static_cast<int>(entry.device_), -static_cast<int64_t>(entry.size_), 0);
  if (attachment_ != nullptr) Reserve(VRAMSTOW_EVENT_FREE, entry);
}

// PyTorch takes the snapshots of all devices in their order, and its entries always name device 0.
void Observer::OnSnapshot() {
  if (adopter_.load(std::memory_order_acquire) != CurrentThread()) return;
  if (snapshots_ < kMaxDevices) devices_[static_cast<size_t>(snapshots_++)].adoption.OnSnapshot();
}

void Observer::OnEntry(const Entry& entry) {
  if (entry.action_ == Entry::SNAPSHOT) return OnSnapshot();
  if (entry.device_ < 0 || entry.device_ >= kMaxDevices) return;
  Device* device = &devices_[static_cast<size_t>(entry.device_)];
  if (!device->adoption.Observes()) return;
  const uint64_t address = static_cast<uint64_t>(entry.addr_);
  switch (entry.action_) {
    case Entry::ALLOC:
      OnAllocate(entry, device);
      break;
    case Entry::FREE_REQUESTED:
      OnFreeRequested(entry, device);
      return;
    case Entry::FREE_COMPLETED:
      OnFreeCompleted(entry, device);
      return;
    case Entry::SEGMENT_ALLOC:
      device->sizes.AddSegment(address, static_cast<uint64_t>(entry.size_));
      OnGrown(entry);
      break;
    case Entry::SEGMENT_FREE:
      device->sizes.RemoveSegment(address);
      OnShrunk(entry);
      break;
    case Entry::SEGMENT_MAP:  // the driver's events also contain mapped memory
      OnGrown(entry);
      break;
    case Entry::SEGMENT_UNMAP:
      OnShrunk(entry);
      break;
    default:  // failures go to the observer below
      break;
  }
}

void Observer::Begin() {
  for (Device& device : devices_) device.adoption.Finish();
}

void Observer::End() {
  for (Device& device : devices_) device.adoption.Stop();
}

void Observer::AdoptSegment(const caching::SegmentInfo& segment, Device* device, uint64_t* blocks,
                            uint64_t* bytes) {
  const auto base = static_cast<uint64_t>(segment.address);
  const bool is_expandable = segment.is_expandable;
  const uint64_t part = is_expandable ? kMappedPart : static_cast<uint64_t>(segment.total_size);
  for (uint64_t done = 0; done < segment.total_size; done += part) {
    Reserve(VRAMSTOW_EVENT_ALLOCATE, segment.device, base + done,
            std::min<uint64_t>(part, segment.total_size - done), segment.stream);
  }
  trace_->reserve(static_cast<int>(segment.device), static_cast<int64_t>(segment.total_size), 0);
  uint64_t address = base;
  for (const auto& block : segment.blocks) {
    const auto size = static_cast<uint64_t>(block.size);
    if (block.active || !is_expandable) {
      device->sizes.Adopt(address, size, !block.active, !is_expandable);
    }
    if (block.active) {
      vramstow_framework_event event = {VRAMSTOW_EVENT_ALLOCATE,
                                        static_cast<int32_t>(segment.device),
                                        address,
                                        size,
                                        static_cast<uint64_t>(block.requested_size),
                                        reinterpret_cast<uint64_t>(segment.stream)};
      attachment_->adopt(&event);
      event.kind = VRAMSTOW_EVENT_FREE;
      if (!block.allocated) attachment_->adopt(&event);
      ++*blocks;
      *bytes += size;
    }
    address += size;
  }
}

bool Observer::Adopt(caching::CUDAAllocator* allocator) {
  // If an error ends the adoption, threads of the program may be waiting for a device that is never
  // adopted. This object stops their wait.
  struct Release {
    Observer* observer;
    ~Release() {
      observer->adopter_.store(0, std::memory_order_release);
      for (Device& device : observer->devices_) {
        if (device.adoption.is_adopting()) device.adoption.Stop();
      }
    }
  } const release{this};
  for (Device& device : devices_) {
    device.sizes.Clear();
    device.adoption.Await();
  }
  snapshots_ = 0;
  adopter_.store(CurrentThread(), std::memory_order_release);
  const caching::SnapshotInfo snapshot = allocator->snapshot();
  adopter_.store(0, std::memory_order_release);
  bool has_adopted = false;
  for (int number = 0; number < kMaxDevices; ++number) {
    Device& device = devices_[static_cast<size_t>(number)];
    if (!device.adoption.is_adopting()) continue;
    has_adopted = true;
    uint64_t blocks = 0;
    uint64_t bytes = 0;
    for (const auto& segment : snapshot.segments) {
      if (static_cast<int>(segment.device) == number) {
        AdoptSegment(segment, &device, &blocks, &bytes);
      }
    }
    if (blocks != 0) attachment_->adopted(number, blocks, bytes);
    device.adoption.Finish();
  }
  if (!has_adopted) End();
  return has_adopted;
}

// Returns null if the allocator can be observed.
const char* WhyNot(caching::CUDAAllocator* allocator) {
  if (allocator == nullptr || !allocator->initialized()) return "PyTorch has not started CUDA";
  if (allocator->name() != "native") return "another allocator is chosen";
  const char* uncached = std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING");
  if (uncached != nullptr && *uncached != '\0' && std::strcmp(uncached, "0") != 0) {
    return "PYTORCH_NO_CUDA_MEMORY_CACHING asks for no caching";
  }
  return nullptr;
}

template <typename Table>
const Table* TableOf(vramstow_table_function get_table, uint32_t kind, uint32_t version) {
  return reinterpret_cast<const Table*>(get_table(kind, version));
}

const vramstow_framework_trace* TraceTable(vramstow_table_function get_table) {
  return TableOf<vramstow_framework_trace>(get_table, VRAMSTOW_TABLE_TRACE,
                                           VRAMSTOW_TABLE_TRACE_VERSION);
}

// Returns why a process has no table for a trace. Every library with such tables has one of the
// first version.
const char* WhyNoTable(vramstow_table_function get_table) {
  return get_table(VRAMSTOW_TABLE_TRACE, 1) != nullptr
             ? "the library is of an older version"
             : "vramstow is not active in this process, or the pool serves the framework";
}

// Attaches an observer. PyTorch cannot remove a tracker, so a tracker that is no longer used
// remains attached and observes nothing.
Observer* Track(caching::CUDAAllocator* allocator, const vramstow_framework_trace* trace,
                const vramstow_framework_attachment* attachment) {
  auto* observer = new Observer(trace, attachment);
  allocator->attachAllocatorTraceTracker(
      [observer](const Entry& entry) { observer->OnEntry(entry); });
  allocator->attachOutOfMemoryObserver(
      [trace, allocator](int64_t device, size_t requested, size_t allowed, size_t) {
        RecordOutOfMemory(trace, allocator, device, requested, allowed);
      });
  return observer;
}

const void* AllocatorCode() { return reinterpret_cast<const void*>(&c10::cuda::device_count); }

const char* Observe() {
  static bool observes = false;  // Python's lock for the start of CUDA is held
  if (observes) return nullptr;
  void* found = dlsym(RTLD_DEFAULT, VRAMSTOW_TABLE_SYMBOL);
  if (found == nullptr) return "vramstow is not preloaded";
  const auto get_table = reinterpret_cast<vramstow_table_function>(found);
  const auto* trace = TraceTable(get_table);
  if (trace == nullptr) return WhyNoTable(get_table);
  auto* allocator = caching::get();
  if (const char* why = WhyNot(allocator); why != nullptr) return why;
  if (trace->attach(AllocatorCode()) != VRAMSTOW_OK) {
    return "";  // there is no trace, and the reason was printed
  }
  if (!Forward(allocator, trace)) Track(allocator, trace, nullptr)->Begin();
  observes = true;
  return nullptr;
}

// Both are null until vramstow is loaded into a process that already runs. `attached` is the
// observer that Attach made; `attachment` has the functions that begin and end the trace.
Observer* attached = nullptr;
const vramstow_framework_attachment* attachment = nullptr;

const char* Attach(vramstow_table_function get_table, const char* folder, char* path, size_t size) {
  static char why[256];
  attachment = TableOf<vramstow_framework_attachment>(get_table, VRAMSTOW_TABLE_ATTACHMENT,
                                                      VRAMSTOW_TABLE_ATTACHMENT_VERSION);
  const auto* trace = TraceTable(get_table);
  if (attachment == nullptr || trace == nullptr) {
    return "this process has vramstow already, or VRAMSTOW_TRACE is off in it";
  }
  auto* allocator = caching::get();
  if (const char* refusal = WhyNot(allocator); refusal != nullptr) return refusal;
  const int begun = attachment->begin(folder, path, size);
  if (begun == VRAMSTOW_BUSY) return "this process is observed already";
  if (begun != VRAMSTOW_OK) {
    std::snprintf(why, sizeof why, "no trace can be made there (%.200s)", path);
    return why;
  }
  trace->attach(AllocatorCode());
  if (attached == nullptr) attached = Track(allocator, trace, attachment);
  if (attached->Adopt(allocator)) return nullptr;
  attachment->end();
  return "this PyTorch does not report when it takes a snapshot";
}

const char* Detach() {
  if (attached == nullptr) return "nothing was attached";
  attached->End();
  return attachment->end() == VRAMSTOW_OK ? nullptr : "nothing is attached";
}

}  // namespace
}  // namespace vramstow::torch_observer

// Returns null if PyTorch's tensors are in the trace from now on; otherwise the reason why not, as
// the end of a sentence, or an empty text if the reason was printed already.
extern "C" __attribute__((visibility("default"))) const char* vramstow_torch_observe() {
  try {
    return vramstow::torch_observer::Observe();
  } catch (const std::exception&) {
    return "PyTorch refused";
  }
}

// Starts to observe in a process that was started without vramstow. `get_table` is a function of
// vramstow's library, `folder` is the trace's folder, and `path` receives the name of the trace
// file. Called by one thread at a time.
extern "C" __attribute__((visibility("default"))) const char* vramstow_torch_attach(
    vramstow_table_function get_table, const char* folder, char* path, size_t size) {
  try {
    return vramstow::torch_observer::Attach(get_table, folder, path, size);
  } catch (const std::exception&) {
    return "PyTorch refused";
  }
}

// Returns null if nothing is observed any more and the trace is closed; otherwise the reason, as
// the end of a sentence.
extern "C" __attribute__((visibility("default"))) const char* vramstow_torch_detach() {
  return vramstow::torch_observer::Detach();
}
