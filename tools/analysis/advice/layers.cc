#include "tools/analysis/advice/layers.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/no_backward.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr size_t kMaxDigits = 6;

// Returns the layer "Decoder.blocks.3" for "Decoder.blocks.3.up".
std::string LayerOf(const std::string& module) {
  size_t begin = 0;
  while (begin < module.size()) {
    const size_t end = std::min(module.find('.', begin), module.size());
    const bool is_number = std::all_of(module.begin() + static_cast<ptrdiff_t>(begin),
                                       module.begin() + static_cast<ptrdiff_t>(end),
                                       [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_number && end > begin) return module.substr(0, end);
    begin = end + 1;
  }
  return module;
}

// True if a forward pass made the block: a method forward() is in its call stack, or a graph of
// autograd holds the block.
bool IsOfForward(const FailureMoment& moment, const Life& life) {
  if (moment.site_of(life).phase == Phase::kForward) return true;
  const HeldBlock* block = moment.holders().Of(life);
  return block != nullptr && IsInGraph(*block);
}

bool IsOfModel(const FailureMoment& moment, const Life& life) {
  const HeldBlock* block = moment.holders().Of(life);
  if (block == nullptr) return false;
  return block->role == "buffer" || block->role == "parameter" || IsLeafWeight(*block);
}

// Returns the most bytes that one earlier iteration made on the lines of these blocks.
uint64_t MostOfEarlierPass(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  std::set<uint32_t> sites;
  for (const Life* life : lives) sites.insert(life->site);
  std::map<int64_t, uint64_t> by_pass;
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.pass_begin()) break;
    // Blocks that were allocated outside of iterations do not belong to a batch.
    const int64_t pass = moment.PassOf(life);
    if (pass >= 0 && life.tensor && !life.pending && sites.contains(life.site)) {
      by_pass[pass] += life.size;
    }
  }
  uint64_t most = 0;
  for (const auto& [pass, bytes] : by_pass) most = std::max(most, bytes);
  return most;
}

// Returns how many times as large the blocks of this batch are as the largest that the same call
// sites made in earlier iterations; 1 if there were none.
double GrowthOfBlocks(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  std::map<uint32_t, uint64_t> now;
  for (const Life* life : lives) {
    if (life->birth < moment.pass_begin()) continue;
    now[life->site] = std::max(now[life->site], life->size);
  }
  std::map<uint32_t, uint64_t> before;
  for (const Life& life : moment.detail().lives) {
    if (life.birth >= moment.pass_begin()) break;
    if (!life.tensor || life.pending || moment.PassOf(life) < 0) continue;
    if (now.contains(life.site)) before[life.site] = std::max(before[life.site], life.size);
  }
  double now_bytes = 0;
  double before_bytes = 0;
  for (const auto& [site, size] : now) {
    now_bytes += static_cast<double>(size);
    before_bytes += static_cast<double>(before.contains(site) ? before[site] : size);
  }
  return before_bytes == 0 ? 1 : now_bytes / before_bytes;
}

// Groups the blocks by the modules of one list ("Decoder.blocks.0", "Decoder.blocks.1"). The key is
// the number of the module. If there are several lists, the list that made the most bytes is used.
std::map<size_t, std::vector<const Life*>> LayersByModule(const Detail& detail,
                                                          const std::vector<const Life*>& lives) {
  std::map<std::string, std::map<size_t, std::vector<const Life*>>> lists;
  std::map<std::string, uint64_t> bytes;
  for (const Life* life : lives) {
    const std::string layer = LayerOf(detail.sites[life->site].module);
    const size_t digits = layer.find_last_not_of("0123456789") + 1;
    if (layer.empty() || digits == layer.size() || layer.size() - digits > kMaxDigits) continue;
    const std::string list = layer.substr(0, digits);
    lists[list][std::stoul(layer.substr(digits))].push_back(life);
    bytes[list] += life->size;
  }
  if (lists.empty()) return {};
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  return std::move(lists[most->first]);
}

