// The tables of facts that are computed from others, and of facts about the whole trace. See
// fact_table.h.
//
// Ownership: constants. Threads: plain values without synchronisation. Errors: none. Units: given
// by the ending of the name.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLE_EXPLAIN_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLE_EXPLAIN_H_

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include "tools/analysis/facts/fact_table.h"

namespace vramstow {

template <>
struct Described<FreeMemory> {
  using S = FreeMemory;
  static constexpr auto kFacts = std::tuple{
      Fact("free_bytes", &S::free_bytes, Merge::kOwn, "bytes in free ranges"),
      Fact("largest_free_range_bytes", &S::largest_bytes, Merge::kOwn, "the largest free range"),
      Fact("unusable_bytes", &S::unusable_bytes, Merge::kOwn,
           "in ranges smaller than the largest request so far; for a pool that moves whole chunks, "
           "only parts of chunks"),
      Fact("movable_bytes", &S::movable_bytes, Merge::kOwn,
           "in whole free chunks of a pool that can move them, else null")
          .KnownIf([](const Facts& trace, const S&) { return trace.fragmentation.moves; }),
      Derived(
          "largest_over_free",
          [](const Facts&, const S& self) { return RatioOf(self.largest_bytes, self.free_bytes); },
          "the largest range divided by all free bytes"),
      Derived(
          "time_ns", [](const Facts& trace, const S&) { return trace.fragmentation.worst_time_ns; },
          "when that was")
          .OnlyIn("worst"),
  };
};

// The owner of the block beside a hole.
struct Neighbour {
  std::string site;
  uint64_t bytes = 0;
};

template <>
struct Described<Neighbour> {
  static constexpr auto kFacts = std::tuple{
      Fact("site", &Neighbour::site, Merge::kOwn, "call site of the block next to it"),
      Fact("bytes", &Neighbour::bytes, Merge::kOwn, "its size"),
  };
};

template <>
struct Described<HoleFacts> {
  using S = HoleFacts;
  static std::optional<Neighbour> NeighbourOf(const std::string& site, uint64_t bytes) {
    if (bytes == 0) return std::nullopt;
    return Neighbour{site, bytes};
  }
  static constexpr auto kFacts = std::tuple{
      Fact("address", &S::address, Merge::kOwn, "address").Hex(),
      Fact("bytes", &S::size, Merge::kOwn, "size"),
      Fact("segment", &S::segment, Merge::kOwn, "address of the range in which it lies").Hex(),
      Fact("segment_bytes", &S::segment_size, Merge::kOwn, "size of that range"),
      Inner(&S::before, Merge::kOwn),
      Inner(&S::before_bytes, Merge::kOwn),
      Inner(&S::after, Merge::kOwn),
      Inner(&S::after_bytes, Merge::kOwn),
      Derived(
          "before",
          [](const Facts&, const S& self) { return NeighbourOf(self.before, self.before_bytes); },
          "the block before it; null at the edge of the segment"),
      Derived(
          "after",
          [](const Facts&, const S& self) { return NeighbourOf(self.after, self.after_bytes); },
          "the block after it; null at the edge of the segment"),
  };
};

template <>
struct Described<FragmentationFacts::Stream> {
  using S = FragmentationFacts::Stream;
  static constexpr auto kFacts = std::tuple{
      Fact("stream", &S::stream, Merge::kOwn, "the stream; null if unknown")
          .Hex()
          .KnownIf([](const Facts&, const S& self) { return self.stream != kUnknownStream; }),
      Fact("reserved_bytes", &S::reserved_bytes, Merge::kOwn, "reserved for it"),
      Fact("free_bytes", &S::free_bytes, Merge::kOwn, "free of that"),
  };
};

template <>
struct Described<FragmentationFacts> {
  using S = FragmentationFacts;
  static constexpr auto kFacts = std::tuple{
      Derived(
          "peak_reserved_over_allocated",
          [](const Facts& trace, const S&) {
            return trace.reserved_known
                       ? RatioOf(trace.peak.reserved_bytes, trace.peak.allocated_bytes)
                       : std::nullopt;
          },
          "peak reserved divided by peak allocated")
          .Short("fragmentation"),
      Derived(
          "unusable_bytes_at_peak",
          [](const Facts&, const S& self) {
            return self.any_ranges ? std::optional(self.at_peak.unusable_bytes) : std::nullopt;
          },
          "null if no ranges were seen")
          .Short("unusable")
          .Compared(4),
      Fact("largest_request_bytes", &S::largest_request_bytes, Merge::kOwn,
           "the largest single request, successful or not"),
      Fact("ranges_seen", &S::any_ranges, Merge::kOwn,
           "ranges were reserved, so free ranges are visible"),
      Fact("in_pool", &S::in_pool, Merge::kOwn,
           "free ranges are memory of a pool; false if they are only addresses"),
      Inner(&S::moves, Merge::kOwn),
      Inner(&S::worst_time_ns, Merge::kOwn),
      Inner(&S::holes_known, Merge::kOwn),
      Derived(
          "rounding_bytes_at_peak",
          [](const Facts& trace, const S&) {
            const Peak& peak = trace.peak;
            return peak.allocated_bytes - std::min(peak.allocated_bytes, peak.requested_then_bytes);
          },
          "allocated minus requested"),
      Fact("pending_free_peak_bytes", &S::pending_peak_bytes, Merge::kOwn,
           "highest level of memory that was freed but cannot be reused yet; null if the file does "
           "not contain it"),
      Fact("at_peak", &S::at_peak, Merge::kOwn, "free memory at the peak").WrittenIf(HasRanges),
      Fact("worst", &S::worst, Merge::kOwn, "at the worst moment of the timeline")
          .WrittenIf(HasRanges)
          .RowsAs("worst"),
      Fact("at_end", &S::at_end, Merge::kOwn, "at the end").WrittenIf(HasRanges),
      Fact("streams", &S::streams, Merge::kOwn,
           "at the peak: free memory by the stream whose segments it belongs to, which cannot "
           "serve other streams; empty if chunks can move")
          .WrittenIf(HasHoles),
      Fact("hole_count", &S::hole_count, Merge::kOwn, "free ranges at the peak")
          .WrittenIf(HasHoles),
      Fact("holes", &S::holes, Merge::kOwn, "the 100 largest of them").WrittenIf(HasHoles),
  };
};

template <>
struct Described<ShareFacts> {
  using S = ShareFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("name", &S::name, Merge::kOwn, "category, module or call site"),
      Spread(&S::amount),
  };
};

