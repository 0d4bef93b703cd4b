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

// The variables in which one launcher gives a process its rank. If the first variable is set, that
// launcher was used.
struct Family {
  struct Number {
    const char* name;
    int vramstowSimulatorRank::*value;
  };
  std::vector<Number> numbers;
};

using Rank = vramstowSimulatorRank;

const Family& TorchrunFamily() {
  static const auto* const kFamily = new Family{{{"RANK", &Rank::rank},
                                                 {"WORLD_SIZE", &Rank::world},
                                                 {"LOCAL_RANK", &Rank::local_rank},
                                                 {"LOCAL_WORLD_SIZE", &Rank::local_world},
                                                 {"GROUP_RANK", &Rank::node},
                                                 {"GROUP_WORLD_SIZE", &Rank::nodes},
                                                 {"ROLE_RANK", &Rank::rank},
                                                 {"ROLE_WORLD_SIZE", &Rank::world}}};
  return *kFamily;
}

const std::vector<Family>& OtherFamilies() {
  static const auto* const kFamilies =
      new std::vector<Family>{{{{"OMPI_COMM_WORLD_RANK", &Rank::rank},
                                {"OMPI_COMM_WORLD_SIZE", &Rank::world},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", &Rank::local_rank},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", &Rank::local_world},
                                {"OMPI_COMM_WORLD_NODE_RANK", &Rank::local_rank}}},
                              {{{"PMI_RANK", &Rank::rank},
                                {"PMI_SIZE", &Rank::world},
                                {"MPI_LOCALRANKID", &Rank::local_rank},
                                {"MPI_LOCALNRANKS", &Rank::local_world}}},
                              {{{"SLURM_PROCID", &Rank::rank},
                                {"SLURM_NTASKS", &Rank::world},
                                {"SLURM_NPROCS", &Rank::world},
                                {"SLURM_LOCALID", &Rank::local_rank},
                                {"SLURM_NTASKS_PER_NODE", &Rank::local_world},
                                {"SLURM_NODEID", &Rank::node},
                                {"SLURM_NNODES", &Rank::nodes},
                                {"SLURM_JOB_NUM_NODES", &Rank::nodes}}}};
  return *kFamilies;
}

void SetVariables(const Family& family, const Rank& rank, Environment* environment) {
  for (const Family::Number& number : family.numbers) {
    environment->Set(number.name, absl::StrCat(rank.*number.value));
  }
}

void SetIfMissing(const char* name, const char* value, Environment* environment) {
  if (environment->Get(name) == nullptr) environment->Set(name, value);
}

// Launchers that start one process for each rank. They cannot start only some of the ranks.
constexpr absl::string_view kRankStarters[] = {"mpirun",     "mpiexec", "mpiexec.hydra", "orterun",
                                               "prterun",    "srun",    "jsrun",         "aprun",
                                               "horovodrun", "pdsh"};

absl::string_view NameOf(absl::string_view path) {
  return path.substr(path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1);
}

// Finds the program in the command of a launcher, after the launcher's options. Returns the end if
// the program is not recognised.
std::vector<std::string>::const_iterator FindProgram(const std::vector<std::string>& command) {
  return std::find_if(command.begin() + 1, command.end(), [](const std::string& word) {
    return absl::StartsWith(NameOf(word), "python") || absl::EndsWith(word, ".py");
  });
}

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

void SetRank(const vramstowSimulatorRank& rank, const std::string& spec, Environment* environment) {
  environment->Set("VRAMSTOW_SIMULATE", SpecOfRank(spec, rank.rank));
  SetVariables(TorchrunFamily(), rank, environment);
  for (const Family& family : OtherFamilies()) {
    if (environment->Get(family.numbers.front().name) != nullptr)
      SetVariables(family, rank, environment);
  }
  SetIfMissing("MASTER_ADDR", "127.0.0.1", environment);
  SetIfMissing("MASTER_PORT", "29500", environment);
  // These variables show a program that it need not start its ranks itself. "none" is torchrun's
  // name for a job without a name.
  SetIfMissing("TORCHELASTIC_RUN_ID", "none", environment);
  SetIfMissing("TORCHELASTIC_RESTART_COUNT", "0", environment);
  SetIfMissing("TORCHELASTIC_MAX_RESTARTS", "0", environment);
}

absl::Status CheckStartsNoRanks(const std::vector<std::string>& command, const std::string& spec) {
  const absl::string_view launcher = NameOf(command.front());
  if (std::find(std::begin(kRankStarters), std::end(kRankStarters), launcher) ==
      std::end(kRankStarters)) {
    return absl::OkStatus();
  }
  const auto program = FindProgram(command);
  const std::string rest =
      program == command.end()
          ? "COMMAND"
          : absl::StrJoin(std::vector<std::string>(program, command.end()), " ");
  return absl::InvalidArgumentError(absl::StrCat(
      "with world= vramstow starts the ranks itself, and ", launcher,
      " would start each of them many times: leave it out (vramstow run --simulate=", spec, " -- ",
      rest, ")."));
}

}  // namespace vramstow
