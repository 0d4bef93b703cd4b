// Advice on how the work is done: see advice_words.h.
#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/base/link.h"

namespace vramstow {
namespace {

constexpr uint64_t kLeastStays = 4;  // in transfers: what stays shorter is not worth two of them
constexpr double kLeastGrowth = 1.15;
constexpr size_t kMostEventsLate = 200;  // between a block and the one that takes its name

bool IsAtPeak(const Detail& detail, const Life& life) {
  return !life.pending && life.LivesAt(detail.peak_event);
}

class WorkAdviser {
 public:
  WorkAdviser(const Detail& detail, const CategoryFinder& categories, const Facts& facts,
              std::vector<AdviceFacts>* advice)
      : detail_(detail), categories_(categories), facts_(facts), advice_(advice) {}

  void Add() {
    LowerPrecision();
    Accumulate();
    LargerBatch();
    References();
    Offload();
  }

 private:
  // Autocast is a context, which no stack shows, but it converts what modules are given.
  bool UsesLowerPrecision() const {
    const auto converts = [](const SiteDetail& site) {
      return site.site.starts_with("backward of ToCopy") ||
             (site.operation == "aten::_to_copy" && !site.module.empty());
    };
    const auto names_it = [](const std::string& frame) {
      return frame.find("autocast") != std::string::npos ||
             frame.find("bfloat16") != std::string::npos || frame.find("half") != std::string::npos;
    };
    return std::ranges::any_of(detail_.sites, converts) ||
           std::ranges::any_of(detail_.frames, names_it);
  }

  // What numbers are made of is in no trace; that nothing converts them is.
  void LowerPrecision() {
    const uint64_t activations = CategoryAtPeak(facts_, "activations");
    if (!IsWorthAdvice(facts_, activations / 2) || UsesLowerPrecision()) return;
    advice_->push_back(
        {"lower_precision", "Compute in 16 bits what is kept for the backward pass",
         activations / 2,
         AdviceText(activations) +
             " of activations lie at the peak, and neither call stacks nor operators show "
             "autocast or a conversion to half or bfloat16: if they have 32 bits, half of them "
             "would do.",
         "Rounding: losses may differ in the third digit; float16 needs a gradient scaler, "
         "bfloat16 does not.",
         "with torch.autocast(\"cuda\", dtype=torch.bfloat16): around the forward pass and the "
         "loss."});
  }

  // What does not grow with the batch.
  uint64_t PeakBeside(uint64_t activations) const {
    return facts_.peak.allocated_bytes - std::min(facts_.peak.allocated_bytes, activations);
  }

  // As many micro-batches as bring activations below the rest; with more the rest decides.
  void Accumulate() {
    const uint64_t activations = CategoryAtPeak(facts_, "activations");
    const uint64_t rest = PeakBeside(activations);
    uint64_t batches = 2;
    while (batches < 16 && activations / batches > rest) batches *= 2;
    const uint64_t saved = activations - activations / batches;
    if (!IsWorthAdvice(facts_, saved)) return;
    const std::string number = std::to_string(batches);
    advice_->push_back(
        {"accumulate_gradients", "The same batch in " + number + " micro-batches", saved,
         AdviceText(activations) + " of activations at the peak grow with the batch, " +
             AdviceText(rest) + " do not: with " + number + " micro-batches " +
             AdviceText(activations / batches) + " of activations are left.",
         "A little time: kernels are smaller, and " + number + " times as many.",
         "Divide the batch by " + number + ", divide the loss by " + number +
             ", and step the optimizer after every " + number + "."});
  }

  // One moment: what of it grows with the batch, and what does not.
  struct Load {
    uint64_t fixed = 0;
    uint64_t growing = 0;
    double Times(uint64_t capacity) const {
      return capacity < fixed
                 ? 0
                 : static_cast<double>(capacity - fixed) / static_cast<double>(growing);
    }
  };

