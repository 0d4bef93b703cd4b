// Includes the tables of all structs of facts, and defines the table of a whole trace.
//
// Ownership: constants. Threads: plain values without synchronisation. Errors: none. Units: given
// by the ending of the name.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLES_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLES_H_

#include <tuple>

#include "tools/analysis/facts/fact_table.h"
#include "tools/analysis/facts/fact_table_explain.h"

namespace vramstow {

template <>
struct Described<IterationsFacts> {
  using S = IterationsFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("by", &S::found_by, Merge::kOwn,
           "how iterations were found: `marks`, `optimizer_steps`, `backward_passes`, "
           "`forward_passes` (of a model), `loop` (repeated source lines), `pattern` (repeated "
           "sizes), `none`"),
      Fact("is_sure", &S::is_sure, Merge::kOwn,
           "false if they are derived from repeated lines or sizes, which may be parts of one "
           "iteration"),
      Fact("mark", &S::mark, Merge::kOwn, "text of the mark; null without a mark")
          .KnownIf([](const Facts&, const S& self) { return !self.mark.empty(); }),
      Fact("why_not", &S::why_not, Merge::kOwn, "why no iterations were found, in a sentence")
          .KnownIf([](const Facts&, const S& self) { return !self.why_not.empty(); }),
      Fact("count", &S::count, Merge::kOwn, "how many there are").Short("iterations"),
      Fact("backward_passes_per_iteration", &S::backward_per_iteration, Merge::kOwn,
           "median number of backward passes per iteration, more than one if gradients are "
           "accumulated; null if unknown")
          .KnownIf([](const Facts&, const S& self) { return self.backward_per_iteration != 0; }),
      Fact("exact", &S::exact, Merge::kOwn,
           "false for a long trace: the boundaries of iterations are only known to within some "
           "events"),
      Fact("growth_bytes", &S::growth_bytes, Merge::kOwn,
           "growth, per iteration, of the memory that is live between iterations: from the median "
           "level of the second quarter of the iterations to that of the last, or only in the last "
           "quarter if it has slowed down; of fewer than nine iterations the median change")
          .Short("growth"),
      Inner(&S::list, Merge::kOwn),  // iterations
  };
};

template <>
struct Described<ModelClockFacts> {
  using S = ModelClockFacts;
  static bool IsKnown(const Facts& /*trace*/, const S& self) { return self.known(); }
  static constexpr auto kFacts = std::tuple{
      Fact("iterations", &S::iterations, Merge::kMax,
           "number of iterations over which these medians are taken: the complete ones from the "
           "third on; 0 without the clock, and with fewer than three complete iterations"),
      Fact("step_seconds", &S::step_seconds, Merge::kMax,
           "duration of an iteration; this and all following numbers are null if `iterations` is 0")
          .KnownIf(IsKnown)
          .Short("step_seconds")
          .Compared(10),
      Fact("wait_seconds", &S::wait_seconds, Merge::kMax,
           "how long work waited in an iteration while memory was moved (`--offload`)")
          .KnownIf(IsKnown),
      Fact("link_read_bytes", &S::link_read_bytes, Merge::kMax,
           "bytes that work read or wrote directly in host memory in an iteration")
          .KnownIf(IsKnown),
      Fact("out_bytes", &S::out_bytes, Merge::kMax,
           "bytes copied to the host in an iteration, including those of `--offload`")
          .KnownIf(IsKnown),
      Fact("in_bytes", &S::in_bytes, Merge::kMax, "bytes copied to the device in an iteration")
          .KnownIf(IsKnown),
      Fact("work_seconds", &S::work_seconds, Merge::kMax,
           "how long the GPU would compute in an iteration if all memory were on the GPU; null "
           "also in traces of earlier versions")
          .KnownIf([](const Facts&, const S& self) { return self.work_seconds > 0; }),
      Fact("link_seconds", &S::link_seconds, Merge::kMax,
           "by how much this takes longer because some memory is used directly on the host")
          .KnownIf([](const Facts&, const S& self) { return self.work_seconds > 0; }),
      Inner(&S::operators, Merge::kMax),
      Inner(&S::mean_seconds, Merge::kMax),
      Inner(&S::mean_wait_seconds, Merge::kMax),
      Inner(&S::mean_link_read_bytes, Merge::kMax),
      Inner(&S::mean_out_bytes, Merge::kMax),
      Inner(&S::mean_in_bytes, Merge::kMax),
      Inner(&S::begin_event, Merge::kOwn),
      Inner(&S::end_event, Merge::kOwn),
  };
};

