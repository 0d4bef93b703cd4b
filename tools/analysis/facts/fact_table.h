// The tables of facts: every member of every struct of facts.h has one entry here.
//
// A new fact needs a member in facts.h and an entry in this file.
// tests/tools/analysis/facts/fact_table_test.cc finds members without an entry.
// fact_table_explain.h has the facts that are computed from others.
//
// Ownership: constants. Threads: plain values without synchronisation. Errors: none. Units: given
// by the ending of the name.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLE_H_

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "tools/analysis/facts/fact_entry.h"
#include "tools/analysis/facts/facts.h"
#include "tools/base/link.h"

namespace vramstow {

// Returns a fact of the trace as text.
inline std::optional<std::string> TextFact(const Facts& trace, const char* key) {
  const auto fact = trace.trace_metadata.find(key);
  if (fact == trace.trace_metadata.end()) return std::nullopt;
  return fact->second;
}
inline std::variant<std::monostate, int64_t, std::string> NumberOrText(const Facts& trace,
                                                                       const char* key) {
  const auto fact = trace.trace_metadata.find(key);
  if (fact == trace.trace_metadata.end()) return {};
  int64_t number = 0;
  const char* end = fact->second.data() + fact->second.size();
  const auto [stop, error] = std::from_chars(fact->second.data(), end, number);
  if (error != std::errc() || stop != end) return fact->second;
  return number;
}
// Returns nullopt if `whole` is 0.
inline std::optional<double> RatioOf(uint64_t part, uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

// These functions are the conditions that entries use.
constexpr bool IsOneTrace(const Facts& trace) { return trace.traces == 1; }
constexpr bool HasRanges(const Facts& trace) { return trace.fragmentation.any_ranges; }
constexpr bool HasHoles(const Facts& trace) {
  return trace.fragmentation.any_ranges && trace.fragmentation.holes_known;
}
template <typename Struct>
constexpr bool OfOneTrace(const Facts& trace, const Struct& /*self*/) {
  return trace.traces == 1;
}
template <typename Struct>
constexpr bool KnowsReserved(const Facts& trace, const Struct& /*self*/) {
  return trace.reserved_known;
}
template <typename Struct>
constexpr bool IsOnDevice(const Facts& /*trace*/, const Struct& self) {
  return self.device != kNoDevice;
}

template <>
struct Described<Amount> {
  static constexpr auto kFacts = std::tuple{
      Fact("bytes", &Amount::bytes, Merge::kLevel, "bytes"),
      Fact("blocks", &Amount::blocks, Merge::kLevel, "blocks"),
  };
};

template <>
struct Described<ReadReport> {
  using S = ReadReport;
  static constexpr auto kFacts = std::tuple{
      Inner(&S::events, Merge::kSum),  // input.events
      Fact("chunks", &S::chunks, Merge::kSum, "chunks that were read"),
      Fact("damaged_chunks", &S::damaged_chunks, Merge::kSum,
           "chunks whose contents are inconsistent"),
      Fact("damaged_bytes", &S::damaged_bytes, Merge::kSum,
           "bytes of the file that could not be used"),
      Fact("missing_events", &S::missing_events, Merge::kSum, "gaps in the sequence"),
      Fact("dropped_events", &S::dropped_events, Merge::kSum,
           "events that the recorder dropped because buffers or the disk were full"),
      Fact("overwritten_events", &S::overwritten_events, Merge::kSum,
           "earlier events that were overwritten, because the trace has a limited size "
           "(`--trace-size`)"),
      Fact("folded_events", &S::folded_events, Merge::kSum,
           "events that the trace contains only as sums (`--trace-size`)"),
      Fact("folded_until_ns", &S::folded_until_ns, Merge::kMax,
           "the time up to which the trace contains only sums"),
      Inner(&S::left_out_events, Merge::kSum),  // a sentence of input.missing
      Fact("write_error", &S::write_error, Merge::kMax,
           "the errno of the write that failed and ended the recording, 28 for a full disk; 0 if "
           "none failed"),
      Fact("closed", &S::closed, Merge::kAll,
           "the process closed the trace, or replaced its program (exec); false if it was killed, "
           "or is "
           "still running"),
  };
};

template <>
struct Described<TallyFacts> {
  using S = TallyFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("", &S::name, Merge::kFirst, "the last part of the library's path").Key(),
      Fact("path", &S::path, Merge::kFirst, "path of the library").OnlyIn("library").Key(),
      Fact("calls", &S::calls, Merge::kSum, "events of any kind"),
      Fact("allocations", &S::allocations, Merge::kSum, "allocations that succeeded"),
      Fact("frees", &S::frees, Merge::kSum, "successful frees, by the library that freed"),
      Fact("failed", &S::failed, Merge::kSum, "calls that the driver refused"),
      Fact("total_bytes", &S::total_bytes, Merge::kSum, "allocated in all"),
      TwoNumbers("bytes_at_peak", "blocks_at_peak", &S::at_peak, Merge::kParts,
                 "device memory that it allocated and that was live at the peak"),
      Fact("highest_bytes", &S::highest_bytes, Merge::kLevel,
           "highest level of the device memory that it allocated, at any time"),
      TwoNumbers("bytes_at_end", "blocks_at_end", &S::at_end, Merge::kParts,
                 "device memory that it allocated and that was live at the end"),
      Fact("other_highest_bytes", &S::other_highest_bytes, Merge::kLevel,
           "highest level of host and managed memory that it allocated"),
      TwoNumbers("other_bytes_at_end", "other_blocks_at_end", &S::other_at_end, Merge::kParts,
                 "host and managed memory that it allocated and that was live at the end"),
  };
};

template <>
struct Described<Counts> {
  using S = Counts;
  static constexpr auto kFacts = std::tuple{
      Fact("allocations", &S::allocations, Merge::kSum,
           "successful calls that allocate memory of any kind")
          .Short("allocations")
          .Compared(8),
      Fact("frees", &S::frees, Merge::kSum, "calls that free memory of any kind").Short("frees"),
      Fact("out_of_memory", &S::out_of_memory, Merge::kSum,
           "requests that failed because there was not enough memory, and whose error the program "
           "saw; "
           "`handled_failures` are not included")
          .Short("out_of_memory")
          .Compared(9),
      Fact("failed_allocations", &S::failed_allocations, Merge::kSum,
           "allocations that failed for any reason"),
      Fact("handled_failures", &S::handled_failures, Merge::kSum,
           "`failed_allocations` because of missing memory whose error the program did not see: "
           "PyTorch caught the error and continued without that memory, for example when it "
           "searches for an algorithm of cuDNN; or the library got the same memory when it "
           "requested it again")
          .Short("handled_failures"),
      Fact("refused_frees", &S::refused_frees, Merge::kSum, "frees that the driver refused"),
      Fact("frees_of_unseen", &S::frees_of_unseen, Merge::kSum,
           "`frees` of blocks whose allocation is not in the trace; in a trace of vramstow they do "
           "not change any level"),
      Fact("frees_missed", &S::frees_missed, Merge::kSum,
           "blocks, handles and mappings whose address was returned again without a free in the "
           "trace"),
      Fact("freed_with_context", &S::freed_with_context, Merge::kSum,
           "blocks that were freed with their context, without a recorded free"),
      Fact("unmatched_refusals", &S::unmatched_refusals, Merge::kSum,
           "refusals of calls that are not in the trace"),
      Fact("other_layers", &S::other_layers, Merge::kSum,
           "events of layers that this version does not know"),
      Fact("events_by_kind", &S::by_kind, Merge::kSum, "number of events of each kind"),
  };
};

template <>
struct Described<OffloadSite> {
  using S = OffloadSite;
  static constexpr auto kFacts = std::tuple{
      Inner(&S::number, Merge::kFirst),
      Fact("site", &S::site, Merge::kFirst, "call site whose blocks were moved"),
      Fact("operation", &S::operation, Merge::kFirst, "what ran there"),
      Fact("bytes", &S::bytes, Merge::kFirst, "bytes of all moves together"),
  };
};

template <>
struct Described<HandChange> {
  using S = HandChange;
  static constexpr auto kFacts = std::tuple{
      Fact("change", &S::change, Merge::kFirst,
           "`checkpoint_layers` (recompute them in the backward pass), `micro_batches`, "
           "`state_on_host` (the optimizer's state, except during its step), `state_in_8_bits` "
           "(instead of 32), `lower_precision` (autocast)"),
      Fact("place", &S::place, Merge::kFirst, "a source line of the layers; null for other changes")
          .KnownIf([](const Facts&, const S& self) { return !self.place.empty(); }),
      Fact("needed_bytes", &S::needed_bytes, Merge::kFirst,
           "how much of the GPU's memory the job then needs"),
      Fact("fits", &S::fits, Merge::kFirst,
           "whether this fits with vramstow's pool, with a 64th of the GPU's memory, or of what a "
           "limit allows, left free"),
      Fact("changes_numbers", &S::changes_numbers, Merge::kFirst,
           "results are rounded differently"),
      Fact("count", &S::count, Merge::kFirst,
           "the smallest number of layers, or the number of micro-batches; null for other changes")
          .KnownIf([](const Facts&, const S& self) { return self.count != 0; }),
      Fact("layers", &S::layers, Merge::kFirst,
           "the total number of layers; null for other changes")
          .KnownIf([](const Facts&, const S& self) { return self.layers != 0; }),
      Fact("moved_bytes", &S::moved_bytes, Merge::kFirst,
           "bytes copied to the host and back in each iteration"),
      Fact("seconds", &S::seconds, Merge::kFirst,
           "by how much it makes an iteration longer, by the model of the GPU; null if unknown: "
           "without `clock=model`, and for `lower_precision`"),
  };
};

template <>
struct Described<OffloadFacts> {
  using S = OffloadFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("out_bytes", &S::out_bytes, Merge::kSum, "moved to the host, all moves together"),
      Fact("returned_bytes", &S::returned_bytes, Merge::kSum, "moved back, all moves together"),
      Fact("gate_ns", &S::gate_ns, Merge::kSum,
           "time for which submissions waited, all moves together"),
      Fact("longest_gate_ns", &S::longest_gate_ns, Merge::kMax, "the same at once"),
      Fact("most_bytes", &S::most_bytes, Merge::kLevel,
           "largest amount on the host at the same time"),
      Derived(
          "link_ns",
          [](const Facts&, const S& self) { return LinkNs(self.out_bytes + self.returned_bytes); },
          "time that the transfers take at 24 GiB/s (pinned copies over PCIe 4 ×16)"),
      Fact("by_reason", &S::by_reason, Merge::kSum,
           "bytes that were moved to the host, by reason: `pressure`, `asked` (on request), "
           "`paused`, `discarded`"),
      Fact("carries_job", &S::carries_job, Merge::kAny,
           "the job ran only because memory was moved: there was not enough memory for some "
           "requests, and none of them failed for the program"),
      Fact("needed_bytes", &S::needed_bytes, Merge::kMax,
           "if `carries_job`: how much of the GPU's memory the job needs, including what was in "
           "use before it; null if unknown")
          .KnownIf([](const Facts&, const S& self) { return self.needed_bytes != 0; }),
      Fact("card_bytes", &S::card_bytes, Merge::kMax,
           "bytes of memory of that GPU, if `carries_job` is true")
          .KnownIf([](const Facts&, const S& self) { return self.card_bytes != 0; }),
      Fact("limit_bytes", &S::limit_bytes, Merge::kMax,
           "if all memory was moved because the pool had reached a limit, although "
           "the GPU may have had free memory: this limit; null otherwise")
          .KnownIf([](const Facts&, const S& self) { return self.limit() != 0; }),
      Fact("limit_place", &S::limit_place, Merge::kFirst,
           "what set this limit: `--limit=SIZE`, the source line of "
           "`set_per_process_memory_fraction()`, or `per_process_memory_fraction in VARIABLE`; "
           "null if unknown")
          .KnownIf([](const Facts&, const S& self) {
            return self.limit() != 0 && !self.limit_place.empty();
          }),
      Inner(&S::was_full, Merge::kAny),
      Inner(&S::room_bytes, Merge::kMax),
      Fact("step_cost_seconds", &S::step_cost_seconds, Merge::kOwn,
           "by how much moves make an iteration longer on average, by the model of the GPU; null "
           "without `clock=model`, and for several traces"),
      Fact("by_hand", &S::by_hand, Merge::kOwn,
           "if `carries_job`: changes of the program with which the job would need less memory, "
           "the best first"),
      Inner(&S::left_out, Merge::kSum),
      Fact("sites", &S::sites, Merge::kOwn,
           "call sites whose memory was moved, the most bytes first"),
  };
};

