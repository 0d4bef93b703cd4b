#include "adapters/torch/census/groups.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "adapters/torch/census/census.h"

namespace vramstow::torch_census {
namespace {

constexpr size_t kMaxDigits = 18;

// Returns the end of the digits that begin at `begin`, if they form an index or a part number; else
// `begin`.
size_t EndOfNumber(std::string_view chain, size_t begin) {
  size_t end = begin;
  while (end < chain.size() && chain[end] >= '0' && chain[end] <= '9') ++end;
  if (end == begin || begin == 0 || end - begin > kMaxDigits) return begin;
  const char before = chain[begin - 1];
  const char after = end < chain.size() ? chain[end] : ' ';
  const bool is_index = before == '[' && after == ']';
  const bool is_part =
      before == '.' && std::string_view(".[ ]:").find(after) != std::string_view::npos;
  return is_index || is_part ? end : begin;
}

void Split(std::string_view chain, std::vector<std::string>* texts,
           std::vector<uint64_t>* numbers) {
  texts->assign(1, "");
  for (size_t i = 0; i < chain.size();) {
    const size_t end = EndOfNumber(chain, i);
    if (end == i) {
      texts->back() += chain[i++];
      continue;
    }
    numbers->push_back(std::stoull(std::string(chain.substr(i, end - i))));
    texts->emplace_back();
    i = end;
  }
}

// Returns one number ("3"), a range ("0..11") or "*". After a point it returns no range, because a
// range would look like another step there.
std::string RangeOf(const std::set<uint64_t>& numbers, bool is_part) {
  const uint64_t first = *numbers.begin();
  const uint64_t last = *numbers.rbegin();
  if (first == last) return std::to_string(first);
  if (is_part || last - first + 1 != numbers.size()) return "*";
  return std::to_string(first) + ".." + std::to_string(last);
}

}  // namespace

void Groups::Add(const Holding& holding) {
  std::vector<std::string> texts;
  std::vector<uint64_t> numbers;
  Split(holding.holder, &texts, &numbers);
  std::string pattern;
  for (const std::string& text : texts) pattern += text + '\0';
  Group& group = groups_[pattern];
  group.numbers.resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) group.numbers[i].insert(numbers[i]);
  group.texts = std::move(texts);
  group.facts.bytes += holding.memory.bytes;
  ++group.facts.blocks;
  if (holding.memory.bytes < group.largest) return;
  group.largest = holding.memory.bytes;
  group.facts.about = holding.about;
  group.facts.role = static_cast<int>(holding.role);
  group.facts.device = holding.memory.device;
}

std::vector<HoldingGroup> Groups::Take() {
  std::vector<HoldingGroup> taken;
  for (auto& [pattern, group] : groups_) {
    std::string& holder = group.facts.holder;
    for (size_t i = 0; i < group.texts.size(); ++i) {
      holder += group.texts[i];
      if (i == group.numbers.size()) continue;
      holder += RangeOf(group.numbers[i], !holder.empty() && holder.back() == '.');
    }
    taken.push_back(std::move(group.facts));
  }
  groups_.clear();
  std::ranges::stable_sort(taken, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return taken;
}

}  // namespace vramstow::torch_census
