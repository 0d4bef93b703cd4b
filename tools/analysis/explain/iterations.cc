#include "tools/analysis/explain/iterations.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace vramstow {
namespace {

enum class Work : uint8_t { kOther, kBackward, kOptimizer };

Work WorkOf(const SiteDetail& site) {
  if (site.in_optimizer) return Work::kOptimizer;
  return site.in_backward ? Work::kBackward : Work::kOther;
}

// True for lines inside a model. Loops over layers, and loops in set-up code, do not count as
// iterations.
bool IsInsideModel(const std::string& line) {
  for (const char* name : {"forward", "__init__", "_apply", "__call__"}) {
    if (line.ends_with(name)) return true;
  }
  return false;
}

// Consecutive allocations that were all made in backward passes, or all in optimizer steps.
struct Run {
  Work work = Work::kOther;
  uint64_t begin = 0;
  uint64_t next = kStillLive;  // the first block after it; kStillLive if there is none
  uint32_t next_site = 0;
};

bool IsAnAllocation(const Life& life) { return !life.pending && !life.opened; }

// True if autograd's engine was already running. The engine allocates gradients on the calling
// thread if PyTorch uses only one thread. It also calls Python code: hooks, and functions that have
// a backward().
bool IsInEngine(const Detail& detail, const SiteDetail& site) {
  return std::ranges::any_of(site.frames, [&](uint32_t frame) {
    return detail.frames[frame].ends_with("_engine_run_backward");
  });
}

// True if a checkpoint runs its forward pass again, which happens on autograd's own thread, with
// lines of the program.
bool IsRecomputing(const Detail& detail, const SiteDetail& site) {
  return std::ranges::any_of(site.frames, [&](uint32_t frame) {
    const std::string& text = detail.frames[frame];
    return text.starts_with("checkpoint.py:") &&
           (text.ends_with("recompute_fn") || text.ends_with("unpack_hook") ||
            text.ends_with("CheckpointFunction.backward"));
  });
}

// True for the first gradient of backward(), which is made on the calling thread.
bool CallsBackward(const Detail& detail, const SiteDetail& site) {
  return site.in_backward && !site.own.empty() && site.module.empty() &&
         site.phase == Phase::kBackward && !IsInEngine(detail, site) &&
         !IsRecomputing(detail, site);
}

// True for the first gradient of backward() or torch.autograd.grad(), which is made on the calling
// thread. torch.autograd.grad() has no known phase and does not divide iterations.
bool CallsAutograd(const Detail& detail, const SiteDetail& site) {
  return site.in_backward && !site.own.empty() && site.module.empty() &&
         !IsRecomputing(detail, site) &&
         (site.phase == Phase::kBackward || site.phase == Phase::kUnknown);
}

// True if a compiler or an autotuner makes the block to measure a kernel, which may happen within
// any work.
bool IsOfTrial(const Detail& detail, const SiteDetail& site) {
  return std::ranges::any_of(site.frames, [&](uint32_t frame) {
    const std::string& text = detail.frames[frame];
    return text.starts_with("select_algorithm.py:") || text.starts_with("benchmarking.py:") ||
           text.starts_with("autotuner.py:");
  });
}

// Returns the runs (consecutive allocations) of the kind of work `wanted`. Events of skipped kinds
// do not end a run.
std::vector<Run> RunsOf(const Detail& detail, Work wanted) {
  std::vector<Run> runs;
  bool inside = false;
  for (const Life& life : detail.lives) {
    if (!IsAnAllocation(life) || !life.tensor) continue;
    const SiteDetail& site = detail.sites[life.site];
    const Work work = WorkOf(site);
    if (work == Work::kOther && IsOfTrial(detail, site)) continue;
    if (work == wanted) {
      const bool is_call = wanted == Work::kBackward && CallsBackward(detail, site);
      if (!inside || is_call) runs.push_back({work, life.birth});
      inside = true;
      continue;
    }
    if (work != Work::kOther) continue;
    if (inside) {
      runs.back().next = life.birth;
      runs.back().next_site = life.site;
    }
    inside = false;
  }
  for (size_t i = 0; i + 1 < runs.size(); ++i) {
    runs[i].next = std::min(runs[i].next, runs[i + 1].begin);
  }
  return runs;
}

// True if blocks of earlier backward passes are live when the last one begins. Then gradients are
// accumulated, and all these passes may belong to one optimizer step that has not come yet.
bool AddsUp(const Detail& detail, const std::vector<Run>& backward) {
  if (backward.size() < 2) return false;
  const uint64_t last = backward.back().begin;
  return std::ranges::any_of(detail.lives, [&](const Life& life) {
    return life.birth < last && life.death > last && life.tensor && IsAnAllocation(life) &&
           WorkOf(detail.sites[life.site]) == Work::kBackward;
  });
}

bool AnyBackward(const Detail& detail, uint64_t begin, uint64_t end) {
  auto life = std::ranges::lower_bound(detail.lives, begin, {}, &Life::birth);
  for (; life != detail.lives.end() && life->birth < end; ++life) {
    const bool is_backward = WorkOf(detail.sites[life->site]) == Work::kBackward;
    if (is_backward && life->tensor && IsAnAllocation(*life)) return true;
  }
  return false;
}

// Returns the begin of the first iteration. It is the first allocation of the call site that begins
// the second iteration. If that call site did not allocate before, it is the event at which the
// first module ran.
uint64_t FirstBegin(const Detail& detail, uint64_t before, uint32_t site) {
  uint64_t forward = before;
  for (const Life& life : detail.lives) {
    if (life.birth >= before) break;
    if (!IsAnAllocation(life)) continue;
    if (site != 0 && life.site == site) return life.birth;
    if (detail.sites[life.site].phase == Phase::kForward) forward = std::min(forward, life.birth);
  }
  return forward;
}

// Returns the first tensors that one execution of a loop's body allocates.
std::vector<const Life*> TensorsFrom(const Detail& detail, uint64_t begin, uint64_t end,
                                     size_t most) {
  std::vector<const Life*> tensors;
  auto life = std::ranges::lower_bound(detail.lives, begin, {}, &Life::birth);
  for (; life != detail.lives.end() && life->birth < end && tensors.size() < most; ++life) {
    if (!IsAnAllocation(*life) || !life->tensor) continue;
    if (WorkOf(detail.sites[life->site]) == Work::kOther) tensors.push_back(&*life);
  }
  return tensors;
}

// Returns where the work that ends at `end` begins. The following work ends at `next_end`. Both
// begin with allocations of the same tensors.
uint64_t BeginLikeTheNext(const Detail& detail, uint64_t end, uint64_t next_end) {
  constexpr size_t kMax = 8;
  constexpr size_t kLeast = 2;
  const std::vector<const Life*> next = TensorsFrom(detail, end, next_end, kMax);
  const std::vector<const Life*> before =
      TensorsFrom(detail, detail.first_event, end, detail.lives.size());
  if (next.size() < kLeast) return FirstBegin(detail, end, 0);
  const auto same = std::search(
      before.begin(), before.end(), next.begin(), next.end(),
      [](const Life* a, const Life* b) { return a->size == b->size && a->site == b->site; });
  if (same != before.end()) return (*same)->birth;
  const uint32_t site = next.front()->site;
  return FirstBegin(detail, end, detail.sites[site].by_stack ? site : 0);
}

// Returns the optimizer steps that train. If a backward pass came before most steps, the other
// steps do not count: libraries create an optimizer's state by a step with zero gradients
// (torch.distributed.checkpoint).
std::vector<uint64_t> StepsThatTrain(const Detail& detail, const MarkedSteps& marked) {
  const std::vector<uint64_t>& steps = marked.steps();
  if (detail.lives_left_out > 0) return steps;
  std::vector<uint64_t> training;
  uint64_t before = detail.first_event;
  for (const uint64_t step : steps) {
    const bool has_backward = marked.IsOfGraph(step) || AnyBackward(detail, before, step);
    // A step that follows another step, without any work in between, belongs to that step.
    const bool follows = !training.empty() && TensorsFrom(detail, before, step, 1).empty();
    if (has_backward || follows) training.push_back(step);
    before = step;
  }
  return training.size() * 2 > steps.size() ? training : steps;
}

// Removes each step that follows another step without any work in between. Such steps belong to the
// same iteration, because an optimizer may step once for each group of its parameters.
std::vector<uint64_t> WithWorkBetween(const Detail& detail, const MarkedSteps& marked) {
  // A trace without tensors does not show the work between steps.
  if (std::ranges::none_of(detail.lives, &Life::tensor)) return marked.steps();
  std::vector<uint64_t> kept;
  for (const uint64_t step : StepsThatTrain(detail, marked)) {
    if (!kept.empty() && !marked.IsOfGraph(step) &&
        TensorsFrom(detail, kept.back(), step, 1).empty() &&
        !AnyBackward(detail, kept.back(), step)) {
      kept.back() = step;
    } else {
      kept.push_back(step);
    }
  }
  return kept;
}

// True if the block may belong to the work that the program's main loop repeats.
bool MayBeTurn(const Detail& detail, const Life& life) {
  const SiteDetail& site = detail.sites[life.site];
  return IsAnAllocation(life) && life.tensor && !site.in_backward && site.phase != Phase::kInit;
}

// Finds loops by the levels of call stacks. For each level, it stores the events at which a loop in
// that function began its body again (the turns of the loop).
class Loops {
 public:
  explicit Loops(const Detail& detail) : detail_(detail) {}

