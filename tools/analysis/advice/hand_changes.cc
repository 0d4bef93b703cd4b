#include "tools/analysis/advice/hand_changes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/highest_need.h"
#include "tools/analysis/advice/layers.h"
#include "tools/analysis/advice/precision_use.h"
#include "tools/analysis/advice/step_cost.h"
#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeftFree = 64;  // 1/64 of the memory, because pieces are left over
constexpr uint64_t kMaxParts = 16;
constexpr uint64_t kLeastSaved = 20;  // 1/20 of the need

using LiveList = std::vector<const Life*>;

// The memory of one iteration, by the purpose of its tensors.
struct ChangedIteration {
  ChangedIteration(const Detail& detail, const CategoryFinder& categories,
                   const IterationFacts& facts)
      : begin(facts.begin_event),
        step(StepOf(detail, facts)),
        need(detail, DeviceAtPeak(detail), facts.begin_event, facts.end_event) {
    for (const Life& life : detail.lives) {
      const bool is_here = life.birth < facts.end_event && life.death > facts.begin_event;
      if (!is_here || !life.tensor || life.pending) continue;
      const std::string name = categories.NameOf(life);
      if (name == "optimizer_state") state.push_back(&life);
      if (life.birth < begin) continue;
      const SiteDetail& site = detail.sites[life.site];
      // What a backward pass leaves to the optimizer's step is a gradient, wherever it is freed.
      const bool is_for_step = site.in_backward && life.birth < step && life.death > step;
      if (name == "gradients" || is_for_step) gradients.push_back(&life);
      if (site.in_optimizer) continue;
      if (name == "activations") activations.push_back(&life);
      // Copies of weights in another precision do not grow with the batch.
      const bool is_of_batch = name == "activations" || name == "temporaries";
      if (is_of_batch && OperatorName(site) != "_to_copy") of_batch.push_back(&life);
    }
  }

  // Returns the event at which the optimizer's step begins; the end of the iteration if there is no
  // optimizer.
  static uint64_t StepOf(const Detail& detail, const IterationFacts& facts) {
    uint64_t step = facts.end_event;
    for (auto life = detail.lives.rbegin(); life != detail.lives.rend(); ++life) {
      if (life->birth >= facts.end_event) continue;
      if (life->birth < facts.begin_event) break;
      const SiteDetail& site = detail.sites[life->site];
      if (site.in_backward) break;
      if (site.in_optimizer) step = life->birth;
    }
    return step;
  }

  uint64_t begin;
  uint64_t step;
  HighestNeed need;
  LiveList activations;
  LiveList of_batch;
  LiveList gradients;
  LiveList state;
};

void AddParts(const LiveList& lives, uint64_t part, uint64_t of, std::vector<SavedBytes>* savings) {
  for (const Life* life : lives) {
    savings->push_back({static_cast<int64_t>(life->size / of * part), life->birth, life->death});
  }
}

class HandChangeFinder {
 public:
  HandChangeFinder(const Detail& detail, const CategoryFinder& categories, Facts* facts)
      : detail_(detail),
        facts_(facts),
        cost_(detail, *facts),
        usable_bytes_(facts->offload.room_bytes - facts->offload.room_bytes / kLeftFree) {
    for (const IterationFacts* one : Chosen()) iterations_.emplace_back(detail, categories, *one);
    for (const ChangedIteration& one : iterations_)
      highest_ = std::max(highest_, one.need.With({}));
  }

  void Find() {
    if (iterations_.empty()) return;
    FindLayers();
    FindMicroBatches();
    FindStateOnHost();
    FindStateInEightBits();
    FindLowerPrecision();
    std::vector<HandChange>& found = facts_->offload.by_hand;
    std::ranges::stable_sort(found, [](const HandChange& a, const HandChange& b) {
      if (a.fits != b.fits) return a.fits;
      if (a.changes_numbers != b.changes_numbers) return b.changes_numbers;
      if (a.seconds.has_value() != b.seconds.has_value()) return a.seconds.has_value();
      return a.seconds.value_or(0) < b.seconds.value_or(0);
    });
  }

 private:
  // Returns the iteration with the peak, and a typical iteration: the one that the clock model
  // chose, or else the third.
  std::vector<const IterationFacts*> Chosen() const {
    constexpr size_t kUsual = 2;
    std::vector<const IterationFacts*> chosen;
    const std::vector<IterationFacts>& list = facts_->iterations.list;
    for (size_t i = 0; i < list.size(); ++i) {
      const bool is_peak =
          list[i].begin_event <= detail_.peak_event && detail_.peak_event < list[i].end_event;
      const bool is_usual = facts_->model_clock.known()
                                ? list[i].begin_event == facts_->model_clock.begin_event
                                : i == kUsual;
      if (is_peak || is_usual) chosen.push_back(&list[i]);
    }
    return chosen;
  }

  // Returns how much memory the job needs if the change is made in each iteration.
  template <typename Savings>
  uint64_t NeedWith(const Savings& savings_of) const {
    uint64_t highest = 0;
    for (const ChangedIteration& one : iterations_) {
      highest = std::max(highest, one.need.With(savings_of(one)));
    }
    const uint64_t needed = facts_->offload.needed_bytes;
    return highest < highest_ ? needed - std::min(needed, highest_ - highest)
                              : needed + (highest - highest_);
  }

