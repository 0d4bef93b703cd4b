#include "tools/inputs/newest_trace.h"

#include <filesystem>
#include <system_error>
#include <tuple>

#include "absl/status/status.h"
#include "tools/inputs/runs.h"

namespace vramstow {
absl::StatusOr<NewestTrace> FindNewestTrace(const std::string& folder) {
  // The sort key of a trace; the trace with the highest key is used. A copy has a lower key than a
  // trace that is not a copy. Among traces of the same kind, the older file has the lower key.
  using Rank = std::tuple<bool, std::filesystem::file_time_type>;
  NewestTrace newest;
  Rank best;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    std::error_code unreadable;
    if (!name.ends_with(".stow") || !entries->is_regular_file(unreadable)) continue;
    const Rank rank(WholeOf(name).empty(), entries->last_write_time(unreadable));
    if (newest.count++ > 0 && rank <= best) continue;
    best = rank;
    newest.path = folder == "." ? name : entries->path().string();
  }
  if (newest.count > 0) return newest;
  return absl::NotFoundError(
      "no input was named, and there is no trace (.stow) in this folder: name a file, or record "
      "one with vramstow run -- COMMAND.");
}

}  // namespace vramstow
