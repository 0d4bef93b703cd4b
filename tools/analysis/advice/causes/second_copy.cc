// A cause of an out-of-memory: parameters of the same sizes, twice or more.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/parameter_sets.h"
#include "tools/analysis/advice/parameter_sites.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/precondition.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// Returns the list and the number of an item: "global members[3].4.weight" is in item 3 of "global
// members". An item is one of several modules in a list, and has parameters. Layers of one module
// are written ".3." instead.
std::optional<std::pair<std::string, std::string>> ItemOf(const std::string& holder) {
  const size_t open = holder.find('[');
  const size_t close = holder.find("].", open == std::string::npos ? holder.size() : open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  const std::string item = holder.substr(open + 1, close - open - 1);
  if (item.empty() || !std::ranges::all_of(item, absl::ascii_isdigit)) return std::nullopt;
  return std::pair(holder.substr(0, open), item);
}

std::multiset<uint64_t> SizesOf(const std::vector<const Life*>& lives) {
  std::multiset<uint64_t> sizes;
  for (const Life* life : lives) sizes.insert(AskedSize(*life));
  return sizes;
}

// The parts of a model, and of the optimizer that trains it, that one item of a list holds.
struct Item {
  std::vector<const Life*> parameters;
  std::vector<const Life*> all;
};

// Returns the models of one list whose parameters have the same sizes and which are not in use. The
// model in use has a variable of its own, or is the last one.
std::vector<Item> IdleItems(const FailureMoment& moment) {
  constexpr size_t kLeastItems = 3;
  std::map<std::string, std::map<std::string, Item>> lists;
  std::vector<const Life*> others;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || life->size < kLeastParameter) continue;
    const bool is_parameter = IsParameter(*block);
    if (!is_parameter && block->role != "optimizer_state" && block->role != "gradient") continue;
    const auto place = ItemOf(block->holder);
    if (place.has_value()) {
      Item& item = lists[place->first][place->second];
      item.all.push_back(life);
      if (is_parameter) item.parameters.push_back(life);
    } else if (is_parameter) {
      others.push_back(life);
    }
  }
  std::vector<Item> idle;
  for (const auto& [list, items] : lists) {
    const std::multiset<uint64_t> sizes = SizesOf(items.rbegin()->second.parameters);
    std::vector<Item> same;
    for (const auto& [number, item] : items) {
      if (SizesOf(item.parameters) == sizes) same.push_back(item);
    }
    if (same.size() < kLeastItems || sizes.empty()) continue;
    if (same.front().all.size() < kLeastBlocks) continue;
    if (!std::ranges::includes(SizesOf(others), sizes)) same.pop_back();
    idle.insert(idle.end(), same.begin(), same.end());
  }
  return idle;
}

// True for copies that are trained beside parameters of another precision, and their gradients: the
// program needs them.
bool AreTrained(const FailureMoment& moment, const std::vector<const Life*>& copies) {
  uint64_t trained = 0;
  for (const Life* life : copies) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    const bool is_leaf =
        block->role == "other" && block->about.find(", requires grad") != std::string::npos;
    if (is_leaf || block->role == "gradient") trained += life->size;
  }
  return trained * 2 > BytesOf(copies);
}

// Returns the blocks that are held outside of the model, if there are any.
std::vector<const Life*> HeldElsewhere(const FailureMoment& moment,
                                       const std::vector<const Life*>& lives) {
  std::vector<const Life*> elsewhere;
  for (const Life* life : lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block != nullptr && block->role != "parameter") elsewhere.push_back(life);
  }
  return elsewhere.empty() ? lives : elsewhere;
}

using Counts = std::map<uint64_t, size_t>;  // by size

// Counts the parameters that a census (a reference scan) has found, by size.
Counts CountParameters(const FailureMoment& moment) {
  Counts counts;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block != nullptr && IsParameter(*block)) ++counts[AskedSize(*life)];
  }
  return counts;
}

// True if the sizes are those of known parameters, or if no parameters are known. Blocks of a cache
// of features also have the same size over and over, but they are not parameters.
bool HaveSizesOfParameters(const Counts& parameters, const std::vector<uint64_t>& sizes) {
  if (parameters.empty()) return true;
  Counts counts;
  for (const uint64_t size : sizes) ++counts[size];
  size_t found = 0;
  for (const auto& [size, count] : counts) {
    const auto known = parameters.find(size);
    if (known != parameters.end()) found += std::min(count, known->second);
  }
  return found * 2 >= sizes.size();
}