template <>
struct Described<DemandFacts> {
  using S = DemandFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("card_bytes", &S::card_bytes, Merge::kOwn, "what the card has"),
      Fact("outside_bytes", &S::outside_bytes, Merge::kOwn,
           "the part that does not belong to this trace: the context, modules, other processes"),
      Fact("live_bytes", &S::live_bytes, Merge::kOwn,
           "bytes live at that moment, as far as blocks are known"),
      Fact("not_pytorch_bytes", &S::not_pytorch_bytes, Merge::kOwn,
           "the part of them that does not belong to tensors, if there are tensors"),
      Fact("room_bytes", &S::room_bytes, Merge::kOwn,
           "how much memory this process could have on the GPU: live, cached, and free; 0 if "
           "unknown"),
      Fact("lacking_bytes", &S::lacking_bytes, Merge::kOwn,
           "missing bytes; the whole request if enough was free but could not serve it"),
      Fact("by_category", &S::by_category, Merge::kOwn, "live memory by purpose"),
      Fact("by_module", &S::by_module, Merge::kOwn, "live memory by module, if known"),
      Fact("by_site", &S::by_site, Merge::kOwn, "live memory by call site; the largest of each"),
  };
};

template <>
struct Described<HolderFacts> {
  using S = HolderFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("holder", &S::holder, Merge::kOwn, "the shortest chain of objects that references it"),
      Fact("role", &S::role, Merge::kOwn,
           "role of the largest block: `parameter`, `buffer`, `gradient`, `optimizer_state`, "
           "`saved` for a backward pass, or `other`"),
      Fact("about", &S::about, Merge::kOwn, "description of the largest block"),
      Spread(&S::amount),
  };
};