template <>
struct Described<PhaseFacts> {
  using S = PhaseFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("name", &S::name, Merge::kOwn,
           "`start_up`, `training`, `evaluation`, `generation`, `forward` (forward passes of a "
           "program that was not seen to train), `saving` (torch.save)"),
      Fact("times", &S::times, Merge::kOwn,
           "how often the phase occurred; for training, the number of iterations"),
      Fact("begin_ns", &S::begin_ns, Merge::kOwn, "time at which the first one began"),
      Fact("took_ns", &S::took_ns, Merge::kOwn, "total duration"),
      Fact("peak_bytes", &S::peak_bytes, Merge::kOwn, "highest of allocated"),
      Fact("has_peak", &S::has_peak, Merge::kOwn,
           "whether the peak of the trace was in this phase"),
      Fact("decode_steps", &S::decode_steps, Merge::kOwn,
           "for generation: how often its caches grew; null if unknown")
          .KnownIf([](const Facts&, const S& self) { return self.decode_steps != 0; }),
  };
};

template <>
struct Described<HostFacts> {
  using S = HostFacts;
  static bool WasSeen(const Facts& /*trace*/, const S& self) { return self.looks != 0; }
  static constexpr auto kFacts = std::tuple{
      Fact("looks", &S::looks, Merge::kOwn, "number of samples, one per second"),
      Fact("highest_resident_bytes", &S::highest_resident_bytes, Merge::kOwn,
           "highest resident memory of the process; this and all following numbers are null if "
           "there was no sample")
          .KnownIf(WasSeen),
      Fact("highest_resident_time_ns", &S::highest_resident_time_ns, Merge::kOwn, "when that was")
          .KnownIf(WasSeen),
      Fact("least_free_bytes", &S::least_free_bytes, Merge::kOwn, "lowest free memory")
          .KnownIf(WasSeen),
      Fact("least_free_time_ns", &S::least_free_time_ns, Merge::kOwn, "when that was")
          .KnownIf(WasSeen),
      Fact("limit_bytes", &S::limit_bytes, Merge::kOwn, "of how much").KnownIf(WasSeen),
      Inner(&S::is_of_group, Merge::kOwn),
      Derived(
          "limit_of",
          [](const Facts&, const S& self) -> std::optional<std::string> {
            if (self.looks == 0) return std::nullopt;
            return self.is_of_group ? "control_group" : "machine";
          },
          "`machine` or `control_group`"),
      Derived(
          "pinned_bytes", [](const Facts& trace, const S&) { return trace.peak.host_bytes; },
          "highest level of host memory that the driver pinned"),
      Fact("pinned_rounding_bytes", &S::pinned_rounding_bytes, Merge::kOwn,
           "the part of it that was not requested"),
  };
};

