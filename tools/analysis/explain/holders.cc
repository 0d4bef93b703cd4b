#include "tools/analysis/explain/holders.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace vramstow {
namespace {

// A piece of a chain of references: either text or a number that counts. A number counts as an
// index in brackets ([12]), as a step of its own (.12), at the end of an attribute (.seen_12) or
// within a key (["layer 12"]). Other digits are a part of a name.
struct Piece {
  std::string text;
  bool is_number = false;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool EndsStep(char c) {
  return c == '.' || c == '[' || c == ' ' || c == '\0' || c == ']' || c == ':' || c == '"';
}

// True if the step that ends before `end` is an attribute: ".seen_" in "model.seen_12".
bool IsAttribute(const std::string& chain, size_t end) {
  while (end > 0 && !EndsStep(chain[end - 1])) --end;
  return end > 0 && chain[end - 1] == '.';
}

// Returns the end of the digits that begin at `begin`, if they are an index of a container.
size_t EndOfNumber(const std::string& chain, size_t begin, bool is_in_key) {
  size_t end = begin;
  while (end < chain.size() && IsDigit(chain[end])) ++end;
  if (end == begin || begin == 0) return begin;
  const char before = chain[begin - 1];
  const char after = end < chain.size() ? chain[end] : '\0';
  const bool is_index = before == '[' && after == ']';
  const bool is_part = before == '.' && EndsStep(after);
  const bool is_counted = before == '_' && EndsStep(after) && IsAttribute(chain, begin);
  const bool is_of_key = is_in_key && (EndsStep(before) || before == '_') && EndsStep(after);
  return is_index || is_part || is_counted || is_of_key ? end : begin;
}

std::vector<Piece> PiecesOf(const std::string& chain) {
  std::vector<Piece> pieces(1);
  bool is_in_key = false;
  for (size_t i = 0; i < chain.size();) {
    const size_t end = EndOfNumber(chain, i, is_in_key);
    if (end == i) {
      if (chain[i] == '"') is_in_key = !is_in_key;
      pieces.back().text += chain[i++];
      continue;
    }
    pieces.push_back({chain.substr(i, end - i), true});
    pieces.emplace_back();
    i = end;
  }
  return pieces;
}

// Returns "3", "0..11" or "*". If only one of many numbers is missing, the result is still a range,
// because the census (a reference scan) may have given that block another name.
std::string RangeOf(const std::set<uint64_t>& numbers) {
  constexpr uint64_t kMany = 16;
  const uint64_t first = *numbers.begin();
  const uint64_t last = *numbers.rbegin();
  if (first == last) return std::to_string(first);
  const uint64_t missing = last - first + 1 - numbers.size();
  if (missing > 1 || (missing == 1 && numbers.size() < kMany)) return "*";
  return std::to_string(first) + ".." + std::to_string(last);
}

uint64_t NumberIn(const std::string& digits) {
  return digits.size() > 18 ? 0 : std::stoull(digits);
}

// The beginning and the end that all keys share: ("user", "") for user17 and user18.
struct CommonEnds {
  std::string first;
  size_t begin = 0;
  size_t end = 0;

  explicit CommonEnds(std::string key) : first(std::move(key)) { begin = end = first.size(); }

