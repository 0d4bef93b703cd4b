#include "tools/analysis/advice/find_causes.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/order.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/advice/switches.h"
#include "tools/analysis/explain/holders.h"
#include "tools/analysis/facts/context_request.h"

namespace vramstow {
namespace {

constexpr size_t kMaxShares = 8;

std::vector<ShareFacts> Sorted(const std::map<std::string, Amount>& amounts) {
  std::vector<ShareFacts> shares;
  for (const auto& [name, amount] : amounts) shares.push_back({name, amount});
  std::ranges::stable_sort(
      shares, [](const auto& a, const auto& b) { return a.amount.bytes > b.amount.bytes; });
  if (shares.size() > kMaxShares) shares.resize(kMaxShares);
  return shares;
}

void Add(const std::string& name, uint64_t size, std::map<std::string, Amount>* amounts) {
  Amount& amount = (*amounts)[name];
  amount.bytes += size;
  ++amount.blocks;
}

DemandFacts DemandOf(const FailureMoment& moment, const CategoryFinder& categories) {
  DemandFacts demand;
  const OutOfMemoryFacts& failure = moment.failure();
  std::map<std::string, Amount> by_category;
  std::map<std::string, Amount> by_module;
  std::map<std::string, Amount> by_site;
  bool any_tensor = false;
  for (const Life* life : moment.live()) any_tensor |= life->tensor;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (any_tensor && !life->tensor) demand.not_pytorch_bytes += life->size;
    Add(categories.NameOf(*life), life->size, &by_category);
    if (!site.module.empty()) Add(site.module, life->size, &by_module);
    Add(site.site, life->size, &by_site);
  }
  demand.live_bytes = moment.live_bytes();
  if (moment.is_room_known()) {
    demand.room_bytes = moment.room();
    demand.lacking_bytes = moment.lacking();
  }
  for (const DeviceFacts& device : moment.facts().devices) {
    if (device.device != failure.device || !device.total_bytes.has_value()) continue;
    demand.card_bytes = device.total_bytes;
    if (failure.free_from == FreeKnownFrom::kNothing) continue;
    const uint64_t on_card = demand.live_bytes - std::min(demand.live_bytes, moment.away_bytes());
    const uint64_t held =
        failure.free_bytes + on_card + (failure.has_pool ? failure.pool_free_bytes : 0);
    demand.outside_bytes = *device.total_bytes - std::min(*device.total_bytes, held);
  }
  demand.by_category = Sorted(by_category);
  demand.by_module = Sorted(by_module);
  demand.by_site = Sorted(by_site);
  return demand;
}

// Returns the owner of the most bytes. If it is a variable of a running function, an owner that
// outlives the call and holds at least half as much is preferred.
const HolderFacts& MainHolder(const std::vector<HolderFacts>& found) {
  const HolderFacts& first = found.front();
  if (!IsLocal(first.holder)) return first;
  const auto other = std::ranges::find_if(found, [&](const HolderFacts& one) {
    return !IsLocal(one.holder) && one.about == first.about &&
           one.amount.bytes * 2 >= first.amount.bytes;
  });
  return other == found.end() ? first : *other;
}

// If the owner is a suspended frame, appends the function in which its variables were allocated.
std::string WithFunction(const Cause& cause, const std::string& holder) {
  constexpr std::string_view kFrame = "→ its frame";
  const size_t space = cause.place.find(' ');
  if (!holder.ends_with(kFrame) || space == std::string::npos) return holder;
  return holder + " of " + cause.place.substr(space + 1);
}

// Adds the owner that a census found.
void NameHolder(const Holders& holders, Cause* cause) {
  constexpr size_t kMaxNamed = 3;
  constexpr uint64_t kSmallPart = 20;
  constexpr uint64_t kLeastKnownPart = 4;
  const std::vector<HolderFacts> found = holders.OfAll(cause->held);
  if (found.empty()) return;
  // If the census (a reference scan) found an owner only for a small part of the blocks, the owner
  // of the other blocks may be a different one.
  uint64_t known = 0;
  for (const HolderFacts& one : found) known += one.amount.bytes;
  if (known * kLeastKnownPart < BytesOf(cause->held)) return;
  cause->holder = WithFunction(*cause, MainHolder(found).holder);
  std::string text;
  for (size_t i = 0; i < std::min(found.size(), kMaxNamed); ++i) {
    if (found[i].amount.bytes * kSmallPart < found.front().amount.bytes) break;
    text += (i == 0 ? " Held by " : ", ") + found[i].holder + " (" +
            AdviceText(found[i].amount.bytes) + ")";
  }
  cause->evidence += text + ".";
}

void FillHolders(const FailureMoment& moment, const Holders& holders, OutOfMemoryFacts* failure) {
  constexpr size_t kMaxHolders = 64;
  failure->census_left_out = holders.why_left_out();
  if (!holders.any()) return;
  uint64_t without = 0;
  for (const Life* life : moment.live()) {
    if (life->tensor && holders.Of(*life) == nullptr) without += life->size;
  }
  failure->bytes_without_holder = without;
  failure->holders = holders.OfAll(moment.live());
  if (failure->holders.size() > kMaxHolders) failure->holders.resize(kMaxHolders);
}

// True if the removal of one cause would have served the request, and the cause is a considerable
// share of the live memory or accounts for much of it. A small cause may serve this one request,
// but does not explain the rest.
bool IsExplained(const FailureMoment& moment, const std::vector<Cause>& causes) {
  constexpr uint64_t kMuch = 4;
  constexpr uint64_t kSmall = 8;
  return std::ranges::any_of(causes, [&](const Cause& cause) {
    const uint64_t share = cause.fits == true ? kSmall : kMuch;
    return cause.bytes * share >= moment.live_bytes();
  });
}

// Returns why the request failed, the likeliest cause first.
std::vector<Cause> FindCauses(const FailureMoment& moment) {
  std::vector<Cause> found;
  // The other causes explain requests of a known size.
  const bool is_for_context = IsForContext(moment.failure());
  for (const RuleRow& row : AllRules()) {
    if (row.rule->cause == nullptr) continue;
    if (is_for_context && row.id != AdviceId::kOtherProcesses) continue;
    if (row.rule->rank == Rank::kLast && IsExplained(moment, found)) continue;
    Found cause = AskForCause(*row.rule, moment);
    if (!cause.has_value()) continue;
    cause->id = row.id;
    cause->rank = row.rule->rank;
    cause->fits = cause->bytes >= moment.lacking();
    cause->proof.is_cause = true;
    DescribeSwitch(moment, &*cause);
    found.push_back(*std::move(cause));
  }
  found = OrderCauses(moment.live_bytes(), std::move(found));
  for (Cause& cause : found) NameHolder(moment.holders(), &cause);
  return found;
}

// True if the blocks of this moment are known, so that causes can be found. Without any blocks they
// are known only if the process held no memory.
bool CanBeExplained(const Detail& detail, const OutOfMemoryFacts& failure) {
  const bool is_of_device = IsDeviceMemory(failure.memory) || IsForContext(failure);
  return is_of_device && failure.site_number < detail.sites.size() &&
         (!detail.lives.empty() || failure.allocated_bytes == 0);
}

}  // namespace

