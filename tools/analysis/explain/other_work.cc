#include "tools/analysis/explain/other_work.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace vramstow {
namespace {

constexpr double kNearlyAllPasses = 0.8;
constexpr size_t kLeastPasses = 3;
// A forward pass that trains leaves at least 1/20 of its bytes to the backward pass.
constexpr uint64_t kLeastPartForBackward = 20;

std::string_view FunctionOf(std::string_view frame) { return frame.substr(frame.rfind(' ') + 1); }

bool IsModels(std::string_view function) {
  const std::string_view name = function.substr(function.rfind('.') + 1);
  return name == "forward" || name == "_call_impl" || name == "_wrapped_call_impl";
}

bool NamesEvaluation(std::string_view function) {
  std::string name(function);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
  return has("eval") || has("valid") || has("test");
}

// The caller of a model, which is found from the frames of a call site.
struct Caller {
  bool runs_model = false;
  bool evaluates = false;  // true if a function's name says so
  bool generates = false;
  bool in_checkpoint = false;  // it trains, although it saves nothing yet
  size_t depth = 0;            // frames before the model's own
  uint64_t line = 0;           // a number of these frames, lines included
};

Caller CallerOf(const Detail& detail, const SiteDetail& site) {
  Caller caller;
  uint64_t number = 1469598103934665603U;
  for (const uint32_t frame : site.frames) {
    const std::string_view function = FunctionOf(detail.frames[frame]);
    caller.in_checkpoint |= detail.frames[frame].starts_with("checkpoint.py:");
    if (caller.runs_model) continue;
    if (IsModels(function)) {
      caller.runs_model = true;
      continue;
    }
    caller.evaluates |= NamesEvaluation(function);
    caller.generates |= function.ends_with("generate");
    number = (number ^ frame) * 1099511628211U;
    ++caller.depth;
  }
  caller.line = number;
  return caller;
}

// True if the function that called a model also called this call site, at the same depth of the
// stack.
bool IsBeside(const Detail& detail, const SiteDetail& site, const SiteDetail& model, size_t depth) {
  if (depth == 0 || site.frames.size() < depth) return false;
  for (size_t i = 0; i + 1 < depth; ++i) {
    if (site.frames[i] != model.frames[i]) return false;
  }
  return FunctionOf(detail.frames[site.frames[depth - 1]]) ==
         FunctionOf(detail.frames[model.frames[depth - 1]]);
}

enum class Doing : uint8_t { kNothing, kTraining, kOther };

// Finds for each call site which kind of work it belongs to.
class Callers {
 public:
  Callers(const Detail& detail, const PhasesOver& phases) {
    for (const SiteDetail& site : detail.sites) callers_.push_back(CallerOf(detail, site));
    struct Count {
      uint64_t all = 0;
      uint64_t for_backward = 0;
    };
    absl::flat_hash_map<uint64_t, Count> counts;
    for (const Life& life : detail.lives) {
      const SiteDetail& site = detail.sites[life.site];
      if (!life.tensor || life.opened || site.in_backward || !of(life).runs_model) continue;
      Count& count = counts[of(life).line];
      ++count.all;
      if (phases.BridgesToBackward(life)) ++count.for_backward;
    }
    for (const auto& [line, count] : counts) {
      const bool trains = count.for_backward * kLeastPartForBackward >= count.all;
      if (count.for_backward > 0 && trains) training_.insert(line);
    }
  }

  const Caller& of(const Life& life) const { return callers_[life.site]; }
  Doing DoingOf(const SiteDetail& site, const Life& life) const {
    if (site.in_backward || site.in_optimizer) return Doing::kTraining;
    if (of(life).in_checkpoint) return Doing::kTraining;
    if (!of(life).runs_model) return Doing::kNothing;
    return training_.contains(of(life).line) ? Doing::kTraining : Doing::kOther;
  }

 private:
  std::vector<Caller> callers_;             // by site
  absl::flat_hash_set<uint64_t> training_;  // lines
};

}  // namespace

bool RunsModel(const Detail& detail, const SiteDetail& site) {
  return CallerOf(detail, site).runs_model || !site.module.empty();
}

