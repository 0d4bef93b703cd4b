// TextFormats: the analysis of a run in formats of text that other programs read.
//
// Ownership: results are the caller's. Threads: pure functions. Errors: none; text that is not
// UTF-8 has its wrong bytes replaced. Units: as each format has them.
#ifndef VRAMSTOW_TOOLS_EXPORTS_TEXT_FORMATS_H_
#define VRAMSTOW_TOOLS_EXPORTS_TEXT_FORMATS_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/facts/detail.h"

namespace vramstow {

// The holders of the peak, a line for each call stack: "outermost;…;innermost BYTES". For
// flamegraph.pl and its kin.
std::string FoldedStacks(const Detail& detail);

// The same for speedscope (its file format, "sampled", unit bytes).
std::string Speedscope(const Detail& detail, const std::string& name);

// Allocated, reserved and requested over time as counters of Chrome's trace format (microseconds),
// with the marks of the application.
std::string ChromeTrace(const Facts& facts, const Detail& detail);

// RMM's log: Thread,Time,Action,Pointer,Size,Stream. Blocks of the application only, not the
// segments of pools.
class RmmWriter {
 public:
  static constexpr char kHeader[] = "Thread,Time,Action,Pointer,Size,Stream\n";
  // Appends the line of `event`, if it has one.
  void Append(const Event& event, std::string* text);

 private:
  absl::flat_hash_map<uint64_t, uint64_t> sizes_;  // of live blocks, by address
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_TEXT_FORMATS_H_