std::vector<Cause> ExplainOutOfMemory(const Detail& detail, const Iterations& passes,
                                      const CategoryFinder& categories, Facts* facts) {
  std::vector<Cause> last;
  const size_t count = facts->out_of_memory.size();
  for (size_t i = count - std::min(count, kMaxStories); i < count; ++i) {
    OutOfMemoryFacts& failure = facts->out_of_memory[i];
    if (!CanBeExplained(detail, failure)) continue;
    const FailureMoment moment(detail, *facts, passes, categories, failure);
    DemandFacts demand = DemandOf(moment, categories);
    last = FindCauses(moment);
    FillHolders(moment, moment.holders(), &failure);
    failure.has_story = true;
    failure.demand = std::move(demand);
    failure.cause = last.empty() ? AdviceId::kNone : last.front().id;
    for (const Cause& cause : last) failure.would_fit.push_back(WouldFit(cause));
  }
  return last;
}

std::vector<Cause> FindCausesAtPeak(const Detail& detail, const Iterations& passes,
                                    const CategoryFinder& categories, const Facts& facts) {
  constexpr uint64_t kLeastPart = 4;
  std::vector<Cause> causes;
  if (detail.peak_event == 0 || detail.lives.empty()) return causes;
  OutOfMemoryFacts peak;
  peak.event = detail.peak_event + 1;
  peak.device = DeviceAtPeak(detail);
  const FailureMoment moment(detail, facts, passes, categories, peak);
  for (const RuleRow& row : AllRules()) {
    if (row.rule->cause == nullptr || !row.rule->at_peak) continue;
    Found cause = AskForCause(*row.rule, moment);
    if (!cause.has_value() || cause->bytes * kLeastPart < moment.live_bytes()) continue;
    cause->id = row.id;
    causes.push_back(*std::move(cause));
  }
  return causes;
}

}  // namespace vramstow