template <>
struct Described<ReplayFacts> {
  using S = ReplayFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("model", &S::model, Merge::kOwn, "name of the allocator in `vramstow replay`"),
      Fact("peak_reserved_bytes", &S::peak_reserved_bytes, Merge::kOwn,
           "the most bytes that it reserved; if the request fails, the bytes that it would need"),
      Fact("peak_allocated_bytes", &S::peak_allocated_bytes, Merge::kOwn,
           "the most bytes in live blocks, after its rounding"),
      Fact("would_serve", &S::would_serve, Merge::kOwn, "it serves the request that failed"),
  };
};

template <>
struct Described<WouldFitFacts> {
  using S = WouldFitFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("cause", &S::cause, Merge::kOwn, "the id of an advice"),
      Fact("place", &S::place, Merge::kOwn, "the source line to which it applies"),
      Fact("holder", &S::holder, Merge::kOwn,
           "the object that references most of it; null if none was found")
          .KnownIf([](const Facts&, const S& self) { return !self.holder.empty(); }),
      Fact("bytes", &S::bytes, Merge::kOwn, "bytes that would be free without this cause"),
      Fact("fits", &S::fits, Merge::kOwn, "whether that alone is enough for the request"),
      Fact("is_estimate", &S::is_estimate, Merge::kOwn,
           "these bytes are estimated; false if they were counted from the trace"),
  };
};

template <>
struct Described<OutOfMemoryFacts> {
  using S = OutOfMemoryFacts;
  static bool KnowsFree(const Facts& /*trace*/, const S& self) {
    return self.free_from != FreeKnownFrom::kNothing;
  }
  static constexpr auto kFacts = std::tuple{
      Fact("time_ns", &S::time_ns, Merge::kOwn, "when"),
      Fact("event", &S::event, Merge::kOwn, "number of the event in the trace, from 1"),
      Fact("sequence", &S::sequence, Merge::kOwn, "its sequence"),
      Derived(
          "rank", [](const Facts& trace, const S&) { return trace.rank; }, "rank of the process"),
      Fact("device", &S::device, Merge::kOwn, "device; null if unknown").KnownIf(IsOnDevice),
      Fact("thread", &S::thread, Merge::kOwn, "thread that asked"),
      Fact("kind", &S::memory, Merge::kOwn, "kind of memory"),
      Fact("call", &S::call, Merge::kOwn, "entry point"),
      Fact("library", &S::library, Merge::kOwn, "library that made the request"),
      Fact("site", &S::site, Merge::kOwn,
           "call site of the request; null if there is no call stack")
          .KnownIf([](const Facts&, const S& self) { return !self.site.empty(); }),
      Fact("operation", &S::operation, Merge::kOwn, "operation that was running; null like `site`")
          .KnownIf([](const Facts&, const S& self) { return !self.operation.empty(); }),
      Fact("requested_bytes", &S::requested_bytes, Merge::kOwn, "requested bytes"),
      Fact("allocated_bytes", &S::allocated_bytes, Merge::kOwn,
           "allocated by this process on that device at that moment"),
      Fact("free_bytes", &S::free_bytes, Merge::kOwn,
           "last known free memory of the device, minus what this process reserved since then; "
           "without the cache of its pool")
          .KnownIf(KnowsFree),
      Fact("free_known_from", &S::free_from, Merge::kOwn, "`memory_info`, `start` or `unknown`"),
      Fact("free_known_at_ns", &S::free_known_at_ns, Merge::kOwn, "when it was known")
          .KnownIf(KnowsFree),
      Fact("largest_free_range_bytes", &S::largest_free_range_bytes, Merge::kOwn,
           "largest free range of the pool, or of reserved addresses; null if there is none"),
      Inner(&S::has_pool, Merge::kOwn),
      Group(
          "pool", GroupMode::kLeftOutUnless,
          [](const Facts&, const S& self) { return self.has_pool; },
          "state of the pool, if there is one",
          Fact("reserved_bytes", &S::reserved_bytes, Merge::kOwn, "what it held"),
          Fact("free_bytes", &S::pool_free_bytes, Merge::kOwn,
               "the part of the pool that was free"),
          Fact("free_ranges", &S::pool_free_ranges, Merge::kOwn, "number of free pieces"),
          Fact("movable_bytes", &S::pool_movable_bytes, Merge::kOwn,
               "bytes in whole chunks that the pool can move; null if it cannot move chunks"),
          Fact("pending_free_bytes", &S::pending_bytes, Merge::kOwn,
               "freed, but cannot be reused yet"),
          Fact("largest_hole", &S::largest_hole, Merge::kOwn, "the largest piece")),
      Inner(&S::site_number, Merge::kOwn),
      Inner(&S::has_story, Merge::kOwn),
      Fact("cause", &S::cause, Merge::kOwn,
           "the cause: the id of the advice that comes first; null if unknown")
          .KnownIf([](const Facts&, const S& self) { return self.cause != AdviceId::kNone; }),
      Fact("demand", &S::demand, Merge::kOwn,
           "live memory, compared with the memory of the GPU; null if no blocks are known")
          .KnownIf([](const Facts&, const S& self) { return self.has_story; }),
      Fact("would_fit", &S::would_fit, Merge::kOwn,
           "how much memory would be free without each of its causes, the likeliest first"),
      Fact(
          "holders", &S::holders, Merge::kOwn,
          "objects that referenced the live tensors, as a census found, those with the most bytes"),
      Fact("bytes_without_holder", &S::bytes_without_holder, Merge::kOwn,
           "bytes of tensors that no object was found to reference; null if there was no census"),
      Fact("census_left_out", &S::census_left_out, Merge::kOwn,
           "why there was no census for this failure; empty if there was one, or if there are no "
           "censuses at all"),
      Fact("replays", &S::replays, Merge::kOwn,
           "for the last failure: how much memory the same requests need, up to this one, when "
           "they are replayed with the program's allocator and with vramstow's pool"),
      Fact("advice_not_replayed", &S::advice_not_replayed, Merge::kOwn,
           "pieces of advice that were not replayed because it would have taken too long"),
  };
};

