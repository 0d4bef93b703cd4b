#include "tools/analysis/facts/process_images.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "tools/analysis/facts/named_facts.h"

namespace vramstow {

bool IsSameProcess(const Facts& a, const Facts& b) {
  // The start time is computed from the machine's clock, which may have been corrected meanwhile.
  constexpr int64_t kSameNs = 100'000'000;
  for (const char* key : {"process.pid", "process.host"}) {
    const std::string value = FactText(a.trace_metadata, key);
    if (value.empty() || value != FactText(b.trace_metadata, key)) return false;
  }
  const auto of_a = FactNumber<int64_t>(a.trace_metadata, "process.start_time");
  const auto of_b = FactNumber<int64_t>(b.trace_metadata, "process.start_time");
  return of_a.has_value() && of_b.has_value() && std::abs(*of_a - *of_b) < kSameNs;
}

std::vector<std::vector<size_t>> ProcessesOf(const std::vector<Facts>& traces) {
  std::vector<std::vector<size_t>> processes;
  std::multimap<std::string, size_t> of_pid;  // places in `processes`
  for (size_t i = 0; i < traces.size(); ++i) {
    const std::string pid = FactText(traces[i].trace_metadata, "process.pid");
    const auto [begin, end] = of_pid.equal_range(pid);
    const auto known = std::find_if(begin, end, [&](const auto& process) {
      return IsSameProcess(traces[processes[process.second].front()], traces[i]);
    });
    if (known != end) {
      processes[known->second].push_back(i);
      continue;
    }
    of_pid.emplace(pid, processes.size());
    processes.push_back({i});
  }
  return processes;
}

void NoteReplacedPrograms(std::vector<Facts>* traces) {
  for (const std::vector<size_t>& places : ProcessesOf(*traces)) {
    for (const size_t place : places) {
      Facts& trace = (*traces)[place];
      if (trace.report.closed || trace.kind != "stow") continue;
      const auto next = std::ranges::find_if(places, [&](size_t other) {
        return (*traces)[other].start_unix_ns > trace.start_unix_ns;
      });
      if (next == places.end()) continue;
      trace.report.closed = true;
      trace.trace_metadata["process.replaced"] =
          FactText((*traces)[*next].trace_metadata, "process.command");
    }
  }
}

}  // namespace vramstow