// True if one line made the blocks of both sets one by one, all of one size, and a census found no
// parameter: buffers of several threads, for example, between which the threads made other blocks.
bool AreEqualBlocksOfOneLine(const FailureMoment& moment, const ParameterSet& first,
                             const ParameterSet& later) {
  if (!moment.holders().any() || HasParameters(moment)) return false;
  const auto are_equal = [&](const std::vector<const Life*>& lives) {
    return std::ranges::all_of(lives, [&](const Life* life) {
      return life->site == first.live.front()->site && life->size == first.live.front()->size;
    });
  };
  return are_equal(first.live) && are_equal(later.live);
}

// True if the program has no name by which it could release most of the blocks: they are held by a
// reference cycle or by an exception. If they are several copies without a Python object, a graph
// may hold them, too.
bool IsBeyondReach(const FailureMoment& moment, const std::vector<const Life*>& lives,
                   bool are_several) {
  uint64_t bytes = 0;
  for (const Life* life : lives) {
    const HeldBlock* block = moment.holders().Of(*life);
    const bool is_lost = block == nullptr ? are_several && moment.holders().any()
                                          : IsGarbage(*block) || IsHeldByError(*block);
    if (is_lost) bytes += life->size;
  }
  return bytes * 2 > BytesOf(lives);
}

// True for adapters of PEFT, which names each adapter in its modules: "lora_B.user1.weight".
bool AreAdapters(const FailureMoment& moment, const std::vector<const Life*>& copies) {
  const std::vector<HolderFacts> holders = moment.holders().OfAll(copies);
  return !holders.empty() && (absl::StrContains(holders.front().holder, ".lora_A.") ||
                              absl::StrContains(holders.front().holder, ".lora_B."));
}

void SayThatAdaptersAreKept(Cause* cause) {
  cause->title = "Many adapters of one model are on the GPU";
  cause->cost = "An adapter that is requested again must be loaded again.";
  cause->action =
      "Delete adapters that are not requested now (delete_adapter() of PEFT), or save them and "
      "keep them on the host.";
}

// Describes models that are held with their gradients and optimizer state.
void SayThatModelsAreKept(Cause* cause) {
  cause->title = "Models that are not used any more stay, with the state of their optimizers";
  cause->evidence +=
      " With their gradients and their optimizers' state: " + AdviceText(cause->bytes) + ".";
  cause->cost = "None, if they are not read any more.";
  cause->action =
      "Store only numbers (a loss, a learning rate), and delete the rest before the next model is "
      "created: an optimizer, or its scheduler, references the parameters, their gradients and "
      "their state.";
}

// True if another cause explains why blocks of the same sizes are live again.
bool HasBetterCause(const FailureMoment& moment) {
  return IsFound(moment, {AdviceId::kEarlierModels}) || kLoadedFile.cause(moment).has_value();
}

// In a job that did not fail: true if the first set is freed while the job continues with the
// second one. An average, a teacher or an ensemble, in contrast, is needed as long as the job runs.
bool IsReplaced(const FailureMoment& moment, const std::vector<const Life*>& first) {
  uint64_t last_birth = 0;
  for (const Life& life : moment.detail().lives) {
    if (life.tensor) last_birth = std::max(last_birth, life.birth);
  }
  return std::ranges::all_of(first, [&](const Life* life) { return life->death < last_birth; });
}

// True if several iterations made copies: the program keeps one more after each of them.
bool AreMadeByIterations(const FailureMoment& moment, const std::vector<const Life*>& copies) {
  std::set<int64_t> passes;
  for (const Life* life : copies) passes.insert(moment.PassOf(*life));
  passes.erase(-1);
  return passes.size() >= kLeastPasses;
}

// True if nothing shows that one is a copy of the other, or if the program needs both: two models
// of the same kind.
bool AreDifferentModels(const FailureMoment& moment, const std::vector<const Life*>& first,
                        const std::vector<const Life*>& later) {
  return AreMadeTogether(moment, first, later) || AreBothTrained(moment, first, later);
}

// True if the sets are no copies of one another, although they have the same sizes.
bool AreOthers(const FailureMoment& moment, const ParameterSet& first, const ParameterSet& later) {
  return AreDifferentModels(moment, first.live, later.live) ||
         AreEqualBlocksOfOneLine(moment, first, later);
}