template <>
struct Described<SiteFacts> {
  using S = SiteFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("", &S::site, Merge::kOwn, "call site: a source line of the program, or a library"),
      Fact("operation", &S::operation, Merge::kOwn,
           "the operation; for a call of the driver its name"),
      Fact("allocations", &S::allocations, Merge::kOwn, "allocations of device memory"),
      Fact("total_bytes", &S::total_bytes, Merge::kOwn, "allocated in all"),
      TwoNumbers("bytes_at_peak", "blocks_at_peak", &S::at_peak, Merge::kOwn, "live at the peak"),
      TwoNumbers("bytes_at_end", "blocks_at_end", &S::at_end, Merge::kOwn, "live at the end"),
  };
};

template <>
struct Described<CategoryFacts> {
  using S = CategoryFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("category", &S::name, Merge::kOwn,
           "`parameters`, `gradients`, `optimizer_state`, `activations`, `temporaries`, `inputs`, "
           "`workspaces`, `caches`, `kept`, `unknown`"),
      TwoNumbers("bytes_at_peak", "blocks_at_peak", &S::at_peak, Merge::kOwn, "live at the peak"),
      Fact("evidence", &S::evidence, Merge::kOwn,
           "the evidence; reports of the program come before guesses"),
  };
};

template <>
struct Described<SnapshotStateFacts::Pool> {
  using S = SnapshotStateFacts::Pool;
  static constexpr auto kFacts = std::tuple{
      Fact("device", &S::device, Merge::kOwn, "device"),
      Fact("pool", &S::id, Merge::kOwn, "name of the pool"),
      Fact("stream", &S::stream, Merge::kOwn, "its stream").Hex(),
      Fact("segments", &S::segments, Merge::kOwn, "segments"),
      Fact("reserved_bytes", &S::reserved_bytes, Merge::kOwn, "reserved"),
      Fact("allocated_bytes", &S::allocated_bytes, Merge::kOwn, "allocated"),
      Fact("largest_free_bytes", &S::largest_free_bytes, Merge::kOwn, "largest free range"),
  };
};

