// What advice that was found at the peak changes of the requests up to the last one that failed:
// the same kind of blocks, as they were live then.
#include <algorithm>
#include <functional>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/explain/phases_over.h"
#include "tools/base/link.h"

namespace vramstow {
namespace {

bool Says(const Facts& facts, const std::string& name, const std::string& value) {
  const auto fact = facts.facts.find(name);
  return fact != facts.facts.end() && fact->second == value;
}

class ChangeFinder {
 public:
  ChangeFinder(const Detail& detail, const CategoryFinder& categories, const Facts& facts)
      : detail_(detail), categories_(categories), facts_(facts) {
    const OutOfMemoryFacts& failure = facts.out_of_memory.back();
    for (const Life& life : detail.lives) {
      if (life.birth >= failure.event) break;
      if (life.pending || life.device != failure.device) continue;
      if (life.LivesAt(failure.event)) live_.push_back(&life);
    }
  }

  Change Of(const AdviceFacts& advice) const {
    const std::string& id = advice.id;
    if (id == "checkpoint_activations") return Without(detail_, Category("activations"));
    if (id == "smaller_optimizer_state") return Without(detail_, Category("optimizer_state"));
    if (id == "lower_precision") return InParts(detail_, Category("activations"), 2);
    if (id == "accumulate_gradients") return Batches(advice.bytes);
    if (id == "set_to_none") return Gradients();
    if (id == "optimizer_temporaries") return Temporaries();
    if (id == "offload_blocks") return Waiting();
    if (id == "out_of_memory_by_fragmentation" || id == "fragmentation") return Allocator();
    if (id == "cache_larger_than_use" || id == "cache_at_end") return GivenBack();
    return {};
  }

 private:
  std::vector<const Life*> Those(const std::function<bool(const Life&)>& is_one) const {
    std::vector<const Life*> lives;
    for (const Life* life : live_) {
      if (is_one(*life)) lives.push_back(life);
    }
    return lives;
  }
  std::vector<const Life*> Category(const std::string& name) const {
    return Those([&](const Life& life) { return categories_.NameOf(life) == name; });
  }
  Phase PhaseOf(const Life& life) const { return detail_.sites[life.site].phase; }

  // `saved`: of the activations at the peak, which tells the number of micro-batches.
  Change Batches(uint64_t saved) const {
    const uint64_t all = CategoryAtPeak(facts_, "activations");
    const uint64_t left = all - std::min(all, saved);
    return left == 0 ? Change() : InParts(detail_, Category("activations"), all / left);
  }
  Change Gradients() const {
    if (facts_.iterations.list.empty()) return {};
    const uint64_t begin = facts_.iterations.list.back().begin_event;
    const auto is_old = [&](const Life& life) {
      return PhaseOf(life) == Phase::kBackward && life.birth < begin;
    };
    return FreedBefore(detail_, Those(is_old), begin);
  }
  Change Temporaries() const {
    const PhasesOver phases(detail_);
    const auto is_one = [&](const Life& life) {
      return PhaseOf(life) == Phase::kOptimizer && life.death != kStillLive &&
             !phases.Outlives(life, Phase::kOptimizer);
    };
    return Without(detail_, Those(is_one));
  }
  Change Waiting() const {
    constexpr uint64_t kLeastStays = 4;  // in transfers
    const auto is_one = [&](const Life& life) {
      const bool may = PhaseOf(life) == Phase::kForward || PhaseOf(life) == Phase::kOptimizer;
      return may && life.death != kStillLive &&
             life.death_ns - life.birth_ns >= kLeastStays * LinkNs(life.size);
    };
    return Without(detail_, Those(is_one));
  }
  bool IsOurPool() const { return Says(facts_, "option.pool", "on"); }
  bool Expands() const { return Says(facts_, "allocator.expandable_segments", "true"); }
  // Of vramstow's pool there is none that serves better.
  Change Allocator() const {
    Change change;
    if (!IsOurPool()) change.allocator = Expands() ? "vramstow" : "expandable";
    return change;
  }
  // What the same allocator gives back by itself before a request fails.
  Change GivenBack() const {
    Change change;
    const bool has_tensors = std::ranges::any_of(live_, &Life::tensor);
    if (IsOurPool()) change.allocator = "vramstow";
    if (!IsOurPool() && has_tensors) change.allocator = Expands() ? "expandable" : "native";
    return change;
  }

  const Detail& detail_;
  const CategoryFinder& categories_;
  const Facts& facts_;
  std::vector<const Life*> live_;
};

}  // namespace

void FillChanges(const Detail& detail, const CategoryFinder& categories, const Facts& facts,
                 std::vector<AdviceFacts>* advice) {
  if (facts.out_of_memory.empty() || !IsDeviceMemory(facts.out_of_memory.back().memory)) return;
  const ChangeFinder changes(detail, categories, facts);
  for (AdviceFacts& one : *advice) one.change = changes.Of(one);
}

}  // namespace vramstow