template <>
struct Described<Facts> {
  using S = Facts;
  static bool IsComplete(const ReadReport& report) {
    return report.damaged_chunks == 0 && report.damaged_bytes == 0 && report.missing_events == 0 &&
           report.dropped_events == 0 && report.left_out_events == 0 &&
           report.overwritten_events == 0 && report.closed;
  }
  static constexpr auto kInput = Group(
      "input", GroupMode::kAlways, Always(), "the files that were read",
      Fact("kind", &S::kind, Merge::kSame,
           "`stow`, `pytorch_snapshot`, `rmm_log`, `profiler_trace`, `memory_timeline`, "
           "`minimalloc`; `several` where they differ"),
      Fact("file", &S::file, Merge::kOwn, "name of the file; null for several files")
          .KnownIf(OfOneTrace),
      Fact("traces", &S::traces, Merge::kOwn, "how many traces"), Inner(&S::attempts, Merge::kOwn),
      Inner(&S::processes, Merge::kOwn), Inner(&S::start_unix_ns, Merge::kOwn),
      Derived(
          "events", [](const Facts&, const S& self) { return self.report.events; },
          "number of events that were read"),
      Fact("duration_ns", &S::end_ns, Merge::kMax, "time of the last event"),
      Derived(
          "complete", [](const Facts&, const S& self) { return IsComplete(self.report); },
          "nothing is missing, and the process closed the trace"),
      Fact("report", &S::report, Merge::kParts, "what the reader found"),
      Fact("missing", &S::missing, Merge::kOwn, "what is missing from the file, in sentences"));
  static constexpr auto kProcess = Group(
      "process", GroupMode::kAlways, Always(), "the process that was traced",
      Derived(
          "program", [](const Facts&, const S& s) { return TextFact(s, "process.program"); },
          "program"),
      Derived(
          "command", [](const Facts&, const S& s) { return TextFact(s, "process.command"); },
          "its arguments"),
      Derived(
          "pid", [](const Facts&, const S& s) { return NumberOrText(s, "process.pid"); },
          "process id"),
      Derived(
          "parent", [](const Facts&, const S& s) { return NumberOrText(s, "process.parent"); },
          "process id of the parent"),
      Fact("rank", &S::rank, Merge::kOwn, "rank in the job; null if there is none"),
      Derived(
          "local_rank",
          [](const Facts&, const S& s) { return NumberOrText(s, "process.local_rank"); },
          "rank on its host"),
      Derived(
          "host", [](const Facts&, const S& s) { return TextFact(s, "process.host"); },
          "name of the host"),
      Derived(
          "start_time_unix_ns",
          [](const Facts&, const S& s) { return NumberOrText(s, "process.start_time"); },
          "start time, as Unix time"),
      Fact("simulated", &S::simulated, Merge::kAll, "a rehearsal"));
  static constexpr auto kFacts = std::tuple{
      kInput,
      kProcess,
      Fact("facts", &S::trace_metadata, Merge::kCommon,
           "metadata of the trace, as texts; for several traces the values that they share"),
      Inner(&S::reserved_known, Merge::kAll),
      Fact("counts", &S::counts, Merge::kParts, "numbers of calls"),
      Fact("offload", &S::offload, Merge::kParts, "live memory that `--offload` moved"),
      Fact("garbage", &S::garbage, Merge::kParts,
           "garbage that was collected before a request failed (`--collect`); only if there was "
           "some")
          .WrittenIf([](const Facts& trace) { return trace.garbage.collections != 0; }),
      Fact("launches", &S::launches, Merge::kParts,
           "launches of kernels (`--launches`); null if none were counted")
          .KnownIf([](const Facts&, const S& self) { return self.launches.launches != 0; }),
      Group(
          "peak", GroupMode::kAlways, Always(),
          "the highest value of each level; for several traces the sum of their values, in which a "
          "rank that ran several times, one attempt after the other, counts once",
          Spread(&S::peak),
          Fact("largest_block_bytes", &S::largest_block_bytes, Merge::kMax,
               "largest block of device memory at any time"),
          Fact("blocks", &S::largest_at_peak, Merge::kOwn,
               "the 16 largest blocks that were live at the peak")),
      Fact("by_library", &S::by_library, Merge::kJoin,
           "by requesting library; the library with most memory at the peak first")
          .RowsAs("library"),
      Fact("by_kind", &S::by_kind, Merge::kJoin, "by kind of memory").RowsAs("kind"),
      Fact("by_call", &S::by_call, Merge::kJoin, "by driver function").RowsAs("call"),
      Fact("histogram", &S::histogram, Merge::kJoin, "allocations of device memory by size"),
      Fact("out_of_memory", &S::out_of_memory, Merge::kOwn,
           "allocations that failed because there was not enough memory, the first 100 of each "
           "trace"),
      Fact("leaks", &S::live, Merge::kParts, "memory that was live when the trace ended"),
      Fact("devices", &S::devices, Merge::kOwn, "the devices (one trace only)")
          .WrittenIf(IsOneTrace),
      Fact("timeline", &S::timeline, Merge::kOwn,
           "levels over time, one number for each interval (one trace only)")
          .WrittenIf(IsOneTrace),
      Fact("fragmentation", &S::fragmentation, Merge::kOwn,
           "free memory and its pieces (one trace only)")
          .WrittenIf(IsOneTrace),
      Fact("by_site", &S::by_site, Merge::kOwn, "the 200 call sites that held most at the peak")
          .WrittenIf(IsOneTrace)
          .RowsAs("site"),
      Fact("by_operation", &S::by_operation, Merge::kOwn,
           "by operation, the 200 with most memory at the peak")
          .WrittenIf(IsOneTrace)
          .RowsAs("site"),
      Fact("by_module", &S::by_module, Merge::kOwn,
           "by module of the model (`Decoder.blocks.0.up`), for memory whose module is in the "
           "trace; the 200 with most memory at the peak")
          .WrittenIf(IsOneTrace)
          .RowsAs("module"),
      Fact("by_category", &S::by_category, Merge::kOwn, "the purposes of the memory at the peak")
          .WrittenIf(IsOneTrace),
      Fact("snapshot", &S::snapshot, Merge::kOwn,
           "the state at the end of a snapshot; null for other inputs")
          .WrittenIf(IsOneTrace),
      Derived(
          "iterations",
          [](const Facts&, const S& self) {
            const std::vector<IterationFacts>& all = self.iterations.list;
            const size_t written = std::min(all.size(), kMaxIterationsWritten);
            return std::vector<IterationFacts>(all.begin(), all.begin() + written);
          },
          "the first 2,000 iterations")
          .WrittenIf(IsOneTrace),
      Fact("iterations_found", &S::iterations, Merge::kOwn, "how they were found")
          .WrittenIf(IsOneTrace),
      Fact("model_clock", &S::model_clock, Merge::kParts,
           "an iteration by the clock of the simulated GPU (`clock=model`), as medians; for "
           "several traces the highest"),
      Fact("phases", &S::phases, Merge::kOwn,
           "the phases of the program, in the order in which they began; empty if unknown")
          .WrittenIf(IsOneTrace),
      Fact("lifetimes", &S::lifetimes, Merge::kOwn,
           "how long memory lives; null without iterations")
          .WrittenIf(IsOneTrace)
          .KnownIf([](const Facts&, const S& self) { return self.lifetimes.known; }),
      Fact("host", &S::host, Merge::kOwn, "host memory; null if it was not measured")
          .WrittenIf(IsOneTrace)
          .KnownIf([](const Facts&, const S& self) {
            return self.host.looks != 0 || self.peak.host_bytes != 0;
          }),
      Fact("churn", &S::churn, Merge::kOwn, "memory that is allocated and freed again and again")
          .WrittenIf(IsOneTrace),
      Fact("cache", &S::cache, Merge::kOwn,
           "memory that a pool requested and returned; null without a pool")
          .WrittenIf(IsOneTrace)
          .KnownIf([](const Facts&, const S& self) { return self.cache.known; }),
      Fact("before_peak", &S::before_peak, Merge::kOwn,
           "changes in the last second before the peak; null if unknown")
          .WrittenIf(IsOneTrace)
          .KnownIf([](const Facts&, const S& self) { return self.before_peak.known; }),
      Fact("growth", &S::by_hour, Merge::kOwn,
           "how memory grows over a long run, also if the trace has only sums of its older events; "
           "null for less than five minutes, and if events were lost in between")
          .WrittenIf(IsOneTrace)
          .KnownIf([](const Facts&, const S& self) { return self.by_hour.known; }),
      Fact("advice", &S::advice, Merge::kOwn, "advice, the one with the most bytes first")
          .WrittenIf(IsOneTrace),
  };
};

