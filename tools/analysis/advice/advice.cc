// What could be done. Every advice has the bytes that it would bring at the peak at the most,
// counted from what was seen; how much of it a job gets, only a run tells.
#include <algorithm>
#include <string>
#include <utility>

#include "base/units.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/advise.h"
#include "tools/analysis/advice/find_causes.h"
#include "tools/analysis/explain/phases_over.h"
#include "tools/base/link.h"

namespace vramstow {
namespace {

// Without this cause there would have been room for many such requests. Pieces would have served
// this one, and the next few would have failed.
bool Dwarfs(const Cause& cause, const Facts& facts) {
  const OutOfMemoryFacts& last = facts.out_of_memory.back();
  return cause.fits && cause.bytes >= 4 * std::max(last.pool_free_bytes, last.requested_bytes);
}

// What had to be collected before a request could be served.
void AdviseOnGarbage(const GarbageFacts& garbage, std::vector<AdviceFacts>* all) {
  if (garbage.saved_requests == 0 || garbage.most_bytes == 0) return;
  const std::string cycle = garbage.cycles.empty() ? "" : garbage.cycles.front().cycle;
  AdviceFacts advice;
  advice.id = "break_cycles";
  advice.title = "Tensors stay in objects that refer to themselves";
  advice.bytes = garbage.most_bytes;
  advice.evidence = std::to_string(garbage.saved_requests) +
                    (garbage.saved_requests == 1 ? " request" : " requests") +
                    " would have failed, had not garbage been collected first: up to " +
                    AdviceText(garbage.most_bytes) + " at once, kept by " +
                    (cycle.empty() ? "cycles" : cycle) + ".";
  advice.cost = "None, but that the code changes.";
  advice.action =
      "Break the cycle: let one of its references be weak (weakref.ref, weakref.proxy), or set it "
      "to None where the object is done with. Then its tensors go at once, without a collector.";
  advice.holder = cycle;
  all->push_back(std::move(advice));
}

class Adviser {
 public:
  Adviser(const Detail& detail, const CategoryFinder& categories, const Facts& facts,
          const std::vector<Cause>& causes)
      : detail_(detail), categories_(categories), facts_(facts), causes_(causes) {}

  std::vector<AdviceFacts> All() {
    Fragmentation();
    LargeCache();
    CacheAtEnd();
    EmptyCache();
    Growth();
    Activations();
    Gradients();
    OptimizerState();
    OptimizerTemporaries();
    Startup();
    Rounding();
    DriverChurn();
    Offloaded();
    AdviseOnGarbage(facts_.garbage, &advice_);
    AdviseOnWork(detail_, categories_, facts_, &advice_);
    FillChanges(detail_, categories_, facts_, &advice_);
    std::stable_sort(advice_.begin(), advice_.end(), [](const auto& a, const auto& b) {
      return RankOf(a) != RankOf(b) ? RankOf(a) < RankOf(b) : a.bytes > b.bytes;
    });
    std::vector<AdviceFacts> all;
    for (const Cause& cause : causes_) all.push_back(OfCause(cause));
    for (AdviceFacts& one : advice_) {
      if (!IsSaidBy(one.id)) all.push_back(std::move(one));
    }
    if (HasRoom(facts_)) std::erase_if(all, [](const auto& one) { return IsToSave(one.id); });
    std::ranges::stable_sort(all, {}, [&](const AdviceFacts& one) { return OrderOf(one); });
    return all;
  }

 private:
  static constexpr char kFailure[] = "out_of_memory_by_fragmentation";
  static constexpr char kCacheAtEnd[] = "cache_at_end";
  static constexpr char kEmptyCache[] = "stop_empty_cache";

  // Whether it is only good for jobs that lack memory.
  static bool IsToSave(const std::string& id) {
    return id != "larger_batch" && id != "growing_memory" && id != "cache_allocations" &&
           id != "break_cycles" && id != kEmptyCache;
  }

  // What explains a failure and what is wrong in any case come first, what brings nothing at the
  // peak last.
  static int RankOf(const AdviceFacts& advice) {
    if (advice.id == kFailure || advice.id == kEmptyCache) return 0;
    return advice.id == kCacheAtEnd ? 2 : 1;
  }

