// A cause of an out-of-memory: a graph for which no backward pass will come, because the model is
// in eval(), has no optimizer, or is not trained.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/advice/advice_words.h"
#include "tools/analysis/advice/changes.h"
#include "tools/analysis/advice/graph_list.h"
#include "tools/analysis/advice/leftover_blocks.h"
#include "tools/analysis/advice/no_backward.h"
#include "tools/analysis/advice/places.h"
#include "tools/analysis/advice/rule.h"
#include "tools/analysis/explain/census_summary.h"

namespace vramstow {
namespace {

constexpr size_t kLeastSaved = 3;
constexpr const char* kFreezeModel =
    "Call that model under torch.no_grad(), or call requires_grad_(False) on it, unless an "
    "optimizer should train it.";

// The sign that no backward pass will come.
enum class Sign : uint8_t { kNone, kEvaluates, kMayEvaluate, kNoOptimizer, kUntrained, kName };

// Returns blocks that were allocated in this iteration and whose entry in the census (a reference
// scan) `counts`. Without a census it is not known what autograd has saved, so all blocks count.
std::vector<const Life*> MadeNow(const FailureMoment& moment, bool (*counts)(const HeldBlock&)) {
  std::vector<const Life*> made;
  for (const Life* life : moment.live()) {
    const SiteDetail& site = moment.site_of(*life);
    if (!life->tensor || site.in_backward || site.in_optimizer) continue;
    if (moment.pass() >= 0 ? moment.PassOf(*life) < moment.pass() : site.phase != Phase::kForward) {
      continue;
    }
    if (site.phase == Phase::kInit || site.phase == Phase::kWorkspace) continue;
    const HeldBlock* block = moment.holders().Of(*life);
    if (block != nullptr ? counts(*block) : !moment.holders().any()) made.push_back(life);
  }
  return made;
}

// Returns the blocks that would be free without a graph. The last block is needed even then,
// because the next operation reads it, and so are results that the program's variables reference.
std::vector<const Life*> HeldByGraph(const FailureMoment& moment, std::vector<const Life*> blocks) {
  if (!blocks.empty()) blocks.pop_back();
  std::erase_if(blocks, [&](const Life* life) {
    const HeldBlock* block = moment.holders().Of(*life);
    return block != nullptr && !IsInGraph(*block);
  });
  return blocks;
}

// Returns all blocks that autograd saved: if nothing trains, earlier graphs are as needless as this
// one.
std::vector<const Life*> SavedEver(const FailureMoment& moment) {
  std::vector<const Life*> saved;
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (life->tensor && block != nullptr && IsInGraph(*block)) saved.push_back(life);
  }
  return saved;
}

// True if an earlier iteration ran these lines, and no backward pass ran for its results.
bool RanBefore(const FailureMoment& moment, const std::vector<const Life*>& saved) {
  const bool knows = moment.passes().is_sure() || moment.passes().by() == Iterations::By::kForward;
  if (moment.pass() < 1 || !knows) return false;
  std::set<uint32_t> sites;
  for (const Life* life : saved) sites.insert(life->site);
  return std::ranges::any_of(moment.detail().lives, [&](const Life& life) {
    return life.birth < moment.pass_begin() && sites.contains(life.site);
  });
}

// True if the items of a list hold graphs that one model made, item by item. This shows that the
// model ran before, also in a loop without any other sign of iterations.
bool RanForList(const FailureMoment& moment) {
  constexpr size_t kLeastItems = 5;
  const GraphList list = LargestGraphList(moment);
  return list.by_item.size() >= kLeastItems && IsOfOneModel(moment, list);
}

// Returns the bytes of untrained parameters in models that have trained ones, too.
uint64_t UntrainedBesideTrained(const FailureMoment& moment, const ParameterWords& parameters) {
  std::set<std::string> trained;
  const std::set<const Life*> untrained(parameters.of_untrained.begin(),
                                        parameters.of_untrained.end());
  for (const Life* life : moment.live()) {
    const HeldBlock* block = moment.holders().Of(*life);
    if (block == nullptr || block->role != "parameter" || untrained.contains(life)) continue;
    trained.insert(RootOfHolder(block->holder));
  }
  uint64_t bytes = 0;
  for (const Life* life : parameters.of_untrained) {
    const std::string root = RootOfHolder(moment.holders().Of(*life)->holder);
    if (trained.contains(root)) bytes += life->size;
  }
  return bytes;
}

Sign SignOf(const FailureMoment& moment, const std::vector<const Life*>& saved,
            const ParameterWords& parameters) {
  const uint64_t begin = moment.pass() < 0 ? saved.front()->birth : moment.pass_begin();
  const bool has_trained = TrainsAnywhere(moment);
  // If a backward pass ran for these lines in an earlier iteration, one will come for this
  // iteration, too.
  const bool is_new = !has_trained || IsNewWork(moment, saved, begin);
  // If only the head of a model is trained, a backward pass will come, and it goes through the
  // layers before the head, too.
  const bool trains_part = parameters.untrained > 0 && parameters.untrained < parameters.all &&
                           parameters.evaluating < parameters.all;
  // A missing optimizer alone does not exclude a backward pass, and neither does eval() alone.
  const bool is_over =
      has_trained || RanBefore(moment, saved) || IsCalledEvaluation(moment) || RanForList(moment);
  if (is_new && is_over && !trains_part && parameters.evaluating * 2 > parameters.all) {
    return Sign::kEvaluates;
  }
  if (!has_trained && parameters.all > 0 && parameters.evaluating == parameters.all) {
    return Sign::kMayEvaluate;
  }
  if (parameters.all > 0 && parameters.untrained == parameters.all) {
    return has_trained || !is_over ? Sign::kNone : Sign::kNoOptimizer;
  }
  // If a separate model is not trained, FindGraphsOfUntrained finds its graphs by the census.
  const uint64_t untrained = UntrainedBesideTrained(moment, parameters);
  if (untrained * 5 >= parameters.all * 2 && untrained > 0) {
    return Sign::kUntrained;
  }
  return has_trained && is_new && IsCalledEvaluation(moment) ? Sign::kName : Sign::kNone;
}

std::string Reason(Sign sign, const FailureMoment& moment, const ParameterWords& parameters) {
  switch (sign) {
    case Sign::kEvaluates:
      return "the model is in eval(), and no step before had a backward pass for these lines";
    case Sign::kMayEvaluate:
      return "the model is in eval(), and the program has run no backward pass so far";
    case Sign::kNoOptimizer:
      return "the program has no optimizer, and no step before had a backward pass for these lines";
    case Sign::kUntrained: {
      const std::vector<HolderFacts> holders = moment.holders().OfAll(parameters.of_untrained);
      const std::string name = holders.empty() ? "" : " (" + holders.front().holder + ")";
      return AdviceText(parameters.untrained) + " of parameters" + name +
             " are in no optimizer, and record an autograd graph like those that are trained";
    }
    case Sign::kName:
    case Sign::kNone:
      break;
  }
  return "no step before had a backward pass for these lines";
}

const char* TitleOf(Sign sign) {
  if (sign == Sign::kUntrained) return "Layers that no optimizer trains are not frozen";
  return sign == Sign::kMayEvaluate
             ? "A model in eval() records an autograd graph"
             : "Autograd graphs are recorded although backward() is not called";
}

bool IsOfEvaluation(Sign sign) {
  return sign == Sign::kEvaluates || sign == Sign::kMayEvaluate || sign == Sign::kName;
}

// Finds graphs of a model that is only evaluated, while another model is trained. The census has
// followed these graphs to parameters that no optimizer has.
Found FindGraphsOfUntrained(const FailureMoment& moment) {
  const std::vector<const Life*> saved = SavedForUntrained(moment.holders(), moment.live());
  Cause cause;
  cause.bytes = BytesOf(saved);
  if (saved.size() < kLeastSaved || !moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.held = saved;
  cause.place = CommonPlace(moment.detail(), saved, true);
  if (cause.place.empty()) cause.place = PlaceInProgram(moment, saved);
  cause.change = Without(moment.detail(), saved);
  cause.title = "A model that no optimizer trains records an autograd graph";
  const ParameterWords parameters = ParametersOf(moment.holders(), moment.live());
  cause.evidence = AdviceText(cause.bytes) +
                   " were saved for a backward pass: " + LargestPlaces(moment.detail(), saved) +
                   ". But the backward pass would only reach parameters " + "that no optimizer has";
  const std::vector<HolderFacts> holders = moment.holders().OfAll(parameters.of_untrained);
  cause.evidence += holders.empty() ? "." : " (" + holders.front().holder + ").";
  cause.cost = "None.";
  cause.action = kFreezeModel;
  return cause;
}

Found FindNeedlessGraph(const FailureMoment& moment) {
  if (Found found = FindGraphsOfUntrained(moment); found.has_value()) return found;
  const SiteDetail& request = moment.request_site();
  if (request.in_backward || request.in_optimizer) return std::nullopt;
  std::vector<const Life*> saved = MadeNow(moment, IsInGraph);
  // The iteration that failed may have begun only now, while graphs of earlier ones are live.
  const bool nothing_trains = !TrainsAnywhere(moment) && moment.holders().any();
  if (saved.size() < kLeastSaved && nothing_trains) saved = SavedEver(moment);
  // In one of the first layers, autograd has saved few blocks yet, but it has recorded the
  // operators that made results.
  const bool is_early = saved.size() < kLeastSaved;
  if (is_early) saved = MadeNow(moment, IsRecorded);
  if (saved.size() < kLeastSaved) return std::nullopt;
  const ParameterWords parameters = ParametersOf(moment.holders(), moment.live());
  const Sign sign = SignOf(moment, saved, parameters);
  if (sign == Sign::kNone || (is_early && !IsOfEvaluation(sign))) return std::nullopt;
  if (sign != Sign::kUntrained && nothing_trains) saved = SavedEver(moment);
  Cause cause;
  cause.place = CommonPlace(moment.detail(), saved, true);
  if (cause.place.empty()) cause.place = PlaceInProgram(moment, saved);
  const std::string places = LargestPlaces(moment.detail(), saved);
  saved = HeldByGraph(moment, std::move(saved));
  cause.bytes = BytesOf(saved);
  cause.held = saved;
  if (!moment.IsLarge(cause.bytes)) return std::nullopt;
  cause.change = Without(moment.detail(), saved);
  cause.is_estimate = sign == Sign::kUntrained;
  cause.title = TitleOf(sign);
  cause.evidence = AdviceText(cause.bytes) + " were saved for a backward pass: " + places +
                   ". But " + Reason(sign, moment, parameters) + ".";
  cause.cost = "None.";
  cause.action =
      sign == Sign::kUntrained
          ? kFreezeModel
          : std::string(sign == Sign::kMayEvaluate ? "If no backward pass follows: run it"
                                                   : "Run it") +
                " under torch.no_grad() or torch.inference_mode(); model.eval() alone does not "
                "stop the recording." +
                ForOtherThread(moment);
  return cause;
}

}  // namespace

constinit const Rule kNeedlessGraph = {
    .rank = Rank::kMistake,
    .meaning =
        "an autograd graph without a backward pass: in `eval()`, without an optimizer, or of a "
        "model that is not trained",
    .help =
        "Autograd saved blocks of this iteration, although there will be no backward pass: the "
        "model is in eval(), the program has no optimizer, these parameters are in none, or the "
        "function is called an evaluation. Run it under torch.no_grad() or torch.inference_mode(); "
        "model.eval() alone does not stop the recording.",
    .needs = {kNeedsGraph},
    .cause = FindNeedlessGraph,
};

}  // namespace vramstow
