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

// True if a word of the name means a cache: "Scenes.cache", "sessions", "layer.past".
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
    return "The cache keeps the arguments of each call, too, and a method's self: give it numbers "
           "or names in place of objects that hold tensors, or bound it (lru_cache(maxsize=4)).";
  }
  if (Mentions(holder, "kept by functools.lru_cache")) {
    return "The cache keeps a result for each set of arguments: bound it to a few "
           "(lru_cache(maxsize=4)), or let it keep results on the host.";
  }
  if (Mentions(holder, "kept by itertools.cycle")) {
    return "itertools.cycle keeps all that it has given out: walk through the loader anew each "
           "time (while True: yield from loader), or cycle over batches on the host.";
  }
  if (Mentions(holder, "hook of ")) {
    return "Remove the hook when its work is done (handle.remove()); register it once, not for "
           "each call.";
  }
  // Lightning's documentation tells users to collect results under such names.
  if (Mentions(holder, "step_outputs[")) {
    return "Empty the list at the end of each epoch (self.validation_step_outputs.clear()), or "
           "give each result to a metric that keeps sums (torchmetrics).";
  }
  if (Mentions(holder, "weakref.finalize")) {
    return "Give weakref.finalize a function that does not hold the object (a static one): a bound "
           "method of it, or a closure over it, keeps it for ever.";
  }
  if (Mentions(holder, "._result")) {
    return "A future keeps its result: drop each one when it is read, or let the job give a small "
           "result, or one on the host.";
  }
  if (Mentions(holder, "→ default of ")) {
    return "The default of an argument is made once and lives as long as the function: let it be "
           "None, and make the list or the dictionary in the function.";
  }
  if (Mentions(holder, "→ its frame") && Mentions(holder, "._children[")) {
    return "A coroutine that waits keeps its variables: let only a few of them run at a time "
           "(asyncio.Semaphore), or delete what is not needed any more before it waits.";
  }
  if (Mentions(holder, "→ its frame")) {
    return "A generator that was not read to its end keeps its variables: close it "
           "(generator.close()) when nobody reads it any more.";
  }
  if (Mentions(holder, "[a tensor]")) {
    return "The keys are tensors, and a tensor is equal to nothing but itself: what is looked up "
           "is never found, and each time more is kept. Make numbers of them (tolist(), item()).";
  }
  if (IsCacheOfTransformers(holder)) {
    return "Each call of generate() or forward() adds to the cache that it is given: give each "
           "text a new one, a common beginning as a copy (copy.deepcopy()), or crop() it back "
           "afterwards.";
  }
  // "summaries[0..11].past[0..7]" is no cache. It is a list of results, and each of them holds a
  // cache.
  const std::string_view list = holder.substr(0, holder.find('['));
  if (!IsCache(list) && IsCache(holder) && Mentions(holder, "].")) {
    return "Keep of each result what is read later, and drop its cache (result.past = None).";
  }
  if (IsCache(holder)) {
    return "Bound the cache: drop the entries that were used least recently, or keep them on the "
           "host.";
  }
  if (Mentions(holder, ".queue[…]")) {
    return "Bound the queue (queue.Queue(maxsize=4)): then put() waits until get() has made room.";
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

void TellOfResults(const FailureMoment& moment, const std::vector<const Life*>& lives,
                   Cause* cause) {
  const CensusSummary told = SummarizeCensus(moment.holders(), lives);
  if (told.viewed * 2 > told.known) {
    cause->evidence +=
        " The program holds views: a view keeps the whole tensor that it is cut from.";
    cause->action =
        "Keep a .clone() of the part that is needed, or move that part to the host (.cpu()).";
    cause->cost = "A copy of the part.";
  } else {
    cause->action =
        "Keep only the part that is needed (a mean, an index, a .clone() of a slice), or move it "
        "to the host (.cpu()).";
    cause->cost = "A transfer for each result.";
  }
  const std::vector<HolderFacts> holders = moment.holders().OfAll(lives);
  std::string about = holders.empty() ? "" : AdviceForOwner(holders.front().holder);
  if (about.empty() && !holders.empty() &&
      IsKeptByMetric(moment.detail(), holders.front().holder)) {
    about =
        "A metric of torchmetrics that has no number of thresholds or classes keeps all that it is "
        "given: call reset() more often, give it thresholds=, or make it with compute_on_cpu=True.";
  }
  if (!about.empty()) cause->action = about + " Otherwise k" + cause->action.substr(1);
}

}  // namespace vramstow
