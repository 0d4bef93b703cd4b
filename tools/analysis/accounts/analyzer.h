// Analyzer: reads the events of a process once and makes the facts from them.
//
// Idea: three layers may report the same bytes: memory that a pool takes from the driver is
// reserved, memory that it hands out is allocated, and neither is added to the other. So each layer
// has a class of its own (DriverLayer, PoolLayer, FrameworkLayer), and all three report to one
// Accounts object and one FreeSpace object. The events of a trace are in order, but they may begin
// in the middle of a run, have gaps, and end anywhere. An event that contradicts the earlier ones
// is counted separately. A level never changes by bytes whose allocation was not seen.
//
// Ownership: keeps copies of what it needs. Threads: used by one thread at a time. Errors: none;
// events that could not be understood are in Facts::counts. Units: bytes, nanoseconds. Memory:
// proportional to the live blocks, not to the events.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ANALYZER_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ANALYZER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/collection_log.h"
#include "tools/analysis/accounts/driver_layer.h"
#include "tools/analysis/accounts/event_batch.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/accounts/failures.h"
#include "tools/analysis/accounts/framework_layer.h"
#include "tools/analysis/accounts/free_space.h"
#include "tools/analysis/accounts/losses.h"
#include "tools/analysis/accounts/mark_log.h"
#include "tools/analysis/accounts/memory_looks.h"
#include "tools/analysis/accounts/pool_layer.h"
#include "tools/analysis/accounts/pool_segments.h"
#include "tools/analysis/accounts/site_samples.h"
#include "tools/analysis/accounts/timeline.h"
#include "tools/analysis/facts/census_log.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"
#include "tools/analysis/facts/launch_tally.h"
#include "tools/analysis/facts/model_clock_log.h"
#include "tools/analysis/facts/turn_log.h"

namespace vramstow {

class Analyzer : private PooledBlocks {
 public:
  // The constructor only reads the source's facts about itself. Finish reads the names.
  explicit Analyzer(const EventSource& source);
  Analyzer(const Analyzer&) = delete;
  Analyzer& operator=(const Analyzer&) = delete;

  // Sets the blocks that may have been freed by events that are missing, in the order of events.
  // Call it before the first event is added.
  void SetLosses(std::vector<Loss> losses) { losses_ = std::move(losses); }

  // Adds an event. Events must be added in the order of their sequence numbers. `stack` is the
  // number that the source gives the call stack.
  void Add(const Event& event, uint32_t stack = 0);
  // Adds the text of an application's mark, or of a kernel launch. Call it after Add.
  void AddText(const Event& event, std::string_view text);
  // Records how many bytes were reserved on the event's device after the event, as the source
  // reports. The event must be the one that was added last.
  void SetReserved(const Event& event, uint64_t bytes) {
    accounts_.levels().SetReserved(event.device, bytes);
    reserved_known_ = true;
  }
  // Calls Add, AddText and SetReserved for each event of a batch, which is faster.
  void AddBatch(const EventBatch& batch);
  // The levels after the event that was added last.
  uint64_t allocated() const { return accounts_.levels().allocated(); }
  uint64_t reserved() const { return accounts_.levels().reserved(); }
  // The free memory of pools after the event that was added last.
  FreeMemory free_ranges() const { return space_.OfPool(); }
  // Returns all facts except those about the file itself, and the `Detail` from which they are
  // derived.
  Analysis Finish(const EventSource& source);

 private:
  // Prefetch the memory of a later event, first its slot and then its block. With many live blocks
  // the analysis would otherwise wait for memory most of the time.
  [[gnu::always_inline]] const BlockTable& TableOf(const Event& event) const {
    return event.layer == Layer::kFramework ? framework_.blocks() : driver_.memory().addresses();
  }
  [[gnu::always_inline]] void PrefetchSlot(const Event& event) const {
    TableOf(event).PrefetchSlot(event.address);
  }
  [[gnu::always_inline]] void PrefetchBlock(const Event& event) const {
    if (event.kind != EventKind::kFree) return;
    TableOf(event).PrefetchBlock(event.address);
  }

  void LoseBlocks();
  void AddSums(const TraceSums& sums);
  TimelinePoint State() const;
  void CloseInterval();
  void ForEachLive(const std::function<void(const LiveBlock&)>& visit) const;
  void ForEachPooled(const std::function<void(const LiveBlock&)>& visit) const override;
  uint64_t PendingBytes(int16_t device) const override;

  void FillLives(Detail* detail);
  void FillDetail(const EventSource& source, Detail* detail);
  void FillLayers(const EventSource& source, const Detail& detail, Facts* facts) const;
  void FillOffload(const Detail& detail, OffloadFacts* offload) const;

  Accounts accounts_;
  FreeSpace space_;
  PoolSegments segments_;
  Failures failures_;
  MemoryLooks looks_;
  DriverLayer driver_;
  PoolLayer pool_;
  FrameworkLayer framework_;
  Timeline timeline_;
  SiteSamples samples_;
  LevelLog level_log_;
  MarkLog marks_;
  CensusLog censuses_;
  CollectionLog collections_;
  LaunchTally launches_;
  ModelClockLog model_clock_;
  TurnLog turns_;
  std::vector<Loss> losses_;
  size_t next_loss_ = 0;
  uint64_t lives_gone_ = 0;      // lives of which only sums remain
  bool reserved_known_ = false;  // the source has it
};

// Returns all facts of one source, and the `Detail` from which they are derived. `file` is only
// copied into the facts.
Analysis AnalyzeInDetail(EventSource* source, const std::string& file);
// Returns all facts of one source. `file` is only copied into the facts.
Facts Analyze(EventSource* source, const std::string& file);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_ANALYZER_H_
