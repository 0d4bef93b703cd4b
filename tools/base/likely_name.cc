#include "tools/base/likely_name.h"

#include <algorithm>

namespace vramstow {
namespace {

constexpr size_t kLongest = 64;  // the longest name that is compared

size_t EditsBetween(std::string_view from, std::string_view to) {
  // rows[i][j] is the number of edits from the first i letters of `from` to the first j letters of
  // `to`.
  std::vector<std::vector<size_t>> rows(from.size() + 1, std::vector<size_t>(to.size() + 1));
  for (size_t i = 0; i <= from.size(); ++i) rows[i][0] = i;
  for (size_t j = 0; j <= to.size(); ++j) rows[0][j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t replaced = rows[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[from.size()][to.size()];
}

}  // namespace

std::string LikelyName(std::string_view given, const std::vector<std::string>& known) {
  if (given.size() > kLongest) return "";
  std::string likely;
  size_t fewest = std::max<size_t>(given.size() / 3, 1) + 1;
  for (const std::string& name : known) {
    if (name.size() > kLongest) continue;
    const size_t edits = EditsBetween(given, name);
    if (edits >= fewest) continue;
    fewest = edits;
    likely = name;
  }
  return likely;
}

}  // namespace vramstow
