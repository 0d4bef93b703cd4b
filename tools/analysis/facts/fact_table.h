// The tables of facts: every member of every struct of facts.h has one entry here.
//
// A new fact is a member there and an entry here. tests/tools/analysis/facts/fact_table_test.cc
// finds members without an entry. fact_table_explain.h has the facts that are computed from others.
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
  const auto fact = trace.facts.find(key);
  if (fact == trace.facts.end()) return std::nullopt;
  return fact->second;
}
inline std::variant<std::monostate, int64_t, std::string> NumberOrText(const Facts& trace,
                                                                       const char* key) {
  const auto fact = trace.facts.find(key);
  if (fact == trace.facts.end()) return {};
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

// The conditions of entries.
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
      Fact("bytes", &Amount::bytes, Merge::kSum, "bytes"),
      Fact("blocks", &Amount::blocks, Merge::kSum, "blocks"),
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
           "events that the recorder says it dropped: buffers or disk were full"),
      Fact("overwritten_events", &S::overwritten_events, Merge::kSum,
           "events before the first one that is here: the trace kept only the newest "
           "(`--trace-size`)"),
      Fact("folded_events", &S::folded_events, Merge::kSum,
           "events of which the trace has only sums (`--trace-size`)"),
      Fact("folded_until_ns", &S::folded_until_ns, Merge::kMax, "the time up to which that is so"),
      Fact("write_error", &S::write_error, Merge::kMax,
           "the errno of the write that failed and ended the recording, 28 for a full disk; 0: "
           "none"),
      Fact("closed", &S::closed, Merge::kAll,
           "the process closed the trace; false: it was killed, or is running still"),
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
      Fact("frees", &S::frees, Merge::kSum, "frees that succeeded, by who freed"),
      Fact("failed", &S::failed, Merge::kSum, "calls that the driver refused"),
      Fact("total_bytes", &S::total_bytes, Merge::kSum, "allocated in all"),
      TwoNumbers("bytes_at_peak", "blocks_at_peak", &S::at_peak, Merge::kParts,
                 "device memory that it allocated, live at the peak"),
      Fact("highest_bytes", &S::highest_bytes, Merge::kSum,
           "the same: its own highest, whenever that was"),
      TwoNumbers("bytes_at_end", "blocks_at_end", &S::at_end, Merge::kParts,
                 "the same: live at the end"),
      Fact("other_highest_bytes", &S::other_highest_bytes, Merge::kSum,
           "host and managed memory that it allocated, at its own highest"),
      TwoNumbers("other_bytes_at_end", "other_blocks_at_end", &S::other_at_end, Merge::kParts,
                 "the same: live at the end"),
  };
};