  // Whether a block of an iteration is larger where the batch is.
  class Growing {
   public:
    Growing(const Detail& detail, const CategoryFinder& categories, const Facts& facts)
        : detail_(detail), categories_(categories) {
      if (facts.iterations.list.empty()) return;
      first_ = facts.iterations.list.front().begin_event;
      for (const Life& life : detail.lives) {
        if (life.tensor && categories_.NameOf(life) == "parameters") weights_.insert(life.size);
      }
    }
    bool operator()(const Life& life) const {
      const SiteDetail& site = detail_.sites[life.site];
      if (!life.tensor || life.birth < first_ || site.in_optimizer) return false;
      const std::string name = categories_.NameOf(life);
      if (name == "parameters" || name == "gradients" || name == "optimizer_state" ||
          name == "workspaces") {
        return false;
      }
      // Weights in another precision.
      const bool converts = site.operation == "aten::_to_copy";
      return !converts || (!weights_.contains(life.size) && !weights_.contains(life.size * 2));
    }

   private:
    const Detail& detail_;
    const CategoryFinder& categories_;
    uint64_t first_ = kStillLive;
    absl::flat_hash_set<uint64_t> weights_;  // sizes of parameters
  };

  // The moment that fills the card first when the batch grows. Where not all blocks are known: the
  // peak, of which activations grow.
  Load DecidingMoment(uint64_t capacity) const {
    Load decides;
    decides.growing = CategoryAtPeak(facts_, "activations");
    decides.fixed = PeakBeside(decides.growing);
    if (!detail_.has_all_lives() || !facts_.iterations.is_sure || detail_.lives.empty()) {
      return decides;
    }
    const Growing grows(detail_, categories_, facts_);
    struct Change {
      uint64_t event;
      uint64_t size;
      bool is_birth;
      bool grows;
    };
    std::vector<Change> changes;
    for (const Life& life : detail_.lives) {
      if (life.pending) continue;
      const bool with_batch = grows(life);
      changes.push_back({life.birth, life.size, true, with_batch});
      if (life.death != kStillLive) changes.push_back({life.death, life.size, false, with_batch});
    }
    std::ranges::stable_sort(changes, {}, &Change::event);
    Load now;
    decides = {};
    for (const Change& change : changes) {
      uint64_t& part = change.grows ? now.growing : now.fixed;
      part = change.is_birth ? part + change.size : part - std::min(part, change.size);
      if (!change.is_birth || now.growing == 0) continue;
      if (decides.growing == 0 || now.Times(capacity) < decides.Times(capacity)) decides = now;
    }
    return decides;
  }

  // What failed once has no room, and what piles up takes whatever there is, a few iterations
  // later.
  void LargerBatch() {
    const uint64_t capacity = CardBytes(facts_);
    if (capacity == 0 || facts_.devices.size() != 1 || !facts_.out_of_memory.empty()) return;
    if (!facts_.lifetimes.growing.empty()) return;
    Load load = DecidingMoment(capacity);
    if (load.growing != 0) load.growing += facts_.fragmentation.at_peak.unusable_bytes;
    if (load.growing == 0 || (!HasRoom(facts_) && !IsWorthAdvice(facts_, load.growing))) return;
    const double times = load.Times(capacity);
    if (times < kLeastGrowth) return;
    char text[32];
    std::snprintf(text, sizeof text, times < 10 ? "%.1f" : "%.0f", times);
    advice_->push_back(
        {"larger_batch", std::string("A batch ") + text + " times as large would fit", 0,
         "The card has " + AdviceText(capacity) + "; where memory grows most with the batch, " +
             AdviceText(load.growing) + " do and " + AdviceText(load.fixed) +
             " do not. Free pieces that were too small count as if they grew.",
         "More memory, up to all there is.",
         std::string("Try batches up to ") + text +
             " times this one, or have vramstow fit rehearse them."});
  }

