// Compare: two sets of facts, side by side: which figures moved, and at which sites.
//
// Idea: facts are compared as the JSON that `vramstow analyze --json` writes, so that a file of an
// earlier run (a baseline) and a run of now are read alike.
//
// Ownership: results are copies. Threads: pure functions. Errors: what one side does not have is
// left out. Units: bytes and numbers as the facts have them.
#ifndef VRAMSTOW_TOOLS_COMMANDS_COMPARE_H_
#define VRAMSTOW_TOOLS_COMMANDS_COMPARE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/analysis/facts/detail.h"
#include "tools/json/json_value.h"

namespace vramstow {

struct FigureChange {
  std::string path;  // "peak.allocated_bytes"
  double before = 0;
  double after = 0;
};

struct SiteChange {
  std::string site;
  std::string operation;  // that held most, of either
  int64_t peak_before = 0;
  int64_t peak_after = 0;
  // In the steady state, where AddSteadyState knew it.
  int64_t steady_before = 0;
  int64_t steady_after = 0;
  int64_t end_before = 0;
  int64_t end_after = 0;
};

// A number of the facts: "peak.allocated_bytes", or short "peak_allocated"; lists by their index.
// Nothing where the facts have no number there.
std::optional<double> FigureOf(const JsonValue& facts, const std::string& path);
// The full path of a short name; the name itself where it is none.
std::string FullPath(const std::string& name);

// The figures that are compared without being asked for, those that both have.
std::vector<FigureChange> CompareFigures(const JsonValue& before, const JsonValue& after);
// Sites (without call stacks: libraries) whose bytes changed, the largest change first.
std::vector<SiteChange> CompareSites(const JsonValue& before, const JsonValue& after);

// Adds what these facts say of the steady state, the second half of the iterations, where there are
// four at least: `steady.peak_bytes` and `steady.between_bytes` (live between two of them), the
// medians; and of one process `steady.sites`, what each held when the middle one of them began.
void AddSteadyState(const std::vector<const Detail*>& details, JsonValue* facts);

// An expression over the facts: "peak_reserved <= 2GiB", "peak_reserved <= 1.1 * peak_allocated",
// several joined by "&&".
struct Assertion {
  bool holds = true;
  std::string why_not;  // one sentence
};
absl::StatusOr<Assertion> Assert(const JsonValue& facts, const std::string& text);

// "1.46 GiB" for paths that end in _bytes, "0.0428 s" for _seconds, else the number.
std::string FigureText(const std::string& path, double value);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_COMPARE_H_