  // A change that is not enough is worth its trouble only if it saves much.
  void Add(HandChange change, uint64_t needed_bytes) {
    if (needed_bytes >= facts_->offload.needed_bytes) return;
    change.needed_bytes = needed_bytes;
    change.fits = needed_bytes <= usable_bytes_;
    const uint64_t saved = facts_->offload.needed_bytes - needed_bytes;
    if (!change.fits && saved < facts_->offload.needed_bytes / kLeastSaved) return;
    facts_->offload.by_hand.push_back(std::move(change));
  }

  // Finds the smallest number of layers that is enough. If no number is enough, uses all layers.
  void FindLayers() {
    std::vector<RepeatedLayers> layers;
    size_t most = 0;
    for (const ChangedIteration& one : iterations_) {
      layers.push_back(FindRepeatedLayers(detail_, one.activations));
      most = std::max(most, layers.back().list.size());
    }
    if (most < 2) return;
    const auto need = [&](size_t count) {
      size_t turn = 0;
      return NeedWith([&](const ChangedIteration&) {
        std::vector<SavedBytes> savings;
        const std::vector<RepeatedLayer>& list = layers[turn++].list;
        for (size_t i = 0; i < std::min(count, list.size()); ++i) {
          AddParts(list[i].within, 1, 1, &savings);
        }
        return savings;
      });
    };
    size_t least = 1;
    for (size_t enough = most; least < enough;) {
      const size_t middle = (least + enough) / 2;
      if (need(middle) <= usable_bytes_) {
        enough = middle;
      } else {
        least = middle + 1;
      }
    }
    HandChange change{.change = "checkpoint_layers", .count = least, .layers = most};
    const RepeatedLayers& usual = layers.back().list.size() > 1 ? layers.back() : layers.front();
    const LiveList& within = usual.list.front().within;
    if (!within.empty()) {
      change.place = detail_.sites[(*std::ranges::max_element(within, {}, &Life::size))->site].site;
    }
    if (cost_.is_known()) change.seconds = cost_.OfRecomputing(usual, least);
    Add(std::move(change), need(least));
  }

  // While one micro-batch runs, the gradients of the earlier ones are live.
  void FindMicroBatches() {
    if (!MayTrain(detail_)) return;
    for (uint64_t parts = 2; parts <= kMaxParts; parts *= 2) {
      const uint64_t needed = NeedWith([&](const ChangedIteration& one) {
        std::vector<SavedBytes> savings;
        AddParts(one.of_batch, parts - 1, parts, &savings);
        for (const Life* life : one.gradients) {
          savings.push_back({-static_cast<int64_t>(life->size), one.begin, life->birth});
        }
        return savings;
      });
      if (needed > usable_bytes_ && parts < kMaxParts) continue;
      HandChange change{.change = "micro_batches", .count = parts};
      if (cost_.is_known()) {
        change.seconds = cost_.OfMicroBatches(parts, BytesOf(iterations_.back().gradients));
      }
      return Add(std::move(change), needed);
    }
  }

  // Finds how many bytes of the optimizer's state must be on the host from the begin of the
  // iteration to the optimizer's step.
  void FindStateOnHost() {
    const OffloadFacts& offload = facts_->offload;
    const uint64_t lacking = offload.needed_bytes - std::min(offload.needed_bytes, usable_bytes_);
    uint64_t moved = 0;
    const uint64_t needed = NeedWith([&](const ChangedIteration& one) {
      std::vector<SavedBytes> savings;
      uint64_t bytes = 0;
      for (const Life* life : one.state) {
        if (bytes >= lacking) break;
        bytes += life->size;
        savings.push_back({static_cast<int64_t>(life->size), std::max(one.begin, life->birth),
                           std::min(one.step, life->death)});
      }
      moved = std::max(moved, bytes);
      return savings;
    });
    if (moved == 0) return;
    HandChange change{.change = "state_on_host", .moved_bytes = moved};
    if (cost_.is_known()) change.seconds = cost_.OfRoundTrip(moved);
    Add(std::move(change), needed);
  }

  // The optimizer's step reads and writes less, so it is not slower.
  void FindStateInEightBits() {
    const uint64_t needed = NeedWith([&](const ChangedIteration& one) {
      std::vector<SavedBytes> savings;
      AddParts(one.state, 3, 4, &savings);
      return savings;
    });
    HandChange change{.change = "state_in_8_bits", .changes_numbers = true};
    if (cost_.is_known()) change.seconds = 0;
    Add(std::move(change), needed);
  }

  // The trace does not show how much faster products would be.
  void FindLowerPrecision() {
    if (UsesLowerPrecision(detail_)) return;
    const uint64_t needed = NeedWith([&](const ChangedIteration& one) {
      std::vector<SavedBytes> savings;
      AddParts(one.activations, 1, 2, &savings);
      return savings;
    });
    Add({.change = "lower_precision", .changes_numbers = true}, needed);
  }

  const Detail& detail_;
  Facts* facts_;
  StepCost cost_;
  std::vector<ChangedIteration> iterations_;
  uint64_t usable_bytes_;
  uint64_t highest_ = 0;
};

}  // namespace

void FindHandChanges(const Detail& detail, const CategoryFinder& categories, Facts* facts) {
  FindOffloadCost(detail, facts);
  const OffloadFacts& offload = facts->offload;
  // Without call stacks the purpose of blocks is unknown.
  const bool has_stacks = std::ranges::any_of(detail.sites, &SiteDetail::by_stack);
  if (!offload.carries_job || offload.needed_bytes <= offload.room_bytes || !has_stacks) return;
  HandChangeFinder(detail, categories, facts).Find();
}

}  // namespace vramstow
