// Compare: compares two sets of facts: the figures that changed, and the call sites that caused it.
//
// Idea: facts are compared as the JSON that `vramstow analyze --json` writes, so that the file of
// an earlier run (a baseline) and a current run are treated alike.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// values that one side lacks are skipped. Units: those of the facts.
#ifndef VRAMSTOW_TOOLS_COMPARE_COMPARE_H_
#define VRAMSTOW_TOOLS_COMPARE_COMPARE_H_

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
  std::string operation;  // the operation that held most, on either side
  int64_t peak_before = 0;
  int64_t peak_after = 0;
  // The bytes in the steady state, if AddSteadyState found it.
  int64_t steady_before = 0;
  int64_t steady_after = 0;
  int64_t end_before = 0;
  int64_t end_after = 0;
};

// Returns a number of the facts by its path, such as "peak.allocated_bytes", or by its short name,
// such as "peak_allocated". Elements of lists are named by their index. Returns nullopt if the
// facts have no number there.
std::optional<double> FigureOf(const JsonValue& facts, const std::string& path);
// Returns the full path of a short name; any other name unchanged.
std::string FullPath(const std::string& name);

// Returns the figures that are compared by default, if both sides have them.
std::vector<FigureChange> CompareFigures(const JsonValue& before, const JsonValue& after);
// Returns the paths of the figures that are compared by default and that only `some` has.
std::vector<std::string> FiguresOnlyIn(const JsonValue& some, const JsonValue& others);
// Returns the call sites whose bytes changed, the largest change first. The bytes of several
// processes are added up, like their figures. If a process has no call sites, returns the
// libraries.
std::vector<SiteChange> CompareSites(const JsonValue& before, const JsonValue& after);

// Adds the steady state, which is the second half of the iterations, if there are at least four. It
// consists of two medians: `steady.peak_bytes`, and `steady.between_bytes` (live between two
// iterations). For a single process, `steady.sites` is also added: the bytes that each call site
// held when the middle iteration began.
void AddSteadyState(const std::vector<const Detail*>& details, JsonValue* facts);

// An expression over the facts: "peak_reserved <= 2GiB", "peak_reserved <= 1.1 * peak_allocated";
// several can be joined by "&&".
struct Assertion {
  bool holds = true;
  std::string why_not;  // one sentence
  // One sentence for each figure of the assertion that is a sum over several processes, because a
  // limit for each process is compared with the highest of them instead.
  std::vector<std::string> sums;
};
absl::StatusOr<Assertion> Assert(const JsonValue& facts, const std::string& text);

// Returns "1.46 GiB" for paths that end in _bytes, "0.0428 s" for _seconds, otherwise the number.
std::string FigureText(const std::string& path, double value);
// Returns the same text, or the exact value if the text is also that of another value.
std::string UnequalText(const std::string& path, double value, double other);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMPARE_COMPARE_H_
