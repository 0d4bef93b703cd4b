// Facts: all that the analysis says about one trace, or about several together. Text, JSON and the
// summary of `vramstow run` are made from this and from nothing else, so they tell the same
// numbers.
//
// Ownership: plain values. Threads: values. Errors: none. Units: bytes; nanoseconds since the trace
// began. The meaning of every number is in docs/analyze.md, the words are those of
// docs/architecture.md ("Numbers").
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACTS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/event.h"
#include "tools/analysis/facts/change.h"
#include "tools/analysis/facts/fragmentation_facts.h"
#include "tracer/format/reader.h"

namespace vramstow {

// A number of bytes in a number of blocks.
struct Amount {
  uint64_t bytes = 0;
  uint64_t blocks = 0;
  bool operator==(const Amount&) const = default;
};

// What one library, one kind of memory or one entry point had to do with it.
struct TallyFacts {
  std::string name;          // of a library: the last part of its path
  std::string path;          // of a library
  uint64_t calls = 0;        // events of any kind
  uint64_t allocations = 0;  // successful
  uint64_t frees = 0;        // successful; by who freed, not by who had allocated
  uint64_t failed = 0;       // calls that the driver refused
  uint64_t total_bytes = 0;  // of all allocations over the whole time
  // Device memory that it allocated:
  Amount at_peak;              // live at the moment of the process's peak
  Amount at_end;               // live at the end of the trace
  uint64_t highest_bytes = 0;  // its own highest level, whenever that was
  Amount other_at_end;         // the same of host and managed memory
  uint64_t other_highest_bytes = 0;
};

struct Counts {
  uint64_t allocations = 0;         // calls that gave memory of any kind
  uint64_t frees = 0;               // calls that gave it back
  uint64_t out_of_memory = 0;       // calls that failed with CUDA_ERROR_OUT_OF_MEMORY
  uint64_t failed_allocations = 0;  // allocations that failed, for whatever reason
  uint64_t refused_frees = 0;       // frees that the driver refused
  uint64_t frees_of_unseen = 0;     // among `frees`: of blocks whose allocation is not in the trace
  uint64_t frees_missed = 0;        // blocks whose address was given out again without a free
  uint64_t freed_with_context = 0;  // blocks that went with their context, without a free
  uint64_t unmatched_refusals = 0;  // refusals of something that is not in the trace
  uint64_t other_layers = 0;        // events of layers that this version does not know
  std::array<uint64_t, 256> by_kind{};  // events by EventKind
};

// Who allocated what went to the host.
struct OffloadSite {
  uint32_t number = 0;  // SiteTable's
  std::string site;
  std::string operation;
  uint64_t bytes = 0;  // all moves together
};

// Live memory that was moved to the host or paused (--offload).
struct OffloadFacts {
  uint64_t out_bytes = 0;        // moved to the host, all moves together
  uint64_t returned_bytes = 0;   // and back
  uint64_t gate_ns = 0;          // submissions waited for moves, all together…
  uint64_t longest_gate_ns = 0;  // …and for one
  uint64_t most_bytes = 0;       // away at once
  std::array<uint64_t, kOffloadReasons> by_reason = {};  // that left, by OffloadReason
  uint64_t left_out = 0;                                 // moves that are in the sums only
  std::vector<OffloadSite> sites;                        // most first; of one trace only
};

// A ring of references that kept dead tensors.
struct CycleFacts {
  std::string cycle;         // "Holder.cycle → itself"
  std::string about;         // its largest tensor: "float32 [64, 1024]"
  uint64_t bytes = 0;        // the most that one collection found in such rings
  uint64_t collections = 0;  // that found some
};

// Garbage that was collected before a request failed (--collect).
struct GarbageFacts {
  uint64_t collections = 0;     // in which garbage held device memory
  uint64_t saved_requests = 0;  // that would have failed
  uint64_t freed_bytes = 0;     // all together…
  uint64_t most_bytes = 0;      // …and at once
  uint64_t duration_ns = 0;
  std::vector<CycleFacts> cycles;  // most first; of one trace only
};

struct LaunchedFacts {
  std::string name;  // of a kernel or a range
  uint64_t launches = 0;
};

// Of --launches; none where nothing was counted.
struct LaunchesFacts {
  uint64_t launches = 0;
  bool sampled = false;                  // each event stands for several launches
  std::vector<LaunchedFacts> by_kernel;  // most first
  std::vector<LaunchedFacts> by_range;   // the innermost in which they were launched
};

struct Peak {
  uint64_t allocated_bytes = 0;
  uint64_t reserved_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t reserved_then_bytes = 0;   // when allocated was highest
  uint64_t requested_then_bytes = 0;  // the same
  uint64_t time_ns = 0;               // when allocated first was that high
  uint64_t sequence = 0;              // the event that brought it there
  uint64_t host_bytes = 0;            // pinned by the driver: highest level, whenever that was
  uint64_t registered_bytes = 0;      // the application's host memory, pinned
  uint64_t managed_bytes = 0;
  uint64_t imported_bytes = 0;       // of other processes
  uint64_t mapped_bytes = 0;         // device memory mapped into reserved address ranges
  uint64_t address_range_bytes = 0;  // reserved addresses; they cost no memory
};

// A block, or several alike.
struct BlockFacts {
  uint64_t address = 0;  // of one block; of physical memory its handle
  uint64_t size = 0;
  uint64_t requested = 0;
  uint64_t count = 1;
  uint64_t time_ns = 0;  // when it was allocated; of several: the first
  int device = kNoDevice;
  MemoryKind memory = MemoryKind::kNone;
  std::string call;
  std::string library;
  uint32_t site_number = 0;
  std::string site;  // who allocated it, where a call stack tells
};

// Allocations of device memory of 2^k to 2^(k+1)-1 bytes.
struct HistogramRow {
  uint64_t from_bytes = 0;
  uint64_t to_bytes = 0;  // inclusive
  uint64_t allocations = 0;
  uint64_t total_bytes = 0;
  Amount at_peak;
  Amount at_end;
};

struct TimelinePoint {
  uint64_t allocated_highest = 0;  // within the interval
  uint64_t reserved_highest = 0;
  uint64_t allocated_last = 0;  // at its end
  uint64_t requested_last = 0;
  uint64_t host_highest = 0;
  uint64_t managed_highest = 0;
  FreeMemory ranges;  // at its end, or at one of the ends of what was joined to it: the worst
};

// Intervals of one length, from the beginning of the trace.
struct TimelineFacts {
  uint64_t interval_ns = 0;
  std::vector<TimelinePoint> points;
};

enum class FreeKnownFrom { kNothing, kStart, kMemoryInfo };

// A part of what was live.
struct ShareFacts {
  std::string name;
  Amount amount;
};

// What the card was asked for at an out-of-memory, and what it had.
struct DemandFacts {
  std::optional<uint64_t> card_bytes;
  std::optional<uint64_t> outside_bytes;  // of the card: context, modules, other processes
  uint64_t live_bytes = 0;
  uint64_t not_pytorch_bytes = 0;  // of those, where there are tensors: what is none
  uint64_t room_bytes = 0;         // what this process could have: live, cached, and free
  uint64_t lacking_bytes = 0;
  std::vector<ShareFacts> by_category;
  std::vector<ShareFacts> by_module;
  std::vector<ShareFacts> by_site;
};

// Who held memory, as a census found it.
struct HolderFacts {
  std::string holder;  // "train: hist[0..11].grad_fn → saved by AddmmBackward0"
  std::string role;    // of the largest block
  std::string about;   // the same: "float32 [64, 1024]"
  Amount amount;
};

// What an allocator would have needed for the requests up to the one that failed.
struct ReplayFacts {
  std::string model;
  uint64_t peak_reserved_bytes = 0;
  uint64_t peak_allocated_bytes = 0;
  bool would_serve = false;
};

// What would be free without one cause.
struct WouldFitFacts {
  std::string cause;
  std::string place;
  std::string holder;  // of most of it; empty: nobody was found
  uint64_t bytes = 0;
  bool fits = false;  // that alone is enough for the request
  bool is_estimate = false;
};

struct OutOfMemoryFacts {
  uint64_t time_ns = 0;
  uint64_t event = 0;  // counted from 1
  uint64_t sequence = 0;
  uint64_t requested_bytes = 0;
  int device = kNoDevice;
  uint32_t thread = 0;
  MemoryKind memory = MemoryKind::kNone;
  std::string call;
  std::string library;
  std::string site;  // where a call stack tells it
  std::string operation;
  uint64_t allocated_bytes = 0;  // by this process on that device, at that moment
  // What was free on the device when that was last known, less what this process has taken since.
  FreeKnownFrom free_from = FreeKnownFrom::kNothing;
  uint64_t free_bytes = 0;
  uint64_t free_known_at_ns = 0;
  std::optional<uint64_t> largest_free_range_bytes;  // of the ranges, if any
  // Where there is a pool: what it held, what of it was free, in how many pieces.
  bool has_pool = false;
  uint64_t reserved_bytes = 0;
  uint64_t pool_free_bytes = 0;
  uint64_t pool_free_ranges = 0;
  std::optional<uint64_t> pool_movable_bytes;  // as FreeMemory has it
  uint64_t pending_bytes = 0;
  HoleFacts largest_hole;
  // Why: of the last ones only, of one trace only.
  uint32_t site_number = 0;
  bool has_story = false;
  DemandFacts demand;
  std::string cause;  // the id of its advice; empty: not known
  std::vector<WouldFitFacts> would_fit;
  std::vector<HolderFacts> holders;              // those of the most bytes
  std::optional<uint64_t> bytes_without_holder;  // of tensors; none: there was no census
  // Of the last one: the requests as they were, by the allocator that ran and by the pool.
  std::vector<ReplayFacts> replays;
  uint64_t advice_not_replayed = 0;  // for want of time
};

struct DeviceFacts {
  int device = kNoDevice;
  std::string name;
  std::optional<uint64_t> total_bytes;
  std::optional<uint64_t> free_bytes_at_start;
  uint64_t peak_bytes = 0;
  uint64_t peak_reserved_bytes = 0;
  uint64_t end_bytes = 0;
  uint64_t end_reserved_bytes = 0;
  uint64_t out_of_memory = 0;
  std::optional<uint64_t> lowest_free_bytes;  // of the answers to the application's own questions
  uint64_t lowest_free_time_ns = 0;
};

// Live when the trace ended.
struct LiveFacts {
  Amount device;
  Amount other;                    // host and managed memory
  std::vector<BlockFacts> groups;  // alike in library, call, kind and size; the largest first
  uint64_t groups_left_out = 0;
};

// What one call site had to do with it: a line of the application, or a library and entry point.
struct SiteFacts {
  std::string site;
  std::string operation;  // what ran there; of a driver call: its name
  uint64_t allocations = 0;
  uint64_t total_bytes = 0;
  Amount at_peak;
  Amount at_end;
};

// What memory is for, and how that is known.
struct CategoryFacts {
  std::string name;
  Amount at_peak;
  std::string evidence;
};

// What a file held at its end, where it says so itself.
struct SnapshotStateFacts {
  uint64_t segments = 0;
  uint64_t blocks = 0;
  uint64_t reserved_bytes = 0;
  uint64_t allocated_bytes = 0;
  uint64_t requested_bytes = 0;
  uint64_t pending_bytes = 0;
  uint64_t allocated_blocks = 0;
  uint64_t pending_blocks = 0;
  uint64_t inactive_blocks = 0;
  struct Pool {
    int device = kNoDevice;
    uint64_t stream = 0;
    std::string id;
    uint64_t segments = 0;
    uint64_t reserved_bytes = 0;
    uint64_t allocated_bytes = 0;
    uint64_t largest_free_bytes = 0;
  };
  std::vector<Pool> pools;
};

struct IterationFacts {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint64_t begin_event = 0;
  uint64_t end_event = 0;
  uint64_t peak_bytes = 0;
  uint64_t peak_reserved_bytes = 0;
  uint64_t begin_bytes = 0;
  uint64_t end_bytes = 0;
  uint64_t allocations = 0;
  uint64_t allocated_bytes = 0;  // in all
  uint64_t kept_bytes = 0;       // of its allocations, live when it ended
  uint64_t launches = 0;         // as far as they were counted
};

struct IterationsFacts {
  std::string found_by;              // as docs/metrics.md has it; "none"
  bool is_sure = false;              // the program told, or did it; nothing was guessed
  std::string mark;                  // the mark's text
  std::string why_not;               // one sentence, where none were found
  bool exact = true;                 // false: of a long trace, boundaries are known to some events
  std::vector<IterationFacts> list;  // at most kMostIterations, the first
  uint64_t count = 0;
  int64_t growth_bytes = 0;  // per iteration, of what is live between iterations; the median
};

// Blocks of one site that pile up.
struct GrowthFacts {
  std::string site;
  std::string operation;
  uint64_t bytes_per_iteration = 0;
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  uint64_t iterations = 0;  // in how many it left something behind
};

struct LifetimeFacts {
  bool known = false;
  Amount within;      // freed in the iteration in which they were allocated
  Amount across;      // freed in a later one
  Amount persistent;  // live at the end
  Amount before;      // allocated before the first iteration: the start-up
  uint64_t startup_peak_bytes = 0;
  std::vector<SiteFacts> startup;  // who made what was there when the first iteration began
  std::vector<GrowthFacts> growing;
};

struct ChurnSite {
  std::string site;
  std::string operation;
  uint64_t pairs = 0;
  uint64_t bytes = 0;
};

struct ChurnFacts {
  uint64_t pairs = 0;  // a size was freed, and asked for again with nothing of that size in between
  uint64_t pair_bytes = 0;
  std::vector<ChurnSite> sites;
};

struct FlushFacts {
  uint64_t time_ns = 0;
  uint64_t segments = 0;
  uint64_t bytes = 0;
  uint64_t taken_again_bytes = 0;  // from the device afterwards, up to the next flush
  uint64_t duration_ns = 0;
  std::string by;  // "empty_cache", "allocator", "vramstow" (of its own accord, or asked by ctl)
};

struct CacheFacts {
  bool known = false;
  uint64_t segments_taken = 0;
  uint64_t segments_given_back = 0;
  uint64_t taken_bytes = 0;
  uint64_t given_back_bytes = 0;
  uint64_t flush_count = 0;
  uint64_t empty_cache_calls = 0;
  // Of vramstow's pool: what cached memory did not serve at once, moves of chunks, waits for work
  // that might still touch what was freed.
  bool tells_steps = false;
  uint64_t misses = 0;
  uint64_t stitches = 0;
  uint64_t fence_waits = 0;
  uint64_t fence_wait_ns = 0;
  std::vector<FlushFacts> flushes;
};

// What was seen of the host, once a second, and of pinned memory.
struct HostFacts {
  uint64_t looks = 0;
  uint64_t highest_resident_bytes = 0;  // of the process
  uint64_t highest_resident_time_ns = 0;
  uint64_t least_free_bytes = 0;
  uint64_t least_free_time_ns = 0;
  uint64_t limit_bytes = 0;            // of which that much was free
  bool is_of_group = false;            // of its control group; false: of the machine
  uint64_t pinned_rounding_bytes = 0;  // of peak.host_bytes: more than was asked for
};

// What one site gained (or lost) within a span of time.
struct ChangeFacts {
  std::string site;
  std::string operation;
  int64_t bytes = 0;
  uint64_t allocations = 0;
};

struct BeforePeakFacts {
  bool known = false;
  uint64_t from_ns = 0;
  uint64_t from_bytes = 0;
  std::vector<ChangeFacts> changes;
};

struct AdviceFacts {
  std::string id;
  std::string title;
  uint64_t bytes = 0;  // less at the peak, at the most; of a cause: free when memory ran out
  std::string evidence;
  std::string cost;
  std::string action;
  bool is_estimate = false;
  std::string place = {};   // the line that it is about; empty: none, or many
  std::string holder = {};  // what holds most of it; empty: not known
  // The last request that failed would have been served: as replayed, or by the bytes of a cause.
  std::optional<bool> fits = {};
  Change change = {};                           // to be replayed; empty once it was
  std::vector<ReplayFacts> replays = {};        // by the allocator that ran, and by the pool
  std::optional<uint64_t> replayed_bytes = {};  // less when that request came
  std::string together_with = {};               // the id of an advice: both serve it, one does not
};

struct Facts {
  std::string kind = "stow";  // of the input
  // Of one trace. Of several, what they have in common or nothing.
  std::string file;
  std::map<std::string, std::string> facts;
  std::optional<int64_t> rank;
  bool simulated = false;
  ReadReport report;
  std::vector<std::string> missing;  // that the input does not have, one sentence each
  uint64_t end_ns = 0;               // time of the last event
  bool reserved_known = true;

