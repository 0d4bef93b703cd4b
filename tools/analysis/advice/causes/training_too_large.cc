// A cause of an out-of-memory: parameters and their gradients alone, before an optimizer has any
// state.
#include <algorithm>
#include <string>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/one_weight.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/advice/rule_table.h"
#include "tools/analysis/advice/training_state.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

// The parameters, gradients and optimizer state that a census (a reference scan) found.
struct State {
  std::vector<const Life*> lives;  // parameters and gradients
  uint64_t parameters = 0;
  uint64_t trained = 0;    // bytes of trained parameters: each gets a gradient of its size
  uint64_t wide = 0;       // bytes of those in float32 or a larger type
  uint64_t optimizer = 0;  // bytes of state that exists already
  uint64_t libraries = 0;  // bytes of libraries other than PyTorch
};

State StateOf(const FailureMoment& moment) {
  State state;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (!life->tensor) state.libraries += life->size;
    if (block == nullptr) continue;
    if (block->role == "optimizer_state") state.optimizer += life->size;
    if (block->role != "parameter" && block->role != "gradient") continue;
    state.lives.push_back(life);
    if (block->role == "gradient") continue;
    state.parameters += life->size;
    if (block->about.starts_with("float32") || block->about.starts_with("float64")) {
      state.wide += life->size;
    }
    if (block->about.find(", requires grad") != std::string::npos &&
        block->about.find(", in no optimizer") == std::string::npos) {
      state.trained += life->size;
    }
  }
  return state;
}

// True if parameters and all their gradients, those included that the backward pass has not made
// yet, leave too little for a batch: a quarter of the room, or a tenth of it beside the memory of
// other libraries, which no smaller batch frees.
bool LeavesTooLittle(const State& state, uint64_t room) {
  const uint64_t needed = state.parameters + state.trained;
  return needed * 4 >= room * 3 ||
         (needed * 2 >= room && (needed + state.libraries) * 10 >= room * 9);
}

std::string ActionFor(const FailureMoment& moment, const State& state) {
  const std::string others =
      (AreSharded(moment, state.lives) ? "divide them over more GPUs, "
                                       : "shard them over several GPUs (FSDP), ") +
      std::string("or keep a part on the host. A smaller batch does not help.");
  if (state.wide * 2 < state.parameters) {
    return "Freeze most layers and train adapters (LoRA), " + others;
  }
  return "Load the model in bfloat16 (half of float32), freeze most layers and train adapters "
         "(LoRA), " +
         others;
}

// Finds a first backward pass that cannot end, or not even begin, because parameters and gradients
// alone take most of the GPU, whatever the batch size is.
Found FindTrainingTooLarge(const FailureMoment& moment) {
  const SiteDetail& request = moment.request_site();
  const State state = StateOf(moment);
  const uint64_t needed = state.parameters + state.trained;
  if (state.optimizer > 0 || request.in_optimizer || state.trained * 2 < state.parameters) {
    return std::nullopt;
  }
  if (!request.in_backward && request.phase != Phase::kForward) return std::nullopt;
  if (!moment.is_room_known() || !LeavesTooLittle(state, moment.room())) return std::nullopt;
  // Parameters of several models do not show that one model is too large.
  if (IsFound(moment, {AdviceId::kEarlierModels, AdviceId::kKeptError, AdviceId::kDeadCycles,
                       AdviceId::kSecondCopy})) {
    return std::nullopt;
  }
  Cause cause;
  cause.bytes = needed / 2;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.held = state.lives;
  cause.change = InParts(moment.detail(), state.lives, 2);
  cause.is_estimate = true;
  cause.title = "The parameters and their gradients alone, " + AdviceText(needed) +
                ", nearly fill the GPU; half of them";
  cause.place = PlaceInProgram(moment, state.lives);
  cause.evidence = AdviceText(state.parameters) + " of parameters and " +
                   AdviceText(state.trained) + " of gradients need most of the " +
                   AdviceText(moment.room()) + " that the job can use" +
                   (state.libraries == 0
                        ? "."
                        : ", and other libraries have " + AdviceText(state.libraries) + " of it.") +
                   " The first step of Adam allocates twice the size of the "
                   "parameters in addition.";
  cause.cost = "Precision, or time for transfers.";
  cause.action = AboutOneWeight(moment) + ActionFor(moment, state);
  return cause;
}

}  // namespace

constinit const Rule kTrainingTooLarge = {
    .rank = Rank::kTrade,
    .meaning = "parameters and their gradients alone, before an optimizer has any state",
    .help =
        "Parameters and all their gradients need three quarters or more of the memory that the job "
        "can use, or nine tenths together with the memory of other libraries: the training does "
        "not fit with any batch. Load the model in bfloat16, train adapters (LoRA), shard it over "
        "several GPUs, or keep a part on the host.",
    .needs = {kNeedsParameters, kNeedsGraph},
    .cause = FindTrainingTooLarge,
};

}  // namespace vramstow