  void Add(const Life& life) {
    const std::vector<CodeLine>& own = detail_.sites[life.site].own;
    if (own.empty()) return;
    size_t depth = 0;
    while (depth < own.size() && depth < levels_.size() &&
           levels_[depth].line.function == own[depth].function &&
           levels_[depth].line.line == own[depth].line) {
      ++depth;
    }
    if (depth < own.size() && depth < levels_.size() &&
        levels_[depth].line.function == own[depth].function) {
      // If another line of the same function runs, it is either a later line, or an earlier line
      // because a loop began its body again.
      if (own[depth].line < levels_[depth].line.line) Turn(depth, life.birth);
      levels_[depth].line = own[depth];
      ++depth;
    }
    levels_.resize(std::min(depth, levels_.size()));
    for (; depth < own.size(); ++depth) Enter(depth, own[depth], life.birth);
    // If the same call site allocates again, and no earlier line ran in between, the loop is on one
    // line. An exception is a library that repeats a call for each of many tensors.
    const SiteDetail& site = detail_.sites[life.site];
    if (!site.is_own_call && site.module.empty()) return;
    if (!levels_.back().seen.insert(life.site).second) {
      Turn(levels_.size() - 1, life.birth);
      levels_.back().seen.insert(life.site);
    }
  }

  // Returns the turns (repetitions of the body) of the outermost loop that is not a loop over
  // layers; empty if there is no such loop.
  std::vector<uint64_t> Outermost() const {
    for (const auto& [key, turns] : turns_) {
      if (turns.size() >= 2) return turns;
    }
    return {};
  }

