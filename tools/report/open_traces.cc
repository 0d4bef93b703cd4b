#include "tools/report/open_traces.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/analysis/facts/named_facts.h"
#include "tools/base/words.h"
#include "tools/report/identity.h"

namespace vramstow {

namespace {

// Returns the time of the last event by the wall clock; 0 if it is unknown.
uint64_t LastEventOf(const Facts& trace) {
  const uint64_t begun = trace.start_unix_ns;
  return FactNumber<uint64_t>(trace.trace_metadata, "recording.last_event_unix_ns")
      .value_or(begun == 0 ? 0 : begun + trace.end_ns);
}

}  // namespace

std::vector<const Facts*> OpenTraces(const FactSet& set) {
  std::vector<const Facts*> open;
  for (const Facts& trace : set.traces) {
    if (trace.kind == "stow" && !trace.report.closed) open.push_back(&trace);
  }
  std::ranges::stable_sort(open, {}, [](const Facts* trace) { return LastEventOf(*trace); });
  return open;
}

std::string OpenInWords(const FactSet& set) {
  constexpr size_t kMaxNamed = 4;
  const std::vector<const Facts*> open = OpenTraces(set);
  if (open.empty()) return "";
  if (open.size() == 1) {
    return absl::StrCat("The recording of ", NameOfTrace(*open.front()),
                        " was not closed: the process was killed, or it still runs.");
  }
  const uint64_t first = LastEventOf(*open.front());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kMaxNamed, open.size()); ++i) {
    names.push_back(NameOfTrace(*open[i]));
    if (i == 0 || first == 0) continue;
    absl::StrAppend(&names.back(), " (", Time(LastEventOf(*open[i]) - first), " later)");
  }
  if (open.size() > kMaxNamed) names.push_back(absl::StrCat(open.size() - kMaxNamed, " more"));
  return absl::StrCat(
      "These recordings were not closed", first == 0 ? "" : ", in the order of their last events",
      ": ", absl::StrJoin(names, ", "),
      ". The processes were killed, or they still run. If one of them was killed, its launcher may "
      "have ended the others.");
}

}  // namespace vramstow