OtherWork::OtherWork(const Detail& detail, const MarkedSteps& marked)
    : phases_(detail), caches_(detail, phases_) {
  has_training_ = !marked.steps().empty() || std::ranges::any_of(detail.lives, [&](const Life& l) {
    const SiteDetail& site = detail.sites[l.site];
    return l.tensor && (site.in_backward || site.in_optimizer);
  });
  FindStretches(detail, marked);
  for (const MarkedCall& save : marked.saves()) {
    const uint64_t end = std::min(save.end, detail.events + 1);
    all_.push_back({Stretch::Kind::kSaving, save.begin, end, 0, false, false});
  }
  std::ranges::stable_sort(all_, {}, &Stretch::begin);
}

void OtherWork::FindStretches(const Detail& detail, const MarkedSteps& marked) {
  const Callers callers(detail, phases_);
  Stretch now;
  bool is_open = false;
  bool generates = false;
  uint64_t trained = 0;
  std::vector<const Life*> before;  // blocks of no model, since the last forward pass
  auto step = marked.steps().begin();
  const auto close = [&] {
    if (!is_open) return;
    is_open = false;
    if (generates || caches_.StepsWithin(now.begin, now.end) > 1) {
      now.kind = Stretch::Kind::kGeneration;
    } else if (!has_training_) {
      now.kind = Stretch::Kind::kForward;
    }
    all_.push_back(now);
  };
  for (const Life& life : detail.lives) {
    const SiteDetail& site = detail.sites[life.site];
    if (!life.tensor || life.opened || life.pending || !site.by_stack) continue;
    for (; step != marked.steps().end() && *step <= life.birth; ++step) {
      close();
      before.clear();
      trained = *step;
    }
    switch (callers.DoingOf(site, life)) {
      case Doing::kNothing:
        // Set-up does not belong to a stretch (consecutive calls of one kind of work).
        before.push_back(&life);
        if (site.phase == Phase::kInit) before.clear();
        break;
      case Doing::kTraining:
        close();
        before.clear();
        trained = life.birth;
        break;
      case Doing::kOther: {
        const Caller& caller = callers.of(life);
        if (!is_open) {
          now = {Stretch::Kind::kEvaluation, life.birth, life.birth, trained, false, false};
          generates = false;
          is_open = true;
          // The stretch (consecutive calls of one kind of work) includes the allocation of the data
          // that the work uses.
          for (auto own = before.rbegin(); own != before.rend(); ++own) {
            if (!IsBeside(detail, detail.sites[(*own)->site], site, caller.depth)) break;
            now.begin = (*own)->birth;
          }
        }
        now.end = life.birth + 1;
        now.is_named |= caller.evaluates;
        generates |= caller.generates;
        before.clear();
        break;
      }
    }
  }
  now.is_last = true;
  close();
}

uint64_t OtherWork::After(uint64_t begin, uint64_t end) const {
  const uint64_t from = begin;
  for (const Stretch& stretch : all_) {
    if (stretch.kind == Stretch::Kind::kSaving || stretch.end <= begin) continue;
    // What follows an evaluation that is not over belongs to it: the loss of its last batch.
    if (stretch.is_last) continue;
    if (stretch.begin < from || stretch.end >= end || stretch.trained > from) continue;
    begin = stretch.end;
  }
  return begin;
}

void OtherWork::LeaveToPasses(const std::vector<uint64_t>& begins) {
  if (begins.size() < kLeastPasses) return;
  absl::flat_hash_set<size_t> with;  // the iterations that have such a stretch
  const auto pass_of = [&](const Stretch& stretch) {
    return static_cast<size_t>(std::ranges::upper_bound(begins, stretch.begin) - begins.begin());
  };
  const auto is_nameless = [](const Stretch& stretch) {
    return stretch.kind == Stretch::Kind::kEvaluation && !stretch.is_named;
  };
  for (const Stretch& stretch : all_) {
    if (is_nameless(stretch)) with.insert(pass_of(stretch));
  }
  if (static_cast<double>(with.size()) < kNearlyAllPasses * static_cast<double>(begins.size())) {
    return;
  }
  std::erase_if(all_, is_nameless);
}

}  // namespace vramstow