 private:
  struct Level {
    CodeLine line;
    absl::flat_hash_set<uint32_t> seen;  // sites of this turn that are in the function itself
    bool in_model = false;               // forward(), or called by it: its loops are layers
  };

  void Enter(size_t depth, const CodeLine& line, uint64_t event) {
    const bool is_called_by_model = !levels_.empty() && levels_.back().in_model;
    const bool in_model = is_called_by_model || IsInsideModel(detail_.lines[line.text]);
    levels_.push_back({line, {}, in_model});
    if (in_model) return;
    turns_.try_emplace({depth, line.function}, std::vector<uint64_t>{event});
  }
  void Turn(size_t depth, uint64_t event) {
    levels_[depth].seen.clear();
    const auto known = turns_.find({depth, levels_[depth].line.function});
    if (known != turns_.end()) known->second.push_back(event);
  }

  const Detail& detail_;
  std::vector<Level> levels_;
  std::map<std::pair<size_t, uint64_t>, std::vector<uint64_t>> turns_;
};

}  // namespace

Iterations::Iterations(const Detail& detail, uint64_t last_failure)
    : Iterations(detail, MarkedSteps(detail), last_failure) {}

Iterations::Iterations(const Detail& detail, const MarkedSteps& marked, uint64_t last_failure)
    : other_work_(detail, marked) {
  for (const Life& life : detail.lives) {
    if (IsAnAllocation(life) && CallsBackward(detail, detail.sites[life.site])) {
      calls_.emplace_back(life.birth, life.site);
    }
    if (IsAnAllocation(life) && CallsAutograd(detail, detail.sites[life.site])) {
      autograd_calls_.emplace_back(life.birth, life.site);
    }
  }
  for (const MarkedCall& call : marked.calls()) {
    if (!call.with_gradients) inferences_.push_back({call.begin, call.end});
  }
  FindByMarks(detail, marked);
  if (all_.empty()) FindBySteps(detail, marked, last_failure);
  bool is_single = false;
  if (all_.empty()) {
    FindByBackward(detail);
    // The work after the last backward pass counts as an iteration only if memory ran out in it.
    const bool has_rest = all_.size() > 1 && last_failure <= all_.back().begin;
    if (has_rest && !AnyBackward(detail, all_.back().begin, kStillLive)) all_.pop_back();
    is_single = has_rest && all_.size() == 1;
  }
  LeaveOutOtherWork(detail);
  if (is_single || (is_sure_ && by_ != By::kBackward)) return;
  if (all_.size() < 2) FindByCalls(detail, marked);
  if (all_.size() < 2) FindByLoop(detail);
}

