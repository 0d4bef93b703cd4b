#include "tools/inputs/newest_trace.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "tools/inputs/runs.h"

namespace vramstow {
namespace {

struct Candidate {
  std::string path;
  std::filesystem::file_time_type written;
};

std::vector<Candidate> TracesIn(const std::string& folder) {
  std::vector<Candidate> traces;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    std::error_code unreadable;
    if (!name.ends_with(".stow") || !entries->is_regular_file(unreadable)) continue;
    traces.push_back(
        {folder == "." ? name : entries->path().string(), entries->last_write_time(unreadable)});
  }
  return traces;
}

}  // namespace

absl::StatusOr<NewestTrace> FindNewestTrace(const std::string& folder) {
  std::vector<Candidate> traces = TracesIn(folder);
  NewestTrace newest;
  newest.count = traces.size();
  std::vector<std::string> files;
  for (const Candidate& trace : traces) files.push_back(trace.path);
  const std::vector<std::string> copies = RemoveCopies(&files);
  std::erase_if(traces, [&copies](const Candidate& trace) {
    return std::ranges::find(copies, trace.path) != copies.end();
  });
  const auto last = std::ranges::max_element(traces, {}, &Candidate::written);
  if (last != traces.end()) {
    newest.path = last->path;
    return newest;
  }
  return absl::NotFoundError(
      "no input was named, and there is no trace (.stow) in this folder: name a file, or record "
      "one with vramstow run -- COMMAND.");
}

}  // namespace vramstow