std::string ActionFor(bool grows) {
  if (grows) {
    return "Store each copy on the host (value.detach().cpu()), or keep only the newest and the "
           "best "
           "one.";
  }
  return "Delete the old one before the new one is created (model = None), load with "
         "map_location=\"cpu\", or keep averages and the best weights on the host.";
}

Found FindSecondCopy(const FailureMoment& moment) {
  if (HasBetterCause(moment)) return std::nullopt;
  const std::vector<ParameterSet> sets = ParameterSetsOf(moment);
  const Counts parameters = CountParameters(moment);
  Cause cause;
  std::vector<const Life*> copies;
  std::vector<const Life*> spared;  // all but the set that was made last, or is being made
  size_t count = 0;
  bool is_list = false;
  for (size_t i = 0; i < sets.size() && copies.empty(); ++i) {
    for (size_t k = i + 1; k < sets.size(); ++k) {
      if (!Repeats(sets[i], sets[k]) || !HaveSizesOfParameters(parameters, sets[k].sizes)) continue;
      if (AreOthers(moment, sets[i], sets[k])) continue;
      if (++count == 1) cause.held = sets[i].live;
      spared = cause.held;
      spared.insert(spared.end(), copies.begin(), copies.end());
      copies.insert(copies.end(), sets[k].live.begin(), sets[k].live.end());
      // A set that is still being made will be as large as the existing one.
      cause.bytes += sets[i].bytes;
    }
  }
  for (size_t i = 0; i < sets.size() && copies.empty(); ++i) {
    copies = CopiesOf(moment, sets[i]);
    if (!copies.empty() && AreDifferentModels(moment, sets[i].live, copies)) copies.clear();
    cause.held = sets[i].live;
    cause.bytes = BytesOf(copies);
    spared = copies;
    count = 1;
  }
  if (copies.empty()) {
    cause.held.clear();
    spared.clear();
    for (const Item& item : IdleItems(moment)) {
      copies.insert(copies.end(), item.parameters.begin(), item.parameters.end());
      spared.insert(spared.end(), item.all.begin(), item.all.end());
    }
    cause.bytes = BytesOf(spared);
    is_list = true;
  }
  if (copies.empty() || !moment.IsLarge(cause.bytes) || AreTrained(moment, copies)) {
    return std::nullopt;
  }
  if (moment.is_peak() && !IsReplaced(moment, cause.held)) return std::nullopt;
  cause.change = Without(moment.detail(), spared);
  cause.held.insert(cause.held.end(), copies.begin(), copies.end());
  const bool are_several = !parameters.empty() && count >= kLeastPasses;
  if (IsBeyondReach(moment, cause.held, are_several)) return std::nullopt;
  cause.held = HeldElsewhere(moment, cause.held);
  cause.proof.grows = AreMadeByIterations(moment, copies);
  cause.title = "The same parameters exist more than once";
  cause.place = PlaceInProgram(moment, copies);
  cause.evidence = is_list
                       ? "One list has several modules whose parameters have the same sizes, and "
                         "only one of these modules is in use. The others take " +
                             AdviceText(cause.bytes) + "."
                       : std::to_string(count + 1) +
                             " sets of blocks have the same sizes, one after the other: " +
                             LargestPlaces(moment.detail(), copies) + " repeat earlier blocks.";
  cause.cost = "A transfer, if the copy is kept on the host.";
  if (is_list && spared.size() > copies.size()) {
    SayThatModelsAreKept(&cause);
    return cause;
  }
  cause.action = ActionFor(cause.proof.grows);
  if (AreAdapters(moment, copies)) SayThatAdaptersAreKept(&cause);
  return cause;
}

}  // namespace

constinit const Rule kSecondCopy = {
    .rank = Rank::kMistake,
    .meaning = "parameters of the same sizes, twice or more",
    .help =
        "Blocks of the same sizes were allocated twice, one set after the other: a model that was "
        "copied, loaded in addition to the old one, averaged, or stored in a list. The census "
        "shows which object references them. Delete the old one before the new one is created, "
        "load with map_location=\"cpu\", or keep averages on the host.",
    .needs = {kNeedsTensors},
    .cause = FindSecondCopy,
    .at_peak = true,
};

}  // namespace vramstow
