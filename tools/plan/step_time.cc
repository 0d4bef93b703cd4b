#include "tools/plan/step_time.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/work_cost.h"

namespace vramstow {
namespace {

// The part of the time of collectives that is never hidden behind computing, even if computing
// lasts longer.
constexpr double kNeverHidden = 0.10;

constexpr size_t kFields = 8;

std::optional<WorkItem::Kind> KindOf(absl::string_view name) {
  if (name == "operator") return WorkItem::Kind::kOperator;
  if (name == "copy") return WorkItem::Kind::kCopy;
  if (name == "kernel") return WorkItem::Kind::kKernel;
  if (name == "collective") return WorkItem::Kind::kCollective;
  return std::nullopt;
}

std::optional<WorkItem> ReadLine(absl::string_view line) {
  // A line has more fields than usual if the name of the kernel contains commas.
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
  if (fields.size() < kFields) return std::nullopt;
  const auto kind = KindOf(fields[1]);
  if (!kind.has_value()) return std::nullopt;
  WorkItem item;
  item.kind = *kind;
  item.name = std::string(fields[2]);
  const size_t last = fields.size() - 1;
  item.precision = std::string(fields[last - 4]);
  if (!absl::SimpleAtoi(fields[0], &item.time_ns) ||
      !absl::SimpleAtoi(fields[last - 3], &item.operations) ||
      !absl::SimpleAtoi(fields[last - 2], &item.read_bytes) ||
      !absl::SimpleAtoi(fields[last - 1], &item.written_bytes) ||
      !absl::SimpleAtoi(fields[last], &item.items)) {
    return std::nullopt;
  }
  return item;
}

WorkSize SizeOf(const WorkItem& item) {
  return {item.name,       item.precision,     item.operations,
          item.read_bytes, item.written_bytes, item.items};
}

// Adds the time of one operator to the part of the step that it belongs to.
void AddOperator(const WorkItem& item, const CardRates& rates, StepTime* step) {
  const OperatorCost cost = CostOfOperator(SizeOf(item), rates);
  step->operations += static_cast<double>(item.operations);
  step->launches += kKernelSeconds;
  if (cost.memory >= cost.computing) {
    step->memory += cost.memory;
  } else {
    (cost.is_attention ? step->attention : step->products) += cost.computing;
  }
}

// Returns the number of tokens that went into losses. If no loss was computed, returns the number
// of rows that were requested from the most used embedding.
uint64_t TokensOf(std::span<const WorkItem> items) {
  uint64_t in_losses = 0;
  std::map<uint64_t, uint64_t> in_tables;  // by the bytes of the table and the indices
  for (const WorkItem& item : items) {
    if (item.name == "nll_loss_forward") in_losses += item.items;
    if (item.name == "index_select") in_tables[item.read_bytes] += item.items;
  }
  if (in_losses > 0 || in_tables.empty()) return in_losses;
  return std::ranges::max_element(in_tables, {}, &std::pair<const uint64_t, uint64_t>::second)
      ->second;
}

}  // namespace

std::vector<WorkItem> ReadWorkLog(absl::string_view text) {
  std::vector<WorkItem> items;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (auto item = ReadLine(line)) items.push_back(*std::move(item));
  }
  return items;
}

StepTime EstimateStep(std::span<const WorkItem> items, const CardRates& rates) {
  StepTime step;
  double collectives = 0;
  for (const WorkItem& item : items) {
    switch (item.kind) {
      case WorkItem::Kind::kOperator:
        AddOperator(item, rates, &step);
        ++step.launched;
        break;
      case WorkItem::Kind::kKernel:
        step.launches += kKernelSeconds;
        ++step.unknown_kernels;
        ++step.launched;
        break;
      case WorkItem::Kind::kCopy:
        step.transfers += SecondsOverHostLink(item.read_bytes, rates);
        break;
      case WorkItem::Kind::kCollective:
        collectives += SecondsOfCollective(SizeOf(item), rates);
        break;
    }
  }
  const double computing = step.products + step.attention + step.memory + step.launches;
  step.collectives = std::max(collectives - computing, kNeverHidden * collectives);
  const double card = computing + step.collectives + step.transfers;
  step.program = std::max(0.0, kProgramSeconds * static_cast<double>(step.launched) - card);
  step.seconds = card + step.program;
  step.tokens = TokensOf(items);
  return step;
}

std::span<const WorkItem> Within(std::span<const WorkItem> items, uint64_t begin_ns,
                                 uint64_t end_ns) {
  const auto begin = std::ranges::lower_bound(items, begin_ns, {}, &WorkItem::time_ns);
  const auto end = std::ranges::lower_bound(items, end_ns, {}, &WorkItem::time_ns);
  if (begin >= end) return {};
  return items.subspan(static_cast<size_t>(begin - items.begin()),
                       static_cast<size_t>(end - begin));
}

}  // namespace vramstow