  void Narrow(std::string_view key) {
    begin = std::min(begin, key.size());
    while (!key.starts_with(std::string_view(first).substr(0, begin))) --begin;
    end = std::min(end, key.size() - begin);
    end = std::min(end, first.size() - begin);
    while (!key.ends_with(std::string_view(first).substr(first.size() - end))) --end;
  }
  std::string Text(size_t keys) const {
    if (keys < 2) return first;
    return first.substr(0, begin) + "*" + first.substr(first.size() - end);
  }
};

// Splits `cache["a"][0]` into `cache["`, `a`, `"][0]`. The pieces at odd indices are keys.
std::vector<std::string> SplitAtKeys(const std::string& chain) {
  return absl::StrSplit(chain, '"');
}

std::string WithoutKeys(const std::string& chain) {
  std::vector<std::string> pieces = SplitAtKeys(chain);
  for (size_t i = 1; i < pieces.size(); i += 2) pieces[i] = "*";
  return absl::StrJoin(pieces, "\"");
}

// Replaces each key in the chains by what all keys at its position have in common.
void ReplaceKeys(std::vector<std::string>* chains) {
  std::vector<CommonEnds> common;
  std::vector<std::set<std::string>> keys;
  for (const std::string& chain : *chains) {
    const std::vector<std::string> pieces = SplitAtKeys(chain);
    for (size_t i = 1, nth = 0; i < pieces.size(); i += 2, ++nth) {
      if (nth == common.size()) {
        common.emplace_back(pieces[i]);
        keys.emplace_back().insert(pieces[i]);
      }
      if (keys[nth].insert(pieces[i]).second) common[nth].Narrow(pieces[i]);
    }
  }
  for (std::string& chain : *chains) {
    std::vector<std::string> pieces = SplitAtKeys(chain);
    for (size_t i = 1, nth = 0; i < pieces.size(); i += 2, ++nth) {
      pieces[i] = common[nth].Text(keys[nth].size());
    }
    chain = absl::StrJoin(pieces, "\"");
  }
}

// Groups blocks by the pattern of their owners' chains.
class HolderGroups {
 public:
  void Add(const HeldBlock& block, uint64_t bytes) {
    Group& group = groups_[PatternOf(block.holder)];
    group.chains.push_back(block.holder);
    group.facts.amount.bytes += bytes;
    ++group.facts.amount.blocks;
    if (bytes < group.largest) return;
    group.largest = bytes;
    group.facts.role = block.role;
    group.facts.about = block.about;
  }
  // Returns the groups, most bytes first.
  std::vector<HolderFacts> Take() {
    JoinKeys();
    std::vector<HolderFacts> holders;
    for (auto& [pattern, group] : groups_) {
      group.facts.holder = MergeChains(group.chains);
      holders.push_back(std::move(group.facts));
    }
    std::ranges::stable_sort(
        holders, [](const auto& a, const auto& b) { return a.amount.bytes > b.amount.bytes; });
    return holders;
  }

 private:
  // A few keys each have a meaning of their own, like the keys of a batch. Many keys are names of
  // one kind, like users.
  static constexpr size_t kManyKeys = 8;

  struct Group {
    std::vector<std::string> chains;
    HolderFacts facts;
    uint64_t largest = 0;
  };

  void JoinKeys() {
    // The patterns, grouped by their text without keys.
    std::map<std::string, std::vector<std::string>> alike;
    for (const auto& [pattern, group] : groups_) {
      const std::string rest = PatternOf(WithoutKeys(group.chains.front()));
      if (rest.find('"') != std::string::npos) alike[rest].push_back(pattern);
    }
    for (const auto& [rest, patterns] : alike) {
      if (patterns.size() >= kManyKeys) Join(rest, patterns);
    }
  }

  void Join(const std::string& rest, const std::vector<std::string>& patterns) {
    Group joined;
    for (const std::string& pattern : patterns) {
      Group group = std::move(groups_.extract(pattern).mapped());
      std::ranges::move(group.chains, std::back_inserter(joined.chains));
      joined.facts.amount.bytes += group.facts.amount.bytes;
      joined.facts.amount.blocks += group.facts.amount.blocks;
      if (group.largest < joined.largest) continue;
      joined.largest = group.largest;
      joined.facts.role = group.facts.role;
      joined.facts.about = group.facts.about;
    }
    ReplaceKeys(&joined.chains);
    groups_[rest] = std::move(joined);
  }

  std::map<std::string, Group> groups_;  // by pattern
};

// Finds for each source line and block size the most common owner among the blocks whose owner is
// known.
class AlikeBlocks {
 public:
  AlikeBlocks(const Holders& holders, const std::vector<const Life*>& live) {
    std::map<Form, std::map<std::string, Named>> named;
    for (const Life* life : live) {
      const HeldBlock* block = holders.Of(*life);
      if (block == nullptr) continue;
      Named& one = named[FormOf(*life)][PatternOf(WithoutKeys(block->holder))];
      one.block = block;
      ++one.blocks;
    }
    for (const auto& [form, by_pattern] : named) {
      const auto most = std::ranges::max_element(
          by_pattern, {}, [](const auto& entry) { return entry.second.blocks; });
      most_[form] = most->second.block;
    }
  }
  // Returns null if the owner of no such block is known.
  const HeldBlock* Of(const Life& life) const {
    const auto found = most_.find(FormOf(life));
    return found == most_.end() || !life.tensor ? nullptr : found->second;
  }

