// What modules keep besides their parameters: buffers, and other attributes.
#include <map>
#include <set>
#include <string>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/cause.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/places.h"

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

// Room that modules have set aside: caches, masks, tables.
Found LargeBuffers(const Scene& scene) {
  std::vector<const Life*> buffers;
  for (const Life* life : scene.live()) {
    const HeldBlock* block = scene.holders().Of(*life);
    if (block != nullptr && block->role == "buffer") buffers.push_back(life);
  }
  const uint64_t bytes = BytesOf(buffers);
  if (bytes * 2 < scene.live_bytes()) return std::nullopt;
  const bool is_one_more = SameWork(scene.site_of(*buffers.back()), scene.request_site());
  Cause cause;
  cause.id = "large_buffers";
  cause.bytes = (bytes + (is_one_more ? scene.requested() : 0)) / 2;
  cause.is_estimate = true;
  cause.held = buffers;
  if (!scene.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = InParts(scene.detail(), buffers, 2);
  if (is_one_more) cause.change.requested = scene.requested() / 2;
  cause.title = "Buffers of modules take most of the card";
  cause.place = PlaceInProgram(scene, buffers);
  cause.evidence = AdviceText(bytes) + " of " + AdviceText(scene.room()) +
                   " that the job can have are buffers, which stay as long as the modules: " +
                   LargestPlaces(scene.detail(), buffers) + ".";
  cause.cost = "Where they have to grow later, a copy.";
  cause.action =
      "Make them as large as what is used (the longest sequence and the batch that really come), "
      "or in bfloat16; masks and tables once for all layers, or in forward().";
  return cause;
}

}  // namespace vramstow
