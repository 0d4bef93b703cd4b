// Analyzer: one pass over the events of a process, from which it makes the facts.
//
// Idea: what is live is kept by address (blocks), by handle (physical memory) and by range (address
// space); Levels adds it up. Three layers may tell of the same bytes: what a pool takes from the
// driver is reserved, what it hands out is allocated, and neither is added to the other. The
// history that a trace tells is legal, but may begin in the middle, have gaps and end anywhere:
// what contradicts is counted apart and never changes a level by bytes that were not seen to come.
//
// Ownership: copies what it needs. Threads: one at a time. Errors: none; what could not be
// understood is in Facts::counts. Units: bytes, nanoseconds. Memory: for each live block, not for
// each event.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ANALYZER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ANALYZER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/address_ranges.h"
#include "tools/analysis/announcements.h"
#include "tools/analysis/block_table.h"
#include "tools/analysis/detail.h"
#include "tools/analysis/event_batch.h"
#include "tools/analysis/event_source.h"
#include "tools/analysis/facts.h"
#include "tools/analysis/host_looks.h"
#include "tools/analysis/launch_tally.h"
#include "tools/analysis/levels.h"
#include "tools/analysis/live_block.h"
#include "tools/analysis/physical_memory.h"
#include "tools/analysis/pool_space.h"
#include "tools/analysis/residency.h"
#include "tools/analysis/site_table.h"
#include "tools/analysis/timeline.h"

namespace vramstow {

class Analyzer {
 public:
  // Only what the source says of itself is looked at; it gives names when the analysis is finished.
  explicit Analyzer(const EventSource& source);

  // Events in the order of their sequence. `stack`: of the call, a number of the source's.
  void Add(const Event& event, uint32_t stack = 0);
  // A mark's text, after Add.
  // What an event with a text says: a mark, or launches of a kernel.
  void AddText(const Event& event, std::string_view text);
  void AddMark(const Event& event, std::string_view text);
  // The source says how much is reserved after the event that was added last.
  void SetReserved(uint64_t bytes) {
    levels_.SetReserved(bytes);
    reserved_known_ = true;
  }
  // The same for all of a batch, which is faster.
  void AddBatch(const EventBatch& batch);
  // Levels after the event that was added last.
  uint64_t allocated() const { return levels_.allocated(); }
  uint64_t reserved() const { return levels_.reserved(); }
  // Free memory of pools, the same.
  FreeMemory free_ranges() const { return pool_space_.Free(largest_request_); }
  // All facts but those about the file itself, and what they rest on.
  Analysis Finish(const EventSource& source);

 private:
  // An out-of-memory before its names are looked up.
  struct OutOfMemory {
    OutOfMemoryFacts facts;
    uint16_t call;
    uint16_t library;
    uint32_t site = 0;
    uint32_t before = 0;  // the sites beside the largest free range, from 1; 0: nobody
    uint32_t after = 0;
  };
  // What a pool took from the device.
  struct Segment {
    uint64_t size = 0;
    uint64_t birth = 0;
    uint64_t birth_ns = 0;
    uint64_t stream = kUnknownStream;
    uint32_t site = 0;
    int16_t device = kNoDevice;
    bool counts = true;  // false: a mapping of memory that is counted by its handle
    bool opened = false;
    bool grows = false;  // joins its neighbours
  };
  // Given back by the application, and not yet to be used again.
  struct Pending {
    LiveBlock block;
    uint64_t since = 0;
    uint64_t since_ns = 0;
  };

  // Have memory fetch what an event that comes soon will need, in two steps: with many live blocks
  // most of the time is spent waiting for it.
  [[gnu::always_inline]] void PrefetchPlace(const Event& event) const {
    (event.layer == Layer::kFramework ? blocks_ : addresses_).PrefetchPlace(event.address);
  }
  [[gnu::always_inline]] void PrefetchBlock(const Event& event) const {
    if (event.kind != EventKind::kFree) return;
    (event.layer == Layer::kFramework ? blocks_ : addresses_).PrefetchBlock(event.address);
  }

  // By kind of event.
  void AddDriver(const Event& event);
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

