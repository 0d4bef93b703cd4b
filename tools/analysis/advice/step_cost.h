// StepCost: the time that a change of the program costs, by the clock model of the simulated GPU.
//
// Idea: a trace of a simulated run with the option clock=model shows how much work the GPU does in
// an iteration, and how much of this work came before each event. The work of a layer is the work
// between two events. The program also needs time to launch operators; the part of this time that
// the GPU's work hides remains hidden.
//
// Ownership: refers to a Detail and its Facts, which outlive it. Threads: const functions may be
// called at the same time. Errors: without such a clock, is_known() is false and no cost is
// reported. Units: seconds, bytes; events are counted from 1.
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
  // The functions below may be called only if is_known() is true.
  double step() const { return facts_.model_clock.mean_seconds; }
  bool is_uneven() const { return facts_.model_clock.is_uneven(); }
  // Returns the cost of computing `count` of the layers once more.
  double OfRecomputing(const RepeatedLayers& layers, size_t count) const;
  // Returns the time that work waits for copies of this many bytes to the host and back.
  double OfRoundTrip(uint64_t bytes) const;
  // Returns the time that work stands still while this many bytes of host memory are mapped.
  double OfMapping(uint64_t bytes) const;
  // Returns the cost of running the forward and backward pass in parts, and adding up gradients in
  // memory.
  double OfMicroBatches(uint64_t parts, uint64_t gradient_bytes) const;

 private:
  double Longer(double card_seconds, double operators) const;

  const Detail& detail_;
  const Facts& facts_;
  const CardRates* rates_;
};

// Fills in the cost of moves of memory in an iteration, on average. The facts of the clock and of
// the iterations must be filled in before.
void FindOffloadCost(const Detail& detail, Facts* facts);

// "14.2 ms".
std::string AdviceTime(double seconds);
// Returns a text such as ", by the model of the GPU; an iteration takes 55.8 ms."
std::string OfModelInWords(const StepCost& cost);
// Returns a sentence on the cost of computing these activations again in the backward pass.
// `otherwise` is the sentence if the clock is unknown.
std::string RecomputationInWords(const Detail& detail, const Facts& facts,
                                 const std::vector<const Life*>& activations,
                                 const std::string& otherwise);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_STEP_COST_H_
