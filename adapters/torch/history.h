// History: what PyTorch records of allocations when it is asked to, and who listens.
//
// Idea: a ring of TraceEntry for each device, and the context (Python and C++ stack) in which each
// live block was allocated. While nothing is recorded and nobody listens, `on()` is one load.
//
// Ownership: one object for the process, never destroyed. Threads: any; a lock of its own, a leaf:
// nothing is called under it but the trace trackers, which PyTorch forbids to wait. Errors: none.
// Units: bytes; PyTorch's approximate clock.
#ifndef VRAMSTOW_ADAPTERS_TORCH_HISTORY_H_
#define VRAMSTOW_ADAPTERS_TORCH_HISTORY_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapters/torch/torch_api.h"

namespace vramstow::torch_adapter {

using Context = std::shared_ptr<GatheredContext>;

// Where an entry's memory is.
struct Place {
  DeviceIndex device;
  size_t address;
  size_t size;
  void* stream = nullptr;
  MempoolId_t pool{0, 0};
};

class History {
 public:
  bool on() const { return on_.load(std::memory_order_acquire); }
  bool recording() const { return recording_; }

  void Configure(bool enabled, caching::CreateContextFn recorder, size_t most,
                 caching::RecordContext when, bool clear,
                 const std::vector<std::string>& skipped_actions);
  void AddTracker(caching::AllocatorTraceTracker tracker);

  // The stack of the caller, if one is wanted at this level. Without any lock held: it may take the
  // GIL.
  Context Gather(caching::RecordContext level) const;
  void Record(TraceEntry::Action action, const Place& place, Context context);

  // While it lives, what this thread makes the pool map and unmap is told with this context.
  class Mapping {
   public:
    explicit Mapping(const Context& context) : set_(context != nullptr) {
      if (set_) Current() = context;
    }
    ~Mapping() {
      if (set_) Current() = nullptr;
    }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    static Context& Current();

   private:
    const bool set_;
  };

  // Of live blocks.
  void Remember(const void* block, Context context);
  Context Forget(const void* block);
  Context ContextOf(const void* block);

  // Oldest first, with times in microseconds.
  std::vector<std::vector<TraceEntry>> Entries(size_t devices);

  void PushCompileContext(const std::string& text);
  void PopCompileContext();
  void SetUserMetadata(const std::string& text);
  std::string UserMetadata() const;

 private:
  struct Ring {
    std::vector<TraceEntry> entries;
    size_t next = 0;
  };
  void Update() { on_ = recording_ || !trackers_.empty(); }
  bool IsSkipped(TraceEntry::Action action) const;

  std::atomic<bool> on_{false};
  std::atomic<bool> recording_{false};
  std::atomic<caching::CreateContextFn> recorder_{nullptr};
  std::atomic<caching::RecordContext> when_{caching::RecordContext::NEVER};
  std::atomic<size_t> remembered_{0};
  std::mutex mutex_;
  size_t most_ = 1;
  uint32_t skipped_ = 0;  // one bit for each action
  std::vector<Ring> rings_;
  std::vector<caching::AllocatorTraceTracker> trackers_;
  std::unordered_map<const void*, Context> contexts_;
  c10::ApproximateClockToUnixTimeConverter clock_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_HISTORY_H_
