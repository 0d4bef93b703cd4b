#include "tools/analysis/advice/keepers.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// True if a word in the owner's name means a cache: "Scenes.cache", "sessions", "layer.past".
bool IsCache(std::string_view holder) {
  static constexpr std::array<std::string_view, 8> kWords = {
      "cache", "caches", "cached", "memo", "session", "sessions", "past", "kv"};
  std::string word;
  for (size_t i = 0; i <= holder.size(); ++i) {
    if (i < holder.size() && absl::ascii_isalpha(static_cast<unsigned char>(holder[i]))) {
      word += absl::ascii_tolower(static_cast<unsigned char>(holder[i]));
      continue;
    }
    if (std::ranges::find(kWords, word) != kWords.end()) return true;
    word.clear();
  }
  return false;
}

// True for what generate() of transformers collects for its result, token by token.
bool IsCollectedByGenerate(std::string_view holder) {
  static constexpr std::array<std::string_view, 6> kLists = {
      ": scores[",           ": all_scores[",           ": raw_logits[", ": decoder_attentions[",
      ": cross_attentions[", ": decoder_hidden_states["};
  return Mentions(holder, "GenerationMixin.") &&
         std::ranges::any_of(kLists, [&](auto list) { return Mentions(holder, list); });
}

// True for caches of transformers, for example of DynamicCache: "cache.layers[0..7].keys",
// "past.key_cache[3]".
bool IsCacheOfTransformers(std::string_view holder) {
  return (Mentions(holder, ".layers[") &&
          (holder.ends_with(".keys") || holder.ends_with(".values"))) ||
         Mentions(holder, ".key_cache[") || Mentions(holder, ".value_cache[");
}

}  // namespace

std::string AdviceForOwner(std::string_view holder) {
  if (Mentions(holder, "arguments kept by functools.lru_cache")) {
    return "The cache also references the arguments of each call, and a method's self: pass "
           "numbers or names in place of objects that hold tensors, or limit it "
           "(lru_cache(maxsize=4)).";
  }
  if (Mentions(holder, "kept by functools.lru_cache")) {
    return "The cache holds a result for each set of arguments: limit it to a few "
           "(lru_cache(maxsize=4)), or let it store results on the host.";
  }
  if (Mentions(holder, "kept by itertools.cycle")) {
    return "itertools.cycle keeps all elements that it has returned: iterate over the loader again "
           "each time (while True: yield from loader), or cycle over batches on the host.";
  }
  if (Mentions(holder, "hook of ")) {
    return "Remove the hook when it is not needed any more (handle.remove()); register it once, "
           "not for each call.";
  }
  // Lightning's documentation tells users to collect results in variables with such names.
  if (Mentions(holder, "step_outputs[")) {
    return "Empty the list at the end of each epoch (self.validation_step_outputs.clear()), or "
           "pass each result to a metric that stores sums (torchmetrics).";
  }
  if (Mentions(holder, "weakref.finalize")) {
    return "Pass a function to weakref.finalize that does not reference the object (a static one): "
           "a bound method of it, or a closure over it, keeps the object forever.";
  }
  if (Mentions(holder, "._result")) {
    return "A future keeps its result: drop each future when its result is read, or let the job "
           "return a small result, or one on the host.";
  }
  if (Mentions(holder, "→ default of ")) {
    return "The default of an argument is created once and lives as long as the function: let it "
           "be None, and create the list or the dictionary in the function.";
  }
  if (Mentions(holder, "→ its frame") && Mentions(holder, "._children[")) {
    return "A coroutine that waits keeps its variables: let only a few of them run at a time "
           "(asyncio.Semaphore), or delete what is not needed any more before it waits.";
  }
  if (Mentions(holder, "→ its frame")) {
    return "A generator that was not read to its end keeps its variables: close it "
           "(generator.close()) when it is not needed any more.";
  }
  if (Mentions(holder, "[a tensor]")) {
    return "The keys are tensors, and a tensor is equal only to itself: a lookup never finds an "
           "entry, and each time one more is stored. Convert them to numbers (tolist(), item()).";
  }
  if (IsCollectedByGenerate(holder)) {
    return "generate() collects this for its result, for each token: leave output_scores, "
           "output_logits, output_attentions and output_hidden_states out, or generate less.";
  }
  if (IsCacheOfTransformers(holder)) {
    return "Each call of generate() or forward() adds to the cache that is passed to it: use a new "
           "one for each text, copy a common beginning (copy.deepcopy()), or crop() it afterwards.";
  }
  // "summaries[0..11].past[0..7]" is not a cache. It is a list of results, and each result holds a
  // cache.
  const std::string_view list = holder.substr(0, holder.find('['));
  if (!IsCache(list) && IsCache(holder) && Mentions(holder, "].")) {
    return "Store of each result only what is read later, and drop its cache (result.past = None).";
  }
  if (IsCache(holder)) {
    return "Limit the cache: remove the entries that were used least recently, or store them on "
           "the host.";
  }
  if (Mentions(holder, ".queue[…]")) {
    return "Limit the queue (queue.Queue(maxsize=4)): then put() waits until get() has made room.";
  }
  return "";
}

namespace {

// True for metrics of torchmetrics, which store their inputs under these names.
bool IsKeptByMetric(const Detail& detail, std::string_view holder) {
  return (Mentions(holder, ".preds[") || Mentions(holder, ".target[")) &&
         std::ranges::any_of(detail.files, [](const std::string& file) {
           return Mentions(file, "/torchmetrics/");
         });
}

}  // namespace

void DescribeResults(const FailureMoment& moment, const std::vector<const Life*>& lives,
                     Cause* cause) {
  const CensusSummary summary = SummarizeCensus(moment.holders(), lives);
  if (summary.viewed * 2 > summary.known) {
    cause->evidence +=
        " The program references views: a view keeps the whole tensor to which it belongs.";
    cause->action =
        "Store a .clone() of the part that is needed, or move that part to the host (.cpu()).";
    cause->cost = "A copy of the part.";
  } else {
    cause->action =
        "Store only the part that is needed (a mean, an index, a .clone() of a slice), or move it "
        "to the host (.cpu()).";
    cause->cost = "A transfer for each result.";
  }
  const std::vector<HolderFacts> holders = moment.holders().OfAll(lives);
  std::string about = holders.empty() ? "" : AdviceForOwner(holders.front().holder);
  if (about.empty() && !holders.empty() &&
      IsKeptByMetric(moment.detail(), holders.front().holder)) {
    about =
        "A metric of torchmetrics that was created without a number of thresholds or classes "
        "stores all its inputs: call reset() more often, pass thresholds=, or create it with "
        "compute_on_cpu=True.";
  }
  if (!about.empty()) cause->action = about + " Otherwise s" + cause->action.substr(1);
}

}  // namespace vramstow