// The steady state: `vramstow check` and `vramstow diff` compute it over the second half of the
// iterations, if there are at least four.
struct SteadyFacts {
  uint64_t peak_bytes = 0;
  uint64_t between_bytes = 0;
};

template <>
struct Described<SteadyFacts> {
  using S = SteadyFacts;
  static constexpr auto kFacts = std::tuple{
      Fact("peak_bytes", &S::peak_bytes, Merge::kOwn, "median of the iterations' peaks")
          .Short("steady_peak")
          .Compared(5),
      Fact("between_bytes", &S::between_bytes, Merge::kOwn,
           "median of the live memory between two iterations")
          .Short("steady_between")
          .Compared(6),
  };
};

template <>
struct Described<RankFigure> {
  using S = RankFigure;
  static constexpr auto kFacts = std::tuple{
      Inner(&S::name, Merge::kOwn),
      Fact("median", &S::median, Merge::kOwn, "median over the ranks"),
      Fact("least", &S::least, Merge::kOwn, "the least"),
      Fact("least_rank", &S::least_rank, Merge::kOwn, "the first rank with this value"),
      Fact("most", &S::most, Merge::kOwn, "the most"),
      Fact("most_rank", &S::most_rank, Merge::kOwn, "the first rank with this value"),
  };
};

