#include "tools/fidelity/beside_card.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/base/progress.h"
#include "tools/inputs/card_evidence.h"
#include "tools/inputs/open_input.h"
#include "tools/jobs/rehearsal.h"
#include "tools/launch/installation.h"

namespace vramstow {
namespace {

constexpr size_t kMaxTries = 3;

// Simulates the command and compares it with the recording of the real GPU.
class Comparer {
 public:
  Comparer(const FidelityRequest& request, const FidelityTask& task, std::string folder)
      : request_(request),
        task_(task),
        // The evidence is empty for a file of another kind.
        evidence_(ReadCardEvidence(request.snapshot).value_or(CardEvidence())),
        folder_(std::move(folder)) {}

  absl::StatusOr<Compared> On(const std::string& spec) {
    const std::string folder = absl::StrCat(folder_, "/", ++runs_);
    Progress::OfProcess().Begin(absl::StrCat("simulated run on ", spec));
    const auto rehearsal = Rehearse(
        request_.command, {{"VRAMSTOW_SIMULATE", spec}, {"VRAMSTOW_STACKS", "sites"}}, folder);
    if (!rehearsal.ok()) return rehearsal.status();
    if (rehearsal->exit_status != 0) {
      return absl::FailedPreconditionError(absl::StrCat("the command failed with exit status ",
                                                        rehearsal->exit_status, ": ",
                                                        LastLineOf(rehearsal->output, 300)));
    }
    auto source = OpenEvents(rehearsal->facts.file);
    if (!source.ok()) return source.status();
    const AllocationSequence rehearsed = SequenceOf(source->get());
    if (rehearsed.items.empty()) {
      return absl::FailedPreconditionError(
          "the simulated run recorded no tensors: the command must use PyTorch, and vramstow must "
          "be able to observe its tensors (see vramstow doctor).");
    }
    return Compared{spec, CompareSequences(task_.card, rehearsed,
                                           {MultiprocessorsOf(task_.cards, spec),
                                            PossibleMultiprocessors(task_.cards, evidence_)})};
  }

 private:
  const FidelityRequest& request_;
  const FidelityTask& task_;
  const CardEvidence evidence_;
  const std::string folder_;
  uint64_t runs_ = 0;
};

// Simulates the command again with each possible cause of a difference, until one is confirmed. A
// cause that was tried without effect is dropped.
absl::Status TryCauses(Comparer* comparer, Compared* compared, std::vector<Compared>* tried) {
  for (SequenceCause& cause : compared->facts.causes) {
    for (const std::string& spec : std::vector<std::string>(cause.specs)) {
      if (tried->size() == kMaxTries) break;
      auto other = comparer->On(absl::StrCat(compared->spec, ",", spec));
      if (absl::IsCancelled(other.status())) return absl::OkStatus();  // prints what is known
      if (!other.ok()) return other.status();
      const bool helps = other->facts.LeftOver() < compared->facts.LeftOver();
      tried->push_back(*std::move(other));
      cause.is_vain = !helps;
      if (!helps) continue;
      cause.specs = {spec};
      break;
    }
  }
  DropVainCauses(&compared->facts.causes);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FidelityTask> CheckFidelity(const FidelityRequest& request) {
  FidelityTask task;
  const auto source = OpenEvents(request.snapshot);
  if (!source.ok()) return source.status();
  task.card = SequenceOf(source->get());
  if (task.card.items.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(request.snapshot,
                                                   " contains no allocations: record them with "
                                                   "torch.cuda.memory._record_memory_history()."));
  }
  const auto installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  const std::string asked =
      request.simulate.empty() ? kMatchSpec + request.snapshot : request.simulate;
  auto spec = ResolveMatch(asked, installation->simulator_directory, &task.why);
  if (!spec.ok()) return spec.status();
  task.spec = *std::move(spec);
  auto cards = ListCards(installation->simulator_directory);
  if (!cards.ok()) return cards.status();
  task.cards = *std::move(cards);
  return task;
}

absl::StatusOr<FidelityReport> RehearseBesideCard(const FidelityRequest& request,
                                                  const FidelityTask& task,
                                                  const std::string& folder) {
  Comparer comparer(request, task, folder);
  auto compared = comparer.On(task.spec);
  if (!compared.ok()) return compared.status();
  FidelityReport report{.compared = *std::move(compared), .tried = {}};
  if (!request.tries) return report;
  const absl::Status status = TryCauses(&comparer, &report.compared, &report.tried);
  if (!status.ok()) return status;
  return report;
}

}  // namespace vramstow
