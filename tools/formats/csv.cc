#include "tools/formats/csv.h"

#include <algorithm>

#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

constexpr size_t kMaxFields = 64;  // fields of a line; no format here has more

}  // namespace

CsvReader::CsvReader(std::string_view text) : rest_(text) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  if (NextLine()) header_ = fields_;
}

int CsvReader::Column(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  return found == header_.end() ? -1 : static_cast<int>(found - header_.begin());
}

bool CsvReader::NextLine() {
  while (ReadLine()) {
    if (fields_.size() > 1 || !fields_.front().empty()) return true;
  }
  return false;
}

bool CsvReader::ReadLine() {
  if (rest_.empty()) return false;
  const size_t end = rest_.find('\n');
  unfinished_ = end == std::string_view::npos;
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(unfinished_ ? rest_.size() : end + 1);
  ++line_;
  fields_.clear();
  while (fields_.size() < kMaxFields) {
    const size_t comma = line.find(',');
    fields_.push_back(Stripped(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return true;
}

std::string_view CsvReader::Field(int column) const {
  const auto index = static_cast<size_t>(column);
  return column >= 0 && index < fields_.size() ? fields_[index] : std::string_view();
}

}  // namespace vramstow