template <>
struct Described<RankSite> {
  using S = RankSite;
  static constexpr auto kFacts = std::tuple{
      Fact("site", &S::site, Merge::kOwn, "call site"),
      Fact("operation", &S::operation, Merge::kOwn, "what ran there"),
      Fact("bytes_at_peak", &S::bytes_at_peak, Merge::kOwn, "bytes at this rank's peak"),
      Fact("median_bytes_at_peak", &S::median_bytes_at_peak, Merge::kOwn,
           "median over all ranks; 0 for a rank without this call site"),
  };
};

template <>
struct Described<RankComparison> {
  using S = RankComparison;
  static constexpr auto kFacts = std::tuple{
      Fact("ranks", &S::ranks, Merge::kOwn,
           "number of ranks; processes of one rank that ran at the same time are combined"),
      Fact("attempts", &S::attempts, Merge::kOwn,
           "how often a rank ran, one attempt after the other, as after a restart; of each rank "
           "the attempt with the highest peak is compared"),
      Fact("balanced", &S::balanced, Merge::kOwn,
           "the highest peak of reserved is at most 5% above the median; null if unknown")
          .KnownIf([](const Facts&, const S& self) { return self.has_straggler; }),
      Fact("incomplete_ranks", &S::incomplete, Merge::kOwn,
           "ranks whose recordings lack events, so that their figures are only lower bounds; the "
           "other ranks are compared, or all of them if there are fewer than two others"),
      Inner(&S::has_straggler, Merge::kOwn),
      Group(
          "straggler", GroupMode::kNullUnless,
          [](const Facts&, const S& self) { return self.has_straggler; },
          "the rank with the highest peak of reserved; null if unknown, because too many "
          "recordings lack events",
          Fact("rank", &S::straggler, Merge::kOwn, "its number"),
          Fact("host", &S::host, Merge::kOwn, "its host"),
          Fact("over_median_bytes", &S::over_median_bytes, Merge::kOwn, "above the median"),
          Fact("sites", &S::sites, Merge::kOwn,
               "the 20 call sites by which it is most above the median")),
      Fact("figures", &S::figures, Merge::kOwn,
           "`peak_reserved_bytes`, `peak_allocated_bytes`, `live_at_end_bytes`, `allocations`, "
           "`out_of_memory`, over the ranks that are compared"),
  };
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_FACT_TABLES_H_