template <>
struct Described<SnapshotStateFacts> {
  using S = SnapshotStateFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("segments", &S::segments, Merge::kOwn, "segments"),
      Fact("blocks", &S::blocks, Merge::kOwn, "blocks"),
      Fact("reserved_bytes", &S::reserved_bytes, Merge::kOwn, "reserved"),
      Fact("allocated_bytes", &S::allocated_bytes, Merge::kOwn, "allocated"),
      Fact("requested_bytes", &S::requested_bytes, Merge::kOwn, "requested"),
      Fact("pending_free_bytes", &S::pending_bytes, Merge::kOwn, "freed, but cannot be reused yet"),
      Fact("allocated_blocks", &S::allocated_blocks, Merge::kOwn, "blocks that are allocated"),
      Fact("pending_free_blocks", &S::pending_blocks, Merge::kOwn,
           "blocks that are freed but cannot be reused yet"),
      Fact("inactive_blocks", &S::inactive_blocks, Merge::kOwn, "blocks that are free"),
      Fact("pools", &S::pools, Merge::kOwn, "PyTorch's pools"),
  };
};

template <>
struct Described<IterationFacts> {
  using S = IterationFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("begin_ns", &S::begin_ns, Merge::kOwn, "begin"),
      Fact("end_ns", &S::end_ns, Merge::kOwn, "end"),
      Fact("begin_event", &S::begin_event, Merge::kOwn, "first event"),
      Fact("end_event", &S::end_event, Merge::kOwn, "the event after the last"),
      Fact("peak_bytes", &S::peak_bytes, Merge::kOwn, "highest of allocated"),
      Fact("peak_reserved_bytes", &S::peak_reserved_bytes, Merge::kOwn, "highest of reserved"),
      Fact("begin_bytes", &S::begin_bytes, Merge::kOwn, "live before it"),
      Fact("end_bytes", &S::end_bytes, Merge::kOwn, "live after it"),
      Fact("allocations", &S::allocations, Merge::kOwn, "allocations of device memory"),
      Fact("allocated_bytes", &S::allocated_bytes, Merge::kOwn, "allocated in all"),
      Fact("kept_bytes", &S::kept_bytes, Merge::kOwn,
           "bytes of its allocations that were still live when it ended"),
      Fact("launches", &S::launches, Merge::kOwn, "launches, as far as they were counted"),
  };
};

template <>
struct Described<GrowthFacts> {
  using S = GrowthFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("site", &S::site, Merge::kOwn, "call site whose blocks accumulate"),
      Fact("operation", &S::operation, Merge::kOwn, "what ran there"),
      Fact("bytes_per_iteration", &S::bytes_per_iteration, Merge::kOwn,
           "bytes that it leaves behind in an iteration"),
      Fact("iterations", &S::iterations, Merge::kOwn,
           "number of iterations in which it left memory behind"),
      Fact("blocks", &S::blocks, Merge::kOwn, "blocks left behind"),
      Fact("bytes", &S::bytes, Merge::kOwn, "bytes left behind"),
  };
};

template <>
struct Described<SiteHourFacts> {
  using S = SiteHourFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("site", &S::site, Merge::kOwn, "call site that grows"),
      Fact("operation", &S::operation, Merge::kOwn, "what ran there"),
      Fact("category", &S::category, Merge::kOwn,
           "the purpose of most of its memory; null if unknown")
          .KnownIf([](const Facts&, const S& self) { return !self.category.empty(); }),
      Fact("bytes_per_hour", &S::bytes_per_hour, Merge::kOwn, "its part"),
  };
};

template <>
struct Described<CategoryHourFacts> {
  using S = CategoryHourFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("name", &S::name, Merge::kOwn, "the purpose"),
      Fact("bytes_per_hour", &S::bytes_per_hour, Merge::kOwn,
           "the call sites of this purpose together"),
  };
};

template <>
struct Described<HourFacts> {
  using S = HourFacts;
  static constexpr auto kFacts = std::tuple{
      Inner(&S::known, Merge::kOwn),
      Fact("is_endless", &S::is_endless, Merge::kOwn,
           "it grows in the last quarter of the run as it did in the quarter before"),
      Fact("bytes_per_hour", &S::bytes_per_hour, Merge::kOwn,
           "growth of live device memory per hour: from the lowest level in the second quarter of "
           "the run to the lowest level in the last"),
      Fact("from_bytes", &S::from_bytes, Merge::kOwn, "the lowest level in the second quarter"),
      Fact("to_bytes", &S::to_bytes, Merge::kOwn, "the lowest level in the last quarter"),
      Fact("over_ns", &S::over_ns, Merge::kOwn, "the time between these quarters"),
      Fact("by_site", &S::by_site, Merge::kOwn,
           "call sites with at least a hundredth of this growth, the fastest first"),
      Fact("by_category", &S::by_category, Merge::kOwn, "growth by purpose"),
  };
};

