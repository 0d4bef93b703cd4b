// Exports the analysis of a run in text formats that other programs read.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none; invalid UTF-8 is
// replaced. Units: those of each format.
#ifndef VRAMSTOW_TOOLS_EXPORTS_TEXT_FORMATS_H_
#define VRAMSTOW_TOOLS_EXPORTS_TEXT_FORMATS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// Returns the levels after each event or, while the trace has only sums of its events, the levels
// of each interval of the timeline, at its beginning.
std::vector<LevelStep> LevelsOverTime(const Facts& facts, const Detail& detail);

// Returns the owners of the peak, one line for each call stack: "outermost;…;innermost BYTES".
// flamegraph.pl and similar programs read it.
std::string FoldedStacks(const Detail& detail);

// Returns the owners of the memory at the peak in the file format of speedscope ("sampled", unit
// bytes).
std::string Speedscope(const Detail& detail, const std::string& name);

// Returns allocated, reserved and requested bytes over time as counters of Chrome's trace format
// (microseconds), with the marks of the application.
std::string ChromeTrace(const Facts& facts, const Detail& detail);

// Writes RMM's log: Thread,Time,Action,Pointer,Size,Stream. It has blocks of the application only,
// not the segments of pools. A free that the driver refused is in the log already when its refusal
// is known, so the block is allocated once more.
class RmmWriter {
 public:
  static constexpr char kHeader[] = "Thread,Time,Action,Pointer,Size,Stream\n";
  // Appends the line of `event`, if it has one.
  void Append(const Event& event, std::string* text);

 private:
  struct Freed {
    uint64_t sequence = 0;  // of the free
    uint64_t address = 0;
    uint64_t size = 0;
  };
  // The number of frees that are remembered. The driver's answer follows a free immediately, so
  // that only frees of other threads are in between.
  static constexpr size_t kRemembered = 1024;

  absl::flat_hash_map<uint64_t, uint64_t> sizes_;  // of live blocks, by address
  std::array<Freed, kRemembered> freed_;           // the latest, by turns
  size_t next_freed_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_TEXT_FORMATS_H_
