// EarlyMarks keeps what a program has annotated before there is a trace.
//
// Idea: the trace is made when the program first uses CUDA. A range that is open then, and the
// iteration that has begun, contain the first memory of the program, so they must be in the trace.
// Ranges that have ended, and iterations before the last one, contain no memory, and are forgotten.
//
// Ownership: a value; texts are copied. Threads: only the thread that has made the first annotation
// is served, because ranges belong to a thread; the calls of other threads have no effect. Errors:
// an annotation that finds no room is not kept, and Keep returns false. Units: none.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_EARLY_MARKS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_EARLY_MARKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/typed_event.h"

namespace vramstow {

class EarlyMarks {
 public:
  struct Entry {
    MarkKind kind;
    uint64_t number;
    char text[64];
  };
  constexpr EarlyMarks() = default;
  EarlyMarks(const EarlyMarks&) = delete;
  EarlyMarks& operator=(const EarlyMarks&) = delete;

  // Keeps the annotation of a thread, which `thread` identifies. Returns false if it is not kept.
  bool Keep(const void* thread, MarkKind kind, const char* text, uint64_t number);
  // Calls visit(entry) for what the thread has kept, the oldest first, and forgets it.
  template <typename Visit>
  void Take(const void* thread, Visit visit) {
    if (owner_.load(std::memory_order_relaxed) != thread) return;
    for (size_t i = 0; i < count_; ++i) visit(entries_[i]);
    count_ = 0;
  }
  // Forgets everything, in a forked child: the parent's trace may have begun, and its ranges may
  // have ended there.
  void AbandonAfterFork() {
    owner_.store(nullptr, std::memory_order_relaxed);
    count_ = 0;
  }

 private:
  static constexpr size_t kMost = 32;

  bool EndRange();
  void Remove(size_t place);

  std::atomic<const void*> owner_{nullptr};
  size_t count_ = 0;
  Entry entries_[kMost] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_EARLY_MARKS_H_
