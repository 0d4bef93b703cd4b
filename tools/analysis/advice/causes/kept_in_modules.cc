// A cause of an out-of-memory: attributes of modules that are neither parameters nor buffers, for
// example unpacked weights or results.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"

namespace vramstow {
namespace {

constexpr size_t kLeastModules = 3;

// Returns the modules "global model.#" for "global model.#.full".
std::string ModulesOf(const std::string& pattern) {
  const size_t point = pattern.rfind('.');
  if (point == std::string::npos || pattern.find_first_of(" [", point) != std::string::npos) {
    return "";
  }
  return pattern.substr(0, point);
}

// Finds tensors that each of several modules stores for itself, for example unpacked weights or
// results.
Found FindKeptInModules(const FailureMoment& moment) {
  std::set<std::string> modules;  // modules that have parameters or buffers
  std::map<std::string, std::vector<const Life*>> others;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr) continue;
    const std::string pattern = PatternOf(block->holder);
    if (block->role == "parameter" || block->role == "buffer") modules.insert(ModulesOf(pattern));
    if (block->role == "other" && pattern.find('#') != std::string::npos) {
      others[pattern].push_back(life);
    }
  }
  std::vector<const Life*> held;
  for (const auto& [pattern, lives] : others) {
    const std::string owner = ModulesOf(pattern);
    if (owner.empty() || !modules.contains(owner) || lives.size() < kLeastModules) continue;
    held.insert(held.end(), lives.begin(), lives.end());
  }
  Cause cause;
  cause.bytes = BytesOf(held);
  cause.held = held;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), held);
  cause.title = "Modules store tensors in addition to their parameters and buffers";
  cause.place = PlaceInProgram(moment, held);
  cause.evidence = std::to_string(held.size()) + " blocks, " + AdviceText(cause.bytes) +
                   " in all, are attributes of modules: " + LargestPlaces(moment.detail(), held) +
                   ". They stay as long as the modules.";
  cause.cost = "Each call computes it again.";
  cause.action =
      "Let forward() compute it each time, in a variable, instead of storing it in an attribute; "
      "or store it for a few modules only, or in bfloat16.";
  return cause;
}

}  // namespace

constinit const Rule kKeptInModules = {
    .rank = Rank::kMistake,
    .meaning =
        "attributes of modules that are neither parameters nor buffers, for example unpacked "
        "weights or results",
    .help =
        "At least three modules reference a tensor that is neither a parameter nor a buffer. It "
        "stays as long as the module. Let forward() compute it each time, in a variable, or store "
        "it for a few modules only.",
    .needs = {kNeedsCensus},
    .cause = FindKeptInModules,
};

}  // namespace vramstow
