#include "tools/analysis/advice/layer_turns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr char kGraph[] = ".grad_fn";

// Returns ".up.weight" for "global net.blocks.3.up.weight", and "]" for "global weights[3]". There
// is no such name if the parameter is in no list, or if only an optimizer's list holds it.
std::optional<std::string> NameInLayer(const std::string& holder) {
  constexpr std::string_view kDigits = "0123456789";
  if (holder.find("param_groups") != std::string::npos) return std::nullopt;
  size_t end = holder.find_last_of(kDigits);
  while (end != std::string::npos) {
    const size_t before = holder.find_last_not_of(kDigits, end);
    if (before == std::string::npos) return std::nullopt;
    const char next = end + 1 < holder.size() ? holder[end + 1] : '.';
    const bool is_path = holder[before] == '.' && next == '.';
    const bool is_item = holder[before] == '[' && next == ']';
    if (is_path || is_item) return holder.substr(end + 1);
    end = holder.find_last_of(kDigits, before);
  }
  return std::nullopt;
}

// Returns the numbers of weights that have the same name and shape in several layers of one model.
// The weights of a program without modules have no names.
std::set<size_t> EqualWeights(const FailureMoment& moment) {
  std::map<std::pair<std::string, std::string>, size_t> by_name;  // and by shape
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    if (IsParameter(*block)) {
      const std::optional<std::string> name = NameInLayer(block->holder);
      if (name.has_value()) ++by_name[{RootOfHolder(block->holder) + *name, block->about}];
    } else if (IsLeafWeight(*block)) {
      ++by_name[{"", block->about}];
    }
  }
  std::set<size_t> counts;
  for (const auto& [name, count] : by_name) counts.insert(count);
  return counts;
}

// Returns how often the site that made the most bytes allocated in one turn.
size_t MostOfOneTurn(const std::vector<const Life*>& lives, const std::vector<uint64_t>& begins) {
  std::map<uint32_t, uint64_t> bytes;
  for (const Life* life : lives) bytes[life->site] += life->size;
  const uint32_t site =
      std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; })->first;
  std::map<ptrdiff_t, size_t> by_turn;
  for (const Life* life : lives) {
    if (life->site != site) continue;
    ++by_turn[std::ranges::upper_bound(begins, life->birth) - begins.begin()];
  }
  return std::ranges::max_element(by_turn, {}, [](const auto& one) { return one.second; })->second;
}

}  // namespace

GraphRoot GraphRootOf(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  std::map<std::string, uint64_t> by_root;
  uint64_t all = 0;
  for (const Life* life : lives) {
    all += life->size;
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    const size_t end = block->holder.find(kGraph);
    if (end != std::string::npos) by_root[PatternOf(block->holder.substr(0, end))] += life->size;
  }
  const auto most =
      std::ranges::max_element(by_root, {}, [](const auto& one) { return one.second; });
  if (most == by_root.end() || most->second * 2 <= all) return GraphRoot::kUnknown;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || PatternOf(block->holder) != most->first) continue;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value()) continue;
    const bool is_number = std::ranges::all_of(words->shape, [](uint64_t n) { return n == 1; });
    return is_number ? GraphRoot::kNumber : GraphRoot::kTensor;
  }
  return GraphRoot::kUnknown;
}

bool AreLayers(const FailureMoment& moment, const std::vector<const Life*>& lives,
               const std::vector<uint64_t>& begins) {
  if (lives.empty() || GraphRootOf(moment, lives) == GraphRoot::kNumber) return false;
  std::set<ptrdiff_t> turns;
  for (const Life* life : lives) {
    turns.insert(std::ranges::upper_bound(begins, life->birth) - begins.begin());
  }
  const std::set<size_t> counts = EqualWeights(moment);
  const auto layers = counts.lower_bound(turns.size());
  return layers != counts.end() && MostOfOneTurn(lives, begins) < *layers;
}

}  // namespace vramstow