 private:
  struct Named {
    const HeldBlock* block = nullptr;
    uint64_t blocks = 0;
  };
  using Form = std::tuple<uint32_t, uint64_t, int>;  // site, bytes, device
  static Form FormOf(const Life& life) { return {life.site, life.size, life.device}; }

  std::map<Form, const HeldBlock*> most_;
};

}  // namespace

std::string PatternOf(const std::string& chain) {
  std::string pattern;
  for (const Piece& piece : PiecesOf(chain)) pattern += piece.is_number ? "#" : piece.text;
  return pattern;
}

bool IsLocal(const std::string& holder) {
  const size_t colon = holder.find(": ");
  return colon != std::string::npos && holder.find_first_of(".[", colon) == std::string::npos &&
         !holder.starts_with("global ");
}

std::string MergeChains(const std::vector<std::string>& chains) {
  if (chains.empty()) return "";
  const std::vector<Piece> form = PiecesOf(chains.front());
  std::vector<std::set<uint64_t>> numbers(form.size());
  for (const std::string& chain : chains) {
    const std::vector<Piece> pieces = PiecesOf(chain);
    for (size_t i = 0; i < std::min(pieces.size(), form.size()); ++i) {
      if (pieces[i].is_number) numbers[i].insert(NumberIn(pieces[i].text));
    }
  }
  std::string merged;
  for (size_t i = 0; i < form.size(); ++i) {
    if (!form[i].is_number) {
      merged += form[i].text;
      continue;
    }
    // Only an index in brackets is written as a range, because after a dot the range would look
    // like another step.
    const bool is_index = merged.ends_with('[');
    merged += !is_index && numbers[i].size() > 1 ? "*" : RangeOf(numbers[i]);
  }
  return merged;
}

Holders::Holders(const Detail& detail, const Facts& facts, const OutOfMemoryFacts& failure)
    : census_(Find(detail, facts, failure)) {
  if (census_ == nullptr) return;
  if (census_->is_left_out()) {
    why_left_out_ = census_->why_ended;
    census_ = nullptr;
    return;
  }
  for (const HeldBlock& block : census_->blocks) blocks_.emplace(block.address, &block);
}

const CensusDetail* Holders::Find(const Detail& detail, const Facts& facts,
                                  const OutOfMemoryFacts& failure) {
  uint64_t next = ~uint64_t{0};
  for (const OutOfMemoryFacts& other : facts.out_of_memory) {
    if (other.event > failure.event && other.thread == failure.thread) {
      next = std::min(next, other.event);
    }
  }
  const CensusDetail* before = nullptr;
  const CensusDetail* others = nullptr;
  for (const CensusDetail& census : detail.censuses) {
    if (census.event > failure.event && census.thread == failure.thread && census.event < next) {
      return &census;
    }
    if (census.is_left_out()) continue;
    if (census.event < failure.event) before = &census;
    if (others == nullptr) others = &census;
  }
  // If several threads fail together, only one of them runs the census (a reference scan), which
  // shows what was live for all of them.
  return before != nullptr ? before : others;
}

void Holders::NameAlike(const std::vector<const Life*>& live) {
  constexpr uint64_t kSmallPart = 20;
  if (census_ == nullptr) return;
  uint64_t unnamed = census_->found_bytes;
  for (const HeldBlock& block : census_->blocks) unnamed -= std::min(unnamed, block.bytes);
  if (unnamed * kSmallPart < census_->found_bytes) return;
  const AlikeBlocks alike(*this, live);
  for (const Life* life : live) {
    const HeldBlock* block = Of(*life) == nullptr ? alike.Of(*life) : nullptr;
    if (block == nullptr || block->bytes > unnamed || !life->LivesAt(census_->event)) continue;
    if (blocks_.try_emplace(life->address, block).second) unnamed -= block->bytes;
  }
}

const HeldBlock* Holders::Of(const Life& life) const {
  if (census_ == nullptr || !life.tensor || !life.LivesAt(census_->event)) return nullptr;
  const auto found = blocks_.find(life.address);
  if (found == blocks_.end() || found->second->device != life.device) return nullptr;
  return found->second;
}

std::vector<HolderFacts> Holders::OfAll(const std::vector<const Life*>& lives) const {
  HolderGroups groups;
  for (const Life* life : lives) {
    const HeldBlock* block = Of(*life);
    if (block != nullptr) groups.Add(*block, life->size);
  }
  return groups.Take();
}

}  // namespace vramstow