template <>
struct Described<Counts> {
  using S = Counts;
  static constexpr auto kFacts = std::tuple{
      Fact("allocations", &S::allocations, Merge::kSum,
           "calls that gave memory of any kind and succeeded")
          .Short("allocations")
          .Compared(8),
      Fact("frees", &S::frees, Merge::kSum, "calls that gave it back").Short("frees"),
      Fact("out_of_memory", &S::out_of_memory, Merge::kSum,
           "requests that failed for want of memory, and whose error the program saw; "
           "`handled_failures` are not among them")
          .Short("out_of_memory")
          .Compared(9),
      Fact("failed_allocations", &S::failed_allocations, Merge::kSum,
           "allocations that failed, for whatever reason"),
      Fact("handled_failures", &S::handled_failures, Merge::kSum,
           "among `failed_allocations`: for want of memory, and the program saw no error. PyTorch "
           "caught the error and did without that memory, as where it looks for an algorithm of "
           "cuDNN; or the library that asked got the same memory when it asked again")
          .Short("handled_failures"),
      Fact("refused_frees", &S::refused_frees, Merge::kSum, "frees that the driver refused"),
      Fact("frees_of_unseen", &S::frees_of_unseen, Merge::kSum,
           "among `frees`: of blocks whose allocation is not in the trace; in a trace of vramstow "
           "they change no level"),
      Fact("frees_missed", &S::frees_missed, Merge::kSum,
           "blocks, handles and mappings whose place was given out again without a free in the "
           "trace"),
      Fact("freed_with_context", &S::freed_with_context, Merge::kSum,
           "blocks that went with their context, without a free"),
      Fact("unmatched_refusals", &S::unmatched_refusals, Merge::kSum,
           "refusals of something that is not in the trace"),
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
      Fact("site", &S::site, Merge::kFirst, "call site whose blocks went"),
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
           "`state_on_host` (the optimizer's, but for its step), `state_in_8_bits` (of 32), "
           "`lower_precision` (autocast)"),
      Fact("place", &S::place, Merge::kFirst, "a line of the layers; null for the others")
          .KnownIf([](const Facts&, const S& self) { return !self.place.empty(); }),
      Fact("needed_bytes", &S::needed_bytes, Merge::kFirst, "what the job then needs of the card"),
      Fact("fits", &S::fits, Merge::kFirst,
           "whether that fits with vramstow's pool, with a 64th of the card left free"),
      Fact("changes_numbers", &S::changes_numbers, Merge::kFirst, "results are rounded otherwise"),
      Fact("count", &S::count, Merge::kFirst,
           "the fewest layers, or the number of micro-batches; null for the others")
          .KnownIf([](const Facts&, const S& self) { return self.count != 0; }),
      Fact("layers", &S::layers, Merge::kFirst, "how many layers there are; null without")
          .KnownIf([](const Facts&, const S& self) { return self.layers != 0; }),
      Fact("moved_bytes", &S::moved_bytes, Merge::kFirst, "to the host and back in each iteration"),
      Fact("seconds", &S::seconds, Merge::kFirst,
           "by how much it makes an iteration longer, by the model of the card; null where that "
           "is not known: without `clock=model`, and for `lower_precision`"),
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
      Fact("most_bytes", &S::most_bytes, Merge::kSum, "away at the same time, at the most"),
      Derived(
          "link_ns",
          [](const Facts&, const S& self) { return LinkNs(self.out_bytes + self.returned_bytes); },
          "time that the transfers take at 24 GiB/s (pinned copies over PCIe 4 ×16)"),
      Fact("by_reason", &S::by_reason, Merge::kSum,
           "bytes that left, by reason: `pressure`, `asked`, `paused`, `discarded`"),
      Fact("carries_job", &S::carries_job, Merge::kAny,
           "the job ran only because memory was moved: requests lacked room, and none failed for "
           "the program"),
      Fact("needed_bytes", &S::needed_bytes, Merge::kMax,
           "where `carries_job`: what the job needs of the card, with what was gone of it before; "
           "null where that is not known")
          .KnownIf([](const Facts&, const S& self) { return self.needed_bytes != 0; }),
      Fact("card_bytes", &S::card_bytes, Merge::kMax, "the same: the memory of that card")
          .KnownIf([](const Facts&, const S& self) { return self.card_bytes != 0; }),
      Fact("step_cost_seconds", &S::step_cost_seconds, Merge::kOwn,
           "what moves make an iteration longer, by the model of the card; null without "
           "`clock=model`, and of several traces"),
      Fact("by_hand", &S::by_hand, Merge::kOwn,
           "where `carries_job`: changes of the program by hand with which the job would need "
           "less, the best first"),
      Inner(&S::left_out, Merge::kSum),
      Fact("sites", &S::sites, Merge::kOwn, "whose memory went, most first"),
  };
};

template <>
struct Described<CycleFacts> {
  using S = CycleFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("cycle", &S::cycle, Merge::kOwn, "the ring of references: `Holder.cycle → itself`"),
      Fact("about", &S::about, Merge::kOwn, "its largest tensor"),
      Fact("bytes", &S::bytes, Merge::kOwn, "the most that one collection found in such rings"),
      Fact("collections", &S::collections, Merge::kOwn, "how many found some"),
  };
};

