// PendingList: the blocks of one heap that were freed while work of other streams may still touch
// them, and what is recorded about such work.
//
// Idea: a live block carries the streams that used it (RecordUse). When it is freed, each use is
// stamped with its stream's open tick; the block waits here until all these ticks have completed.
// In a heap without a stream every freed block waits for the heap's own timeline as well, and so
// does a block that lies in host memory.
//
// Where there is no record left, a use counts as one by every stream: the block then waits for all
// work of the device that was submitted before the free.
//
// Ownership: the records of uses. Threads: the heap's lock; Ensure and Wait also need the device's.
// Errors: none. Units: none.
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
  // `ordered`: the heap's own stream protects its blocks by its order.
  // There is room for `max_uses` records.
  bool Open(Fences* fences, uint32_t timeline, bool ordered, uint32_t max_uses);
  void Close() { uses_.Close(); }
  // From now on the heap's blocks belong to this timeline. The ticks that blocks wait for stay.
  void SetOrder(uint32_t timeline, bool ordered) {
    timeline_ = timeline;
    ordered_ = ordered;
  }

  // Work of another stream uses the live block.
  void RecordUse(SpanTable* spans, uint32_t index, uint32_t timeline);
  // Whether the block has to wait here when it is freed.
  bool MustWait(const Span& span) const { return !ordered_ || span.uses != 0 || span.offloaded; }
  // The block is freed, and stamped with its heap's tick.
  void Add(SpanTable* spans, uint32_t index);
  void Remove(SpanTable* spans, uint32_t index);
  // Whether all work that touches a block of the list has finished.
  bool IsDone(const Span& span) const;

  uint32_t first() const { return head_; }
  bool empty() const { return head_ == 0; }

  // Makes sure that fences for all blocks are on their way.
  void EnsureFences(const SpanTable& spans) VRAMSTOW_REQUIRES(kDeviceLock);
  // Waits until all uses are done. False: not by the deadline.
  bool WaitForUses(const SpanTable& spans, uint64_t deadline_ns) VRAMSTOW_REQUIRES(kDeviceLock);
  uint64_t committed_bytes() const { return uses_.committed_bytes(); }

 private:
  // In place of a block's first record: any stream may have used it. While the block is pending,
  // Span::id is the tick of Fences::kEverything that it waits for.
  static constexpr uint32_t kByEveryStream = ~uint32_t{0};

  struct Use {
    uint32_t next;
    uint32_t timeline;
    uint32_t tick;  // 0: while the block lives; set when it is freed
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
