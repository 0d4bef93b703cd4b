#include "tools/analysis/explain/kv_caches.h"

#include <algorithm>
#include <map>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {
namespace {

constexpr size_t kLeastGrowths = 3;
constexpr double kNearlyAllGrow = 0.8;
constexpr size_t kLeastLayers = 4;  // keys and values of two layers
constexpr size_t kLeastWork = 10;   // blocks that a model makes while the cache is live
constexpr uint64_t kLeastKept = uint64_t{64} << 10;

bool MayBeCache(const Detail& detail, const Life& life) {
  const SiteDetail& site = detail.sites[life.site];
  return life.tensor && !life.opened && !life.pending && site.by_stack && !site.in_backward &&
         !site.in_optimizer;
}

// Returns the requested size, because an allocator may round up by varying amounts.
uint64_t SizeOf(const Life& life) { return life.requested != 0 ? life.requested : life.size; }

// The growth of the blocks of one call site.
struct Growth {
  std::vector<uint64_t> events;  // events at which a larger block was made
  size_t outlived = 0;           // blocks that were still live when a larger one was made
  size_t followed = 0;           // blocks that a larger one followed
};

Growth GrowthOf(const std::vector<const Life*>& chain) {
  Growth growth;
  uint64_t largest = 0;
  // Finds for each block the next larger block, from the end of the list. When a new text is
  // generated, its cache begins with a small block again.
  std::vector<const Life*> next(chain.size(), nullptr);
  for (size_t i = chain.size() - 1; i-- > 0;) {
    const Life* after = chain[i + 1];
    next[i] = SizeOf(*after) > SizeOf(*chain[i])    ? after
              : SizeOf(*after) == SizeOf(*chain[i]) ? next[i + 1]
                                                    : nullptr;
  }
  for (size_t i = 0; i < chain.size(); ++i) {
    if (next[i] != nullptr) {
      ++growth.followed;
      if (next[i]->birth < chain[i]->death) ++growth.outlived;
    }
    const bool begins = i == 0 || SizeOf(*chain[i]) < SizeOf(*chain[i - 1]);
    if (begins) largest = 0;
    if (SizeOf(*chain[i]) > largest) {
      growth.events.push_back(chain[i]->birth);
      largest = SizeOf(*chain[i]);
    }
  }
  return growth;
}

// True if the block is made in the forward pass of a module, or in a library's cache. Other
// collections of a program are concatenated in the program's own lines.
bool IsMadeInModule(const SiteDetail& site) {
  return site.phase == Phase::kForward || site.phase == Phase::kCache || !site.module.empty() ||
         !site.classes.empty();
}

// Returns the events at which backward passes and optimizers made tensors.
std::vector<uint64_t> TrainingEvents(const Detail& detail) {
  std::vector<uint64_t> events;
  for (const Life& life : detail.lives) {
    const SiteDetail& site = detail.sites[life.site];
    if (life.tensor && (site.in_backward || site.in_optimizer)) events.push_back(life.birth);
  }
  return events;
}

// True if there was training between many of the growth steps. No training happens between the
// tokens of a text, but it may happen between two texts.
bool IsTrainedBetween(const Growth& growth, const std::vector<uint64_t>& training) {
  size_t trained = 0;
  for (size_t i = 1; i < growth.events.size(); ++i) {
    const auto next = std::ranges::lower_bound(training, growth.events[i - 1]);
    trained += next != training.end() && *next < growth.events[i] ? 1 : 0;
  }
  return trained * 2 > growth.events.size() - 1;
}

// True if two blocks of the same size are live at the same time. A generated text has such blocks,
// because it has keys and values in several layers.
bool AnyBeside(std::vector<const Life*> lives) {
  std::ranges::sort(lives, [](const Life* a, const Life* b) {
    return SizeOf(*a) != SizeOf(*b) ? SizeOf(*a) < SizeOf(*b) : a->birth < b->birth;
  });
  return std::ranges::adjacent_find(lives, [](const Life* a, const Life* b) {
           return SizeOf(*a) == SizeOf(*b) && b->birth < a->death;
         }) != lives.end();
}

}  // namespace

KvCaches::KvCaches(const Detail& detail, const PhasesOver& phases) {
  FindGrowing(detail, phases);
  FindKept(detail);
}

uint64_t KvCaches::StepsWithin(uint64_t begin, uint64_t end) const {
  uint64_t most = 0;
  for (const std::vector<uint64_t>& events : growths_) {
    const auto from = std::ranges::lower_bound(events, begin);
    const auto to = std::ranges::lower_bound(events, end);
    most = std::max(most, static_cast<uint64_t>(to - from));
  }
  return most;
}

void KvCaches::FindGrowing(const Detail& detail, const PhasesOver& phases) {
  std::map<uint32_t, Chain> chains;
  for (const Life& life : detail.lives) {
    if (!MayBeCache(detail, life) || !IsMadeInModule(detail.sites[life.site])) continue;
    if (OperatorName(detail.sites[life.site]) == "cat") chains[life.site].push_back(&life);
  }
  const std::vector<uint64_t> training = TrainingEvents(detail);
  Chain all;
  std::vector<std::vector<uint64_t>> growths;
  for (const auto& [site, chain] : chains) {
    Growth growth = GrowthOf(chain);
    if (growth.events.size() < kLeastGrowths || IsTrainedBetween(growth, training)) continue;
    if (static_cast<double>(growth.outlived) <
        kNearlyAllGrow * static_cast<double>(growth.followed)) {
      continue;
    }
    // Blocks that wait for a backward pass may be concatenated, too, but they are not a cache.
    if (std::ranges::any_of(chain, [&](const Life* l) { return phases.BridgesToBackward(*l); })) {
      continue;
    }
    all.insert(all.end(), chain.begin(), chain.end());
    growths.push_back(std::move(growth.events));
  }
  if (!AnyBeside(all)) return;  // it is a single growing history
  blocks_.insert(all.begin(), all.end());
  growths_ = std::move(growths);
}

void KvCaches::FindKept(const Detail& detail) {
  std::vector<uint64_t> work;  // events at which a model made a block
  for (const Life& life : detail.lives) {
    const SiteDetail& site = detail.sites[life.site];
    if (life.tensor && (site.in_backward || site.in_optimizer)) return;  // it trains
    if (life.tensor && site.phase == Phase::kForward) work.push_back(life.birth);
  }
  if (work.size() < kLeastWork) return;
  std::map<uint64_t, Chain> alike;  // by size
  for (const Life& life : detail.lives) {
    const SiteDetail& site = detail.sites[life.site];
    if (!MayBeCache(detail, life) || life.size < kLeastKept || !IsBlank(site)) continue;
    if (site.phase == Phase::kForward || site.phase == Phase::kWorkspace) continue;
    const bool is_early = work[work.size() - kLeastWork] > life.birth;
    if (is_early && life.death > work.back()) alike[SizeOf(life)].push_back(&life);
  }
  for (const auto& [size, lives] : alike) {
    if (lives.size() >= kLeastLayers) blocks_.insert(lives.begin(), lives.end());
  }
}

}  // namespace vramstow
