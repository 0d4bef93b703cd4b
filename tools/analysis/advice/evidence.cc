#include "tools/analysis/advice/evidence.h"

#include <algorithm>
#include <string_view>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

Evidence::Evidence(const Detail& detail, const CategoryFinder& categories, const Facts& facts)
    : detail_(detail), categories_(categories), facts_(facts) {
  const bool failed = !facts.out_of_memory.empty();
  const uint64_t moment = failed ? facts.out_of_memory.back().event : detail.peak_event;
  const int device = failed ? facts.out_of_memory.back().device : DeviceAtPeak(detail);
  for (const Life& life : detail.lives) {
    if (life.birth > moment) break;
    if (life.pending || life.device != device) continue;
    if (life.LivesAt(moment)) live_.push_back(&life);
  }
}

namespace {

// True for an operator that makes an input: a copy from the host, or random numbers.
bool IsInputMaker(std::string_view operator_name) {
  return operator_name == "_to_copy" || operator_name.starts_with("rand");
}

// True if one line of the program, outside of any model, makes an input in nearly each turn of a
// loop. This distinguishes a loop over batches from a loop over the layers of a model.
bool MakesInputs(const Detail& detail, uint64_t turns) {
  return std::ranges::any_of(detail.sites, [turns](const SiteDetail& site) {
    const bool is_outside = site.phase == Phase::kUnknown || site.phase == Phase::kData;
    return is_outside && !site.own.empty() && IsInputMaker(OperatorName(site)) &&
           site.allocations * 10 >= turns * 9;
  });
}

}  // namespace

bool Evidence::IsWorthIt(uint64_t bytes) const { return IsWorthAdvice(facts_, bytes); }

uint64_t Evidence::AtPeak(const std::string& category) const {
  for (const CategoryFacts& one : facts_.by_category) {
    if (one.name == category) return one.at_peak.bytes;
  }
  return 0;
}

bool Evidence::HasTrueIterations() const {
  constexpr uint64_t kLeastTurns = 10;
  constexpr uint64_t kLeastWork = 3;
  const IterationsFacts& iterations = facts_.iterations;
  if (iterations.is_sure) return true;
  // A loop that fills a list of weights frees one block each time it runs its body; a loop that
  // computes frees more.
  if (iterations.count < kLeastTurns ||
      facts_.lifetimes.within.blocks < kLeastWork * iterations.count) {
    return false;
  }
  if (facts_.kind != "stow") return false;
  const bool calls_model = std::ranges::any_of(
      detail_.sites, [](const SiteDetail& site) { return site.phase == Phase::kForward; });
  return !calls_model || MakesInputs(detail_, iterations.count);
}

std::vector<const Life*> Evidence::LiveThat(const std::function<bool(const Life&)>& is_one) const {
  std::vector<const Life*> lives;
  for (const Life* life : live_) {
    if (is_one(*life)) lives.push_back(life);
  }
  return lives;
}

std::vector<const Life*> Evidence::LiveOf(const std::string& category) const {
  return LiveThat([&](const Life& life) { return categories_.NameOf(life) == category; });
}

bool Evidence::Says(const std::string& name, const std::string& value) const {
  const auto fact = facts_.trace_metadata.find(name);
  return fact != facts_.trace_metadata.end() && fact->second == value;
}

}  // namespace vramstow
