// MergedTrace adds our events to a PyTorch profiler trace, in its own format (Chrome's JSON, which
// ui.perfetto.dev opens): each allocation and free at its time in the row of its thread, under the
// operator that was active, and allocated and reserved bytes as counters of the process.
//
// Idea: a source that can start again is read twice, because the levels of a trace with gaps are
// lower bounds only if it is known what later events show. Both traces have Unix time. Kineto's
// clock and ours differ by microseconds, and the allocator reports an allocation while the operator
// that requests it runs, so the time shows the operator. The time before the first operator and
// after the last one is left out, so that the profiled steps fill the page.
//
// Ownership: refers to the source and the timeline. Threads: one at a time. Errors: StartOfTrace
// returns one sentence. Units: bytes, nanoseconds since 1970.
#ifndef VRAMSTOW_TOOLS_EXPORTS_MERGED_TRACE_H_
#define VRAMSTOW_TOOLS_EXPORTS_MERGED_TRACE_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "tools/analysis/accounts/analyzer.h"
#include "tools/analysis/accounts/call_stack.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/formats/profiler_timeline.h"

namespace vramstow {

struct TraceStart {
  uint64_t process = 0;
  int64_t unix_ns = 0;    // the moment of the trace's time 0
  uint64_t clock_ns = 0;  // the same moment by CLOCK_MONOTONIC
};
absl::StatusOr<TraceStart> StartOfTrace(const std::string& file);

class MergedTrace {
 public:
  MergedTrace(EventSource* source, const TraceStart& start, const ProfilerTimeline& timeline)
      : source_(*source), start_(start), timeline_(timeline), analyzer_(*source) {
    analyzer_.SetLosses(FindLossesAhead(source));
  }

  // Appends the next events to the text, each with a comma after it. Returns false if these were
  // the last.
  bool AddSome(std::string* text);

  uint64_t events() const { return events_; }            // events of the trace in the window
  uint64_t allocations() const { return allocations_; }  // allocations among them
  uint64_t under_operators() const { return under_operators_; }  // allocations under an operator

 private:
  void Add(const Event& event, int64_t time_ns, std::string* text);
  void AddLevels(int64_t time_ns, std::string* text);
  const StackWords& WordsOfStack(uint32_t stack);
  double Microseconds(int64_t time_ns) const;

  EventSource& source_;
  const TraceStart start_;
  const ProfilerTimeline& timeline_;
  Analyzer analyzer_;
  absl::flat_hash_map<uint64_t, uint64_t> sizes_;  // of live blocks, by address
  absl::flat_hash_map<uint32_t, StackWords> words_;
  uint64_t written_allocated_ = ~uint64_t{0};
  uint64_t written_reserved_ = ~uint64_t{0};
  uint64_t events_ = 0;
  uint64_t allocations_ = 0;
  uint64_t under_operators_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_MERGED_TRACE_H_