template <>
struct Described<GarbageFacts> {
  using S = GarbageFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("collections", &S::collections, Merge::kSum,
           "how often garbage that held device memory was collected"),
      Fact("saved_requests", &S::saved_requests, Merge::kSum,
           "requests that were served after that, and would have failed"),
      Fact("freed_bytes", &S::freed_bytes, Merge::kSum, "freed, all collections together"),
      Fact("most_bytes", &S::most_bytes, Merge::kMax, "the same at once"),
      Fact("duration_ns", &S::duration_ns, Merge::kSum, "time that they took"),
      Fact("cycles", &S::cycles, Merge::kOwn, "what kept the garbage, most first"),
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
      Fact("launches", &S::launches, Merge::kSum, "launches in all; a graph counts as one"),
      Fact("sampled", &S::sampled, Merge::kAny, "from samples, each of which stands for several"),
      Fact("by_kernel", &S::by_kernel, Merge::kJoin, "the 200 kernels launched most")
          .RowsAs("kernel"),
      Fact("by_range", &S::by_range, Merge::kJoin,
           "the 200 ranges in which most was launched: that was begun last and had not ended; "
           "ranges of one name together")
          .RowsAs("range"),
  };
};

template <>
struct Described<Peak> {
  using S = Peak;
  static constexpr auto kFacts = std::tuple{
      Fact("allocated_bytes", &S::allocated_bytes, Merge::kSum, "highest of allocated")
          .Short("peak_allocated")
          .Compared(1),
      Fact("reserved_bytes", &S::reserved_bytes, Merge::kSum,
           "highest of reserved; null where nothing is known of it")
          .KnownIf(KnowsReserved)
          .Short("peak_reserved")
          .Compared(2),
      Fact("requested_bytes", &S::requested_bytes, Merge::kSum, "highest of requested")
          .Short("peak_requested")
          .Compared(3),
      Fact("reserved_then_bytes", &S::reserved_then_bytes, Merge::kSum,
           "reserved when allocated was highest")
          .KnownIf(KnowsReserved),
      Fact("requested_then_bytes", &S::requested_then_bytes, Merge::kSum,
           "requested when allocated was highest"),
      Fact("time_ns", &S::time_ns, Merge::kOwn, "when allocated first was highest")
          .KnownIf(OfOneTrace),
      Fact("sequence", &S::sequence, Merge::kOwn,
           "number of the event that brought allocated there")
          .KnownIf(OfOneTrace),
      Fact("host_pinned_bytes", &S::host_bytes, Merge::kSum,
           "host memory pinned by the driver: highest, whenever that was")
          .Label("pinned host memory"),
      Fact("host_registered_bytes", &S::registered_bytes, Merge::kSum,
           "host memory of the application that it registered: highest")
          .Label("registered host memory"),
      Fact("managed_bytes", &S::managed_bytes, Merge::kSum, "managed memory: highest")
          .Label("managed memory"),
      Fact("imported_bytes", &S::imported_bytes, Merge::kSum,
           "memory of other processes: highest; of handles the size is not known")
          .Label("imported from other processes"),
      Fact("mapped_bytes", &S::mapped_bytes, Merge::kSum,
           "device memory mapped into reserved address ranges: highest")
          .Label("mapped into address ranges"),
      Fact("address_range_bytes", &S::address_range_bytes, Merge::kSum,
           "reserved addresses, which cost no memory: highest"),
  };
};