template <>
struct Described<CycleFacts> {
  using S = CycleFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("cycle", &S::cycle, Merge::kOwn, "the cycle of references: `Holder.cycle → itself`"),
      Fact("about", &S::about, Merge::kOwn, "its largest tensor"),
      Fact("bytes", &S::bytes, Merge::kOwn,
           "the most bytes that one collection found in such cycles"),
      Fact("collections", &S::collections, Merge::kOwn, "how many collections found such cycles"),
  };
};

template <>
struct Described<GarbageFacts> {
  using S = GarbageFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("collections", &S::collections, Merge::kSum,
           "how often garbage that held device memory was collected"),
      Fact("saved_requests", &S::saved_requests, Merge::kSum,
           "requests that succeeded after a collection, and would have failed without it"),
      Fact("freed_bytes", &S::freed_bytes, Merge::kSum, "bytes freed, all collections together"),
      Fact("most_bytes", &S::most_bytes, Merge::kMax, "the same at once"),
      Fact("duration_ns", &S::duration_ns, Merge::kSum, "the time of all collections"),
      Fact("cycles", &S::cycles, Merge::kOwn, "what kept the garbage, the most bytes first"),
  };
};

template <>
struct Described<LaunchedFacts> {
  using S = LaunchedFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("", &S::name, Merge::kFirst, "C++ name of a kernel, or name of a range").Key(),
      Fact("launches", &S::launches, Merge::kSum, "launches"),
  };
};

