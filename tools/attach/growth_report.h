// GrowthReport: what grew in a process between two censuses, by holder and by line of the program.
//
// Ownership: copies. Threads: pure functions. Errors: without a trace that can be read there are no
// lines. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ATTACH_GROWTH_REPORT_H_
#define VRAMSTOW_TOOLS_ATTACH_GROWTH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/attach/growth.h"
#include "tools/json/json_value.h"

namespace vramstow {

// What one line of the program made while the process was observed, and is still there.
struct GrownLine {
  std::string site;
  uint64_t bytes = 0;
  uint64_t blocks = 0;
};
// Of the trace of that time; the largest first.
std::vector<GrownLine> GrownLinesOf(const std::string& trace);

struct GrowthReport {
  std::vector<GrownHolder> holders;
  std::vector<GrownLine> lines;
  uint64_t live_bytes = 0;  // in tensors, at the end
  int64_t grown_bytes = 0;
};
// `before` and `after` are censuses.
GrowthReport MakeGrowthReport(const JsonValue& before, const JsonValue& after,
                              std::vector<GrownLine> lines);

// "+1.5 GiB"
std::string SignedBytes(int64_t bytes);
std::string TextOf(const GrowthReport& report);
JsonValue JsonOf(const GrowthReport& report);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_GROWTH_REPORT_H_