  // Fragmentation explains a failure best, unless the first cause grows with each pass: that ends
  // the job in any case, a few passes later without fragmentation; or it is much more than what lay
  // in pieces.
  int OrderOf(const AdviceFacts& advice) const {
    if (advice.id == kFailure) return 1;
    const bool grows =
        !causes_.empty() && (causes_.front().grows || Dwarfs(causes_.front(), facts_));
    return grows && advice.id == causes_.front().id ? 0 : 2;
  }

  AdviceFacts OfCause(const Cause& cause) const {
    AdviceFacts advice;
    advice.id = cause.id;
    advice.title = cause.title;
    advice.bytes = cause.bytes;
    advice.is_estimate = cause.is_estimate;
    advice.place = cause.place;
    advice.holder = cause.holder;
    advice.fits = cause.fits;
    advice.evidence = cause.evidence;
    advice.cost = cause.cost;
    advice.action = cause.action;
    advice.change = cause.change;
    return advice;
  }

  // Advice by what was seen at the peak, where a cause of the failure says it better.
  bool IsSaidBy(const std::string& id) const {
    static constexpr std::pair<const char*, const char*> kSame[] = {
        {"growing_memory", "held_graphs"},       {"growing_memory", "kept_outputs"},
        {"growing_memory", "data_on_card"},      {"checkpoint_activations", "activations"},
        {"accumulate_gradients", "activations"}, {"smaller_optimizer_state", "optimizer_state"},
        {"set_to_none", "gradients_kept"}};
    return std::ranges::any_of(causes_, [&](const Cause& cause) {
      if (cause.id == id) return true;
      return std::ranges::any_of(
          kSame, [&](const auto& same) { return id == same.first && cause.id == same.second; });
    });
  }

  bool IsWorthIt(uint64_t bytes) const { return IsWorthAdvice(facts_, bytes); }
  uint64_t Category(const std::string& name) const { return CategoryAtPeak(facts_, name); }
  bool HasExpandableSegments() const {
    const auto setting = facts_.facts.find("allocator.expandable_segments");
    return setting != facts_.facts.end() && setting->second == "true";
  }
  // vramstow's pool served this process.
  bool IsOurPool() const {
    const auto setting = facts_.facts.find("option.pool");
    return setting != facts_.facts.end() && setting->second == "on";
  }
  std::string FragmentationAction() const {
    if (IsOurPool()) {
      return "The pool serves the job already, and moves whole free pages: free what fences the "
             "largest holes in (see the holes), or allocate what lives long first.";
    }
    return HasExpandableSegments()
               ? "The allocator has expandable segments already: let vramstow's pool serve the "
                 "job, "
                 "or free what fences the largest holes in (see the holes)."
               : "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or let vramstow's pool "
                 "serve the job.";
  }

  std::string FragmentationCost() const {
    if (IsOurPool()) return "None, but that the code changes.";
    return HasExpandableSegments() ? "None that is known."
                                   : "None at run time; blocks of expandable segments cannot be "
                                     "shared by CUDA IPC in some versions.";
  }

  void Fragmentation() {
    for (const OutOfMemoryFacts& failure : facts_.out_of_memory) {
      if (!failure.has_pool || failure.pool_free_bytes < failure.requested_bytes) continue;
      const uint64_t usable = std::max(failure.largest_free_range_bytes.value_or(0),
                                       failure.pool_movable_bytes.value_or(0));
      if (usable >= failure.requested_bytes) continue;
      advice_.push_back({kFailure, "This out-of-memory was fragmentation", failure.requested_bytes,
                         AdviceText(failure.requested_bytes) +
                             " were asked for while the pool had " +
                             AdviceText(failure.pool_free_bytes) + " free in " +
                             std::to_string(failure.pool_free_ranges) + " pieces, the largest " +
                             AdviceText(*failure.largest_free_range_bytes) + ".",
                         FragmentationCost(), FragmentationAction()});
      break;
    }
    const Peak& peak = facts_.peak;
    if (!facts_.cache.known || peak.reserved_bytes < peak.allocated_bytes) return;
    const uint64_t free =
        peak.reserved_then_bytes - std::min(peak.reserved_then_bytes, peak.allocated_bytes);
    const uint64_t unusable = std::min(free, facts_.fragmentation.at_peak.unusable_bytes);
    if (!IsWorthIt(unusable)) return;
    advice_.push_back({"fragmentation", "Free memory lies in pieces that are too small", unusable,
                       "At the peak " + AdviceText(free) + " of what was reserved were free, " +
                           AdviceText(unusable) +
                           " of them in pieces smaller than the largest request (" +
                           AdviceText(facts_.fragmentation.largest_request_bytes) + ").",
                       FragmentationCost(), FragmentationAction()});
  }

