// Tests the explanation from lifetimes: iterations, blocks that accumulate, what came before the
// peak, advice.
#include "tools/analysis/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/tools/list_source.h"
#include "tests/tools/units.h"
#include "tools/analysis/advice/advise.h"
#include "tools/analysis/facts/level_log.h"
#include "tools/analysis/facts/lives.h"

namespace vramstow {
namespace {

// A list of events. The text of a mark is texts[n], where n is the mark's Event::object.
class MarkedSource : public ListSource {
 public:
  using ListSource::ListSource;
  std::string_view MarkText(const Event& mark) const override { return texts.at(mark.object); }
  std::vector<std::string> texts;
};

void ExplainAll(Analysis* analysis) {
  const Explanation explanation(analysis->detail, &analysis->facts);
  analysis->facts.advice = Advise(analysis->detail, explanation, &analysis->facts);
}

Analysis AnalyzeAll(const History& history) {
  ListSource source(history.events());
  Analysis analysis = AnalyzeInDetail(&source, "history.stow");
  ExplainAll(&analysis);
  return analysis;
}

// Allocates weights, then runs `steps` iterations with blocks of a few sizes. If `leaks` is set,
// one block of each iteration is not freed.
History Training(int steps, bool leaks) {
  History history;
  history.Allocate(0x1000, 100 * kMega);
  for (int step = 0; step < steps; ++step) {
    for (uint64_t i = 0; i < 4; ++i) history.Allocate(0x10000 + i, (10 + i) * kMega);
    for (uint64_t i = 0; i < 4; ++i) history.Free(0x10000 + i);
    if (leaks) history.Allocate(0x900000 + static_cast<uint64_t>(step), 3 * kMega);
  }
  return history;
}

TEST(Iterations, AreFoundByWhatRecurs) {
  const Facts facts = AnalyzeAll(Training(10, false)).facts;
  EXPECT_EQ(facts.iterations.found_by, "pattern");
  EXPECT_EQ(facts.iterations.count, 10u);
  const IterationFacts& second = facts.iterations.list[1];
  EXPECT_EQ(second.allocations, 4u);
  EXPECT_EQ(second.allocated_bytes, 46 * kMega);
  EXPECT_EQ(second.peak_bytes, 146 * kMega);
  EXPECT_EQ(second.begin_bytes, 100 * kMega);
  EXPECT_EQ(second.end_bytes, 100 * kMega);
  EXPECT_EQ(facts.iterations.growth_bytes, 0);
  EXPECT_EQ(facts.lifetimes.within.blocks, 40u);
  EXPECT_EQ(facts.lifetimes.before.bytes, 100 * kMega);
  EXPECT_TRUE(facts.lifetimes.growing.empty());
}

TEST(Iterations, WhatPilesUpIsToldWithItsGrowth) {
  const Facts facts = AnalyzeAll(Training(10, true)).facts;
  EXPECT_EQ(facts.iterations.growth_bytes, static_cast<int64_t>(3 * kMega));
  ASSERT_EQ(facts.lifetimes.growing.size(), 1u);
  EXPECT_EQ(facts.lifetimes.growing.front().bytes_per_iteration, 3 * kMega);
  ASSERT_FALSE(facts.advice.empty());
  EXPECT_EQ(facts.advice.front().id, AdviceId::kGrowingMemory);
  EXPECT_EQ(facts.advice.front().bytes, 30 * kMega);
}

// A training whose trace names the call sites of allocations, but not of frees.
class StepSource : public ListSource {
 public:
  // `who` maps the number of an event (the first one is 1) to its call site.
  StepSource(const std::vector<Event>& events, std::map<uint32_t, std::string> who)
      : ListSource(events), who_(std::move(who)) {}
  uint32_t Stack() const override { return ++given_; }
  std::vector<CallFrame> Frames(uint32_t event) const override {
    const auto place = who_.find(event);
    if (place == who_.end()) return {};
    const bool steps = place->second.ends_with(".step");
    return {{place->second, steps ? "/lib/torch/optim/adamw.py" : "/home/user/a.py", 1}};
  }

