// A cause of an out-of-memory: models of earlier trials are still held, with their gradients and
// the state of their optimizers.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/parameter_sets.h"
#include "tools/analysis/advice/parameter_sites.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr size_t kLeastOfModel = 3;  // the fewest blocks of a model
// The unknown key of a container, as OwnerOf returns it.
constexpr std::string_view kUnknownKey = "[\xE2\x80\xA6";
constexpr std::string_view kCacheOfFunction = "kept by functools.lru_cache";
constexpr std::string_view kArguments = "arguments kept by";

// The parts of one model, and of the optimizer that trains it, that one owner holds.
struct KeptModel {
  std::string container;  // empty if no container holds it
  bool is_of_call = false;
  std::vector<const Life*> parameters;
  std::vector<const Life*> all;

  uint64_t begin() const { return parameters.front()->birth; }
  uint64_t end() const { return parameters.back()->birth; }
};

// Splits "global found[256][1].layers.0.weight" into the container "global found" and its item 256.
// The state of an optimizer does not count as a container of models.
std::pair<std::string, std::string> OwnerOf(const std::string& holder) {
  const size_t open = holder.find('[');
  const size_t close = holder.find(']', std::min(open, holder.size()));
  const std::string before = holder.substr(0, open);
  const bool is_item = close != std::string::npos && close + 1 < holder.size() &&
                       !before.ends_with(".state") && !before.ends_with("_groups");
  if (is_item) return {before, holder.substr(open, close - open)};
  return {"", holder.substr(0, holder.find('.'))};
}

bool IsCacheOfFunction(const KeptModel& model) {
  return model.container.find(kCacheOfFunction) != std::string::npos;
}

// True if a function's cache holds the models as keys (arguments), not as results.
bool AreArguments(const KeptModel& model) {
  return model.container.find(kArguments) != std::string::npos;
}

// Splits the models of one owner that the census (a reference scan) does not distinguish, because
// it replaces some keys by "[…]" and does not number the arguments in a function's cache.
// Parameters that were made after some work belong to another model.
std::vector<KeptModel> Split(const FailureMoment& moment, const KeptModel& models) {
  std::vector<KeptModel> parts;
  for (const Life* life : models.parameters) {
    if (parts.empty() || HasWorkBetween(moment, parts.back().end(), life->birth)) {
      parts.emplace_back().container = models.container;
    }
    parts.back().parameters.push_back(life);
  }
  for (const Life* life : models.all) {
    size_t part = parts.size() - 1;
    while (part > 0 && parts[part].begin() > life->birth) --part;
    parts[part].all.push_back(life);
  }
  return parts;
}

// Splits a variable of several unfinished calls ("_work: model"), for example in threads that wait:
// each parameter then exists once for each call. Returns an empty list if it is one model.
std::vector<KeptModel> OfCalls(const FailureMoment& moment, const std::string& variable,
                               const KeptModel& models) {
  std::map<std::string, size_t> times;  // by chain
  std::vector<KeptModel> calls;
  for (const Life* life : models.parameters) {
    const size_t call = times[moment.holders().Of(*life)->holder]++;
    if (call == calls.size()) calls.emplace_back().container = variable;
    calls[call].parameters.push_back(life);
    calls[call].all.push_back(life);
    calls[call].is_of_call = true;
  }
  const bool are_whole =
      std::ranges::all_of(times, [&](const auto& one) { return one.second * 2 > calls.size(); });
  if (calls.size() < kLeastPasses || !are_whole) calls.clear();
  return calls;
}

// By birth.
std::vector<KeptModel> ModelsOf(const FailureMoment& moment) {
  std::map<std::pair<std::string, std::string>, KeptModel> by_owner;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    const bool is_parameter = IsParameter(*block);
    if (!is_parameter && block->role != "optimizer_state" && block->role != "gradient") continue;
    const auto owner = OwnerOf(block->holder);
    KeptModel& model = by_owner[owner];
    model.container = owner.first;
    model.all.push_back(life);
    if (is_parameter) model.parameters.push_back(life);
  }
  std::vector<KeptModel> models;
  for (auto& [owner, model] : by_owner) {
    if (model.parameters.empty()) continue;
    std::vector<KeptModel> calls;
    if (owner.first.empty()) calls = OfCalls(moment, owner.second, model);
    if (!calls.empty()) {
      std::ranges::move(calls, std::back_inserter(models));
      continue;
    }
    if (owner.second != kUnknownKey && !AreArguments(model)) {
      models.push_back(std::move(model));
      continue;
    }
    for (KeptModel& part : Split(moment, model)) models.push_back(std::move(part));
  }
  std::ranges::stable_sort(models, {}, &KeptModel::begin);
  return models;
}

std::multiset<uint64_t> ParameterSizes(const KeptModel& model) {
  std::multiset<uint64_t> sizes;
  for (const Life* life : model.parameters) {
    if (life->size >= kLeastParameter) sizes.insert(life->size);
  }
  return sizes;
}