// Groups blocks that have no modules. Lines belong together if they ran as often as the lines that
// made the most bytes, or several times as often.
std::map<size_t, std::vector<const Life*>> LayersByTurn(const std::vector<const Life*>& lives) {
  std::map<std::pair<uint32_t, uint64_t>, std::vector<const Life*>> alike;  // by site and size
  for (const Life* life : lives) alike[{life->site, life->size}].push_back(life);
  std::map<size_t, uint64_t> bytes_by_turns;
  for (const auto& [key, made] : alike) {
    if (made.size() > 1) bytes_by_turns[made.size()] += made.size() * key.second;
  }
  if (bytes_by_turns.empty()) return {};
  const size_t turns = std::ranges::max_element(bytes_by_turns, {}, [](const auto& one) {
                         return one.second;
                       })->first;
  std::map<size_t, std::vector<const Life*>> layers;
  for (const auto& [key, made] : alike) {
    if (made.size() % turns != 0) continue;
    const size_t of_each = made.size() / turns;
    for (size_t i = 0; i < made.size(); ++i) layers[i / of_each].push_back(made[i]);
  }
  for (auto& [number, made] : layers) std::ranges::sort(made, {}, &Life::birth);
  return layers;
}

}  // namespace

std::vector<const Life*> ActivationsOf(const FailureMoment& moment) {
  // In the first iteration, layers may be mistaken for iterations.
  const bool knows_pass =
      moment.pass() >= 0 && (moment.passes().is_sure() || TrainsAnywhere(moment));
  std::vector<const Life*> activations;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (!life->tensor || site.in_backward || site.in_optimizer) continue;
    const bool is_of_pass =
        knows_pass ? moment.PassOf(*life) >= moment.pass() : IsOfForward(moment, *life);
    if (!is_of_pass) continue;
    if (IsOfModel(moment, *life)) continue;
    if (site.phase == Phase::kInit || site.phase == Phase::kWorkspace) continue;
    activations.push_back(life);
  }
  return activations;
}

bool MayBeNeeded(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  const CensusSummary summary = SummarizeCensus(moment.holders(), lives);
  const uint64_t recorded = RecordedBytes(moment.holders(), lives);
  if (summary.decides()) return recorded * 4 >= summary.known;
  if (recorded > 0) return true;
  if (TrainsAnywhere(moment)) return true;
  return !moment.holders().any() && !std::ranges::all_of(lives, [&](const Life* life) {
    return moment.passes().IsInference(life->birth);
  });
}

bool RunsInCheckpoint(const Detail& detail, const SiteDetail& site) {
  return std::ranges::any_of(site.frames, [&](uint32_t frame) {
    return detail.frames[frame].find("checkpoint.py:") != std::string::npos;
  });
}

// In a recomputation the forward pass runs within the backward pass, so the call stack has lines of
// the program. If a checkpoint wraps a module of PyTorch's own, only a census (a reference scan)
// shows the recomputation.
bool IsRecomputed(const FailureMoment& moment, const Life& life) {
  const SiteDetail& site = moment.site_of(life);
  if (!life.tensor || !site.in_backward) return false;
  if (!site.own.empty() && RunsInCheckpoint(moment.detail(), site)) return true;
  const HeldBlock* block = moment.holders().Of(life);
  return block != nullptr && block->holder.find("frame.recomputed") != std::string::npos;
}