// Moves the begin of each iteration to the end of the evaluation that precedes the iteration.
void Iterations::LeaveOutOtherWork(const Detail& detail) {
  if (by_ != By::kOptimizer && by_ != By::kBackward) return;
  std::vector<uint64_t> begins;
  for (const Iteration& pass : all_) begins.push_back(pass.begin);
  other_work_.LeaveToPasses(begins);
  for (Iteration& pass : all_) {
    const uint64_t begin = other_work_.After(pass.begin, pass.end);
    // A program that fails in an evaluation allocates nothing after it, so the last iteration
    // consists of the evaluation.
    const auto next = std::ranges::lower_bound(detail.lives, begin, {}, &Life::birth);
    if (next != detail.lives.end() && next->birth < pass.end) pass.begin = begin;
  }
}

uint64_t Iterations::BackwardPerPass(const Detail& detail) const {
  // An autograd function that is written in Python has a method backward(). A frame of this method
  // is not a call of backward() by the program.
  std::vector<uint64_t> calls;
  for (const auto& [event, site] : calls_) {
    if (!detail.sites[site].is_own_call) calls.push_back(event);
  }
  std::vector<uint64_t> counts;
  for (const Iteration& pass : all_) {
    const auto from = std::ranges::lower_bound(calls, pass.begin);
    const auto to = std::ranges::lower_bound(calls, pass.end);
    counts.push_back(static_cast<uint64_t>(to - from));
  }
  // The last iteration may be cut off.
  if (counts.size() > 1) counts.pop_back();
  if (counts.empty()) return 0;
  const auto middle = counts.begin() + static_cast<ptrdiff_t>(counts.size() / 2);
  std::ranges::nth_element(counts, middle);
  return *middle;
}

std::string Iterations::BackwardCall(const Detail& detail, uint64_t event) const {
  auto next =
      std::ranges::upper_bound(autograd_calls_, event, {}, &std::pair<uint64_t, uint32_t>::first);
  if (next == autograd_calls_.begin()) return "";
  const auto& [begin, site] = *std::prev(next);
  const std::vector<CodeLine>& call = detail.sites[site].own;
  // A later call of backward() may be running that itself has allocated nothing. This is so if the
  // thread of the known call has since allocated in code of the program. The line of the later call
  // is not known; the line of the thread's latest allocation is the closest one.
  auto life = std::ranges::lower_bound(detail.lives, event, {}, &Life::birth);
  while (life != detail.lives.begin() && std::prev(life)->birth > begin) {
    --life;
    const SiteDetail& made = detail.sites[life->site];
    if (!life->tensor || made.in_backward || made.in_optimizer || made.own.empty()) continue;
    if (made.own.front().function == call.front().function) {
      return detail.lines[made.own.back().text];
    }
  }
  return detail.lines[call.back().text];
}

bool Iterations::HasCalledBackward(uint64_t event) const {
  return !calls_.empty() && calls_.front().first < event;
}

int64_t Iterations::At(uint64_t event) const {
  return std::ranges::upper_bound(all_, event, {}, &Iteration::begin) - all_.begin() - 1;
}

bool Iterations::IsInference(uint64_t event) const {
  const auto next = std::ranges::upper_bound(inferences_, event, {}, &Iteration::begin);
  return next != inferences_.begin() && event < std::prev(next)->end;
}

std::vector<uint64_t> Iterations::TurnsWithin(const Detail& detail, uint64_t begin, uint64_t end) {
  Loops loops(detail);
  auto life = std::ranges::lower_bound(detail.lives, begin, {}, &Life::birth);
  for (; life != detail.lives.end() && life->birth < end; ++life) {
    if (MayBeTurn(detail, *life)) loops.Add(*life);
  }
  const std::vector<uint64_t> turns = loops.Outermost();
  return turns.size() < 2 ? std::vector<uint64_t>() : turns;
}

void Iterations::SetBegins(const std::vector<uint64_t>& begins, uint64_t end) {
  all_.clear();
  for (size_t i = 0; i < begins.size(); ++i) {
    const uint64_t until = i + 1 < begins.size() ? begins[i + 1] : end;
    if (until > begins[i]) all_.push_back({begins[i], until});
  }
}

void Iterations::FindByMarks(const Detail& detail, const MarkedSteps& marked) {
  if (marked.marks().empty()) return;
  by_ = By::kMarks;
  is_sure_ = true;
  mark_ = marked.mark();
  SetBegins(marked.marks(), detail.events + 1);
}

