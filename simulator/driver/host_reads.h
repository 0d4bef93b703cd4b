// HostReads counts the host's reads of results that were not computed, and detects loops that wait
// for such a result.
//
// Idea: a simulated run leaves out expensive results. A read of such a result is counted, and a
// watcher is called at the first one. A program that reads such a result again and again waits for
// a value that cannot appear. After very many reads with the same value, the program's context is
// broken and a message says why; on a GPU the program would have continued.
//
// Sizes that follow from results that were not computed are counted separately, because an
// allocation of such a size differs from the allocation on a GPU.
//
// Ownership: one for the process; names belong to the caller and live as long as the process.
// Threads: the caller holds the driver's lock, except for the counts, which any thread may read.
// Errors: returns false. Units: reads.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_READS_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_READS_H_

#include <atomic>
#include <cstdint>

#include "simulator/driver/copy.h"

namespace vramstow::simulator {

class HostReads {
 public:
  using Seen = int (*)(const char* by, void* user);  // 0: the event does not count

  static HostReads& Global();

  // Records that a kernel ran whose effect is not computed, so that later reads may be wrong.
  void NoteIdleLaunch() { is_unsure_ = true; }

  // Records a copy to the host that the host has read. `by` is the kernel that did not compute the
  // bytes, or null. If the program keeps reading values that cannot change, reports that and
  // returns false.
  bool Note(const Spec& spec, const CopyBox& box, const char* by);

  // Records that a size follows from a result that kernel `by` did not compute.
  void NoteSize(const char* by) { sizes_.Note(by); }

  // Counts events. The watcher is called for the first event, in the thread where it happens, and
  // may return 0 so that the event does not count.
  class Watched {
   public:
    void Note(const char* by) {
      if (count() == 0 && seen_ != nullptr && seen_(by, user_) == 0) return;
      count_.fetch_add(1, std::memory_order_relaxed);
    }
    void Watch(Seen seen, void* user) {
      seen_ = seen;
      user_ = user;
    }
    uint64_t count() const { return count_.load(std::memory_order_relaxed); }

   private:
    std::atomic<uint64_t> count_{0};
    Seen seen_ = nullptr;
    void* user_ = nullptr;
  };
  Watched& values() { return values_; }
  Watched& sizes() { return sizes_; }

 private:
  // Number of addresses that are remembered, because a loop may read several values again and
  // again.
  static constexpr int kPlaces = 8;
  struct SmallRead {
    uint64_t address = 0;
    uint64_t value = 0;
  };

  bool NoteUnsure(const Spec& spec);
  bool NoteRepeated(uint64_t address, uint64_t value, const char* by);
  bool IsRepeated(uint64_t address, uint64_t value);

  Watched values_;
  Watched sizes_;
  bool is_unsure_ = false;
  SmallRead places_[kPlaces];  // the latest small reads of uncomputed results
  int next_place_ = 0;
  uint64_t repeated_ = 0;  // consecutive reads with the same value as before
  uint64_t unsure_ = 0;    // small reads whose values may be wrong
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_READS_H_