 private:
  std::map<uint32_t, std::string> who_;
  mutable uint32_t given_ = 0;
};

Facts FactsOf(const History& history, std::map<uint32_t, std::string> who) {
  StepSource source(history.events(), std::move(who));
  Analysis analysis = AnalyzeInDetail(&source, "step.stow");
  ExplainAll(&analysis);
  return std::move(analysis.facts);
}

// A list of events whose stacks name four layers of a model. One source line of the program runs
// all four.
class LayerSource : public ListSource {
 public:
  using ListSource::ListSource;
  uint32_t Stack() const override { return ++given_; }
  std::vector<CallFrame> Frames(uint32_t event) const override {
    static constexpr const char* kLayers[] = {"Llama.layers.0.mlp", "Llama.layers.1.mlp",
                                              "Llama.layers.2.mlp", "Llama.layers.3.mlp"};
    constexpr const char* file = "/env/lib/python3.11/site-packages/models/llama.py";
    return {{kLayers[event % 4], "<module>", 0},
            {"MLP.forward", file, 40 + event % 2},
            {"Trainer.train", "/env/lib/python3.11/site-packages/models/trainer.py", 9},
            {"<module>", "/home/user/train.py", 7}};
  }

 private:
  mutable uint32_t given_ = 0;
};

TEST(Sites, OfAJobThatIsOneLineAreLinesOfItsLibraryAndModulesRollUp) {
  History history;
  for (uint64_t i = 0; i < 16; ++i) history.Allocate(0x1000 * (i + 1), kMega);
  LayerSource source(history.events());
  const Facts facts = AnalyzeInDetail(&source, "layers.stow").facts;
  ASSERT_EQ(facts.by_module.size(), 1u);
  EXPECT_EQ(facts.by_module.front().site, "Llama.layers.*.mlp (4x)");
  EXPECT_EQ(facts.by_module.front().at_peak.bytes, 16 * kMega);
  ASSERT_EQ(facts.by_site.size(), 2u);
  EXPECT_EQ(facts.by_site.back().site, "llama.py:41 MLP.forward");
}

std::map<std::string, uint64_t> CategoriesOf(const Facts& facts) {
  std::map<std::string, uint64_t> bytes;
  for (const CategoryFacts& row : facts.by_category) bytes[row.name] = row.at_peak.bytes;
  return bytes;
}

TEST(Categories, AreReadFromWhatWasDoneMeanwhileWhereFreesTellNothing) {
  History history;
  history.Allocate(0x1000, 8 * kMega);   // 1, kept for the backward pass
  history.Allocate(0x2000, kMega);       // 2, gone before
  history.Free(0x2000);                  // 3
  history.Allocate(0x3000, 2 * kMega);   // 4, the gradient
  history.Allocate(0x4000, 16 * kMega);  // 5, gone before the optimizer comes
  history.Free(0x4000);
  history.Free(0x1000);
  history.Allocate(0x5000, kMega);  // 8, of the optimizer
  history.Free(0x3000);
  const Facts facts = FactsOf(history, {{1, "Net.forward"},
                                        {2, "Net.forward"},
                                        {4, "backward"},
                                        {5, "backward"},
                                        {8, "AdamW.step"}});
  EXPECT_EQ(CategoriesOf(facts), (std::map<std::string, uint64_t>{{"activations", 8 * kMega},
                                                                  {"gradients", 2 * kMega},
                                                                  {"temporaries", 16 * kMega}}));
}

// The call site of the activation is the training loop, which computes the loss itself and prints
// it.
TEST(Categories, WhatBridgesForwardAndBackwardIsAnActivationWhoeverAsked) {
  History history;
  history.Allocate(0x1000, 8 * kMega);   // 1, an activation
  history.Allocate(0x2000, 16 * kMega);  // 2, the loss
  history.Allocate(0x3000, 2 * kMega);   // 3, something that stays
  history.Allocate(0x4000, 4 * kMega);   // 4, a gradient
  history.Free(0x2000);
  history.Free(0x1000);
  history.Allocate(0x5000, kMega);  // 7, of the optimizer
  const Facts facts = FactsOf(history, {{1, "Net.forward"}, {4, "backward"}, {7, "AdamW.step"}});
  EXPECT_EQ(CategoriesOf(facts),
            (std::map<std::string, uint64_t>{
                {"activations", 24 * kMega}, {"gradients", 4 * kMega}, {"unknown", 2 * kMega}}));
}

// A program frees all memory at its exit. This does not make parameters and optimizer state
// temporary.
TEST(Categories, WhatLivesOnWhenItsPhaseIsOverIsKept) {
  History history;
  history.Allocate(0x1000, 32 * kMega);  // 1, a parameter
  for (uint64_t step = 0; step < 2; ++step) {
    history.Allocate(0x2000, 8 * kMega);                  // 2 and 9, an activation
    history.Allocate(0x3000, 4 * kMega);                  // 3 and 10, a gradient
    history.Free(0x2000);                                 // 4 and 11
    history.Allocate(0x4000 + step, (2 + step) * kMega);  // 5 and 12, state of the optimizer
    history.Allocate(0x5000, 64 * kMega);                 // 6 and 13, of its step
    history.Free(0x5000);                                 // 7 and 14
    history.Free(0x3000);                                 // 8 and 15
  }
  history.Allocate(0x2000, 8 * kMega);  // 16, the forward pass of an evaluation
  for (const uint64_t address : {0x2000, 0x4000, 0x4001, 0x1000}) history.Free(address);
  const Facts facts = FactsOf(history, {{1, "Net.__init__"},
                                        {2, "Net.forward"},
                                        {3, "backward"},
                                        {5, "AdamW.step"},
                                        {6, "AdamW.step"},
                                        {9, "Net.forward"},
                                        {10, "backward"},
                                        {12, "AdamW.step"},
                                        {13, "AdamW.step"},
                                        {16, "Net.forward"}});
  EXPECT_EQ(CategoriesOf(facts), (std::map<std::string, uint64_t>{{"parameters", 32 * kMega},
                                                                  {"gradients", 4 * kMega},
                                                                  {"optimizer_state", 5 * kMega},
                                                                  {"temporaries", 64 * kMega}}));
  const auto advised =
      std::ranges::find(facts.advice, AdviceId::kOptimizerTemporaries, &AdviceFacts::id);
  ASSERT_NE(advised, facts.advice.end());
  EXPECT_EQ(advised->bytes, 64 * kMega);
}

TEST(Iterations, ALeakIsFoundAlthoughTheEndFreesItAll) {
  History history = Training(10, true);
  std::vector<uint64_t> live;
  for (const Event& event : history.events()) {
    if (event.kind == EventKind::kAllocate) live.push_back(event.address);
    if (event.kind == EventKind::kFree) std::erase(live, event.address);
  }
  for (const uint64_t address : live) history.Free(address);
  const Facts facts = AnalyzeAll(history).facts;
  ASSERT_EQ(facts.lifetimes.growing.size(), 1u);
  EXPECT_EQ(facts.lifetimes.growing.front().bytes_per_iteration, 3 * kMega);
  EXPECT_GE(facts.lifetimes.growing.front().bytes, 27 * kMega);
}

// A pool makes many driver calls in the first iterations. It makes none as soon as its cache is
// large enough.
TEST(Iterations, AreCountedInAllocationsWhateverElseIsRecorded) {
  const History training = Training(10, false);
  History history;
  uint64_t noise = 4000;
  for (Event event : training.events()) {
    for (uint64_t i = 0; i < noise / 100; ++i) {
      history.Add({.size = kMega, .kind = EventKind::kMemoryInfo, .layer = Layer::kPool});
    }
    noise -= noise / 20;
    history.Add(event);
  }
  const IterationsFacts quiet = AnalyzeAll(training).facts.iterations;
  const IterationsFacts noisy = AnalyzeAll(history).facts.iterations;
  ASSERT_EQ(noisy.found_by, "pattern");
  EXPECT_EQ(noisy.count, quiet.count);
}

TEST(Iterations, MarksComeBeforePatterns) {
  History history;
  for (uint64_t step = 0; step < 3; ++step) {
    history.Add({.object = step, .offset = 1, .kind = EventKind::kMark});
    history.Allocate(0x1000, (step + 1) * kMega);
    history.Free(0x1000);
  }
  MarkedSource source(history.events());
  source.texts = {"ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"};
  Analysis analysis = AnalyzeInDetail(&source, "history.stow");
  const IterationsFacts iterations = FindIterations(analysis.detail, Iterations(analysis.detail));
  EXPECT_EQ(iterations.found_by, "marks");
  EXPECT_EQ(iterations.mark, "ProfilerStep#");
  ASSERT_EQ(iterations.count, 3u);
  EXPECT_EQ(iterations.list[2].peak_bytes, 3 * kMega);
}

// A history with marks, and its analysis.
class MarkedJob {
 public:
  void Mark(const std::string& text) {
    history_.Add({.object = texts_.size(), .kind = EventKind::kMark});
    texts_.push_back(text);
  }
  // Allocates two tensors, as a forward pass does, and frees both.
  void Forward(uint64_t size) {
    Tensor(EventKind::kAllocate, 0x1000, size);
    Tensor(EventKind::kAllocate, 0x2000, 2 * size);
    Tensor(EventKind::kFree, 0x2000, 2 * size);
    Tensor(EventKind::kFree, 0x1000, size);
  }
  void Tensor(EventKind kind, uint64_t address, uint64_t size) {
    history_.Add({.address = address,
                  .size = size,
                  .requested = size,
                  .device = 0,
                  .kind = kind,
                  .memory = MemoryKind::kDevice,
                  .layer = Layer::kFramework});
  }
  IterationsFacts Iterations() {
    MarkedSource source(history_.events());
    source.texts = texts_;
    Analysis analysis = AnalyzeInDetail(&source, "told.stow");
    ExplainAll(&analysis);
    return analysis.facts.iterations;
  }

