#include "tools/analysis/advice/no_backward.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/analysis/explain/census_summary.h"
#include "tools/analysis/facts/named_facts.h"

namespace vramstow {
namespace {

// True if the function's name means an evaluation: "valid.py:28 Trainer.validate".
bool SaysEvaluation(std::string_view line) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "valid", "evaluat", "eval_", "predict", "infer", "test_", "generat", "recogni", "transcri"};
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string_view function = line.substr(space + 1);
  return function == "eval" || function == "test" || function == "sample" ||
         function.ends_with(".sample") || std::ranges::any_of(kWords, [&](auto word) {
           return function.find(word) != std::string_view::npos;
         });
}

}  // namespace

bool TrainsAnywhere(const FailureMoment& moment) {
  return std::ranges::any_of(moment.detail().lives, [&](const Life& life) {
    return life.birth < moment.event() && life.tensor && moment.site_of(life).in_backward;
  });
}

bool IsCalledEvaluation(const FailureMoment& moment) {
  return std::ranges::any_of(moment.request_site().own, [&](const CodeLine& line) {
    return SaysEvaluation(moment.detail().lines[line.text]);
  });
}

bool IsInferenceOnly(const FailureMoment& moment) {
  if (TrainsAnywhere(moment)) return false;
  const ParameterWords parameters = ParametersOf(moment.holders(), moment.live());
  if (parameters.all == 0) return IsCalledEvaluation(moment);
  return parameters.untrained == parameters.all || parameters.evaluating * 2 > parameters.all;
}

std::string ForOtherThread(const FailureMoment& moment) {
  const std::string process = FactText(moment.facts().trace_metadata, "process.pid");
  const uint32_t thread = moment.failure().thread;
  if (process.empty() || thread == 0 || process == std::to_string(thread)) return "";
  return " Call it in the function that the thread runs, because each thread has a grad mode of "
         "its own.";
}

}  // namespace vramstow