template <>
struct Described<LaunchesFacts> {
  using S = LaunchesFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("launches", &S::launches, Merge::kSum, "launches in total; a graph counts as one"),
      Fact("sampled", &S::sampled, Merge::kAny,
           "the number is estimated from samples, each of which stands for several launches"),
      Fact("by_kernel", &S::by_kernel, Merge::kJoin,
           "the 200 kernels that were launched most often")
          .RowsAs("kernel"),
      Fact("by_range", &S::by_range, Merge::kJoin,
           "the 200 ranges with the most launches; a launch counts for the innermost range, and "
           "ranges with the same name are combined")
          .RowsAs("range"),
  };
};

template <>
struct Described<Peak> {
  using S = Peak;
  static constexpr auto kFacts = std::tuple{
      Fact("allocated_bytes", &S::allocated_bytes, Merge::kLevel, "highest of allocated")
          .Short("peak_allocated")
          .Compared(1),
      Fact("reserved_bytes", &S::reserved_bytes, Merge::kLevel,
           "highest of reserved; null if unknown")
          .KnownIf(KnowsReserved)
          .Short("peak_reserved")
          .Compared(2),
      Fact("requested_bytes", &S::requested_bytes, Merge::kLevel, "highest of requested")
          .Short("peak_requested")
          .Compared(3),
      Fact("reserved_then_bytes", &S::reserved_then_bytes, Merge::kLevel,
           "reserved when allocated was highest")
          .KnownIf(KnowsReserved),
      Fact("requested_then_bytes", &S::requested_then_bytes, Merge::kLevel,
           "requested when allocated was highest"),
      Fact("time_ns", &S::time_ns, Merge::kOwn,
           "time at which allocated first had its highest value")
          .KnownIf(OfOneTrace),
      Fact("sequence", &S::sequence, Merge::kOwn,
           "number of the event at which allocated reached this value")
          .KnownIf(OfOneTrace),
      Fact("host_pinned_bytes", &S::host_bytes, Merge::kLevel,
           "highest level of host memory that the driver pinned, at any time")
          .Label("pinned host memory"),
      Fact("host_registered_bytes", &S::registered_bytes, Merge::kLevel,
           "highest level of the application's host memory that it registered")
          .Label("registered host memory"),
      Fact("managed_bytes", &S::managed_bytes, Merge::kLevel, "highest level of managed memory")
          .Label("managed memory"),
      Fact(
          "imported_bytes", &S::imported_bytes, Merge::kLevel,
          "highest level of memory imported from other processes; the size of handles is not known")
          .Label("imported from other processes"),
      Fact("mapped_bytes", &S::mapped_bytes, Merge::kLevel,
           "highest level of device memory mapped into reserved address ranges")
          .Label("mapped into address ranges"),
      Fact("address_range_bytes", &S::address_range_bytes, Merge::kLevel,
           "highest level of reserved addresses, which need no memory"),
  };
};

