// StepCost: what a change of the program costs in time, by the simulated card's clock.
//
// Idea: a trace of clock=model knows what the card computes in an iteration, and how much of it
// came before each event. The work of a layer is that between two events. The
// program needs time to launch operators, too: what of that is hidden behind the card stays hidden.
//
// Ownership: refers to a Detail and its Facts, which outlive it. Threads: const calls are free.
// Errors: without such a clock is_known() is false, and nothing is told. Units: seconds, bytes,
// events counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_STEP_COST_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_STEP_COST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/card_rates.h"
#include "tools/analysis/advice/layers.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class StepCost {
 public:
  StepCost(const Detail& detail, const Facts& facts);

  bool is_known() const { return rates_ != nullptr && facts_.model_clock.work_seconds > 0; }
  // The methods below need a known clock.
  double step() const { return facts_.model_clock.step_seconds; }
  // Some of the layers are computed once more.
  double OfRecomputing(const RepeatedLayers& layers, size_t count) const;
  // Work waits for copies to the host and back.
  double OfRoundTrip(uint64_t bytes) const;
  // Work stands still while memory of the host is mapped.
  double OfMapping(uint64_t bytes) const;
  // The forward and the backward pass run in parts, and gradients are added up in memory.
  double OfMicroBatches(uint64_t parts, uint64_t gradient_bytes) const;

 private:
  double Longer(double card_seconds, double operators) const;

  const Detail& detail_;
  const Facts& facts_;
  const CardRates* rates_;
};

// Fills what moves cost in an iteration. Needs the facts of the clock.
void FindOffloadCost(Facts* facts);

// "14.2 ms".
std::string AdviceTime(double seconds);
// ", by the model of the card; an iteration takes 55.8 ms."
std::string OfModelInWords(const StepCost& cost);
// A sentence on what it costs to compute these activations again in the backward pass. `otherwise`:
// what is said where no clock tells.
std::string RecomputationInWords(const Detail& detail, const Facts& facts,
                                 const std::vector<const Life*>& activations,
                                 const std::string& otherwise);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_STEP_COST_H_
