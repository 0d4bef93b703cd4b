// Analyzer: one pass over the events of a process, from which it makes the facts.
//
// Idea: what is live is kept by address (blocks), by handle (physical memory) and by range (address
// space); Levels adds it up. The history that a trace tells is legal, but may begin in the middle,
// have gaps and end anywhere: what contradicts is counted apart and never changes a level by bytes
// that were not seen to come.
//
// Ownership: copies what it needs. Threads: one at a time. Errors: none; what could not be
// understood is in Facts::counts. Units: bytes, nanoseconds. Memory: for each live block, not for
// each event.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ANALYZER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ANALYZER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/address_ranges.h"
#include "tools/analysis/announcements.h"
#include "tools/analysis/event_source.h"
#include "tools/analysis/facts.h"
#include "tools/analysis/levels.h"
#include "tools/analysis/live_block.h"
#include "tools/analysis/physical_memory.h"
#include "tools/analysis/timeline.h"

namespace vramstow {

class Analyzer {
 public:
  // `source_facts`: the traced process's facts; the devices' free memory at the start is of use.
  explicit Analyzer(const std::map<std::string, std::string>& source_facts);

  // Events in the order of their sequence.
  void Add(const Event& event);
  // All facts but those about the file itself. `source` gives the names.
  Facts Finish(const EventSource& source);

 private:
  using BlockTable = absl::flat_hash_map<uint64_t, LiveBlock>;
  // An out-of-memory before its names are looked up.
  struct OutOfMemory {
    OutOfMemoryFacts facts;
    uint16_t call;
    uint16_t library;
  };

  // By kind of event.
  void Apply(const Event& event);
  void AddFailed(const Event& event);
  void AddAllocate(const Event& event);
  void AddFree(const Event& event);
  void AddRegister(const Event& event);
  void AddImport(const Event& event);
  void AddMap(const Event& event);
  void AddUnmap(const Event& event);
  void AddUnreserve(const Event& event);
  void AddRefused(const Event& event);
  void AddMemoryInfo(const Event& event);
  void AddContextEnd(const Event& event);

  void UndoFree(const Announcement& announcement, const Moment& now);
  void UndoUnmap(const Announcement& announcement, const Moment& now);

  Moment Now(const Event& event) const { return {events_, event.sequence, now_ns_}; }
  LiveBlock BlockOf(const Event& event) const;
  BlockTable* Table(BlockPlace place);
  static BlockPlace PlaceOf(MemoryKind memory);
  // Takes the block away from where it is; place kNowhere where it is not known.
  BlockPlace Take(uint64_t address, MemoryKind memory, LiveBlock* block);
  void Insert(BlockPlace place, const LiveBlock& block, const Moment& now);
  void ForgetMapping(const Mapping& mapping, RemovedMapping* removed);
  void DropContext(int16_t device);
  void CloseInterval(uint64_t time_ns);
  void KeepPeakFragmentation();
  TimelinePoint State() const;

  // analyzer_facts.cc
  void FillTallies(const EventSource& source, Facts* facts) const;
  void FillHistogram(Facts* facts) const;
  void FillDevices(const EventSource& source, Facts* facts) const;
  void FillPeakBlocks(const EventSource& source, Facts* facts) const;
  void FillLive(const EventSource& source, Facts* facts) const;
  void FillFragmentation(Facts* facts) const;
  template <typename Visit>
  void ForEachLive(Visit visit) const;

  Levels levels_;
  BlockTable addresses_;
  BlockTable arrays_;
  BlockTable registered_;
  BlockTable imports_;
  PhysicalMemory physical_;
  AddressRanges address_space_;
  Announcements announcements_;
  Timeline timeline_;
  Counts counts_;
  std::vector<OutOfMemory> out_of_memory_;
  absl::flat_hash_map<int16_t, int64_t> contexts_;  // device → how many live contexts were seen

  uint64_t events_ = 0;
  uint64_t now_ns_ = 0;
  uint64_t largest_request_ = 0;
  FreeRanges peak_ranges_;
  uint64_t peak_ranges_of_ = 0;  // the peak (Levels::peak_event) that peak_ranges_ belongs to
  FreeRanges worst_ranges_;
  uint64_t worst_ranges_time_ns_ = 0;
};

// All facts of one source. `file` is only carried along.
Facts Analyze(EventSource* source, const std::string& file);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ANALYZER_H_