template <>
struct Described<BlockFacts> {
  using S = BlockFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("address", &S::address, Merge::kFirst, "address; for physical memory its handle").Hex(),
      Fact("bytes", &S::size, Merge::kFirst, "size").Key(),
      Fact("requested_bytes", &S::requested, Merge::kFirst, "requested bytes"),
      Fact("time_ns", &S::time_ns, Merge::kLeast,
           "time of the allocation; for several blocks, of the first one"),
      Fact("kind", &S::memory, Merge::kFirst, "kind of memory").Key(),
      Fact("call", &S::call, Merge::kFirst, "driver function that allocated it").Key(),
      Fact("library", &S::library, Merge::kFirst, "library that requested it").Key(),
      Fact("site", &S::site, Merge::kFirst,
           "call site of the allocation; null if there is no call stack")
          .KnownIf([](const Facts&, const S& self) { return !self.site.empty(); })
          .Key(),
      Fact("device", &S::device, Merge::kSame, "device; null for host memory").KnownIf(IsOnDevice),
      Inner(&S::site_number, Merge::kFirst),
      Fact("blocks", &S::count, Merge::kSum, "number of blocks").OnlyIn("group"),
      Derived(
          "total_bytes", [](const Facts&, const S& self) { return self.size * self.count; },
          "bytes of all of them")
          .OnlyIn("group"),
  };
};

