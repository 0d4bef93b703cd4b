// Facts: all results of the analysis of one trace, or of several together. Text, JSON and the
// summary of `vramstow run` are made only from the facts, so they show the same numbers.
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes; nanoseconds since the trace began. docs/analyze.md explains every number, in the words of
// docs/contracts.md ("Numbers").
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"
#include "tools/analysis/facts/advice_facts.h"
#include "tools/analysis/facts/amount.h"
#include "tools/analysis/facts/cache_facts.h"
#include "tools/analysis/facts/failure_facts.h"
#include "tools/analysis/facts/fragmentation_facts.h"
#include "tools/analysis/facts/iteration_facts.h"
#include "tools/analysis/facts/level_facts.h"
#include "tools/analysis/facts/model_clock_facts.h"
#include "tools/analysis/facts/offload_facts.h"
#include "tools/analysis/facts/rank_facts.h"
#include "tools/analysis/facts/site_facts.h"
#include "tools/analysis/facts/snapshot_facts.h"
#include "tools/analysis/facts/tally_facts.h"
#include "tracer/format/reader.h"

namespace vramstow {

struct Facts {
  std::string kind = "stow";  // of the input
  // The value of one trace. For several traces it is their common value, or empty if they differ.
  std::string file;
  std::map<std::string, std::string> trace_metadata;  // "process.pid", "option.pool", and so on
  std::optional<int64_t> rank;
  bool simulated = false;
  ReadReport report;
  std::vector<std::string> missing;  // that the input does not have, one sentence each
  uint64_t start_unix_ns = 0;        // wall-clock time at which the trace's time is 0; 0: not known
  uint64_t end_ns = 0;               // time of the last event
  bool reserved_known = true;

  uint64_t traces = 1;
  // How often a rank ran, one attempt after the other. Levels count only its highest attempt.
  uint64_t attempts = 1;
  uint64_t processes = 1;  // fewer than traces if a process replaced its program (exec)
  Counts counts;
  Peak peak;
  uint64_t largest_block_bytes = 0;  // of device memory
  std::vector<TallyFacts> by_library;
  std::vector<TallyFacts> by_kind;
  std::vector<TallyFacts> by_call;
  LaunchesFacts launches;
  std::vector<DeviceFacts> devices;
  std::vector<HistogramRow> histogram;
  std::vector<BlockFacts> largest_at_peak;
  TimelineFacts timeline;                       // of one trace only
  FragmentationFacts fragmentation;             // of one trace only
  std::vector<OutOfMemoryFacts> out_of_memory;  // the first kMaxOutOfMemory of each trace
  LiveFacts live;

  // Set for one trace only.
  std::vector<SiteFacts> by_site;
  std::vector<SiteFacts> by_operation;
  // Modules of the model, in `site`; set only if the trace says which module was running.
  std::vector<SiteFacts> by_module;
  std::vector<CategoryFacts> by_category;
  std::optional<SnapshotStateFacts> snapshot;
  IterationsFacts iterations;
  ModelClockFacts model_clock;
  std::vector<PhaseFacts> phases;  // in the order in which they began
  LifetimeFacts lifetimes;
  ChurnFacts churn;
  CacheFacts cache;
  HostFacts host;
  OffloadFacts offload;
  GarbageFacts garbage;
  BeforePeakFacts before_peak;
  HourFacts by_hour;
  std::vector<AdviceFacts> advice;
};

inline constexpr size_t kMaxSites = 200;
inline constexpr size_t kMaxOffloadSites = 50;
inline constexpr size_t kMaxLaunched = 200;
inline constexpr size_t kMaxIterationsWritten = 2000;
inline constexpr size_t kMaxHoles = 100;
inline constexpr size_t kMaxFlushes = 100;
inline constexpr size_t kMaxOutOfMemory = 100;
inline constexpr size_t kMaxBlocksAtPeak = 16;
inline constexpr size_t kMaxLiveGroups = 50;

// The result of an analysis: the facts of each trace, and of all together.
struct FactSet {
  Facts total;
  std::vector<Facts> traces;
  std::optional<RankComparison> comparison;  // of two ranks or more
  std::vector<std::string> left_out;         // files that could not be used, one sentence each
};

// True if memory of this kind lies on a device and counts as allocated.
bool IsDeviceMemory(MemoryKind kind);

}  // namespace vramstow
#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACTS_H_
