#include "tools/report/census_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/units.h"
#include "tools/base/words.h"

namespace vramstow {

std::string CensusText(const JsonValue& census) {
  std::string text = absl::StrCat(
      "found who holds ", Bytes(census.Unsigned("found_bytes")), " of ",
      Bytes(census.Unsigned("live_bytes")), " in tensors, in ",
      absl::StrFormat("%.1f ms", static_cast<double>(census.Unsigned("duration_ns")) / 1e6));
  const std::string why_ended = census.Text("why_ended");
  absl::StrAppend(&text, why_ended.empty() ? "" : "; it ended early: ", Printable(why_ended), "\n");
  for (const JsonValue& row : census.Items("holders")) {
    const uint64_t blocks = row.Unsigned("blocks");
    absl::StrAppend(&text, "  ", Bytes(row.Unsigned("bytes")),
                    blocks == 1 ? "" : absl::StrCat(" in ", Count(blocks), " blocks"), ": ",
                    Printable(row.Text("holder")), " (", Printable(row.Text("about")), ")\n");
  }
  if (const uint64_t left_out = census.Unsigned("left_out"); left_out != 0) {
    absl::StrAppend(&text, "  and ", Count(left_out), " more\n");
  }
  return text;
}

}  // namespace vramstow
