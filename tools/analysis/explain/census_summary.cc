#include "tools/analysis/explain/census_summary.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace vramstow {
namespace {

uint64_t WidthOf(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, uint64_t>, 13> kWidths = {
      {{"float64", 8},
       {"float32", 4},
       {"float16", 2},
       {"bfloat16", 2},
       {"int64", 8},
       {"int32", 4},
       {"int16", 2},
       {"int8", 1},
       {"uint8", 1},
       {"bool", 1},
       {"complex128", 16},
       {"complex64", 8},
       {"complex32", 4}}};
  for (const auto& [name, width] : kWidths) {
    if (name == type) return width;
  }
  return 0;
}

}  // namespace

bool IsInGraph(const HeldBlock& block) {
  return block.role == "saved" || block.holder.find("grad_fn") != std::string::npos ||
         block.holder.find("saved by") != std::string::npos;
}

bool IsRecorded(const HeldBlock& block) {
  return IsInGraph(block) || block.about.find("made by ") != std::string::npos;
}

bool IsLeafWeight(const HeldBlock& block) {
  return block.about.find("requires grad") != std::string::npos &&
         block.about.find("made by") == std::string::npos;
}

bool IsGarbage(const HeldBlock& block) { return block.holder.starts_with(kDeadCycle); }

uint64_t RecordedBytes(const Holders& holders, const std::vector<const Life*>& lives) {
  uint64_t bytes = 0;
  for (const Life* life : lives) {
    const HeldBlock* block = holders.Of(*life);
    if (block != nullptr && IsRecorded(*block)) bytes += life->size;
  }
  return bytes;
}

bool IsHeldByError(const HeldBlock& block) {
  static constexpr std::array<std::string_view, 4> kWords = {
      "exception being handled", ": frame ", ", raised from another", "of an exception"};
  return std::ranges::any_of(kWords, [&](std::string_view words) {
    return block.holder.find(words) != std::string::npos;
  });
}

bool IsParameter(const HeldBlock& block) {
  return block.role == "parameter" || (block.role == "optimizer_state" &&
                                       block.about.find(", requires grad") != std::string::npos);
}

ParameterWords ParametersOf(const Holders& holders, const std::vector<const Life*>& lives) {
  ParameterWords words;
  for (const Life* life : lives) {
    const HeldBlock* block = holders.Of(*life);
    if (block == nullptr || block->role != "parameter") continue;
    if (block->about.find(", requires grad") == std::string::npos) continue;
    words.all += life->size;
    if (block->about.find(", in eval()") != std::string::npos) words.evaluating += life->size;
    if (block->about.find(", in no optimizer") == std::string::npos) continue;
    words.untrained += life->size;
    words.of_untrained.push_back(life);
  }
  return words;
}

std::vector<const Life*> SavedForUntrained(const Holders& holders,
                                           const std::vector<const Life*>& lives) {
  std::vector<const Life*> saved;
  for (const Life* life : lives) {
    const HeldBlock* block = holders.Of(*life);
    if (block == nullptr) continue;
    if (block->about.find(", for parameters in no optimizer") != std::string::npos) {
      saved.push_back(life);
    }
  }
  return saved;
}

std::optional<TensorWords> ParseTensor(std::string_view about) {
  const size_t open = about.find(" [");
  const size_t close = about.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  TensorWords words;
  words.type = about.substr(0, open);
  words.bytes = WidthOf(words.type);
  std::string_view numbers = about.substr(open + 2, close - open - 2);
  while (!numbers.empty()) {
    const size_t end = numbers.find(", ");
    const std::string_view digits = numbers.substr(0, end);
    uint64_t number = 0;
    const auto [last, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || last != digits.data() + digits.size()) return std::nullopt;
    words.shape.push_back(number);
    words.bytes *= number;
    numbers = end == std::string_view::npos ? std::string_view() : numbers.substr(end + 2);
  }
  return words;
}

CensusSummary SummarizeCensus(const Holders& holders, const std::vector<const Life*>& lives) {
  CensusSummary summary;
  for (const Life* life : lives) {
    summary.all += life->size;
    const HeldBlock* block = holders.Of(*life);
    if (block == nullptr) continue;
    summary.known += life->size;
    if (IsInGraph(*block)) summary.in_graph += life->size;
    const std::optional<TensorWords> words = ParseTensor(block->about);
    if (!words.has_value()) continue;
    // Small blocks are rounded up to a minimum size, so their size does not show how much of them a
    // tensor uses.
    if (words->bytes > 0 && words->bytes * 2 < life->size && life->size >= (1 << 12)) {
      summary.viewed += life->size;
    }
    if (words->type == "float64" || words->type == "complex128") summary.wide += life->size;
  }
  return summary;
}

}  // namespace vramstow