void Iterations::FindBySteps(const Detail& detail, const MarkedSteps& marked,
                             uint64_t last_failure) {
  const std::vector<uint64_t> ends = WithWorkBetween(detail, marked);
  // One optimizer step may cover many batches.
  if (ends.empty() || (ends.size() == 1 && calls_.size() > 2)) return;
  by_ = By::kOptimizer;
  is_sure_ = true;
  uint64_t begin = BeginLikeTheNext(detail, ends.front(), ends.size() > 1 ? ends[1] : kStillLive);
  // After an evaluation, the next iteration begins when the evaluation is over.
  const auto after_evaluation = [&](uint64_t from, uint64_t to) {
    auto call = std::ranges::lower_bound(marked.calls(), from, {}, &MarkedCall::begin);
    for (; call != marked.calls().end() && call->begin < to; ++call) {
      if (!call->with_gradients && call->end < to) from = call->end;
    }
    return from;
  };
  for (const uint64_t end : ends) {
    all_.push_back({after_evaluation(begin, end), end});
    begin = end;
  }
  if (last_failure > begin || GoesOn(detail, begin)) {
    all_.push_back({after_evaluation(begin, kStillLive), detail.events + 1});
  }
}

// True if another iteration began after the optimizer step at event `last_step`: a line that called
// backward() before this event calls it again after it. Calls of backward() that create CUDA graphs
// are on other lines, so they do not count. If no call before the event is recorded, any backward
// pass after it counts.
bool Iterations::GoesOn(const Detail& detail, uint64_t last_step) const {
  absl::flat_hash_set<uint32_t> lines;
  for (const auto& [event, site] : calls_) {
    const uint32_t line = detail.sites[site].own.back().text;
    if (event < last_step) {
      lines.insert(line);
    } else if (lines.contains(line)) {
      return true;
    }
  }
  return lines.empty() && AnyBackward(detail, last_step, kStillLive);
}

void Iterations::FindByBackward(const Detail& detail) {
  const std::vector<Run> backward = RunsOf(detail, Work::kBackward);
  if (backward.empty()) return;
  const std::vector<Run> steps = RunsOf(detail, Work::kOptimizer);
  const bool by_steps = steps.size() >= 2 && steps.size() <= backward.size();
  const std::vector<Run>& runs = by_steps ? steps : backward;
  by_ = by_steps ? By::kOptimizer : By::kBackward;
  // A run is a sequence of consecutive allocations in a backward pass. If there are more runs than
  // calls of backward(), other work has interrupted a backward pass, so the begins of iterations
  // are uncertain.
  const bool has_all_calls = by_steps || calls_.empty() || calls_.size() >= runs.size();
  const bool may_be_parts = !by_steps && AddsUp(detail, backward);
  is_sure_ = detail.lives_left_out == 0 && has_all_calls && !may_be_parts;
  std::vector<uint64_t> begins = {FirstBegin(detail, runs.front().begin, runs.front().next_site)};
  uint64_t end = detail.events + 1;
  absl::flat_hash_set<uint32_t> firsts;  // call sites with which iterations begin
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].next == kStillLive) break;
    // The work after the last run counts as an iteration if its first call site is also the first
    // one of another iteration. Otherwise it belongs to no iteration.
    const bool is_last = i + 1 == runs.size();
    if (is_last && runs.size() > 1 && !firsts.contains(runs[i].next_site)) {
      end = runs[i].next;
      break;
    }
    firsts.insert(runs[i].next_site);
    begins.push_back(runs[i].next);
  }
  SetBegins(begins, end);
}

void Iterations::FindByCalls(const Detail& detail, const MarkedSteps& marked) {
  if (marked.main_calls().size() < 2) return;
  by_ = By::kForward;
  // An evaluation, or a server of requests, has no iterations.
  is_sure_ = std::ranges::any_of(marked.main_calls(), &MarkedCall::with_gradients);
  all_.clear();
  for (const MarkedCall& call : marked.main_calls()) {
    all_.push_back({call.begin, std::min(call.end, detail.events + 1)});
  }
}

void Iterations::FindByLoop(const Detail& detail) {
  const std::vector<uint64_t> turns = TurnsWithin(detail, 0, kStillLive);
  // If there is a backward pass, two repetitions are not enough evidence for a loop: one line may
  // call an operator twice.
  constexpr size_t kLeastBesideBackward = 3;
  if (turns.empty() || (!all_.empty() && turns.size() < kLeastBesideBackward)) return;
  by_ = By::kLoop;
  is_sure_ = false;
  SetBegins(turns, detail.events + 1);
}

}  // namespace vramstow
