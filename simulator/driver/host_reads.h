// What the host reads of the device: results that nobody computed, and loops that wait for one.
//
// Idea: a rehearsal leaves out what is dear. That a program has read such a result is counted, and
// whoever watches is told of the first time. A program that asks for such a result again and again
// waits for something that cannot come: after very many reads that all gave the same, its context
// is broken with a sentence, where a card would have gone on.
//
// Sizes that follow from such results are counted apart: the memory of what is made so is not that
// of a card.
//
// Ownership: one for the process; names belong to the caller and live as long as the process.
// Threads: the driver's lock, but for the counts, which any thread may ask. Errors: false. Units:
// reads.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_HOST_READS_H_
#define VRAMSTOW_SIMULATOR_DRIVER_HOST_READS_H_

#include <atomic>
#include <cstdint>

#include "simulator/driver/copy.h"

namespace vramstow::simulator {

class HostReads {
 public:
  using Seen = int (*)(const char* by, void* user);  // 0: it does not count

  static HostReads& Global();

  // A kernel ran that nobody computes: what is read next may be anything.
  void NoteIdleLaunch() { is_unsure_ = true; }

  // The host has read this; `by`: who did not compute it, or null. False: the program reads for
  // ever what cannot change, and that was said.
  bool Note(const Spec& spec, const CopyBox& box, const char* by);

  // A size follows from what `by` did not compute.
  void NoteSize(const char* by) { sizes_.Note(by); }

  // Counts what happens; whoever watches is told of the first time by the thread in which it
  // happens, and may say that it does not count.
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
  // A loop may look at a few values in turn.
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
  SmallRead places_[kPlaces];  // the latest small reads of results that were not computed
  int next_place_ = 0;
  uint64_t repeated_ = 0;  // such reads in a row that gave what they gave before
  uint64_t unsure_ = 0;    // small reads of what may be anything
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_HOST_READS_H_