size_t CountLayers(const Detail& detail, const std::vector<const Life*>& lives) {
  constexpr uint64_t kSmallLayer = 20;
  const uint64_t all = BytesOf(lives);
  std::map<std::string, uint64_t> by_layer;
  std::map<std::pair<uint32_t, uint64_t>, size_t> alike;  // number of blocks of one site and size
  for (const Life* life : lives) {
    by_layer[LayerOf(detail.sites[life->site].module)] += life->size;
    ++alike[{life->site, life->size}];
  }
  const auto layers = static_cast<size_t>(std::ranges::count_if(
      by_layer, [&](const auto& one) { return one.second * kSmallLayer >= all; }));
  // Layers are also counted by source lines. If half of all bytes were made by lines that ran at
  // most `turns` times, there are `turns` layers.
  std::vector<std::pair<size_t, uint64_t>> by_turns;
  for (const auto& [key, count] : alike) by_turns.emplace_back(count, count * key.second);
  std::ranges::sort(by_turns);
  uint64_t before = 0;
  size_t turns = 1;
  for (const auto& [count, bytes] : by_turns) {
    turns = count;
    before += bytes;
    if (before * 2 >= all) break;
  }
  return std::max(layers, turns);
}

Change WithCheckpoints(const Detail& detail, const std::vector<const Life*>& lives) {
  if (lives.empty() || CountLayers(detail, lives) < 2) return {};
  std::set<std::string> modules;
  for (const Life* life : lives) modules.insert(LayerOf(detail.sites[life->site].module));
  std::map<std::pair<std::string, size_t>, std::vector<const Life*>> layers;
  std::map<std::pair<uint32_t, uint64_t>, size_t> turns;  // number of turns of one site and size
  for (const Life* life : lives) {
    const size_t turn = modules.size() > 1 ? 0 : turns[{life->site, life->size}]++;
    layers[{LayerOf(detail.sites[life->site].module), turn}].push_back(life);
  }
  const auto largest =
      std::ranges::max_element(layers, {}, [](const auto& layer) { return BytesOf(layer.second); });
  std::vector<const Life*> dropped;
  for (auto layer = layers.begin(); layer != layers.end(); ++layer) {
    if (layer == largest) continue;
    dropped.insert(dropped.end(), layer->second.begin(), std::prev(layer->second.end()));
  }
  return Without(detail, dropped);
}

RepeatedLayers FindRepeatedLayers(const Detail& detail, const std::vector<const Life*>& lives) {
  std::map<size_t, std::vector<const Life*>> by_number = LayersByModule(detail, lives);
  if (by_number.size() < 2) by_number = LayersByTurn(lives);
  RepeatedLayers layers;
  if (by_number.size() < 2) return layers;
  for (auto& [number, made] : by_number) {
    RepeatedLayer layer{made.front()->birth, std::move(made)};
    layer.within.pop_back();
    layers.list.push_back(std::move(layer));
  }
  std::ranges::sort(layers.list, {}, &RepeatedLayer::begin);
  return layers;
}

bool AreStepsOfOne(const std::vector<const Life*>& lives) {
  constexpr size_t kMaxSteps = 8;
  std::map<uint64_t, size_t> by_size;
  for (const Life* life : lives) ++by_size[life->size];
  return std::ranges::any_of(by_size, [&](const auto& one) {
    return one.second <= kMaxSteps && one.first * one.second * 4 >= BytesOf(lives) * 3;
  });
}

UnevenBatch UnevenBatchOf(const FailureMoment& moment, const std::vector<const Life*>& lives) {
  constexpr uint64_t kFarLarger = 4;
  constexpr double kFarLargerBlocks = 3;
  const uint64_t usual = MostOfEarlierPass(moment, lives);
  // Blocks of earlier iterations, which may be live, do not belong to this batch.
  uint64_t batch = 0;
  for (const Life* life : lives) batch += life->birth < moment.pass_begin() ? 0 : life->size;
  if (usual * kFarLarger <= batch) return {usual, 0};
  // The forward pass of this batch ended early. Then the sizes of its blocks show that it is
  // larger.
  const double times = GrowthOfBlocks(moment, lives);
  if (times < kFarLargerBlocks) return {};
  return {static_cast<uint64_t>(static_cast<double>(batch) / times), times};
}

}  // namespace vramstow