template <>
struct Described<LifetimeFacts> {
  using S = LifetimeFacts;
  static constexpr auto kFacts = std::tuple{
      Inner(&S::known, Merge::kOwn),
      Fact("within_an_iteration", &S::within, Merge::kOwn,
           "freed in the iteration in which it was allocated"),
      Fact("across_iterations", &S::across, Merge::kOwn, "freed in a later iteration"),
      Fact("persistent", &S::persistent, Merge::kOwn, "live at the end"),
      Fact("before_the_first", &S::before, Merge::kOwn,
           "allocated before the first iteration, during start-up"),
      Fact("startup_peak_bytes", &S::startup_peak_bytes, Merge::kOwn,
           "highest level during start-up"),
      Fact("startup", &S::startup, Merge::kOwn,
           "call sites of the memory that was live when the first iteration began")
          .RowsAs("site"),
      Fact("growing", &S::growing, Merge::kOwn, "call sites that repeatedly leave memory behind"),
  };
};

template <>
struct Described<ChurnSite> {
  using S = ChurnSite;
  static constexpr auto kFacts = std::tuple{
      Fact("site", &S::site, Merge::kOwn, "call site of the requests"),
      Fact("operation", &S::operation, Merge::kOwn, "what ran there"),
      Fact("pairs", &S::pairs, Merge::kOwn, "such allocations"),
      Fact("bytes", &S::bytes, Merge::kOwn, "their bytes"),
  };
};

template <>
struct Described<ChurnFacts> {
  using S = ChurnFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("pairs", &S::pairs, Merge::kOwn, "allocations of a size that had just been freed"),
      Fact("bytes", &S::pair_bytes, Merge::kOwn, "their bytes"),
      Fact("sites", &S::sites, Merge::kOwn, "the call sites with most of them"),
  };
};

template <>
struct Described<FlushFacts> {
  using S = FlushFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("time_ns", &S::time_ns, Merge::kOwn, "when it began"),
      Fact("duration_ns", &S::duration_ns, Merge::kOwn, "how long it took"),
      Fact("by", &S::by, Merge::kOwn,
           "who returned the memory: `empty_cache`, `allocator`, or `vramstow` (its pool, because "
           "of `--decay`, `--keep-free` or a request of `vramstow ctl`); `unknown` without a call "
           "stack, which `--stacks=all` records"),
      Fact("line", &S::line, Merge::kOwn,
           "the source line that called `empty_cache()`; null if a library called it, or if the "
           "line is unknown")
          .KnownIf([](const Facts&, const S& self) { return !self.line.empty(); }),
      Fact("segments", &S::segments, Merge::kOwn, "segments returned"),
      Fact("bytes", &S::bytes, Merge::kOwn, "bytes given back"),
      Fact("taken_again_bytes", &S::taken_again_bytes, Merge::kOwn,
           "the part of them that was requested from the device again, up to the next flush"),
  };
};

template <>
struct Described<CacheFacts> {
  using S = CacheFacts;
  static bool KnowsSteps(const Facts& /*trace*/, const S& self) { return self.counts_steps; }
  static constexpr auto kFacts = std::tuple{
      Inner(&S::known, Merge::kOwn),
      Inner(&S::counts_steps, Merge::kOwn),
      Inner(&S::knows_empty_cache, Merge::kOwn),
      Fact("segments_taken", &S::segments_taken, Merge::kOwn, "segments requested from the device"),
      Fact("segments_given_back", &S::segments_given_back, Merge::kOwn, "segments returned"),
      Fact("taken_bytes", &S::taken_bytes, Merge::kOwn, "bytes taken"),
      Fact("given_back_bytes", &S::given_back_bytes, Merge::kOwn, "bytes given back"),
      Fact("flush_count", &S::flush_count, Merge::kOwn, "flushes"),
      Fact("empty_cache_calls", &S::empty_cache_calls, Merge::kOwn,
           "number of flushes by the program, among those listed; null if one has no call stack")
          .KnownIf([](const Facts&, const S& self) { return self.knows_empty_cache; }),
      Fact("misses", &S::misses, Merge::kOwn,
           "allocations that cached memory of vramstow's pool could not serve at once; null "
           "without that pool")
          .KnownIf(KnowsSteps),
      Fact("stitches", &S::stitches, Merge::kOwn,
           "allocations for which chunks were moved in vramstow's pool; null without that pool")
          .KnownIf(KnowsSteps),
      Fact("fence_waits", &S::fence_waits, Merge::kOwn,
           "waits for work that might still use freed memory; null without that pool")
          .KnownIf(KnowsSteps),
      Fact("fence_wait_ns", &S::fence_wait_ns, Merge::kOwn, "the time of these waits")
          .KnownIf(KnowsSteps),
      Fact("flushes", &S::flushes, Merge::kOwn, "the first 100 flushes"),
  };
};

