// GrowthReport: lists which holders and source lines of a process hold more memory at a second
// census (a reference scan) than at the first.
//
// Ownership: results are copies. Threads: pure functions, callable from any thread. Errors: there
// are no lines if the trace cannot be read. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ATTACH_GROWTH_REPORT_H_
#define VRAMSTOW_TOOLS_ATTACH_GROWTH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/attach/growth.h"
#include "tools/json/json_value.h"

namespace vramstow {

// The blocks that a source line allocated while the process was observed and that are still live.
struct GrownLine {
  std::string site;
  uint64_t bytes = 0;
  uint64_t blocks = 0;
};
// Returns the source lines in a trace that was recorded between the two censuses, those with the
// most bytes first.
std::vector<GrownLine> GrownLinesOf(const std::string& trace);

struct GrowthReport {
  std::vector<GrownHolder> holders;
  std::vector<GrownLine> lines;
  uint64_t live_bytes = 0;  // live bytes of tensors at the end
  int64_t grown_bytes = 0;
};
// Compares two censuses.
GrowthReport MakeGrowthReport(const JsonValue& before, const JsonValue& after,
                              std::vector<GrownLine> lines);

// "+1.5 GiB"
std::string SignedBytes(int64_t bytes);
std::string TextOf(const GrowthReport& report);
JsonValue JsonOf(const GrowthReport& report);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_GROWTH_REPORT_H_
