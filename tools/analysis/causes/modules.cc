// What modules keep besides their parameters and buffers.
#include <map>
#include <set>
#include <string>

#include "tools/analysis/advice_words.h"
#include "tools/analysis/causes/cause.h"
#include "tools/analysis/causes/changes.h"
#include "tools/analysis/causes/places.h"

namespace vramstow {
namespace {

constexpr size_t kLeastModules = 3;

// "global model.#.full" is of the modules "global model.#".
std::string ModulesOf(const std::string& pattern) {
  const size_t point = pattern.rfind('.');
  if (point == std::string::npos || pattern.find_first_of(" [", point) != std::string::npos) {
    return "";
  }
  return pattern.substr(0, point);
}

}  // namespace

// Each of several modules keeps a tensor of its own making: weights that it has unpacked, a result.
Found KeptInModules(const Scene& scene) {
  std::set<std::string> modules;  // what has parameters or buffers
  std::map<std::string, std::vector<const Life*>> others;
  for (const Life* life : scene.live()) {
    const HeldBlock* block = scene.holders().Of(*life);
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
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.id = "kept_in_modules";
  cause.change = Without(scene.detail(), held);
  cause.title = "Modules keep tensors besides their parameters and buffers";
  cause.place = PlaceInProgram(scene, held);
  cause.evidence = std::to_string(held.size()) + " blocks, " + AdviceText(cause.bytes) +
                   " in all, are attributes of modules: " + LargestPlaces(scene.detail(), held) +
                   ". They stay as long as the modules.";
  cause.cost = "To make it again in each call.";
  cause.action =
      "Let forward() make it each time, in a variable, instead of keeping it in an attribute; or "
      "keep it for a few modules only, or in bfloat16.";
  return cause;
}

}  // namespace vramstow