// Returns the models that the program made one after the other and keeps in one container (a list
// or dict). The program did some work between making one model and the next. If there are several
// such containers, the one that holds the most bytes counts. Newer models outside of any container
// whose parameters have the same sizes are appended, because the newest model may have a variable
// of its own, and a census then names that variable.
std::vector<KeptModel> SuccessiveModels(const FailureMoment& moment,
                                        const std::vector<KeptModel>& models) {
  std::map<std::string, std::vector<KeptModel>> by_container;
  for (const KeptModel& model : models) {
    if (!model.container.empty() && model.all.size() >= kLeastOfModel) {
      by_container[model.container].push_back(model);
    }
  }
  std::vector<KeptModel> most;
  uint64_t most_bytes = 0;
  for (const auto& [container, items] : by_container) {
    uint64_t bytes = 0;
    bool is_row = true;
    for (size_t i = 0; i < items.size(); ++i) {
      bytes += BytesOf(items[i].all);
      is_row &= i == 0 || items[i].is_of_call ||
                HasWorkBetween(moment, items[i - 1].end(), items[i].begin());
    }
    if (!is_row || bytes <= most_bytes) continue;
    most = items;
    most_bytes = bytes;
  }
  if (most.empty()) return most;
  const KeptModel last = most.back();
  for (const KeptModel& model : models) {
    if (model.container.empty() && model.begin() > last.end() &&
        ParameterSizes(model) == ParameterSizes(last) &&
        HasWorkBetween(moment, most.back().end(), model.begin())) {
      most.push_back(model);
    }
  }
  return most;
}

// Returns how many of the newest models are needed: the one in use, and those that a cache should
// hold. A model that is still being made is not an item yet.
size_t CountKept(const FailureMoment& moment, const std::vector<KeptModel>& row,
                 const std::vector<KeptModel>& all) {
  const bool is_cache = IsCacheOfFunction(row.front()) && !AreArguments(row.front());
  constexpr size_t kManyItems = 8;
  constexpr size_t kKeptOfMany = 4;
  if (is_cache && row.size() > kManyItems) return kKeptOfMany;
  const bool is_newer = std::ranges::any_of(all, [&](const KeptModel& model) {
    return model.begin() > row.back().end() && model.container.empty() &&
           HasWorkBetween(moment, row.back().end(), model.begin());
  });
  return is_newer ? 0 : 1;
}

Found FindEarlierModels(const FailureMoment& moment) {
  if (!moment.holders().any()) return std::nullopt;
  const std::vector<KeptModel> models = ModelsOf(moment);
  std::vector<KeptModel> row = SuccessiveModels(moment, models);
  if (row.empty()) return std::nullopt;
  const size_t kept = CountKept(moment, row, models);
  if (row.size() <= kept || row.size() < 2) return std::nullopt;
  row.resize(row.size() - kept);
  Cause cause;
  std::vector<const Life*> parameters;
  for (const KeptModel& model : row) {
    cause.held.insert(cause.held.end(), model.all.begin(), model.all.end());
    parameters.insert(parameters.end(), model.parameters.begin(), model.parameters.end());
  }
  cause.bytes = BytesOf(cause.held);
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), cause.held);
  cause.proof.grows = row.size() >= kLeastPasses;
  cause.title = "Models from earlier iterations of a loop are still live";
  cause.place = PlaceInProgram(moment, parameters);
  cause.evidence =
      (row.size() == 1 ? "1 model that was created and used before the newest one holds "
                       : std::to_string(row.size()) +
                             " models that were created and used before the newest "
                             "one hold ") +
      AdviceText(cause.bytes) + ", of which " + AdviceText(BytesOf(parameters)) +
      " are parameters, and the rest gradients and state of optimizers.";
  cause.cost = "None, if they are not used any more.";
  cause.action =
      "Keep numbers (a score, a learning rate), or move a model to the host (model.cpu()). Delete "
      "the rest before the next model is created: an optimizer, or its scheduler, references the "
      "parameters, their gradients and their state.";
  if (row.front().is_of_call) {
    cause.title = "Calls that have not returned hold a model each";
    cause.action =
        "Let each call return: a worker that waits forever for more work keeps its variables (send "
        "a None to each worker, and return). Or let all calls use one model.";
  } else if (AreArguments(row.front())) {
    cause.action =
        "The cache also references the arguments of each call. Do not pass a model to a function "
        "with a cache: pass a name or a number, or empty the cache after each iteration "
        "(cache_clear()).";
  } else if (IsCacheOfFunction(row.front())) {
    cause.action =
        "The cache holds a model for each set of arguments: limit it (lru_cache(maxsize=" +
        std::to_string(std::max<size_t>(kept, 1)) + ")), or let it store models on the host.";
    cause.cost = "A model that was removed must be loaded again when it is needed.";
  }
  return cause;
}

}  // namespace

constinit const Rule kEarlierModels = {
    .rank = Rank::kMistake,
    .meaning =
        "models from earlier iterations of a loop, with their gradients and their optimizers' "
        "state",
    .help =
        "One container or cache holds several models, of the same or of different sizes. Each was "
        "created after the one before it was used. Keep the scores instead of the models, limit "
        "the cache, or move a model to the host when its work is done.",
    .needs = {kNeedsParameters},
    .cause = FindEarlierModels,
};

}  // namespace vramstow
