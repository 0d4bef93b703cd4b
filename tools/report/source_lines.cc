#include "tools/report/source_lines.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "tools/base/program_text.h"

namespace vramstow {
namespace {

constexpr size_t kMaxFrames = 3000;
constexpr size_t kMaxColumns = 200;
constexpr uint32_t kAround = 2;  // lines before and after

// Returns the line number in "train.py:45 step"; 0 if there is none.
uint32_t LineIn(std::string_view frame) {
  const size_t colon = frame.find(':');
  if (colon == std::string_view::npos) return 0;
  uint32_t line = 0;
  std::from_chars(frame.data() + colon + 1, frame.data() + frame.size(), line);
  return line;
}

// Cuts long lines, because a generated file may have its whole program in one line.
std::string Cut(const std::string& line) { return line.substr(0, kMaxColumns); }

}  // namespace

std::vector<SourceLines> ReadSourceLines(const Detail& detail, const std::string& trace) {
  const auto written = WhenWritten(trace);
  const absl::flat_hash_set<std::string_view> own(detail.lines.begin(), detail.lines.end());
  std::map<std::string, ProgramText> files;
  std::vector<SourceLines> all;
  for (size_t i = 0; i < detail.files.size() && all.size() < kMaxFrames; ++i) {
    const uint32_t line = LineIn(detail.frames[i]);
    if (line == 0 || !detail.files[i].ends_with(".py") || !own.contains(detail.frames[i])) continue;
    const auto [known, inserted] = files.try_emplace(detail.files[i]);
    if (inserted) known->second = ReadProgramText(known->first);
    const ProgramText& file = known->second;
    if (line > file.lines.size()) continue;
    SourceLines found{.frame = static_cast<uint32_t>(i),
                      .first = line > kAround ? line - kAround : 1,
                      .is_newer = written && file.changed && *file.changed > *written,
                      .lines = {}};
    const size_t end = std::min<size_t>(line + kAround, file.lines.size());
    for (size_t k = found.first; k <= end; ++k) found.lines.push_back(Cut(file.lines[k - 1]));
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace vramstow
