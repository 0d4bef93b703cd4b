// PendingList: the blocks of one heap that were freed while work of other streams may still touch
// them, and the records of such uses.
//
// Idea: a live block has a list of the streams that used it (RecordUse). When the block is freed,
// each use is stamped with its stream's open tick; the block waits here until all these ticks have
// completed. A block of a heap without a stream, or a block in host memory, also waits for the
// heap's own timeline.
//
// If no record is left, a use counts as a use by every stream: the block then waits for all work of
// the device that was submitted before the free.
//
// Ownership: the class owns the records of uses. Threads: guarded by the heap's lock; EnsureFences
// and WaitForUses also need the device's lock. Errors: none. Units: nanoseconds.
#ifndef VRAMSTOW_ALLOCATOR_HEAP_PENDING_LIST_H_
#define VRAMSTOW_ALLOCATOR_HEAP_PENDING_LIST_H_

#include <cstdint>

#include "allocator/core/device_lock.h"
#include "allocator/core/fences.h"
#include "allocator/core/slab.h"
#include "allocator/heap/span_table.h"

namespace vramstow {

class PendingList {
 public:
  // Reserves room for `max_uses` records. `ordered` is true if the order of the heap's own stream
  // protects its blocks, so that they need not wait for that stream.
  bool Open(Fences* fences, uint32_t timeline, bool ordered, uint32_t max_uses);
  void Close() { uses_.Close(); }
  // Assigns the heap's blocks to another timeline. Blocks in the list still wait for their old
  // ticks.
  void SetOrder(uint32_t timeline, bool ordered) {
    timeline_ = timeline;
    ordered_ = ordered;
  }

  // Records that work of another stream uses the live block.
  void RecordUse(SpanTable* spans, uint32_t index, uint32_t timeline);
  // True if the block must wait in the list when it is freed.
  bool MustWait(const Span& span) const { return !ordered_ || span.uses != 0 || span.offloaded; }
  // Adds a block that was freed, and stamps it with its heap's open tick.
  void Add(SpanTable* spans, uint32_t index);
  void Remove(SpanTable* spans, uint32_t index);
  // True if all work that touches a block of the list has finished.
  bool IsDone(const Span& span) const;

  uint32_t first() const { return head_; }
  bool empty() const { return head_ == 0; }

  // Makes sure that events that cover the ticks of all blocks were recorded.
  void EnsureFences(const SpanTable& spans) VRAMSTOW_REQUIRES(kDeviceLock);
  // Waits until all uses of pending blocks have finished. Returns false if they have not by the
  // deadline.
  bool WaitForUses(const SpanTable& spans, uint64_t deadline_ns) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t committed_bytes() const { return uses_.committed_bytes(); }

 private:
  // The value of Span::uses if every stream may have used the block. While such a block is pending,
  // Span::id is the tick of Fences::kEverything for which it waits.
  static constexpr uint32_t kByEveryStream = ~uint32_t{0};

  struct Use {
    uint32_t next;
    uint32_t timeline;
    uint32_t tick;  // 0 while the block is live; set when it is freed
  };

  void DeleteUses(Span* span);
  // Calls visit(timeline, tick) for each use of a pending block.
  template <typename Visit>
  void VisitUses(const Span& span, Visit visit) const;

  Fences* fences_ = nullptr;
  uint32_t timeline_ = 0;
  bool ordered_ = false;
  uint32_t head_ = 0;
  Slab<Use> uses_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_ALLOCATOR_HEAP_PENDING_LIST_H_