  void LargeCache() {
    const Peak& peak = facts_.peak;
    if (!facts_.cache.known || peak.reserved_bytes <= peak.allocated_bytes) return;
    const uint64_t cached = peak.reserved_bytes - peak.allocated_bytes;
    const uint64_t beyond = cached - std::min(cached, facts_.fragmentation.at_peak.unusable_bytes);
    if (!IsWorthIt(beyond)) return;
    advice_.push_back(
        {"cache_larger_than_use", "The cache holds more than the job ever used here", beyond,
         AdviceText(peak.reserved_bytes) + " were reserved, and never more than " +
             AdviceText(peak.allocated_bytes) + " of it allocated within what was recorded.",
         "A few cudaMalloc calls if the memory is wanted again (milliseconds each).",
         IsOurPool() ? "Call torch.cuda.empty_cache() once after the phase that needed it, or "
                       "`vramstow ctl PID empty-cache` from outside."
                     : "Call torch.cuda.empty_cache() once after the phase that needed it, or set "
                       "garbage_collection_threshold:0.8 in PYTORCH_CUDA_ALLOC_CONF."});
  }

  // The peak was another one's: what is kept for it now is lacking elsewhere.
  void CacheAtEnd() {
    if (!facts_.cache.known) return;
    uint64_t reserved = 0;
    uint64_t allocated = 0;
    for (const DeviceFacts& device : facts_.devices) {
      reserved += device.end_reserved_bytes;
      allocated += device.end_bytes;
    }
    // A program that ends frees everything: its cache ends with it.
    if (allocated * 20 < facts_.peak.allocated_bytes) return;
    if (reserved < allocated * 2 || !IsWorthIt(reserved - allocated)) return;
    advice_.push_back(
        {kCacheAtEnd, "The cache is kept for a peak that is over", reserved - allocated,
         "At the end " + AdviceText(reserved) + " were reserved and " + AdviceText(allocated) +
             " allocated. This brings nothing at this process's own peak, but to "
             "whoever shares the "
             "card, and to what cannot use the cache (libraries, other pools).",
         "A few cudaMalloc calls if the memory is wanted again (milliseconds each).",
         "Call torch.cuda.empty_cache() once between the phases."});
  }

  // What recurs in a snapshot, or while a model runs, may be the layers of one iteration.
  bool HasTrueIterations() const {
    const IterationsFacts& iterations = facts_.iterations;
    if (iterations.is_sure || iterations.count >= 50) return true;
    return facts_.kind == "stow" && std::ranges::none_of(detail_.sites, [](const auto& site) {
             return site.phase == Phase::kForward;
           });
  }

  void EmptyCache() {
    uint64_t again = 0;
    uint64_t given = 0;
    uint64_t calls = 0;
    for (const FlushFacts& flush : facts_.cache.flushes) {
      if (flush.by != "empty_cache") continue;
      ++calls;
      given += flush.bytes;
      again += flush.taken_again_bytes;
    }
    if (calls < 2 || again * 2 < given) return;
    std::vector<std::string> where;
    for (const SiteDetail& site : detail_.sites) {
      if (site.empties_cache) where.push_back(site.site);
    }
    const std::string here = where.empty() ? "in the loop" : "at " + FirstNames(where);
    advice_.push_back({kEmptyCache, "empty_cache() gives back what is taken again", 0,
                       std::to_string(calls) + " calls gave back " + AdviceText(given) +
                           ", of which " + AdviceText(again) + " were taken from the device again.",
                       "None.", "Leave the calls of torch.cuda.empty_cache() " + here + " out."});
    if (!where.empty()) advice_.back().place = where.front();
  }

