#include "tools/analysis/explain/holders.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace vramstow {
namespace {

// A number that counts: [12], .12 before another step, .seen_12, or within a key: ["layer 12"].
// Everything else is a part of a name.
struct Piece {
  std::string text;
  bool is_number = false;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool EndsStep(char c) {
  return c == '.' || c == '[' || c == ' ' || c == '\0' || c == ']' || c == ':' || c == '"';
}

// Whether the step that ends before `end` is an attribute: ".seen_" of "model.seen_12".
bool IsAttribute(const std::string& chain, size_t end) {
  while (end > 0 && !EndsStep(chain[end - 1])) --end;
  return end > 0 && chain[end - 1] == '.';
}

// Where the digits that begin at `begin` end, if they are a number of a container.
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

// "3", "0..11", "*".
std::string RangeOf(const std::set<uint64_t>& numbers) {
  const uint64_t first = *numbers.begin();
  const uint64_t last = *numbers.rbegin();
  if (first == last) return std::to_string(first);
  if (last - first + 1 != numbers.size()) return "*";
  return std::to_string(first) + ".." + std::to_string(last);
}

uint64_t NumberIn(const std::string& digits) {
  return digits.size() > 18 ? 0 : std::stoull(digits);
}

}  // namespace

std::string PatternOf(const std::string& chain) {
  std::string pattern;
  for (const Piece& piece : PiecesOf(chain)) pattern += piece.is_number ? "#" : piece.text;
  return pattern;
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
    // A range is told of an index only: behind a point it would look like another step.
    const bool is_index = merged.ends_with('[');
    merged += !is_index && numbers[i].size() > 1 ? "*" : RangeOf(numbers[i]);
  }
  return merged;
}

Holders::Holders(const Detail& detail, const Facts& facts, const OutOfMemoryFacts& failure) {
  uint64_t next = ~uint64_t{0};
  for (const OutOfMemoryFacts& other : facts.out_of_memory) {
    if (other.event > failure.event && other.thread == failure.thread) {
      next = std::min(next, other.event);
    }
  }
  for (const CensusDetail& census : detail.censuses) {
    if (census.event < failure.event) {
      census_ = &census;
    } else if (census.thread == failure.thread && census.event < next) {
      census_ = &census;
      break;
    }
  }
  // One of the threads that fail together has a census: it tells what was still there.
  if (census_ == nullptr && !detail.censuses.empty()) census_ = &detail.censuses.front();
  if (census_ == nullptr) return;
  for (const HeldBlock& block : census_->blocks) blocks_.emplace(block.address, &block);
}

const HeldBlock* Holders::Of(const Life& life) const {
  if (census_ == nullptr || !life.tensor || !life.LivesAt(census_->event)) return nullptr;
  const auto found = blocks_.find(life.address);
  if (found == blocks_.end() || found->second->device != life.device) return nullptr;
  return found->second;
}

std::vector<HolderFacts> Holders::OfAll(const std::vector<const Life*>& lives) const {
  struct Group {
    std::vector<std::string> chains;
    HolderFacts facts;
    uint64_t largest = 0;
  };
  std::map<std::string, Group> groups;
  for (const Life* life : lives) {
    const HeldBlock* block = Of(*life);
    if (block == nullptr) continue;
    Group& group = groups[PatternOf(block->holder)];
    group.chains.push_back(block->holder);
    group.facts.amount.bytes += life->size;
    ++group.facts.amount.blocks;
    if (life->size < group.largest) continue;
    group.largest = life->size;
    group.facts.role = block->role;
    group.facts.about = block->about;
  }
  std::vector<HolderFacts> holders;
  for (auto& [pattern, group] : groups) {
    group.facts.holder = MergeChains(group.chains);
    holders.push_back(std::move(group.facts));
  }
  std::ranges::stable_sort(
      holders, [](const auto& a, const auto& b) { return a.amount.bytes > b.amount.bytes; });
  return holders;
}

}  // namespace vramstow