template <>
struct Described<HistogramRow> {
  using S = HistogramRow;
  static constexpr auto kFacts = std::tuple{
      Fact("from_bytes", &S::from_bytes, Merge::kFirst, "smallest size of the row").Key(),
      Fact("to_bytes", &S::to_bytes, Merge::kFirst, "largest size of the row"),
      Fact("allocations", &S::allocations, Merge::kSum, "allocations of device memory"),
      Fact("total_bytes", &S::total_bytes, Merge::kSum, "allocated in all"),
      TwoNumbers("bytes_at_peak", "blocks_at_peak", &S::at_peak, Merge::kParts, "live at the peak"),
      TwoNumbers("bytes_at_end", "blocks_at_end", &S::at_end, Merge::kParts, "live at the end"),
  };
};

template <>
struct Described<TimelinePoint> {
  using S = TimelinePoint;
  static constexpr auto kFacts = std::tuple{
      Fact("allocated_bytes", &S::allocated_highest, Merge::kOwn,
           "highest of allocated within the interval"),
      Fact("reserved_bytes", &S::reserved_highest, Merge::kOwn,
           "highest of reserved; null if unknown")
          .KnownIf(KnowsReserved),
      Fact("allocated_at_end_bytes", &S::allocated_last, Merge::kOwn,
           "allocated at the end of the interval"),
      Fact("requested_at_end_bytes", &S::requested_last, Merge::kOwn,
           "requested at the end of the interval"),
      Fact("host_pinned_bytes", &S::host_highest, Merge::kOwn, "highest of pinned host memory"),
      Fact("managed_bytes", &S::managed_highest, Merge::kOwn, "highest of managed memory"),
      Inner(&S::ranges, Merge::kOwn),
      Derived(
          "free_range_bytes", [](const Facts&, const S& self) { return self.ranges.free_bytes; },
          "if ranges were reserved: bytes in free ranges at the end; if intervals were combined, "
          "of the one with more unusable bytes")
          .WrittenIf(HasRanges),
      Derived(
          "largest_free_range_bytes",
          [](const Facts&, const S& self) { return self.ranges.largest_bytes; },
          "if ranges were reserved: the largest free range")
          .WrittenIf(HasRanges),
      Derived(
          "unusable_bytes", [](const Facts&, const S& self) { return self.ranges.unusable_bytes; },
          "if ranges were reserved: bytes in ranges too small for the largest request so far")
          .WrittenIf(HasRanges),
  };
};