  uint64_t traces = 1;
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
  std::vector<OutOfMemoryFacts> out_of_memory;  // the first kMostOutOfMemory of each trace
  LiveFacts live;

  // Of one trace only.
  std::vector<SiteFacts> by_site;
  std::vector<SiteFacts> by_operation;
  // By module of the model, `site`: only where the trace says which was at work.
  std::vector<SiteFacts> by_module;
  std::vector<CategoryFacts> by_category;
  std::optional<SnapshotStateFacts> snapshot;
  IterationsFacts iterations;
  LifetimeFacts lifetimes;
  ChurnFacts churn;
  CacheFacts cache;
  HostFacts host;
  OffloadFacts offload;
  GarbageFacts garbage;
  BeforePeakFacts before_peak;
  std::vector<AdviceFacts> advice;
};

inline constexpr size_t kMostSites = 200;
inline constexpr size_t kMostOffloadSites = 50;
inline constexpr size_t kMostLaunched = 200;
inline constexpr size_t kMostIterations = 2000;
inline constexpr size_t kMostHoles = 100;
inline constexpr size_t kMostFlushes = 100;
inline constexpr size_t kMostOutOfMemory = 100;
inline constexpr size_t kMostBlocksAtPeak = 16;
inline constexpr size_t kMostLiveGroups = 50;

// One figure over the ranks of a job.
struct RankFigure {
  std::string name;  // its key in the JSON
  uint64_t median = 0;
  uint64_t least = 0;
  int64_t least_rank = 0;
  uint64_t most = 0;
  int64_t most_rank = 0;
};

// A call site that held more at the straggler's peak than at the median rank's.
struct RankSite {
  std::string site;
  std::string operation;
  uint64_t bytes_at_peak = 0;
  uint64_t median_bytes_at_peak = 0;
};

struct RankComparison {
  uint64_t ranks = 0;
  std::vector<RankFigure> figures;  // the first is the peak of what was reserved
  int64_t straggler = 0;            // the rank with the highest of the first figure
  std::string host;
  uint64_t over_median_bytes = 0;
  bool balanced = true;         // it is no more than 5% above the median
  std::vector<RankSite> sites;  // the largest difference first
};

inline constexpr size_t kMostRankSites = 20;
inline constexpr uint64_t kBalancedPart = 20;  // of the median

// What was asked for: facts of each trace, and of all together.
struct FactSet {
  Facts total;
  std::vector<Facts> traces;
  std::optional<RankComparison> comparison;  // of two ranks or more
  std::vector<std::string> left_out;         // files that could not be used, one sentence each
};

// Whether memory of this kind lies on a device and counts as allocated.
bool IsDeviceMemory(MemoryKind kind);

}  // namespace vramstow
#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACTS_H_
