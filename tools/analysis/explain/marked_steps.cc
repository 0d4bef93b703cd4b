#include "tools/analysis/explain/marked_steps.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace vramstow {
namespace {

constexpr std::string_view kOurs = "vramstow.";
constexpr std::string_view kStep = "vramstow.step ";
constexpr std::string_view kGraphStep = "vramstow.graph_step ";
constexpr std::string_view kForward = "vramstow.forward ";
constexpr std::string_view kInference = "vramstow.inference ";
constexpr std::string_view kForwardEnd = "vramstow.forward_end ";
constexpr std::string_view kSave = "vramstow.save";
constexpr std::string_view kSaveEnd = "vramstow.save_end";
constexpr std::string_view kOptimizer = "Optimizer.";

// Turns "ProfilerStep#12" into "ProfilerStep#".
std::string WithoutNumber(std::string text) {
  while (!text.empty() && text.back() >= '0' && text.back() <= '9') text.pop_back();
  return text;
}

bool SpeaksOfSteps(const std::string& text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  for (const char* word : {"step", "iter", "batch"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

using Groups = std::map<std::string, std::vector<uint64_t>>;

// Returns the name of the marks that show most clearly where an iteration begins.
std::string PlainestOf(const Groups& groups) {
  std::string best;
  bool is_profilers = false;
  for (const auto& [name, events] : groups) {
    if (events.size() < 2 || is_profilers) continue;
    if (!best.empty() && !name.starts_with("ProfilerStep")) continue;
    is_profilers = name.starts_with("ProfilerStep");
    best = name;
  }
  return best;
}

// Returns the steps of the optimizer that comes last in an iteration, if several optimizers
// alternate.
std::vector<uint64_t> LastOfTurn(const Groups& steps) {
  std::vector<uint64_t> best;
  for (const auto& [name, events] : steps) {
    if (best.empty() || events.size() > best.size() ||
        (events.size() == best.size() && events.back() > best.back())) {
      best = events;
    }
  }
  return best;
}

// Returns the steps of optimizers that work one after the other, for example if each layer is
// trained separately. An optimizer is added if all its steps lie before or after the steps of the
// optimizers that were added before.
std::vector<uint64_t> OneAfterTheOther(Groups steps) {
  std::vector<uint64_t> all = LastOfTurn(steps);
  if (all.empty()) return all;
  std::vector<std::pair<uint64_t, uint64_t>> taken = {{all.front(), all.back()}};
  std::vector<const std::vector<uint64_t>*> others;
  for (const auto& [name, events] : steps) others.push_back(&events);
  std::ranges::stable_sort(others, [](auto* a, auto* b) { return a->size() > b->size(); });
  for (const std::vector<uint64_t>* events : others) {
    const bool is_apart = std::ranges::all_of(taken, [&](const auto& span) {
      return events->back() < span.first || span.second < events->front();
    });
    if (!is_apart) continue;
    taken.emplace_back(events->front(), events->back());
    all.insert(all.end(), events->begin(), events->end());
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace

MarkedSteps::MarkedSteps(const Detail& detail) {
  Groups own;
  Groups steps;
  std::map<std::string, std::vector<MarkedCall>> calls;
  const auto begin_call = [&](std::string_view module, uint64_t event, bool with_gradients) {
    calls[std::string(module)].push_back({event, kStillLive, with_gradients});
  };
  for (const MarkDetail& mark : detail.marks) {
    const std::string_view text = mark.text;
    const bool ends = mark.kind == MarkDetail::Kind::kEnd;
    if (text.starts_with(kStep)) {
      steps[std::string(text.substr(kStep.size()))].push_back(mark.event);
    } else if (text.starts_with(kGraphStep)) {
      steps[std::string(text.substr(kGraphStep.size()))].push_back(mark.event);
      graph_steps_.insert(mark.event);
    } else if (text.starts_with(kOptimizer)) {
      const bool is_step = text.starts_with("Optimizer.step");
      if (is_step && mark.kind != MarkDetail::Kind::kBegin) {
        steps[WithoutNumber(mark.text)].push_back(mark.event);
      }
    } else if (text.starts_with(kForward)) {
      begin_call(text.substr(kForward.size()), mark.event, true);
    } else if (text.starts_with(kInference)) {
      begin_call(text.substr(kInference.size()), mark.event, false);
    } else if (text.starts_with(kForwardEnd)) {
      const auto known = calls.find(std::string(text.substr(kForwardEnd.size())));
      if (known != calls.end()) known->second.back().end = mark.event;
    } else if (text == kSave) {
      saves_.push_back({mark.event, kStillLive, false});
    } else if (text == kSaveEnd) {
      if (!saves_.empty()) saves_.back().end = mark.event;
    } else if (!text.starts_with(kOurs) && !ends) {
      const std::string name = WithoutNumber(mark.text);
      if (SpeaksOfSteps(name)) own[name].push_back(mark.event);
    }
  }
  mark_ = PlainestOf(own);
  if (!mark_.empty()) marks_ = std::move(own[mark_]);
  for (const auto& [name, events] : steps) {
    all_steps_.insert(all_steps_.end(), events.begin(), events.end());
  }
  std::ranges::sort(all_steps_);
  steps_ = OneAfterTheOther(std::move(steps));
  for (const auto& [module, of_module] : calls) {
    calls_.insert(calls_.end(), of_module.begin(), of_module.end());
    const bool is_first =
        !main_calls_.empty() && of_module.front().begin < main_calls_.front().begin;
    if (of_module.size() > main_calls_.size() ||
        (of_module.size() == main_calls_.size() && is_first)) {
      main_calls_ = of_module;
    }
  }
  std::ranges::sort(calls_, {}, &MarkedCall::begin);
}

}  // namespace vramstow