  void Growth() {
    uint64_t bytes = 0;
    for (const GrowthFacts& growth : facts_.lifetimes.growing) bytes += growth.bytes;
    if (!HasTrueIterations() || facts_.lifetimes.growing.empty() || bytes < kMiB) return;
    const GrowthFacts& first = facts_.lifetimes.growing.front();
    advice_.push_back(
        {"growing_memory", "Memory piles up from iteration to iteration", bytes,
         first.site + " left " + AdviceText(first.bytes_per_iteration) + " behind in each of " +
             std::to_string(first.iterations) + " iterations.",
         "None.",
         "Look for what keeps a reference to it: a list of losses (use .item() or .detach()), a "
         "cache that is never cut, a hook."});
  }

  void Activations() {
    const uint64_t activations = Category("activations");
    if (!IsWorthIt(activations)) return;
    const std::string sites = SitesOfPhase(detail_, Phase::kForward);
    advice_.push_back(
        {"checkpoint_activations", "Recompute activations instead of keeping them", activations,
         AdviceText(activations) + " of the peak (" +
             AdvicePercent(activations, facts_.peak.allocated_bytes) +
             ") wait for the backward pass" + (sites.empty() ? "." : ": most at " + sites + "."),
         "About a third more time in the forward and backward pass.",
         "torch.utils.checkpoint around the repeated layer, or the framework's switch "
         "(gradient_checkpointing_enable())."});
  }

  void Gradients() {
    const uint64_t gradients = Category("gradients");
    if (!IsWorthIt(gradients) || facts_.iterations.list.empty()) return;
    // Gradients that are there when an iteration begins were not set to None.
    uint64_t kept = 0;
    const IterationFacts& last = facts_.iterations.list.back();
    for (const Life& life : detail_.lives) {
      if (life.pending || detail_.sites[life.site].phase != Phase::kBackward) continue;
      if (life.birth < last.begin_event && life.death > last.begin_event) kept += life.size;
    }
    kept = std::min(kept, gradients);
    if (!IsWorthIt(kept)) return;
    advice_.push_back({"set_to_none", "Gradients stay while the next forward pass runs", kept,
                       AdviceText(kept) + " from a backward pass are still there when the next "
                                          "iteration begins.",
                       "None.", "optimizer.zero_grad(set_to_none=True) before the forward pass."});
  }

  void OptimizerState() {
    const uint64_t state = Category("optimizer_state");
    if (!IsWorthIt(state)) return;
    advice_.push_back(
        {"smaller_optimizer_state", "The optimizer's state is a large part of the peak", state,
         AdviceText(state) + " of the peak (" + AdvicePercent(state, facts_.peak.allocated_bytes) +
             ") were made by the optimizer and kept.",
         "Depends: an 8-bit state none that is known, a state on the host a transfer per step.",
         "An optimizer with 8-bit state or one that is sharded over the ranks, or keep the state "
         "on the host."});
  }

  void OptimizerTemporaries() {
    uint64_t bytes = 0;
    const PhasesOver phases(detail_);
    for (const Life& life : detail_.lives) {
      if (life.pending || life.death == kStillLive || !life.LivesAt(detail_.peak_event)) continue;
      if (detail_.sites[life.site].phase != Phase::kOptimizer) continue;
      if (!phases.Outlives(life, Phase::kOptimizer)) bytes += life.size;
    }
    if (!IsWorthIt(bytes)) return;
    advice_.push_back(
        {"optimizer_temporaries", "The optimizer's step makes large temporaries", bytes,
         AdviceText(bytes) + " at the peak were allocated in the optimizer's step and freed "
                             "soon after.",
         "A slower step.",
         "Pass foreach=False to the optimizer, or fused=True, or step in the "
         "backward pass (register_post_accumulate_grad_hook)."});
  }

