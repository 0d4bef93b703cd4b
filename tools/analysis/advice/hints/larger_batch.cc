// Advice on how much of the GPU a job left unused, and which batch sizes would fit (fragmented free
// memory counts as if it grew with the batch).
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/facts/known_part.h"

namespace vramstow {
namespace {

constexpr double kLeastGrowth = 1.15;
constexpr double kMaxTimes = 4;       // beyond this, it is unknown what else would grow
constexpr uint64_t kSmallShare = 20;  // a smaller job says little about larger ones

// The bytes that are live at one moment: those that grow with the batch, and those that do not.
struct Load {
  uint64_t fixed = 0;
  uint64_t growing = 0;
  double Times(uint64_t capacity) const {
    return capacity < fixed ? 0
                            : static_cast<double>(capacity - fixed) / static_cast<double>(growing);
  }
};

// Tells whether a block of an iteration grows with the batch.
class Growing {
 public:
  explicit Growing(const Evidence& evidence) : evidence_(evidence) {
    const IterationsFacts& iterations = evidence.facts().iterations;
    if (iterations.list.empty()) return;
    first_ = iterations.list.front().begin_event;
    for (const Life& life : evidence.detail().lives) {
      if (life.tensor && NameOf(life) == "parameters") weights_.insert(life.size);
    }
  }
  bool operator()(const Life& life) const {
    const SiteDetail& site = evidence_.detail().sites[life.site];
    if (!life.tensor || life.birth < first_ || site.in_optimizer) return false;
    const std::string name = NameOf(life);
    if (name == "parameters" || name == "gradients" || name == "optimizer_state" ||
        name == "workspaces") {
      return false;
    }
    // Weights that are converted to another precision do not grow with the batch.
    const bool converts = OperatorName(site) == "_to_copy";
    return !converts || (!weights_.contains(life.size) && !weights_.contains(life.size * 2));
  }

 private:
  std::string NameOf(const Life& life) const { return evidence_.categories().NameOf(life); }

