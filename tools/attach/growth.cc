#include "tools/attach/growth.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"

namespace vramstow {
namespace {

bool IsNumbers(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.' || c == ',' || c == ' ';
  });
}

}  // namespace

std::string WithoutNumbers(std::string_view holder) {
  std::string text;
  while (true) {
    const size_t open = holder.find('[');
    const size_t close = open == std::string_view::npos ? open : holder.find(']', open);
    if (close == std::string_view::npos) break;
    const std::string_view inner = holder.substr(open + 1, close - open - 1);
    text.append(holder.substr(0, open + 1));
    text.append(IsNumbers(inner) ? "*" : inner);
    text.push_back(']');
    holder.remove_prefix(close + 1);
  }
  return text.append(holder);
}

std::vector<GrownHolder> CompareCensuses(const JsonValue& before, const JsonValue& after) {
  std::map<std::string, GrownHolder> holders;
  for (const JsonValue& row : after.Items("holders")) {
    GrownHolder& holder = holders[WithoutNumbers(row.Text("holder"))];
    if (holder.about.empty()) holder.about = row.Text("about");
    holder.bytes_now += row.Unsigned("bytes");
    holder.blocks_now += row.Unsigned("blocks");
  }
  for (auto& [name, holder] : holders) {
    holder.holder = name;
    holder.bytes = static_cast<int64_t>(holder.bytes_now);
    holder.blocks = static_cast<int64_t>(holder.blocks_now);
  }
  for (const JsonValue& row : before.Items("holders")) {
    GrownHolder& holder = holders[WithoutNumbers(row.Text("holder"))];
    if (holder.holder.empty()) {
      holder.holder = WithoutNumbers(row.Text("holder"));
      holder.about = row.Text("about");
    }
    holder.bytes -= static_cast<int64_t>(row.Unsigned("bytes"));
    holder.blocks -= static_cast<int64_t>(row.Unsigned("blocks"));
  }
  std::vector<GrownHolder> changed;
  for (auto& [name, holder] : holders) {
    if (holder.bytes != 0) changed.push_back(std::move(holder));
  }
  std::stable_sort(changed.begin(), changed.end(),
                   [](const GrownHolder& a, const GrownHolder& b) { return a.bytes > b.bytes; });
  return changed;
}

}  // namespace vramstow
