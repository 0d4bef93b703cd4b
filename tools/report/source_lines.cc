#include "tools/report/source_lines.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_set.h"

namespace vramstow {
namespace {

constexpr size_t kMostFrames = 3000;
constexpr size_t kMostFileBytes = size_t{4} << 20;
constexpr size_t kMostColumns = 200;
constexpr uint32_t kAround = 2;  // lines before and after

// The number in "train.py:45 step"; 0: there is none.
uint32_t LineIn(std::string_view frame) {
  const size_t colon = frame.find(':');
  if (colon == std::string_view::npos) return 0;
  uint32_t line = 0;
  std::from_chars(frame.data() + colon + 1, frame.data() + frame.size(), line);
  return line;
}

struct File {
  std::vector<std::string> lines;
  bool is_newer = false;
};

File ReadFile(const std::string& path,
              const std::optional<std::filesystem::file_time_type>& written) {
  File file;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return file;
  if (std::filesystem::file_size(path, error) > kMostFileBytes || error) return file;
  std::ifstream stream(path, std::ios::binary);
  for (std::string line; std::getline(stream, line);) {
    if (line.find('\0') != std::string::npos) return {};
    if (line.size() > kMostColumns) line.resize(kMostColumns);
    file.lines.push_back(std::move(line));
  }
  const auto changed = std::filesystem::last_write_time(path, error);
  file.is_newer = !error && written && changed > *written;
  return file;
}

}  // namespace

std::vector<SourceLines> ReadSourceLines(const Detail& detail, const std::string& trace) {
  std::error_code error;
  std::optional<std::filesystem::file_time_type> written;
  if (const auto time = std::filesystem::last_write_time(trace, error); !error) written = time;
  const absl::flat_hash_set<std::string_view> own(detail.lines.begin(), detail.lines.end());
  std::map<std::string, File> files;
  std::vector<SourceLines> all;
  for (size_t i = 0; i < detail.files.size() && all.size() < kMostFrames; ++i) {
    const uint32_t line = LineIn(detail.frames[i]);
    if (line == 0 || !detail.files[i].ends_with(".py") || !own.contains(detail.frames[i])) continue;
    const auto [known, inserted] = files.try_emplace(detail.files[i]);
    if (inserted) known->second = ReadFile(known->first, written);
    const File& file = known->second;
    if (line > file.lines.size()) continue;
    SourceLines found{.frame = static_cast<uint32_t>(i),
                      .first = line > kAround ? line - kAround : 1,
                      .is_newer = file.is_newer,
                      .lines = {}};
    const size_t end = std::min<size_t>(line + kAround, file.lines.size());
    for (size_t k = found.first; k <= end; ++k) found.lines.push_back(file.lines[k - 1]);
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace vramstow
