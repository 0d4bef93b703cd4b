#include "tools/analysis/advice/no_backward.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tools/analysis/explain/testimony.h"

namespace vramstow {
namespace {

// "valid.py:28 Trainer.validate": the function's name says what it is for.
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

bool TrainsAnywhere(const Scene& scene) {
  return std::ranges::any_of(scene.detail().lives, [&](const Life& life) {
    return life.birth < scene.event() && life.tensor && scene.site_of(life).in_backward;
  });
}

bool IsCalledEvaluation(const Scene& scene) {
  return std::ranges::any_of(scene.request_site().own, [&](const CodeLine& line) {
    return SaysEvaluation(scene.detail().lines[line.text]);
  });
}

bool IsInferenceOnly(const Scene& scene) {
  if (TrainsAnywhere(scene)) return false;
  const ParameterWords parameters = ParametersOf(scene.holders(), scene.live());
  if (parameters.all == 0) return IsCalledEvaluation(scene);
  return parameters.untrained == parameters.all || parameters.evaluating * 2 > parameters.all;
}

}  // namespace vramstow
