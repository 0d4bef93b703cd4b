#include "tools/analysis/advice/step_cost.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_split.h"
#include "base/work_cost.h"
#include "tools/analysis/advice/precision_use.h"
#include "tools/analysis/explain/model_steps.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

// Returns the speed of the simulated GPU of a trace. Returns null if the trace is not of a
// simulated run, or its GPU has no rates.
const CardRates* RatesOfCard(const Facts& facts) {
  const auto spec = facts.trace_metadata.find("option.simulate");
  if (spec == facts.trace_metadata.end()) return nullptr;
  for (const absl::string_view item : absl::StrSplit(spec->second, ',')) {
    if (const CardRates* rates = FindCardRates({item.data(), item.size()})) return rates;
  }
  return nullptr;
}

double Seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// Moves of memory cost at most the time for which work was held up, accessed memory over PCIe or
// NVLink, or waited for copies. Moves cost nothing while the GPU or the program was busy anyway.
double CostOfMovesIn(const ModelStep& step, const CardRates* rates) {
  const double own = std::max(Seconds(step.work.work_ns),
                              kProgramSeconds * static_cast<double>(step.work.operators));
  const double copies =
      rates == nullptr ? 0 : CostOfMoves(step.sums.out_bytes, step.sums.in_bytes, *rates).link;
  return std::min(std::max(0.0, Seconds(step.sums.model_ns) - own),
                  Seconds(step.sums.held_ns + step.work.link_ns) + copies);
}

}  // namespace

StepCost::StepCost(const Detail& detail, const Facts& facts)
    : detail_(detail), facts_(facts), rates_(RatesOfCard(facts)) {}

double StepCost::Longer(double card_seconds, double operators) const {
  const double card = facts_.model_clock.work_seconds;
  const auto launched = static_cast<double>(facts_.model_clock.operators);
  return std::max(card + card_seconds, kProgramSeconds * (launched + operators)) -
         std::max(card, kProgramSeconds * launched);
}

double StepCost::OfRecomputing(const RepeatedLayers& layers, size_t count) const {
  if (layers.list.size() < 2) return 0;
  // These two events enclose the work of all layers but the last.
  const uint64_t begin = layers.list.front().begin;
  const uint64_t end = layers.list.back().begin;
  const double of_all = static_cast<double>(count) / static_cast<double>(layers.list.size() - 1);
  const double work_ns = WorkAt(detail_.model_clock, end, &ModelWorkEvent::work_ns) -
                         WorkAt(detail_.model_clock, begin, &ModelWorkEvent::work_ns);
  const double operators = WorkAt(detail_.model_clock, end, &ModelWorkEvent::operators) -
                           WorkAt(detail_.model_clock, begin, &ModelWorkEvent::operators);
  return Longer(work_ns / 1e9 * of_all, operators * of_all);
}

double StepCost::OfRoundTrip(uint64_t bytes) const {
  return CostOfMoves(bytes, bytes, *rates_).link;
}

double StepCost::OfMapping(uint64_t bytes) const { return CostOfMoves(bytes, bytes, *rates_).stop; }

double StepCost::OfMicroBatches(uint64_t parts, uint64_t gradient_bytes) const {
  // Each micro-batch reads the sum of the gradients and its own gradients, and writes the sum. With
  // numbers of 16 bits, weights and gradients are also converted once more.
  const uint64_t accesses = UsesLowerPrecision(detail_) ? 4 : 2;
  const auto more = static_cast<double>(parts - 1);
  const auto operators = static_cast<double>(facts_.model_clock.operators);
  const WorkSize sum = {.name = "add_",
                        .precision = "f32",
                        .read_bytes = accesses * gradient_bytes,
                        .written_bytes = accesses / 2 * gradient_bytes};
  const double adding = CostOfOperator(sum, *rates_).memory;
  return Longer(more * (kKernelSeconds * operators + adding), more * operators);
}

void FindOffloadCost(const Detail& detail, Facts* facts) {
  if (facts->offload.out_bytes == 0 || facts->model_clock.work_seconds <= 0) return;
  const CardRates* rates = RatesOfCard(*facts);
  const std::vector<ModelStep> steps = FindModelSteps(detail, facts->iterations);
  double cost = 0;
  for (const ModelStep& step : steps) cost += CostOfMovesIn(step, rates);
  facts->offload.step_cost_seconds = cost / static_cast<double>(steps.size());
}

std::string AdviceTime(double seconds) { return Time(static_cast<uint64_t>(seconds * 1e9 + 0.5)); }

std::string OfModelInWords(const StepCost& cost) {
  return ", by the model of the GPU; an iteration takes " + AdviceTime(cost.step()) +
         (cost.is_uneven() ? " on average." : ".");
}

std::string RecomputationInWords(const Detail& detail, const Facts& facts,
                                 const std::vector<const Life*>& activations,
                                 const std::string& otherwise) {
  const StepCost cost(detail, facts);
  if (!cost.is_known()) return otherwise;
  const RepeatedLayers layers = FindRepeatedLayers(detail, activations);
  const size_t count = layers.list.size();
  if (count < 2) return otherwise;
  std::string text = "About " + AdviceTime(cost.OfRecomputing(layers, 1)) +
                     " for each layer that is recomputed, " +
                     AdviceTime(cost.OfRecomputing(layers, count)) + " for all " +
                     std::to_string(count) + OfModelInWords(cost);
  if (const auto& moves = facts.offload.step_cost_seconds; moves.has_value()) {
    text += " Offload costs about " + AdviceTime(*moves) + " of it.";
  }
  return text;
}

}  // namespace vramstow