 private:
  History history_;
  std::vector<std::string> texts_;
};

TEST(Iterations, EndWhereAnOptimizerHasMadeItsStep) {
  MarkedJob job;
  job.Tensor(EventKind::kAllocate, 0x100, 100 * kMega);
  for (int step = 0; step < 5; ++step) {
    job.Forward(kMega);
    job.Mark("vramstow.step AdamW 1");
  }
  job.Forward(7 * kMega);  // work after the last step is no iteration
  const IterationsFacts iterations = job.Iterations();
  EXPECT_EQ(iterations.found_by, "optimizer_steps");
  EXPECT_TRUE(iterations.is_sure);
  ASSERT_EQ(iterations.count, 5u);
  EXPECT_EQ(iterations.list.front().begin_event, 2u);  // the parameters came before
  EXPECT_EQ(iterations.list.back().peak_bytes, 103 * kMega);
}

TEST(Iterations, AreTurnsOfOptimizersThatAlternate) {
  MarkedJob job;
  for (int turn = 0; turn < 4; ++turn) {
    job.Forward(kMega);
    job.Mark("vramstow.step Adam 1");
    job.Forward(kMega);
    job.Mark("vramstow.step Adam 2");
  }
  EXPECT_EQ(job.Iterations().count, 4u);
}

TEST(Iterations, BeginAfterAnEvaluation) {
  MarkedJob job;
  for (int step = 0; step < 3; ++step) {
    if (step == 2) {
      job.Mark("vramstow.inference Net 1");
      job.Forward(30 * kMega);
      job.Mark("vramstow.forward_end Net 1");
    }
    job.Mark("vramstow.forward Net 1");
    job.Forward(kMega);
    job.Mark("vramstow.forward_end Net 1");
    job.Mark("vramstow.step AdamW 1");
  }
  const IterationsFacts iterations = job.Iterations();
  ASSERT_EQ(iterations.count, 3u);
  EXPECT_EQ(iterations.list.back().peak_bytes, 3 * kMega);
}

TEST(Iterations, AreCallsOfTheModelWhereNothingIsTrained) {
  MarkedJob job;
  for (int word = 0; word < 6; ++word) {
    job.Mark("vramstow.inference Net 1");
    job.Forward(kMega);
    job.Mark("vramstow.forward_end Net 1");
  }
  const IterationsFacts iterations = job.Iterations();
  EXPECT_EQ(iterations.found_by, "forward_passes");
  EXPECT_EQ(iterations.count, 6u);
}

TEST(Iterations, ByPatternsAreSaidToBeUnsure) {
  EXPECT_FALSE(AnalyzeAll(Training(10, false)).facts.iterations.is_sure);
}

TEST(Iterations, NothingThatRecursIsSaid) {
  History history;
  for (uint64_t i = 0; i < 50; ++i) history.Allocate(0x1000 + i, (i + 1) * (i + 3) * 512);
  const IterationsFacts iterations = AnalyzeAll(history).facts.iterations;
  EXPECT_EQ(iterations.found_by, "none");
  EXPECT_FALSE(iterations.why_not.empty());
}

TEST(Launches, AreToldByKernelRangeAndIteration) {
  History history;
  const auto mark = [&history](uint64_t text, uint64_t offset, uint64_t number, uint32_t thread) {
    history.Add({.size = number,
                 .object = text,
                 .offset = offset,
                 .thread = thread,
                 .kind = EventKind::kMark});
  };
  const auto launch = [&history](uint64_t kernel, uint64_t count, uint32_t thread) {
    history.Add({.size = count, .object = kernel, .thread = thread, .kind = EventKind::kLaunch});
  };
  launch(3, 7, 1);  // before all iterations
  for (uint64_t i = 1; i <= 3; ++i) {
    mark(0, 0, i, 1);
    mark(1, 1, 0, 1);
    history.Allocate(0x1000, kMega);
    launch(3, 10 * i, 1);
    launch(4, 1, 9);  // its thread has no ranges; it is within the open one
    mark(2, 1, 5, 2);
    launch(4, 2, 9);
    mark(2, 2, 5, 9);  // a range of the process ends anywhere
    history.Free(0x1000);
    mark(0, 2, 0, 1);
    launch(4, 100, 1);  // in no range
  }
  MarkedSource source(history.events());
  source.texts = {"iteration", "forward", "copy", "_Z3runi", "other"};
  Analysis analysis = AnalyzeInDetail(&source, "history.stow");
  ExplainAll(&analysis);
  const LaunchesFacts& launches = analysis.facts.launches;
  EXPECT_EQ(launches.launches, 7u + 60 + 9 + 300);
  EXPECT_FALSE(launches.sampled);
  ASSERT_EQ(launches.by_kernel.size(), 2u);
  EXPECT_EQ(launches.by_kernel[0].name, "other");
  EXPECT_EQ(launches.by_kernel[0].launches, 309u);
  EXPECT_EQ(launches.by_kernel[1].name, "run(int)");
  EXPECT_EQ(launches.by_kernel[1].launches, 67u);
  ASSERT_EQ(launches.by_range.size(), 2u);
  EXPECT_EQ(launches.by_range[0].name, "forward");
  EXPECT_EQ(launches.by_range[0].launches, 63u);
  EXPECT_EQ(launches.by_range[1].name, "copy");
  EXPECT_EQ(launches.by_range[1].launches, 6u);
  ASSERT_EQ(analysis.facts.iterations.list.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(analysis.facts.iterations.list[i].launches, 10 * (i + 1) + 103);
  }
  // Launches are neither allocations nor calls of a library.
  EXPECT_EQ(analysis.facts.counts.allocations, 3u);
}

TEST(Launches, AreSummedExactlyWhereTheirStepsAreJoined) {
  LaunchTally tally;
  constexpr uint64_t kEvents = 1'000'000;
  for (uint64_t i = 1; i <= kEvents; ++i) {
    tally.Add({.size = 2, .kind = EventKind::kLaunch}, "kernel", i);
  }
  EXPECT_EQ(tally.Facts().launches, 2 * kEvents);
  const std::vector<LaunchStep> steps = tally.MoveOutSteps();
  EXPECT_LE(steps.size(), size_t{1} << 18);
  EXPECT_EQ(LaunchesBetween(steps, 1, kEvents + 1), 2 * kEvents);
  const auto half = static_cast<double>(LaunchesBetween(steps, 1, kEvents / 2));
  EXPECT_NEAR(half, 1.0 * kEvents, 32);
}

TEST(Peak, WhatChangedInTheLastSecondBeforeItIsTold) {
  History history;
  history.Allocate(0x1000, 50 * kMega, MemoryKind::kDevice, 1);
  // Each event takes a millisecond, so this is more than a second later.
  for (int i = 0; i < 1500; ++i) history.Add({.kind = EventKind::kMemoryInfo});
  history.Allocate(0x2000, 20 * kMega, MemoryKind::kDevice, 2);
  const BeforePeakFacts before = AnalyzeAll(history).facts.before_peak;
  ASSERT_TRUE(before.known);
  EXPECT_EQ(before.from_bytes, 50 * kMega);
  ASSERT_EQ(before.changes.size(), 1u);
  EXPECT_EQ(before.changes.front().site, "library-2.so");
  EXPECT_EQ(before.changes.front().bytes, static_cast<int64_t>(20 * kMega));
}

TEST(Churn, CountsWhatIsAskedForAgain) {
  const ChurnFacts churn = AnalyzeAll(Training(10, false)).facts.churn;
  EXPECT_EQ(churn.pairs, 36u);  // all but the first iteration's
  EXPECT_EQ(churn.pair_bytes, 9 * 46 * kMega);
}

TEST(Lives, KeepTheLargestAndLongestWhenThereIsNoRoom) {
  Lives lives(1000);
  for (uint64_t i = 0; i < 100000; ++i) {
    Life life;
    life.birth = i + 1;
    life.death = i + 2;
    life.size = i % 1000 == 0 ? kMega : 512;
    lives.Add(life);
  }
  EXPECT_LT(lives.lives().size(), 1000u);
  EXPECT_EQ(lives.left_out() + lives.lives().size(), 100000u);
  uint64_t large = 0;
  for (const Life& life : lives.lives()) large += life.size == kMega;
  EXPECT_EQ(large, 100u);
}

TEST(Lives, ThoseAlikeAreThinnedOutAndNotDroppedAltogether) {
  Lives lives(1000);
  for (uint64_t i = 0; i < 50000; ++i) {
    Life life;
    life.birth = i + 1;
    life.death = i + 2;
    life.size = 512;
    lives.Add(life);
  }
  EXPECT_GT(lives.lives().size(), 10u);
  EXPECT_LT(lives.lives().size(), 1000u);
}

TEST(LevelLog, KeepsTheHighestWhenStepsAreJoined) {
  LevelLog log;
  const uint64_t events = 3 * LevelLog::kMax;
  for (uint64_t i = 0; i < events; ++i) log.Note(i, i == 77 ? 1000 : 1, 2, 3);
  EXPECT_EQ(log.events_per_step(), 4u);
  const std::vector<LevelStep> steps = log.Take();
  EXPECT_EQ(steps.size(), events / 4);
  EXPECT_EQ(steps[77 / 4].allocated, 1000u);
  EXPECT_EQ(steps[77 / 4].last_allocated, 1u);
  EXPECT_EQ(steps.back().time_ns, events - 1);
}

TEST(Advice, SendsNobodyToThePoolThatServesTheJobAlready) {
  Analysis analysis = AnalyzeAll(Training(3, false));
  OutOfMemoryFacts failure;
  failure.requested_bytes = 8 * kMega;
  failure.largest_free_range_bytes = 4 * kMega;
  failure.has_pool = true;
  failure.pool_free_bytes = 16 * kMega;
  failure.pool_free_ranges = 4;
  analysis.facts.out_of_memory = {failure};
  ExplainAll(&analysis);
  ASSERT_FALSE(analysis.facts.advice.empty());
  EXPECT_EQ(analysis.facts.advice.front().id, AdviceId::kOutOfMemoryByFragmentation);
  EXPECT_THAT(analysis.facts.advice.front().action, testing::HasSubstr("let vramstow's pool"));
  analysis.facts.trace_metadata["option.pool"] = "on";
  ExplainAll(&analysis);
  EXPECT_THAT(analysis.facts.advice.front().action,
              testing::StartsWith("The pool already serves the job"));
}

}  // namespace
}  // namespace vramstow