  // x = f(x): the old block goes when the new one is there. If it was kept through the peak for
  // nothing but that, deleting its name before brings it.
  void References() {
    std::map<std::pair<uint32_t, uint64_t>, std::vector<const Life*>> alike;
    for (const Life& life : detail_.lives) {
      if (!life.pending && life.site != 0) alike[{life.site, life.size}].push_back(&life);
    }
    uint64_t bytes = 0;
    std::vector<std::pair<uint64_t, std::string>> by_site;
    for (const auto& [key, lives] : alike) {
      const SiteDetail& site = detail_.sites[key.first];
      // An optimizer replaces what it needs; parameters are used all the time.
      if (!site.by_stack || site.phase == Phase::kOptimizer || site.phase == Phase::kInit) continue;
      uint64_t of_site = 0;
      for (size_t i = 0; i + 1 < lives.size(); ++i) {
        if (IsKeptForItsSuccessor(*lives[i], *lives[i + 1])) of_site += lives[i]->size;
      }
      if (of_site > 0) by_site.emplace_back(of_site, site.site);
      bytes += of_site;
    }
    if (!IsWorthAdvice(facts_, bytes)) return;
    std::ranges::sort(by_site, std::ranges::greater());
    std::vector<std::string> names;
    for (const auto& [held, name] : by_site) names.push_back(name);
    advice_->push_back({"delete_reference",
                        "References are kept until the same line makes the next one", bytes,
                        AdviceText(bytes) +
                            " at the peak were made in an earlier iteration and went only when "
                            "the same line had made their successors: " +
                            FirstNames(names) + ".",
                        "None, if nothing reads them any more.",
                        "del the variable at the end of the iteration, before " +
                            by_site.front().second + " runs again."});
  }

  bool IsKeptForItsSuccessor(const Life& life, const Life& next) const {
    if (!IsAtPeak(detail_, life) || life.death == kStillLive || next.birth > life.death)
      return false;
    if (life.death - next.birth > kMostEventsLate) return false;
    for (const IterationFacts& iteration : facts_.iterations.list) {
      if (detail_.peak_event < iteration.begin_event || detail_.peak_event > iteration.end_event) {
        continue;
      }
      return life.birth < iteration.begin_event && life.death <= iteration.end_event;
    }
    return false;
  }

  // Long enough there for a way out and back, with the link at work half of the time.
  void Offload() {
    std::map<std::string, uint64_t> by_site;
    uint64_t bytes = 0;
    for (const Life& life : detail_.lives) {
      if (!IsAtPeak(detail_, life) || life.death == kStillLive) continue;
      const SiteDetail& site = detail_.sites[life.site];
      if (site.phase != Phase::kForward && site.phase != Phase::kOptimizer) continue;
      if (life.death_ns - life.birth_ns < kLeastStays * LinkNs(life.size)) continue;
      by_site[site.site] += life.size;
      bytes += life.size;
    }
    if (!IsWorthAdvice(facts_, bytes)) return;
    std::vector<std::pair<uint64_t, std::string>> sorted;
    for (const auto& [site, held] : by_site) sorted.emplace_back(held, site);
    std::ranges::sort(sorted, std::ranges::greater());
    std::vector<std::string> names;
    for (const auto& [held, name] : sorted) names.push_back(name + " (" + AdviceText(held) + ")");
    const uint64_t milliseconds = LinkNs(2 * bytes) / 1'000'000;
    advice_->push_back(
        {"offload_blocks", "Blocks wait so long that they could wait on the host", bytes,
         AdviceText(bytes) + " at the peak stay at least " + std::to_string(kLeastStays) +
             " times as long as a transfer takes: " + FirstNames(names) + ".",
         "About " + std::to_string(milliseconds) +
             " ms of transfers at 24 GiB/s each time, beside the work if they begin early, and as "
             "much pinned host memory.",
         "torch.autograd.graph.save_on_cpu(pin_memory=True) around these lines, or "
         "vramstow run --pool=on --offload=auto, which moves what is not needed."});
  }

  const Detail& detail_;
  const CategoryFinder& categories_;
  const Facts& facts_;
  std::vector<AdviceFacts>* advice_;
};

}  // namespace

void AdviseOnWork(const Detail& detail, const CategoryFinder& categories, const Facts& facts,
                  std::vector<AdviceFacts>* advice) {
  WorkAdviser(detail, categories, facts, advice).Add();
}

}  // namespace vramstow