template <>
struct Described<TimelineFacts> {
  using S = TimelineFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("interval_ns", &S::interval_ns, Merge::kOwn,
           "length of an interval; the first begins with the trace, there are at most 512"),
      AsColumns(&S::points),
  };
};

template <>
struct Described<DeviceFacts> {
  using S = DeviceFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("device", &S::device, Merge::kOwn, "number of the device; null if unknown")
          .KnownIf(IsOnDevice),
      Fact("name", &S::name, Merge::kOwn, "its name"),
      Fact("total_bytes", &S::total_bytes, Merge::kOwn, "its memory"),
      Fact("free_bytes_at_start", &S::free_bytes_at_start, Merge::kOwn,
           "free memory when the process began"),
      Fact("peak_bytes", &S::peak_bytes, Merge::kOwn, "highest of allocated, of this process"),
      Fact("peak_reserved_bytes", &S::peak_reserved_bytes, Merge::kOwn,
           "highest of reserved, of this process"),
      Fact("reserved_bytes_at_end", &S::end_reserved_bytes, Merge::kOwn, "reserved at the end"),
      Fact("bytes_at_end", &S::end_bytes, Merge::kOwn, "allocated at the end"),
      Fact("out_of_memory", &S::out_of_memory, Merge::kOwn,
           "requests that failed because there was not enough memory, and whose error the program "
           "saw"),
      Fact("lowest_free_bytes", &S::lowest_free_bytes, Merge::kOwn,
           "lowest free memory that was reported to the application; null if it did not ask"),
      Fact("lowest_free_time_ns", &S::lowest_free_time_ns, Merge::kOwn, "when that was")
          .KnownIf([](const Facts&, const S& self) { return self.lowest_free_bytes.has_value(); }),
  };
};

template <>
struct Described<LiveFacts> {
  using S = LiveFacts;
  static constexpr auto kFacts = std::tuple{
      TwoNumbers(
          "device_bytes", "device_blocks", &S::device, Merge::kParts,
          "device memory that was live when the trace ended; the driver frees it with the process")
          .Compared("live_at_end", 7),
      TwoNumbers("other_bytes", "other_blocks", &S::other, Merge::kParts,
                 "host and managed memory that was live when the trace ended"),
      Fact("groups", &S::groups, Merge::kJoin,
           "blocks with the same library, call, kind and size; the largest first, at most 50")
          .RowsAs("group"),
      Fact("groups_left_out", &S::groups_left_out, Merge::kSum,
           "number of groups that are not listed"),
  };
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLE_H_
