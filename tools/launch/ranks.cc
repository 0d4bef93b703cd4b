#include "tools/launch/ranks.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tools/launch/driver.h"

namespace vramstow {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

absl::StatusOr<std::vector<vramstowSimulatorRank>> FindRanks(const std::string& simulator_directory,
                                                             const std::string& spec) {
  std::vector<vramstowSimulatorRank> ranks;
  if (spec.find(",world=") == std::string::npos) return ranks;
  const auto ask = SimulatorFunction(simulator_directory, "vramstowSimulatorRanks");
  if (!ask.ok()) return ask.status();
  const auto find = reinterpret_cast<decltype(&vramstowSimulatorRanks)>(*ask);
  const int count = find(spec.c_str(), -1, nullptr, 0);
  for (int i = 0; i < count; ++i) {
    ranks.emplace_back();
    find(spec.c_str(), i, &ranks.back(), sizeof ranks.back());
  }
  return ranks;
}

std::string SpecOfRank(const std::string& spec, int rank) {
  std::vector<absl::string_view> kept;
  bool is_behind_rank = false;
  for (const absl::string_view item : absl::StrSplit(spec, ',')) {
    is_behind_rank = absl::StartsWith(item, "rank=") || (is_behind_rank && IsNumber(item));
    if (!is_behind_rank) kept.push_back(item);
  }
  return absl::StrCat(absl::StrJoin(kept, ","), ",rank=", rank);
}

void TellRank(const vramstowSimulatorRank& rank, const std::string& spec,
              Environment* environment) {
  environment->Set("VRAMSTOW_SIMULATE", SpecOfRank(spec, rank.rank));
  const struct {
    const char* name;
    int value;
  } numbers[] = {{"RANK", rank.rank},
                 {"WORLD_SIZE", rank.world},
                 {"LOCAL_RANK", rank.local_rank},
                 {"LOCAL_WORLD_SIZE", rank.local_world},
                 {"GROUP_RANK", rank.node},
                 {"GROUP_WORLD_SIZE", rank.nodes}};
  for (const auto& number : numbers) environment->Set(number.name, absl::StrCat(number.value));
  if (environment->Get("MASTER_ADDR") == nullptr) environment->Set("MASTER_ADDR", "127.0.0.1");
  if (environment->Get("MASTER_PORT") == nullptr) environment->Set("MASTER_PORT", "29500");
}

}  // namespace vramstow
