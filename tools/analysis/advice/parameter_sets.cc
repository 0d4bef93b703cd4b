#include "tools/analysis/advice/parameter_sets.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/rounding.h"
#include "tools/analysis/advice/parameter_sites.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

bool SamePlace(const SiteDetail& a, const SiteDetail& b) {
  return std::ranges::equal(a.own, b.own, {}, &CodeLine::text, &CodeLine::text);
}

bool Computes(const FailureMoment& moment, const Life& life) {
  const SiteDetail& site = moment.site_of(life);
  return life.tensor && (site.in_backward || site.in_optimizer || !site.module.empty() ||
                         site.phase == Phase::kForward);
}

// Returns "net.0.weight" for "global net.0.weight" and for "main: net.0.weight".
std::string_view NameWithoutScope(std::string_view holder) {
  constexpr std::string_view kGlobal = "global ";
  if (holder.starts_with(kGlobal)) holder.remove_prefix(kGlobal.size());
  const size_t colon = holder.rfind(": ");
  return colon == std::string_view::npos ? holder : holder.substr(colon + 2);
}

// Returns the names of parameters that have a gradient, or state of an optimizer.
std::set<std::string_view> TrainedNames(const FailureMoment& moment) {
  constexpr std::string_view kGradient = ".grad";
  constexpr std::string_view kState = ".state[";
  std::set<std::string_view> names;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    const std::string_view holder = block->holder;
    if (block->role == "gradient" && holder.ends_with(kGradient)) {
      names.insert(NameWithoutScope(holder.substr(0, holder.size() - kGradient.size())));
    }
    const size_t open = holder.find(kState);
    const size_t close = holder.rfind("][");
    if (block->role != "optimizer_state" || open == std::string_view::npos ||
        close == std::string_view::npos || close < open) {
      continue;
    }
    const size_t from = open + kState.size();
    names.insert(NameWithoutScope(holder.substr(from, close - from)));
  }
  return names;
}

// True if a module's constructor made the parameter, or a module moved it to the GPU. A copy of a
// tensor on the GPU is made otherwise.
bool IsMadeByModule(const FailureMoment& moment, const Life* life) {
  const SiteDetail& site = moment.site_of(*life);
  const HeldBlock* block = moment.holders().Of(*life);
  return site.phase == Phase::kInit && OperatorName(site) != "clone" &&
         (block == nullptr || IsParameter(*block));
}

}  // namespace

uint64_t AskedSize(const Life& life) {
  constexpr uint64_t kStep = 512;
  return life.requested == 0 ? life.size : RoundUp(life.requested, kStep);
}

std::vector<ParameterSet> ParameterSetsOf(const FailureMoment& moment) {
  std::vector<ParameterSet> sets;
  const SiteDetail* place = nullptr;
  const auto add = [&](const SiteDetail& site, uint64_t size, const Life* life) {
    if (place == nullptr || !SamePlace(*place, site)) sets.emplace_back();
    place = &site;
    sets.back().sizes.push_back(size);
    if (life != nullptr) sets.back().live.push_back(life);
  };
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.event()) break;
    if (life.pending || !life.tensor) continue;
    const SiteDetail& site = moment.site_of(life);
    if (!MayBeParameter(site)) {
      place = nullptr;
    } else if (life.LivesAt(moment.event()) && life.size >= kLeastParameter) {
      add(site, AskedSize(life), &life);
    } else if (place != nullptr && !SamePlace(*place, site)) {
      place = nullptr;
    }
  }
  if (MayBeParameter(moment.request_site()))
    add(moment.request_site(), moment.requested(), nullptr);
  std::erase_if(sets, [](const ParameterSet& set) { return set.live.size() < kLeastBlocks; });
  for (ParameterSet& set : sets) set.bytes = BytesOf(set.live);
  return sets;
}

bool Repeats(const ParameterSet& first, const ParameterSet& later) {
  if (later.sizes.size() > first.sizes.size()) return false;
  if (later.sizes.size() == first.sizes.size()) {
    std::vector<uint64_t> a = first.sizes;
    std::vector<uint64_t> b = later.sizes;
    std::ranges::sort(a);
    std::ranges::sort(b);
    return a == b;
  }
  const bool is_cut_off = later.live.size() < later.sizes.size();
  return is_cut_off && std::equal(later.sizes.begin(), later.sizes.end(), first.sizes.begin());
}

std::vector<const Life*> CopiesOf(const FailureMoment& moment, const ParameterSet& set) {
  std::map<uint32_t, std::vector<const Life*>> by_site;
  const std::set<const Life*> own(set.live.begin(), set.live.end());
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    const std::string_view name = OperatorName(site);
    const bool is_copy = name == "clone" || name == "_to_copy" || name == "to";
    if (!is_copy || !MayBeParameter(site) || !life->tensor || life->size < kLeastParameter)
      continue;
    if (life->birth > set.live.front()->birth && !own.contains(life)) {
      by_site[life->site].push_back(life);
    }
  }
  const std::multiset<uint64_t> sizes(set.sizes.begin(), set.sizes.end());
  for (const auto& [number, lives] : by_site) {
    if (lives.size() < kLeastBlocks || BytesOf(lives) * 4 < set.bytes) continue;
    std::multiset<uint64_t> copied;
    for (const Life* life : lives) copied.insert(AskedSize(*life));
    if (std::ranges::includes(sizes, copied)) return lives;
  }
  return {};
}

bool HasWorkBetween(const FailureMoment& moment, uint64_t begin, uint64_t end) {
  const std::vector<Life>& lives = moment.detail().lives;
  for (auto life = std::ranges::upper_bound(lives, begin, {}, &Life::birth);
       life != lives.end() && life->birth < end; ++life) {
    if (Computes(moment, *life)) return true;
  }
  return false;
}

bool AreMadeTogether(const FailureMoment& moment, const std::vector<const Life*>& first,
                     const std::vector<const Life*>& later) {
  const auto are_made = [&](const std::vector<const Life*>& lives) {
    return std::ranges::all_of(lives, [&](auto* life) { return IsMadeByModule(moment, life); });
  };
  return are_made(first) && are_made(later) &&
         !HasWorkBetween(moment, first.back()->birth, later.front()->birth);
}

bool AreBothTrained(const FailureMoment& moment, const std::vector<const Life*>& first,
                    const std::vector<const Life*>& later) {
  const std::set<std::string_view> names = TrainedNames(moment);
  const auto is_trained = [&](const Life* life) {
    const HeldBlock* block = moment.holders().Of(*life);
    return block != nullptr && names.contains(NameWithoutScope(block->holder));
  };
  return std::ranges::any_of(first, is_trained) && std::ranges::any_of(later, is_trained);
}

}  // namespace vramstow