template <>
struct Described<BlockFacts> {
  using S = BlockFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("address", &S::address, Merge::kFirst, "address; of physical memory its handle").Hex(),
      Fact("bytes", &S::size, Merge::kFirst, "size").Key(),
      Fact("requested_bytes", &S::requested, Merge::kFirst, "what was asked for"),
      Fact("time_ns", &S::time_ns, Merge::kLeast, "when it was allocated; of several the first"),
      Fact("kind", &S::memory, Merge::kFirst, "kind of memory").Key(),
      Fact("call", &S::call, Merge::kFirst, "entry point that gave it").Key(),
      Fact("library", &S::library, Merge::kFirst, "library that asked for it").Key(),
      Fact("site", &S::site, Merge::kFirst, "who allocated it; null where no call stack tells it")
          .KnownIf([](const Facts&, const S& self) { return !self.site.empty(); })
          .Key(),
      Fact("device", &S::device, Merge::kSame, "device; null of memory of the host")
          .KnownIf(IsOnDevice),
      Inner(&S::site_number, Merge::kFirst),
      Fact("blocks", &S::count, Merge::kSum, "how many there are").OnlyIn("group"),
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
           "highest of reserved; null where nothing is known of it")
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
          "where ranges were reserved: bytes in free ranges at the end; of intervals that were "
          "joined the worse")
          .WrittenIf(HasRanges),
      Derived(
          "largest_free_range_bytes",
          [](const Facts&, const S& self) { return self.ranges.largest_bytes; },
          "the same: the largest free range")
          .WrittenIf(HasRanges),
      Derived(
          "unusable_bytes", [](const Facts&, const S& self) { return self.ranges.unusable_bytes; },
          "the same: bytes in ranges too small for the largest request so far")
          .WrittenIf(HasRanges),
  };
};

template <>
struct Described<TimelineFacts> {
  using S = TimelineFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("interval_ns", &S::interval_ns, Merge::kOwn,
           "length of an interval; the first begins with the trace, there are 512 at most"),
      AsColumns(&S::points),
  };
};

template <>
struct Described<DeviceFacts> {
  using S = DeviceFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("device", &S::device, Merge::kOwn, "number of the device; null where it is not known")
          .KnownIf(IsOnDevice),
      Fact("name", &S::name, Merge::kOwn, "its name"),
      Fact("total_bytes", &S::total_bytes, Merge::kOwn, "its memory"),
      Fact("free_bytes_at_start", &S::free_bytes_at_start, Merge::kOwn,
           "what was free when the process began"),
      Fact("peak_bytes", &S::peak_bytes, Merge::kOwn, "highest of allocated, of this process"),
      Fact("peak_reserved_bytes", &S::peak_reserved_bytes, Merge::kOwn,
           "highest of reserved, of this process"),
      Fact("reserved_bytes_at_end", &S::end_reserved_bytes, Merge::kOwn, "reserved at the end"),
      Fact("bytes_at_end", &S::end_bytes, Merge::kOwn, "allocated at the end"),
      Fact("out_of_memory", &S::out_of_memory, Merge::kOwn,
           "requests that failed for want of memory, and whose error the program saw"),
      Fact("lowest_free_bytes", &S::lowest_free_bytes, Merge::kOwn,
           "least that was free, of the answers that the application got; null without one"),
      Fact("lowest_free_time_ns", &S::lowest_free_time_ns, Merge::kOwn, "when that was")
          .KnownIf([](const Facts&, const S& self) { return self.lowest_free_bytes.has_value(); }),
  };
};

template <>
struct Described<LiveFacts> {
  using S = LiveFacts;
  static constexpr auto kFacts = std::tuple{
      TwoNumbers("device_bytes", "device_blocks", &S::device, Merge::kParts,
                 "device memory that was live when the trace ended; the driver takes it back with "
                 "the process")
          .Compared("live_at_end", 7),
      TwoNumbers("other_bytes", "other_blocks", &S::other, Merge::kParts,
                 "host and managed memory, the same"),
      Fact("groups", &S::groups, Merge::kJoin,
           "blocks alike in library, call, kind and size; the largest first, 50 at most")
          .RowsAs("group"),
      Fact("groups_left_out", &S::groups_left_out, Merge::kSum, "groups beyond these"),
  };
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLE_H_