template <>
struct Described<ChangeFacts> {
  using S = ChangeFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("site", &S::site, Merge::kOwn, "call site"),
      Fact("operation", &S::operation, Merge::kOwn, "what ran there"),
      Fact("bytes", &S::bytes, Merge::kOwn,
           "change of the live bytes of this call site; negative if they fell"),
      Fact("allocations", &S::allocations, Merge::kOwn,
           "blocks that this call site allocated in this period and that are live at the peak"),
  };
};

template <>
struct Described<BeforePeakFacts> {
  using S = BeforePeakFacts;
  static constexpr auto kFacts = std::tuple{
      Inner(&S::known, Merge::kOwn),
      Fact("from_ns", &S::from_ns, Merge::kOwn,
           "beginning of the period: a second before the peak"),
      Fact("from_bytes", &S::from_bytes, Merge::kOwn,
           "bytes that were live at the beginning of the period"),
      Fact("changes", &S::changes, Merge::kOwn, "the 20 largest changes"),
  };
};

template <>
struct Described<AdviceFacts> {
  using S = AdviceFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("id", &S::id, Merge::kOwn, "name of the advice"),
      Fact("title", &S::title, Merge::kOwn, "in a few words"),
      Fact("bytes", &S::bytes, Merge::kOwn,
           "upper bound of how much it lowers the peak; for a cause of an out-of-memory error, how "
           "much would be free"),
      Fact("is_estimate", &S::is_estimate, Merge::kOwn,
           "these bytes are estimated; false if they were counted from the trace"),
      Fact("place", &S::place, Merge::kOwn,
           "the source line to which it applies; null if there is none, or if there are many")
          .KnownIf([](const Facts&, const S& self) { return !self.place.empty(); }),
      Fact("holder", &S::holder, Merge::kOwn,
           "the object that references most of it, as a census found; null if unknown")
          .KnownIf([](const Facts&, const S& self) { return !self.holder.empty(); }),
      Fact("kept_at", &S::kept_at, Merge::kOwn,
           "the source line that stores the reference, if it differs from `place`; null if unknown")
          .KnownIf([](const Facts&, const S& self) { return !self.kept_at.empty(); }),
      Fact(
          "fits", &S::fits, Merge::kOwn,
          "whether it alone would have made the last failed request succeed, according to a replay "
          "or to the bytes of a cause; null if unknown"),
      Inner(&S::change, Merge::kOwn),
      Fact("replays", &S::replays, Merge::kOwn,
           "how much memory the requests need when they are changed as this advice says, up to the "
           "one that failed, replayed with the program's allocator and with vramstow's pool"),
      Fact("replayed_bytes", &S::replayed_bytes, Merge::kOwn,
           "the part of `bytes` that a replay confirms; null if it was not replayed"),
      Fact("together_with", &S::together_with, Merge::kOwn,
           "the id of another advice: both together make the request succeed, none alone; null if "
           "there is none")
          .KnownIf(
              [](const Facts&, const S& self) { return self.together_with != AdviceId::kNone; }),
      Inner(&S::proof, Merge::kOwn),
      Fact("evidence", &S::evidence, Merge::kOwn, "what shows it"),
      Fact("cost", &S::cost, Merge::kOwn, "what it costs"),
      Fact("action", &S::action, Merge::kOwn, "what to do"),
  };
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLE_EXPLAIN_H_
