#include "tools/launch/rehearsal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/launch/end_signals.h"
#include "tools/launch/run_apart.h"
#include "tools/pipeline/analyze.h"

namespace vramstow {
namespace {

constexpr size_t kMaxEnd = 64 * 1024;

}  // namespace

std::string EndOf(const std::string& path, size_t most) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - static_cast<std::streamoff>(most)));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string LastLineOf(const std::string& path, size_t most) {
  std::string text = "\n" + EndOf(path, kMaxEnd);
  const size_t summary = text.rfind("\nvramstow: REHEARSAL ");
  if (summary != std::string::npos) text.resize(summary);
  // What vramstow said is not what the command said.
  size_t begin = text.rfind('\n');
  while (begin != std::string::npos) {
    const std::string line = text.substr(begin + 1);
    if (line.find_first_not_of(" \t\r") != std::string::npos && !line.starts_with("vramstow: ")) {
      return line.size() > most ? line.substr(line.size() - most) : line;
    }
    // A refusal before the command was started is all that there is.
    if (line.starts_with("vramstow run: ")) return line.substr(sizeof("vramstow run: ") - 1);
    text.resize(begin);
    begin = text.rfind('\n');
  }
  return "it said nothing.";
}

absl::StatusOr<Rehearsal> Rehearse(const std::string& program,
                                   const std::vector<std::string>& run_flags,
                                   const std::vector<std::string>& command,
                                   const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::create_directories(folder, error)) {
    return absl::UnavailableError(
        absl::StrCat("cannot make the folder ", folder, ": ",
                     error ? error.message() : std::string("it is there already"), "."));
  }
  const std::string traces = folder + "/traces";
  std::filesystem::create_directory(traces, error);
  Rehearsal rehearsal;
  rehearsal.output = folder + "/output.txt";
  std::vector<std::string> whole = {program, "run", "--trace-dir=" + traces};
  whole.insert(whole.end(), run_flags.begin(), run_flags.end());
  whole.push_back("--");
  whole.insert(whole.end(), command.begin(), command.end());
  rehearsal.exit_status = RunApart(whole, rehearsal.output);
  if (rehearsal.exit_status < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot start ", program, ": ", strerror(errno), "."));
  }
  if (EndSignals::taken() != 0) return absl::CancelledError("interrupted.");
  auto inputs = AnalyzePaths({traces});
  if (!inputs.ok()) {
    return absl::FailedPreconditionError(
        rehearsal.exit_status == 0
            ? "the command used no device memory."
            : absl::StrCat("the command failed with exit status ", rehearsal.exit_status,
                           " before it used device memory: ", LastLineOf(rehearsal.output, 300)));
  }
  // Of several processes the one that took most counts; what any of them was refused does, too.
  uint64_t out_of_memory = 0;
  for (const Analysis& analysis : inputs->analyses) {
    out_of_memory += analysis.facts.counts.out_of_memory;
  }
  const auto largest = std::ranges::max_element(inputs->analyses, {}, [](const Analysis& analysis) {
    return analysis.facts.peak.reserved_bytes;
  });
  rehearsal.processes = inputs->analyses.size();
  rehearsal.facts = std::move(largest->facts);
  rehearsal.facts.counts.out_of_memory = out_of_memory;
  return rehearsal;
}

}  // namespace vramstow