  void Startup() {
    if (facts_.iterations.list.empty() || !HasTrueIterations()) return;
    uint64_t highest = 0;
    for (const IterationFacts& iteration : facts_.iterations.list) {
      highest = std::max(highest, iteration.peak_bytes);
    }
    const uint64_t startup = facts_.lifetimes.startup_peak_bytes;
    if (startup <= highest || !IsWorthIt(startup - highest)) return;
    advice_.push_back(
        {"startup_spike", "The peak is at the start, not in the work", startup - highest,
         "Before the first iteration " + AdviceText(startup) +
             " were allocated, in iterations never more than " + AdviceText(highest) + ".",
         "None.",
         "Load weights on the meta device or piece by piece, and free the loaded "
         "copy before the model moves."});
  }

  void Rounding() {
    const Peak& peak = facts_.peak;
    const uint64_t waste =
        peak.allocated_bytes - std::min(peak.allocated_bytes, peak.requested_then_bytes);
    if (!IsWorthIt(waste)) return;
    advice_.push_back({"rounding", "Blocks are larger than what was asked for", waste,
                       "At the peak blocks were " + AdviceText(waste) +
                           " larger than the requests that they serve.",
                       "More different sizes, hence fewer that can be used again.",
                       "Lower roundup_power2_divisions in PYTORCH_CUDA_ALLOC_CONF, or leave it "
                       "out."});
  }

  void DriverChurn() {
    if (facts_.kind != "stow" || facts_.cache.known || facts_.churn.pairs < 1000) return;
    if (facts_.churn.pairs * 2 < facts_.counts.allocations) return;
    advice_.push_back({"cache_allocations", "The driver is asked again for what was just freed", 0,
                       std::to_string(facts_.churn.pairs) +
                           " allocations asked the driver for a size that had been given back "
                           "before (" +
                           AdviceText(facts_.churn.pair_bytes) + " in all).",
                       "Memory that stays reserved.",
                       "Allocate through a pool (cudaMallocAsync, RMM, PyTorch's allocator, "
                       "vramstow's pool)."});
  }

  // What moved for lack of room moves whenever it is used; code that knows when that is can do it
  // meanwhile.
  void Offloaded() {
    const uint64_t pressed =
        facts_.offload.by_reason[static_cast<size_t>(OffloadReason::kPressure)];
    if (!IsWorthIt(pressed)) return;
    std::string sites;
    for (size_t i = 0; i < std::min<size_t>(facts_.offload.sites.size(), 3); ++i) {
      sites += (sites.empty() ? "" : ", ") + facts_.offload.sites[i].site + " (" +
               AdviceText(facts_.offload.sites[i].bytes) + ")";
    }
    const uint64_t milliseconds =
        LinkNs(facts_.offload.out_bytes + facts_.offload.returned_bytes) / 1'000'000;
    advice_.push_back(
        {"offload_in_code", "Memory moved to the host because the card was full",
         facts_.offload.most_bytes,
         AdviceText(pressed) + " left for lack of room, " +
             AdviceText(facts_.offload.returned_bytes) + " came back, and work waited meanwhile" +
             (sites.empty() ? "." : "; most of it of " + sites + "."),
         "The same transfers, about " + std::to_string(milliseconds) +
             " ms in all at 24 GiB/s, but beside the work instead of before it.",
         "Move these blocks in code, where it is known when they are needed: "
         "torch.autograd.graph.save_on_cpu() for activations, the optimizer's state or frozen "
         "weights on the host; or recompute them."});
  }

  const Detail& detail_;
  const CategoryFinder& categories_;
  const Facts& facts_;
  const std::vector<Cause>& causes_;
  std::vector<AdviceFacts> advice_;
};

}  // namespace

void Advise(const Detail& detail, const Explanation& explanation, Facts* facts) {
  const std::vector<Cause> causes =
      ExplainOutOfMemory(detail, explanation.passes(), explanation.categories(), facts);
  facts->advice = FindAdvice(detail, explanation.categories(), *facts, causes);
}

std::vector<AdviceFacts> FindAdvice(const Detail& detail, const CategoryFinder& categories,
                                    const Facts& facts, const std::vector<Cause>& causes) {
  return Adviser(detail, categories, facts, causes).All();
}

}  // namespace vramstow
