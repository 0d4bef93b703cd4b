// History records the events for PyTorch's recorded history and its trace trackers.
//
// Idea: History has a ring of TraceEntry for each device, and for each live block the context
// (Python and C++ stack) in which it was allocated. While nothing is recorded and no tracker is
// attached, `on()` is one load.
//
// Ownership: one object for the process, never destroyed. Threads: any. Only the trace trackers are
// called while the lock is held, and PyTorch forbids them to wait. Errors: none. Units: bytes;
// PyTorch's approximate clock.
#ifndef VRAMSTOW_ADAPTERS_TORCH_HISTORY_H_
#define VRAMSTOW_ADAPTERS_TORCH_HISTORY_H_

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapters/torch/torch_api.h"
#include "base/mutex.h"

namespace vramstow::torch_adapter {

using Context = std::shared_ptr<GatheredContext>;

// The memory that an entry describes.
struct BlockRange {
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
  // True if a block has a context.
  bool remembers() const { return remembered_.load(std::memory_order_relaxed) != 0; }

  void Configure(bool enabled, caching::CreateContextFn recorder, size_t most,
                 caching::RecordContext when, bool clear,
                 const std::vector<std::string>& skipped_actions);
  void AddTracker(caching::AllocatorTraceTracker tracker);

  // Returns the stack of the caller, if the user asked for stacks at this level. Call it without
  // any lock, because it may take Python's GIL.
  Context Gather(caching::RecordContext level) const;
  void Record(TraceEntry::Action action, const BlockRange& place, Context context);

  // While the object exists, entries for memory that the pool maps or unmaps in this thread get
  // this context.
  class MappingScope {
   public:
    explicit MappingScope(const Context& context) : set_(context != nullptr) {
      if (set_) Current() = context;
    }
    ~MappingScope() {
      if (set_) Current() = nullptr;
    }
    MappingScope(const MappingScope&) = delete;
    MappingScope& operator=(const MappingScope&) = delete;
    static Context& Current();

   private:
    const bool set_;
  };

  // Store and remove the context of a live block. A block without a context has none, whatever an
  // earlier block at this address had.
  void Remember(const void* block, Context context);
  Context Forget(const void* block);
  Context ContextOf(const void* block);

  // Returns all entries of each device, the oldest first, with times in microseconds.
  std::vector<std::vector<TraceEntry>> Entries(size_t devices);

  void PushCompileContext(const std::string& text);
  void PopCompileContext();
  void SetUserMetadata(const std::string& text);
  std::string UserMetadata() const;
  // Records an annotation of a block, if this release of PyTorch has such entries.
  void Annotate(const BlockRange& place, const std::string& text);

 private:
  struct Ring {
    std::vector<TraceEntry> entries;
    size_t next = 0;
  };
  void Update() VRAMSTOW_REQUIRES(mutex_) { on_ = recording_ || !trackers_.empty(); }
  bool IsSkipped(TraceEntry::Action action) const VRAMSTOW_REQUIRES(mutex_) {
    return (skipped_ >> action & 1) != 0;
  }
  void Add(size_t device, TraceEntry entry) VRAMSTOW_REQUIRES(mutex_);

  std::atomic<bool> on_{false};
  std::atomic<bool> recording_{false};
  std::atomic<caching::CreateContextFn> recorder_{nullptr};
  std::atomic<caching::RecordContext> when_{caching::RecordContext::NEVER};
  std::atomic<size_t> remembered_{0};
  Mutex mutex_;
  size_t most_ VRAMSTOW_GUARDED_BY(mutex_) = 1;
  uint32_t skipped_ VRAMSTOW_GUARDED_BY(mutex_) = 0;  // one bit for each action
  std::vector<Ring> rings_ VRAMSTOW_GUARDED_BY(mutex_);
  std::vector<caching::AllocatorTraceTracker> trackers_ VRAMSTOW_GUARDED_BY(mutex_);
  std::unordered_map<const void*, Context> contexts_ VRAMSTOW_GUARDED_BY(mutex_);
  c10::ApproximateClockToUnixTimeConverter clock_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_HISTORY_H_