  const Evidence& evidence_;
  uint64_t first_ = kStillLive;
  absl::flat_hash_set<uint64_t> weights_;  // sizes of parameters
};

// Returns the moment that fills the GPU first when the batch grows. If the trace lacks some blocks,
// this moment is the peak, and only its activations count as growing.
Load DecidingMoment(const Evidence& evidence, uint64_t capacity) {
  const Detail& detail = evidence.detail();
  const uint64_t peak = evidence.facts().peak.allocated_bytes;
  Load decides;
  decides.growing = evidence.AtPeak("activations");
  decides.fixed = peak - std::min(peak, decides.growing);
  if (!detail.has_all_lives() || !evidence.facts().iterations.is_sure || detail.lives.empty()) {
    return decides;
  }
  const Growing grows(evidence);
  struct Step {
    uint64_t event;
    uint64_t size;
    bool is_birth;
    bool grows;
  };
  std::vector<Step> steps;
  for (const Life& life : detail.lives) {
    if (life.pending) continue;
    const bool with_batch = grows(life);
    steps.push_back({life.birth, life.size, true, with_batch});
    if (life.death != kStillLive) steps.push_back({life.death, life.size, false, with_batch});
  }
  std::ranges::stable_sort(steps, {}, &Step::event);
  Load now;
  decides = {};
  for (const Step& step : steps) {
    uint64_t& part = step.grows ? now.growing : now.fixed;
    part = step.is_birth ? part + step.size : part - std::min(part, step.size);
    if (!step.is_birth || now.growing == 0) continue;
    if (decides.growing == 0 || now.Times(capacity) < decides.Times(capacity)) decides = now;
  }
  return decides;
}

// Returns how many times larger a batch fits; 0 if unknown. It assumes that everything that an
// iteration allocates grows with the batch, including workspaces and gradients.
double LeastTimes(const Facts& facts, uint64_t capacity) {
  const std::vector<IterationFacts>& all = facts.iterations.list;
  if (!facts.iterations.is_sure || all.empty()) return 0;
  // The first iterations also compile and tune kernels, and allocate memory that later iterations
  // reuse.
  constexpr size_t kLeastSteady = 3;
  const size_t first = all.size() >= kLeastSteady ? 1 : 0;
  uint64_t stays = all[first].begin_bytes;
  uint64_t highest = 0;
  for (size_t i = first; i < all.size(); ++i) {
    stays = std::min(stays, all[i].begin_bytes);
    highest = std::max(highest, all[i].peak_bytes);
  }
  if (highest <= stays) return 0;
  return Load{stays, highest - stays + facts.fragmentation.at_peak.unusable_bytes}.Times(capacity);
}

std::string Rounded(double times) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", times);
  return text;
}

// Returns a text that begins with ": by this, ". It gives a cautious and an optimistic estimate of
// the batch. No run has confirmed either estimate.
std::string TimesText(double least, double most) {
  most = std::max(least, most);
  if (least < 1 || least > kMaxTimes) return ".";
  const std::string from = Rounded(least);
  if (most > kMaxTimes)
    return ": by this, a batch " + from + " times as large fits, or a larger one.";
  const std::string to = Rounded(most);
  if (from == to) return ": by this, a batch " + from + " times as large fits.";
  return ": by this, a batch " + from + " to " + to + " times as large fits.";
}

// A larger batch is not recommended if the job ran out of memory, or if memory grows with each
// iteration, because the growth will use up the free memory.
Hint FindLargerBatch(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  const uint64_t capacity = CardBytes(facts);
  if (SeesOnlyFramework(facts)) return std::nullopt;
  const bool grows = !facts.lifetimes.growing.empty() ||
                     (evidence.HasTrueIterations() && facts.iterations.Grows());
  if (capacity == 0 || facts.devices.size() != 1 || !facts.out_of_memory.empty() || grows) {
    return std::nullopt;
  }
  Load load = DecidingMoment(evidence, capacity);
  const uint64_t scaling = load.growing;
  const uint64_t unusable = facts.fragmentation.at_peak.unusable_bytes;
  if (scaling != 0) load.growing += unusable;
  if (load.growing == 0 || (!HasRoom(facts) && !evidence.IsWorthIt(load.growing))) {
    return std::nullopt;
  }
  const double times = load.Times(capacity);
  if (times < kLeastGrowth) return std::nullopt;
  const uint64_t used = std::max(facts.peak.reserved_bytes, facts.peak.allocated_bytes);
  const uint64_t room = capacity - std::min(capacity, used);
  AdviceFacts advice;
  advice.title = AdviceText(room) + " of the GPU's memory were never used";
  advice.evidence = "The job can have " + AdviceText(capacity) + ", and used " + AdviceText(used) +
                    " at the most.";
  // If a job uses only a small part of the GPU, it is unknown which other memory would grow.
  if (used * kSmallShare >= capacity) {
    advice.evidence += " At the moment that limits the batch, " + AdviceText(scaling) +
                       " scale with it and " + AdviceText(load.fixed) + " stay";
    if (unusable != 0) {
      advice.evidence += " (" + AdviceText(unusable) +
                         " of free memory in pieces that are too small count as scaling)";
    }
    advice.evidence += TimesText(LeastTimes(facts, capacity), times);
    advice.action =
        "Run `vramstow fit`: it tries larger batches on a simulated GPU and finds the largest that "
        "fits.";
  } else {
    advice.action = "No change is needed.";
  }
  advice.cost = "More memory, up to the whole GPU.";
  return advice;
}

// A process that was killed, or still runs, might have needed more memory later.
bool HasNeverFailed(const Evidence& evidence) {
  const Facts& facts = evidence.facts();
  return facts.out_of_memory.empty() && (facts.kind != "stow" || facts.report.closed);
}

constexpr Precondition kNeedsSuccess = {
    .words = "no request failed, and the trace was closed at the end of the process",
    .in_job = HasNeverFailed};

}  // namespace

constinit const Rule kLargerBatch = {
    .rank = Rank::kUsual,
    .meaning = "how much of the GPU's memory was never used, and how much larger a batch would fit",
    .help =
        "There is free memory left. If the job used a twentieth of the GPU's memory or more, "
        "vramstow adds up what grows with the batch and what does not, at the moment that would "
        "fill the GPU first. It says between which sizes the largest batch lies: the smaller one "
        "if everything that an iteration allocates grows with the batch, the larger one if only "
        "results do. vramstow fit tries such batches on a simulated GPU and proves which one fits.",
    .needs = {kNeedsSuccess},
    .advice = FindLargerBatch,
    .saves = false,
};

}  // namespace vramstow