  // analyzer_layers.cc
  void AddPool(const Event& event);
  void AddMove(const Event& event);
  Segment SegmentOf(const Event& event, uint64_t size, bool grows);
  void AddSegment(const Event& event, bool grows);
  void EndSegment(const Event& event, bool shrinks);
  void EndLife(uint64_t address, uint64_t size, const Segment& segment);
  void FollowChunks(const Event& event);
  void EndMapped(uint64_t address, uint64_t size,
                 const std::function<void(uint64_t, Segment*, uint64_t)>& end);
  void AddFramework(const Event& event);
  void AddFrameworkFree(const Event& event);
  void EndPending(uint64_t address);
  void CountFlush(const Event& event, uint64_t bytes);
  void EndFlush();
  void PlaceInPool(const Event& event, const LiveBlock& block);
  bool IsOpening(const Event& event) const {
    return opening_call_.has_value() && event.call == *opening_call_;
  }

  // analyzer_failures.cc; with AddFailed, AddMemoryInfo
  void TellPool(OutOfMemory* failure) const;
  static void TellDevice(const DeviceLevel& device, OutOfMemoryFacts* facts);

  void UndoFree(const Event& event, const Announcement& announcement);
  void UndoUnmap(const Announcement& announcement, const Moment& now);

  Moment Now(const Event& event) const { return {events_, event.sequence, now_ns_}; }
  LiveBlock BlockOf(const Event& event);
  void CountAllocation(const LiveBlock& block);
  BlockTable* Table(BlockPlace place);
  static BlockPlace PlaceOf(MemoryKind memory);
  // Takes the block away from where it is; place kNowhere where it is not known.
  BlockPlace Take(uint64_t address, MemoryKind memory, LiveBlock* block);
  void Insert(BlockPlace place, const LiveBlock& block, const Moment& now);
  // `block` ends with the event at hand.
  void Die(const LiveBlock& block);
  Life LifeOf(const LiveBlock& block) const;
  void ForgetMapping(const Mapping& mapping, RemovedMapping* removed);
  void DropContext(int16_t device);
  void CloseInterval(uint64_t time_ns);
  void KeepPeakFragmentation();
  FreeMemory FreeNow() const {
    return pool_space_.any() ? free_ranges() : address_space_.Free(largest_request_);
  }
  TimelinePoint State() const;

  // analyzer_facts.cc
  void FillTallies(const EventSource& source, Facts* facts) const;
  void FillHistogram(Facts* facts) const;
  void FillDevices(const EventSource& source, Facts* facts) const;
  void FillPeakBlocks(const EventSource& source, Facts* facts) const;
  void FillLive(const EventSource& source, Facts* facts) const;
  void FillFragmentation(Facts* facts) const;

  // analyzer_detail.cc
  void FillSites(const EventSource& source, Detail* detail) const;
  void FillLives(Detail* detail);
  void FillLayers(const Detail& detail, Facts* facts);
  void ForEachLive(const std::function<void(const LiveBlock&)>& visit) const;

  Levels levels_;
  SiteTable sites_;
  Lives lives_;
  Lives segment_lives_;
  LevelLog level_log_;
  std::vector<uint64_t> site_allocations_;
  std::vector<uint64_t> site_bytes_;
  BlockTable blocks_;  // of frameworks
  absl::flat_hash_map<uint64_t, Pending> pending_;
  uint64_t pending_bytes_ = 0;
  uint64_t pending_peak_bytes_ = 0;
  absl::flat_hash_map<uint64_t, Segment> segments_;
  absl::flat_hash_map<uint64_t, Segment> pool_handles_;
  PoolSpace pool_space_;
  CacheFacts cache_;
  HostLooks host_;
  FlushFacts flush_;
  bool is_flushing_ = false;
  uint32_t flush_site_ = 0;
  std::vector<uint32_t> flush_sites_;  // of cache_.flushes
  Residency residency_;
  LaunchTally launches_;
  std::vector<MarkDetail> marks_;
  uint64_t marks_left_out_ = 0;
  std::optional<uint16_t> opening_call_;
  bool tells_free_completed_ = false;
  bool reserved_known_ = false;
  bool any_driver_ = false;
  uint64_t opening_events_ = 0;
  uint32_t stack_ = 0;      // of the event at hand
  uint32_t free_site_ = 0;  // who frees at the event at hand, where that is known

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
  FreeMemory peak_ranges_;
  uint64_t peak_ranges_of_ = 0;  // the peak (Levels::peak_event) that peak_ranges_ belongs to
  FreeMemory worst_ranges_;
  uint64_t worst_ranges_time_ns_ = 0;
};

// All facts of one source, with what they rest on. `file` is only carried along.
Analysis AnalyzeInDetail(EventSource* source, const std::string& file);
// The facts alone.
Facts Analyze(EventSource* source, const std::string& file);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ANALYZER_H_
