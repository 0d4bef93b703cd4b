// EventFolder decides which events of the older part of a trace are retained, and adds up all
// others ("folds" them).
//
// Idea: the analysis describes a peak by the blocks that were live then, and the end by the blocks
// that are live. So the events of these blocks are retained. Events of memory that has no simple
// pair of allocation and free are retained, too. All other blocks are added up to sums, in which
// single blocks cannot be distinguished. The retained events are consistent by themselves: a block
// is retained with both of its events. Retained events may be folded again, together with newer
// events.
//
// The events are read twice, in the same order, because a later peak may make the blocks of an
// earlier peak unnecessary.
//
// Ownership: Create maps its memory, which is never released; further memory for a fold exists from
// Begin to End. Threads: one at a time. Errors: Look returns false if there is no room. No heap.
// Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TRACER_FOLD_EVENT_FOLDER_H_
#define VRAMSTOW_TRACER_FOLD_EVENT_FOLDER_H_

#include <cstddef>
#include <cstdint>

#include "base/event.h"
#include "tracer/fold/fold_levels.h"
#include "tracer/fold/fold_sums.h"
#include "tracer/fold/fold_table.h"

namespace vramstow {

class EventFolder {
 public:
  // The largest number of events that can be folded at once.
  static constexpr size_t kMaxEvents = size_t{1} << 22;

  // Returns null if there is no memory.
  static EventFolder* Create();

  // Begins a fold. Returns false if there is no memory.
  bool Begin();
  void End();

  // Reads an event for the first time. `was_kept` is true if an earlier fold retained the event;
  // such events come before all others. Returns false if there are too many live blocks or too many
  // events.
  bool Look(const Event& event, bool was_kept);
  // Decides which events are retained. Called between the first and the second reading of the
  // events.
  void Decide();
  // Reads an event for the second time. Returns true if the event is retained; otherwise it is
  // added to the sums.
  bool Keeps(const Event& event);

  size_t looked_at() const { return count_; }
  FoldSums& sums() { return sums_; }
  const FoldLevels& levels() const { return levels_; }

 private:
  static constexpr size_t kRemembered = 256;   // frees that may be refused
  static constexpr size_t kCandidates = 256;   // also in CustomAllocatorSegments
  static constexpr size_t kFreesOfThread = 4;  // also in ProvisionalFrees
  static constexpr size_t kMaxDied = FoldTable::kMaxSlots;
  static constexpr size_t kMaxOdd = size_t{1} << 17;

  // Each event has one byte. Its lowest bit says whether the event is retained; the bits above
  // contain the kind of memory that the event freed.
  static constexpr uint8_t kKeep = 1;
  static constexpr unsigned kFreedShift = 1;

  struct Pair {
    uint32_t birth;
    uint32_t death;
  };
  struct Free {
    uint64_t sequence;
    uint32_t thread;
    uint32_t event;
    FoldBlock block;  // its key is 0 if the block is unknown
  };
  struct Candidate {
    uint64_t address;
    uint64_t size;
    uint32_t thread;
    uint32_t birth;
    uint32_t death;  // 0 if it is live
  };
  // The samples of a device's (or the host's) free memory with the most extreme values.
  struct Extremes {
    bool is_known;
    uint64_t least_free;
    uint64_t most_resident;
    uint32_t least_event;
    uint32_t most_event;
  };

  EventFolder() = default;

  void Keep(uint32_t event) { fates_[event] |= kKeep; }
  void KeepOdd();
  bool LookAtDriver(const Event& event);
  bool LookAtDriverMemory(const Event& event);
  bool LookAtTensor(const Event& event);
  bool LookAtPool(const Event& event);
  bool LookAtPoolMemory(const Event& event);
  void LookAtMemoryInfo(const Event& event);

  FoldBlock BlockOf(FoldSpace space, const Event& event) const;
  bool Born(const FoldBlock& block);
  bool Take(uint64_t key, FoldBlock* block);
  void End(const FoldBlock& block);
  bool FreeAt(FoldSpace space, const Event& event);
  void Remember(const Event& event, const FoldBlock& block);
  void Refuse(const Event& event);
  void KeepWhatMayBeRefused();
  bool Reserve(FoldSpace space, const Event& event, bool counts);
  bool Unreserve(FoldSpace space, const Event& event);
  bool UnmapPool(const Event& event);
  void NoteDeath(const FoldBlock& block);
  void KeepCandidate(const Candidate& candidate);
  bool LookForHolders(const Event& tensor);
  void EndContext(const Event& event);

  FoldLevels levels_;
  FoldSums sums_;
  FoldTable table_;
  size_t count_;
  bool is_full_;
  uint32_t now_;  // the number of the current event
  size_t odd_;
  size_t odd_left_out_;
  uint8_t* fates_;
  // Blocks that were live at the peak with number `died_peak_` and were freed after it. The list is
  // emptied when a block is freed after a later peak.
  Pair* died_;
  size_t died_count_;
  uint64_t died_peak_;
  Free frees_[kRemembered];
  size_t free_count_;
  Candidate candidates_[kCandidates];
  size_t candidate_count_;
  int64_t contexts_[FoldLevels::kMaxDevices];
  Extremes extremes_[FoldLevels::kMaxDevices];  // the host's comes first
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FOLD_EVENT_FOLDER_H_
