// Tests that text and JSON, which are made from the same facts, have the same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/adopted_blocks.h"
#include "base/units.h"
#include "tests/tools/list_source.h"
#include "tests/tools/units.h"
#include "tools/analysis/facts/merge.h"
#include "tools/base/words.h"
#include "tools/report/chart.h"
#include "tools/report/identity.h"
#include "tools/report/json.h"
#include "tools/report/screen.h"
#include "tools/report/sections.h"
#include "tools/report/summary.h"
#include "tools/report/text_report.h"

namespace vramstow {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

FactSet Sample(const std::map<std::string, std::string>& more = {}) {
  History history;
  history.Reserve(0x10000000, 64 * kMega);
  history.Allocate(0x1000, 24 * kMega, MemoryKind::kDevice, 1);
  history.Allocate(0x2000, 3 * kMega, MemoryKind::kDevice, 2);
  history.Allocate(9, 2 * kMega, MemoryKind::kPhysical, 3);
  history.Map(0x10000000, 2 * kMega, 9);
  history.Allocate(0x5000, 7 * kMega, MemoryKind::kHostPinned, 1);
  history.Add({.requested = 999 * kMega,
               .result = 2,
               .device = 0,
               .call = 1,
               .library = 1,
               .kind = EventKind::kAllocate,
               .memory = MemoryKind::kDevice});
  history.Free(0x1000);
  std::map<std::string, std::string> facts = {{"process.pid", "4711"},
                                              {"process.command", "python train.py"},
                                              {"device.0.name", "NVIDIA H200"},
                                              {"device.0.total_bytes", "150000000000"}};
  facts.insert(more.begin(), more.end());
  return MergeTraces({history.Analyze(facts)});
}

TEST(JsonReport, HasTheKeysThatStay) {
  const Json json = Json::parse(JsonReport(Sample()));
  EXPECT_EQ(json["schema"]["name"], "vramstow.analysis");
  EXPECT_EQ(json["schema"]["version"], 1);
  EXPECT_EQ(json["input"]["kind"], "stow");
  EXPECT_EQ(json["input"]["events"], 8);
  EXPECT_EQ(json["counts"]["allocations"], 4);
  EXPECT_EQ(json["counts"]["frees"], 1);
  EXPECT_EQ(json["counts"]["out_of_memory"], 1);
  EXPECT_EQ(json["peak"]["allocated_bytes"], 29 * kMega);
  EXPECT_EQ(json["peak"]["reserved_bytes"], 29 * kMega);
  EXPECT_EQ(json["peak"]["requested_bytes"], 29 * kMega);
  EXPECT_EQ(json["peak"]["time_ns"], 4000000);
  EXPECT_EQ(json["by_library"][0]["library"], "library-1.so");
  EXPECT_EQ(json["by_library"][0]["bytes_at_peak"], 24 * kMega);
  ASSERT_EQ(json["ranks"].size(), 1u);
  EXPECT_EQ(json["ranks"][0]["peak"], json["peak"]);
  EXPECT_EQ(json["fragmentation"]["peak_reserved_over_allocated"], 1.0);
  EXPECT_EQ(json["fragmentation"]["unusable_bytes_at_peak"], 0);
  EXPECT_EQ(json["out_of_memory"][0]["requested_bytes"], 999 * kMega);
  EXPECT_EQ(json["out_of_memory"][0]["free_bytes"], nullptr);
  EXPECT_EQ(json["out_of_memory"][0]["largest_free_range_bytes"], 62 * kMega);
  EXPECT_EQ(json["leaks"]["device_bytes"], 5 * kMega);
}

TEST(JsonReport, SurvivesTextThatIsNotUtf8) {
  const Json json = Json::parse(JsonReport(Sample({{"process.program", "\xff\xfe"}})));
  EXPECT_TRUE(json["process"]["program"].is_string());
}

TEST(JsonReport, OfSeveralTracesHasThemAllUnderRanks) {
  std::vector<Facts> traces = {Sample({{"process.rank", "1"}}).total,
                               Sample({{"process.rank", "0"}}).total};
  const Json json = Json::parse(JsonReport(MergeTraces(traces)));
  EXPECT_EQ(json["ranks"].size(), 2u);
  EXPECT_EQ(json["ranks"][0]["process"]["rank"], 0);
  EXPECT_EQ(json["peak"]["allocated_bytes"], 58 * kMega);
  EXPECT_EQ(json["peak"]["time_ns"], nullptr);
  EXPECT_EQ(json["out_of_memory"].size(), 2u);
  EXPECT_EQ(json["out_of_memory"][1]["rank"], 1);
}

TEST(TextReport, TellsTheNumbersOfTheJson) {
  const FactSet set = Sample();
  const Json json = Json::parse(JsonReport(set));
  const std::string text = TextReport(set, {80, true});
  const auto bytes = [](const Json& value) { return Bytes(value.get<uint64_t>()); };
  EXPECT_THAT(text, HasSubstr(bytes(json["peak"]["allocated_bytes"]) + " allocated"));
  EXPECT_THAT(text, HasSubstr(bytes(json["leaks"]["device_bytes"]) + " in 2 blocks on devices"));
  EXPECT_THAT(text, HasSubstr("requested " + bytes(json["out_of_memory"][0]["requested_bytes"])));
  EXPECT_THAT(text, HasSubstr("python train.py"));
  EXPECT_THAT(text, HasSubstr("process 4711"));
  EXPECT_THAT(text, HasSubstr("NVIDIA H200"));
  EXPECT_THAT(text, HasSubstr("pinned host memory: 7.00 MiB"));
  EXPECT_THAT(text, Not(HasSubstr("SIMULATED RUN")));
  for (const Json& library : json["by_library"]) {
    if (library["allocations"] == 0 && library["highest_bytes"] == 0) continue;
    EXPECT_THAT(text, HasSubstr(library["library"].get<std::string>()));
  }
}

// Two tensors of one module, one of another module and one of none.
class ModuleSource : public ListSource {
 public:
  using ListSource::ListSource;
  uint32_t Stack() const override { return ++given_ < 4 ? given_ : 3; }
  std::vector<CallFrame> Frames(uint32_t stack) const override {
    if (stack == 3) return {{"step", "/home/user/train.py", 9}};
    return {{"aten::addmm", "<operator>", 0},
            {stack == 1 ? "Decoder.up" : "Decoder.down", "<module>", 0},
            {"forward", "/home/user/model.py", 10 + stack}};
  }

 private:
  mutable uint32_t given_ = 0;
};

TEST(JsonReport, AndTextTellWhichModulesHeldThePeak) {
  History history;
  for (const uint64_t size : {24u, 8u, 4u}) history.Allocate(size << 20, size * kMega);
  ModuleSource source(history.events());
  const FactSet set = MergeTraces({Analyze(&source, "model.stow")});
  const Json modules = Json::parse(JsonReport(set))["by_module"];
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[0]["module"], "Decoder.up");
  EXPECT_EQ(modules[0]["operation"], "addmm");
  EXPECT_EQ(modules[0]["bytes_at_peak"], 24 * kMega);
  EXPECT_EQ(modules[1]["module"], "Decoder.down");
  EXPECT_EQ(modules[1]["blocks_at_peak"], 1);
  const std::string text = TextReport(set, {});
  EXPECT_THAT(text, AllOf(HasSubstr("By module"), HasSubstr("Decoder.down"),
                          HasSubstr("By call site"), HasSubstr("model.py:11 forward")));
  EXPECT_THAT(TextReport(Sample(), {}),
              AllOf(Not(HasSubstr("By module")), Not(HasSubstr("By call site"))));
}

TEST(TextReport, LeavesOutWhoHeldNothingAtThePeak) {
  History history;
  history.Allocate(0x1000, 24 * kMega);
  history.Free(0x1000);
  history.Allocate(0x2000, 32 * kMega);
  ModuleSource source(history.events());
  const FactSet set = MergeTraces({Analyze(&source, "model.stow")});
  EXPECT_EQ(Json::parse(JsonReport(set))["by_site"].size(), 2u);  // all of them
  const std::string text = TextReport(set, {});
  EXPECT_THAT(text, AllOf(HasSubstr("By call site"), Not(HasSubstr("model.py:11"))));
}

// A job that retains a result of each iteration until memory runs out.
Facts Failing() {
  Facts facts;
  OutOfMemoryFacts failure;
  failure.requested_bytes = 24 << 20;
  failure.cause = AdviceId::kKeptOutputs;
  facts.out_of_memory = {failure};
  AdviceFacts advice;
  advice.id = AdviceId::kKeptOutputs;
  advice.title = "A result of each iteration stays on the card";
  advice.bytes = 864 << 20;
  advice.place = "job.py:25 encode";
  advice.holder = "encode: firsts[0..34]";
  advice.action = "Keep a .clone() of it.";
  advice.fits = true;
  facts.advice = {advice};
  facts.trace_metadata["option.stacks"] = "sites";
  return facts;
}

TEST(TextReport, BeginsWithWhyMemoryRanOut) {
  Facts facts = Failing();
  EXPECT_THAT(
      TextReport(MergeTraces({facts}), {}),
      HasSubstr("Because  A result of each iteration stays on the card: 864 MiB [kept_outputs]\n"
                "At       job.py:25 encode\n"
                "Held by  encode: firsts[0..34]\n"
                "Do       Keep a .clone() of it.\n"
                "Then     Judging by the bytes alone, the request for 24.0 MiB fits; no replay\n"
                "         has confirmed it.\n"));
  facts.advice.clear();
  EXPECT_THAT(TextReport(MergeTraces({facts}), {}), Not(HasSubstr("Why memory ran out")));
  facts.trace_metadata["option.stacks"] = "off";
  EXPECT_THAT(TextReport(MergeTraces({facts}), {}), HasSubstr("again with `vramstow run --stacks"));
  facts.out_of_memory.clear();
  EXPECT_THAT(TextReport(MergeTraces({facts}), {}), Not(HasSubstr("Why memory ran out")));
}

TEST(TextReport, SaysOfAReplayThatItEndsAtTheRequestThatFailed) {
  Facts facts = Failing();
  facts.out_of_memory[0].demand.room_bytes = 541 << 20;
  facts.out_of_memory[0].replays = {{.model = "native", .peak_reserved_bytes = 560 << 20}};
  facts.advice[0].replays = {
      {.model = "native", .peak_reserved_bytes = 456 << 20, .would_serve = true}};
  const std::string text = TextReport(MergeTraces({facts}), {});
  EXPECT_THAT(
      text,
      HasSubstr("Then     The request for 24.0 MiB fits. Up to this request PyTorch would reserve\n"
                "         456 MiB with this change (541 MiB are available; without it 560 MiB).\n"
                "         Later requests may need more.\n"));
  EXPECT_THAT(text, HasSubstr("Replayed up to the request that failed: native needs 456 MiB"));
}

size_t LinesOf(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string Screen(const std::vector<Facts>& traces, const TextStyle& style = {}) {
  return ScreenReport(MergeTraces(traces), "job.stow", style);
}

// A job that ended normally, on a GPU of 80 GiB of which it used `used` bytes.
Facts Ending(uint64_t used) {
  Facts facts = Sample().total;
  facts.out_of_memory.clear();
  facts.counts.out_of_memory = 0;
  facts.devices.resize(1);
  facts.devices.front().total_bytes = 80 * kGiB;
  facts.devices.front().peak_reserved_bytes = used;
  AdviceFacts batch;
  batch.id = AdviceId::kLargerBatch;
  batch.title = "80 GiB of the GPU's memory were never used";
  batch.evidence = "By this, a batch up to 183 times as large fits.";
  facts.advice = {batch};
  return facts;
}

TEST(ScreenReport, OfAFailureHasTheCauseFirstAndOnOneScreen) {
  Facts facts = Failing();
  Facts recorded = Sample().total;
  recorded.out_of_memory = facts.out_of_memory;
  recorded.out_of_memory.back().has_story = true;
  recorded.out_of_memory.back().demand.lacking_bytes = 3 << 20;
  recorded.advice = facts.advice;
  recorded.advice.push_back(facts.advice.front());
  recorded.advice.front().action = std::string(90, 'a') + " " + std::string(200, 'b');
  const std::string text = Screen({recorded});
  EXPECT_LE(LinesOf(text), 40u);
  EXPECT_THAT(text, HasSubstr("── Out of memory at 0 ns: 24.0 MiB asked for, 3.00 MiB lacking ──"));
  size_t at = 0;
  for (const char* label :
       {"python train.py", "Because  ", "\nAt  ", "\nHeld by  ", "\nDo  ", "\nThen  ",
        "\nOr       The full report shows another way", "── Device memory over time",
        "── Largest by library", "Cause    vramstow help kept_outputs\n",
        "Full     vramstow analyze --full job.stow\n"}) {
    const size_t found = text.find(label, at);
    ASSERT_NE(found, std::string::npos) << label << "\n" << text;
    at = found;
  }
}

TEST(ScreenReport, OfAFailureWithoutACauseHasTheRequest) {
  EXPECT_THAT(Screen({Sample().total}),
              AllOf(HasSubstr("Request  at 7.00 ms library-1.so requested 999 MiB"),
                    Not(HasSubstr("Because"))));
}

TEST(ScreenReport, OfAHealthyJobHasItsRoomAndNoMore) {
  std::string text = Screen({Ending(kGiB)});
  EXPECT_THAT(text, AllOf(HasSubstr("── Healthy: memory never ran out ──"),
                          HasSubstr("Room     79.0 GiB of the GPU's 80.0 GiB were never used.\n")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("times as large")), Not(HasSubstr("larger batch")),
                          Not(HasSubstr("Because")), Not(HasSubstr("Could"))));
  text = Screen({Ending(20 * kGiB)});
  EXPECT_THAT(text, AllOf(HasSubstr("Could    Use a larger batch: `vramstow fit` finds the"),
                          Not(HasSubstr("times as large"))));
  Facts facts = Ending(20 * kGiB);
  facts.advice.insert(facts.advice.begin(), Failing().advice.front());
  AdviceFacts& advice = facts.advice.front();
  advice.proof.is_proved = true;
  advice.proof.lowered_bytes = kMiB;
  EXPECT_THAT(Screen({facts}), HasSubstr("Could    Use a larger batch")) << "it saves no tenth";
  advice.proof.lowered_bytes = 4 * kMiB;
  text = Screen({facts});
  EXPECT_THAT(text,
              AllOf(HasSubstr("Could    A result of each iteration"), Not(HasSubstr("batch"))));
  facts.lifetimes.known = true;
  EXPECT_THAT(Screen({facts}), HasSubstr("never ran out, and does not grow ──"));
  facts.report.closed = false;
  EXPECT_THAT(Screen({facts}), AllOf(Not(HasSubstr("Healthy")), HasSubstr("was not closed")));
}

// A trace of a process that was attached to. The blocks of call 1 were there before.
class AttachedSource : public ListSource {
 public:
  explicit AttachedSource(const History& history)
      : ListSource(history.events(), {{"process.attached", "1"}}) {}
  std::string_view CallName(uint16_t call) const override {
    return call == 1 ? kAdoptedCall : ListSource::CallName(call);
  }
};

TEST(ScreenReport, OfAnAttachedProcessCountsNoBlockAsGrowthThatWasThereBefore) {
  History history;
  history.Allocate(0x1000, 8 * kMega);
  history.Allocate(0x2000, 4 * kMega);
  const auto allocate = [&history](uint64_t address) {
    history.Add({.address = address,
                 .size = 2 * kMega,
                 .device = 0,
                 .call = 3,
                 .library = 1,
                 .kind = EventKind::kAllocate,
                 .memory = MemoryKind::kDevice});
  };
  allocate(0x3000);
  history.Free(0x3000);
  AttachedSource steady(history);
  EXPECT_THAT(Screen({Analyze(&steady, "job.stow")}, {200, true, false}),
              HasSubstr("it was 12.0 MiB at the beginning of this time and 12.0 MiB at the end; in "
                        "between it rose to 14.0 MiB. To find"));
  allocate(0x4000);
  AttachedSource grown(history);
  EXPECT_THAT(Screen({Analyze(&grown, "job.stow")}, {200, true, false}),
              HasSubstr("Live memory grew by 2.00 MiB, from 12.0 MiB to 14.0 MiB."));
}

TEST(ScreenReport, OfAnAttachedProcessDoesNotSayHowMuchOfTheGpuWasUsed) {
  History history;
  history.Allocate(0x1000, 8 * kMega);
  AttachedSource source(history);
  Facts facts = Analyze(&source, "job.stow");
  facts.devices[0].total_bytes = 4096 * kMega;
  EXPECT_THAT(
      Screen({facts}, {200, true, false}),
      AllOf(HasSubstr("Room     It is not known, because only PyTorch's memory was observed"),
            Not(HasSubstr("never used"))));
  facts.trace_metadata.clear();
  EXPECT_THAT(Screen({facts}, {200, true, false}), HasSubstr("were never used"));
}

// A job that needed 86 GiB on a GPU of 80 GiB, and ran because some memory was evicted to the host.
Facts Carried() {
  Facts facts = Ending(80 * kGiB);
  facts.offload.out_bytes = facts.offload.returned_bytes = 30 * kGiB;
  facts.offload.most_bytes = 7 * kGiB;
  facts.offload.carries_job = true;
  facts.offload.needed_bytes = 86 * kGiB;
  facts.offload.card_bytes = 80 * kGiB;
  facts.offload.sites = {{1, "train.py:9 main", "empty", 20 * kGiB},
                         {2, "train.py:12 main", "addmm", 10 * kGiB}};
  return facts;
}

TEST(ScreenReport, OfAJobThatRanBecauseMemoryMovedSaysSoFirst) {
  Facts facts = Carried();
  EXPECT_THAT(
      Screen({facts}),
      AllOf(HasSubstr("── This job needs 86.0 GiB of GPU memory; the GPU has 80.0 GiB ──"),
            HasSubstr("\nRan      It went on because 7.00 GiB were moved to the host.\n"),
            HasSubstr("Moved    20.0 GiB made at train.py:9 main (empty), 10.0 GiB made at"),
            Not(HasSubstr("Costs")), Not(HasSubstr("Instead")), Not(HasSubstr("Healthy")),
            Not(HasSubstr("Step")), Not(HasSubstr("Room"))));
  facts.model_clock = {5, 0.412, 0.180, 3 * kMiB, 2 * kMiB, kMiB, 1, 2};
  facts.model_clock.mean_seconds = 0.412;
  EXPECT_THAT(Screen({facts}, {120, true, false}),
              AllOf(HasSubstr("Step     An iteration takes 412 ms by the model of the GPU; for "
                              "180 ms of this time work waits while memory moves."),
                    HasSubstr("3.00 MiB are used directly on the host")));
  // The needed 79 GiB would fit on the GPU: memory was only fragmented. So the report must not
  // print this figure as too large for the GPU.
  facts.offload.needed_bytes = 79 * kGiB;
  EXPECT_THAT(Screen({facts}),
              AllOf(HasSubstr("── This job went on because 7.00 GiB were moved to the host ──"),
                    Not(HasSubstr("79.0 GiB of GPU"))));
  facts.offload.carries_job = false;
  EXPECT_THAT(Screen({facts}), HasSubstr("Healthy"));
}

TEST(RunSummary, OfAJobThatRanBecauseMemoryMovedSaysSo) {
  Facts facts = Carried();
  facts.model_clock = {5, 0.412, 0, 0, 0, 0, 1, 2};
  facts.model_clock.mean_seconds = 0.412;
  EXPECT_THAT(RunSummary(MergeTraces({facts}), {.directory = "/tmp/x"}),
              AllOf(HasSubstr("  ran          This job needs 86.0 GiB of GPU memory; the GPU has "
                              "80.0 GiB. It went on because 7.00 GiB were moved to the host.\n"),
                    HasSubstr("  moved        20.0 GiB made at train.py:9 main (empty), "),
                    HasSubstr("  iteration    An iteration takes 412 ms by the model of the "
                              "GPU.\n")));
}

// Memory on the host does not fill the GPU.
TEST(RunSummary, OfAJobThatReachedALimitNamesItAndDoesNotCallTheGpuFull) {
  Facts facts = Carried();
  facts.devices.front().peak_reserved_bytes = 20 * kGiB;
  facts.devices.front().peak_bytes = 27 * kGiB;
  facts.devices.front().lowest_free_bytes = 60 * kGiB;
  facts.offload.limit_bytes = 20 * kGiB;
  facts.offload.limit_place = "train.py:2 main";
  const auto summary = [&facts] {
    return RunSummary(MergeTraces({facts}), {.directory = "/tmp/x"});
  };
  EXPECT_THAT(summary(),
              AllOf(HasSubstr("  ran          A process of this job may hold 20.0 GiB of GPU "
                              "memory. This limit (torch.cuda.set_per_process_memory_fraction() "
                              "at train.py:2 main) was reached, and 7.00 GiB were moved "
                              "to the host. The job needs 86.0 GiB of GPU memory; the GPU has "
                              "80.0 GiB.\n"),
                    HasSubstr("60.0 GiB of the GPU's 80.0 GiB were never used")));
  facts.offload.limit_place = "--limit=20GiB";
  EXPECT_THAT(summary(), HasSubstr("GPU memory. This limit (--limit=20GiB) was reached, and"));
  facts.offload.limit_place.clear();
  EXPECT_THAT(summary(), HasSubstr("GPU memory. This limit was reached, and"));
  const Json json = Json::parse(JsonReport(MergeTraces({facts})));
  EXPECT_EQ(json["offload"]["limit_bytes"], 20 * kGiB);
  EXPECT_TRUE(json["offload"]["limit_place"].is_null());
  // Another rank moved memory because its GPU was full.
  Facts full = Carried();
  full.offload.was_full = true;
  const FactSet both = MergeTraces({facts, full});
  EXPECT_THAT(RunSummary(both, {.directory = "/tmp/x"}), Not(HasSubstr("may hold")));
  EXPECT_TRUE(Json::parse(JsonReport(both))["offload"]["limit_bytes"].is_null());
}

// cuMemGetInfo of the pool answers with what --limit leaves, also if no memory moves.
TEST(ScreenReport, OfAJobThatFilledItsLimitDoesNotCallTheGpuFull) {
  Facts facts = Ending(20 * kGiB);
  facts.devices.front().lowest_free_bytes = 0;
  EXPECT_THAT(Screen({facts}), HasSubstr("Room     the GPU was full.\n"));
  facts.trace_metadata["option.limit"] = "20GiB";
  EXPECT_THAT(Screen({facts}),
              HasSubstr("Room     60.0 GiB of the GPU's 80.0 GiB were never used."));
  // Under a limit of 60 GiB more would have been free if other processes had not filled the GPU.
  facts.trace_metadata["option.limit"] = "60GiB";
  EXPECT_THAT(Screen({facts}), HasSubstr("Room     the GPU was full.\n"));
}

TEST(ScreenReport, OfAJobThatRanBecauseMemoryMovedSaysWhatThatCostsAndWhatWouldDo) {
  Facts facts = Carried();
  facts.model_clock = {5, 0.412, 0.180, 0, 0, 0, 1, 2};
  facts.model_clock.mean_seconds = 0.412;
  facts.offload.step_cost_seconds = 0.180;
  facts.offload.by_hand = {
      {"checkpoint_layers", "net.py:8", 79 * kGiB, true, false, 2, 48, 0, 0.009},
      {"state_on_host", "", 78 * kGiB, true, false, 0, 0, 8 * kGiB, 0.330},
  };
  EXPECT_THAT(Screen({facts}, {400, true, false}),
              AllOf(HasSubstr("Costs    Offload costs about 180 ms of the 412 ms that an "
                              "iteration takes.\n"),
                    HasSubstr("Instead  Put torch.utils.checkpoint around 2 of the 48 repeated "
                              "layers (net.py:8), so that the backward pass computes them again. "
                              "The job then needs about 79.0 GiB, which fits without offload (in "
                              "vramstow's pool). It makes an iteration about 9.00 ms longer, "
                              "instead of the 180 ms that offload costs.\n"),
                    HasSubstr("Or       Keep 8.00 GiB of the optimizer's state in host memory, and "
                              "copy it to the GPU"),
                    HasSubstr("330 ms longer, which is more than the 180 ms that offload costs."),
                    Not(HasSubstr("at 24 GiB/s"))));
  EXPECT_THAT(RunSummary(MergeTraces({facts}), {.directory = "/tmp/x"}),
              AllOf(HasSubstr("  costs        Offload costs"),
                    HasSubstr("  instead      Put torch.utils.checkpoint"),
                    HasSubstr("  or           Keep 8.00 GiB")));
  const Json json = Json::parse(JsonReport(MergeTraces({facts})));
  EXPECT_EQ(json["offload"]["by_hand"][0]["change"], "checkpoint_layers");
  EXPECT_EQ(json["offload"]["by_hand"][0]["seconds"], 0.009);
  EXPECT_TRUE(json["offload"]["by_hand"][1]["layers"].is_null());
  EXPECT_EQ(json["offload"]["step_cost_seconds"], 0.180);
  // Without the virtual clock no time is reported.
  facts.model_clock = {};
  facts.offload.step_cost_seconds.reset();
  facts.offload.by_hand = {{"checkpoint_layers", "", 88 * kGiB, false, false, 48, 48, 0, {}}};
  EXPECT_THAT(Screen({facts}, {300, true, false}),
              AllOf(HasSubstr("Instead  Put torch.utils.checkpoint around each of the 48 repeated "
                              "layers, so that the backward pass computes them again. The job then "
                              "needs about 88.0 GiB, which is still more than the GPU has. "
                              "Run the job on a simulated GPU with clock=model to see how much "
                              "time this costs."),
                    HasSubstr("at 24 GiB/s"), Not(HasSubstr("Costs"))));
}

// The typical iteration does not show what moves cost if iterations differ.
TEST(ScreenReport, OfIterationsThatDifferSaysWhatTheyTakeOnAverage) {
  Facts facts = Carried();
  facts.model_clock = {5, 0.010, 0, 0, 0, 0, 1, 2};
  facts.model_clock.mean_seconds = 0.026;
  facts.model_clock.mean_wait_seconds = 0.004;
  facts.model_clock.mean_link_read_bytes = 24 * kMiB;
  facts.offload.step_cost_seconds = 0.016;
  EXPECT_THAT(Screen({facts}, {300, true, false}),
              AllOf(HasSubstr("Costs    Offload costs about 16.0 ms of the 26.0 ms that an "
                              "iteration takes on average.\n"),
                    HasSubstr("Step     Iterations differ: one takes 26.0 ms on average by the "
                              "model of the GPU, and half of them take at most 10.0 ms; for 4.00 "
                              "ms of the mean work waits while memory moves. In a mean iteration "
                              "24.0 MiB are used directly on the host.")));
}

TEST(JsonReport, HasWhatAnIterationTakesByTheModelOrNull) {
  Facts facts = Ending(kGiB);
  Json json = Json::parse(JsonReport(MergeTraces({facts})));
  EXPECT_TRUE(json["model_clock"]["step_seconds"].is_null());
  EXPECT_EQ(json["model_clock"]["iterations"], 0);
  EXPECT_TRUE(json["offload"]["needed_bytes"].is_null());
  facts.model_clock = {5, 0.25, 0.125, 3, 2, 1, 1, 2};
  Facts slower = facts;
  slower.model_clock.step_seconds = 0.5;
  json = Json::parse(JsonReport(MergeTraces({facts, slower})));
  EXPECT_EQ(json["model_clock"]["step_seconds"], 0.5) << "the slowest process of several";
  EXPECT_EQ(json["model_clock"]["wait_seconds"], 0.125);
  EXPECT_EQ(json["model_clock"]["link_read_bytes"], 3);
  EXPECT_EQ(json["model_clock"]["out_bytes"], 2);
  EXPECT_EQ(json["model_clock"]["in_bytes"], 1);
}

TEST(ScreenReport, OfARecordingThatEndedEarlySaysUpToWhereMemoryIsKnown) {
  Facts facts = Ending(20 * kGiB);
  facts.end_ns = 302'000'000;
  facts.report.write_error = ENOSPC;
  std::string text = Screen({facts});
  EXPECT_THAT(
      text, AllOf(HasSubstr("── Memory did not run out up to 302 ms; later events are not known "),
                  HasSubstr("Peak     At least "), HasSubstr("Room     It is not known"),
                  Not(HasSubstr("Healthy")), Not(HasSubstr("Could"))));
  // If the result of one of several processes is unknown, the job is not reported as healthy.
  EXPECT_THAT(Screen({Ending(30 * kGiB), facts}), Not(HasSubstr("Healthy")));
  facts.report.write_error = 0;
  facts.report.missing_events = 3;
  EXPECT_THAT(Screen({facts}), HasSubstr("in the recorded part; the rest is not known"));
  facts.report.missing_events = 0;
  EXPECT_THAT(Screen({facts}), HasSubstr("Healthy"));
  facts.trace_metadata["program.uncaught"] = "OutOfMemoryError";
  EXPECT_THAT(Screen({facts}), HasSubstr("Memory ran out, and the recording does not show why"));
}

TEST(RunSummary, OfATraceThatEndedEarlyHasTheEndOfTheCommand) {
  Facts facts = Ending(20 * kGiB);
  facts.end_ns = 302'000'000;
  facts.report.write_error = ENOSPC;
  facts.trace_metadata["program.uncaught"] = "OutOfMemoryError";
  const TracePlace place = {.directory = "/tmp", .command_end = "the command ended with status 1"};
  EXPECT_THAT(RunSummary(MergeTraces({facts}), place),
              HasSubstr("not known    memory did not run out up to 302 ms; later events are not "
                        "known; OutOfMemoryError ended the program; the command ended with status "
                        "1\n"));
  EXPECT_THAT(RunSummary(MergeTraces({Ending(kGiB)}), place), Not(HasSubstr("not known")));
}

TEST(ScreenReport, OfACardWithAContextAloneSaysWhatThatTakesAtMost) {
  Facts facts = Ending(20 * kGiB);
  facts.kind = "stow";
  facts.devices.resize(2);
  facts.devices[0].device = 0;
  facts.devices[1].device = 1;
  facts.devices[1].total_bytes = 80 * kGiB;
  EXPECT_THAT(Screen({facts}), HasSubstr("Unused   The process has a context on GPU 1, which "
                                         "takes some hundred MiB"));
  EXPECT_THAT(Screen({facts}), HasSubstr("CUDA_VISIBLE_DEVICES set to the GPUs that it uses"));
  EXPECT_THAT(Screen({facts}), HasSubstr("torch.cuda.set_device(0) in that"));
  facts.devices[0].free_bytes_at_start = 80 * kGiB - (512 << 20);
  EXPECT_THAT(Screen({facts}), HasSubstr("takes up to 512 MiB there\n         (this much was "
                                         "in use on GPU 0 before the first allocation)"));
  // The memory that was in use before the first allocation is far more than a context needs, so
  // other processes use most of it.
  facts.devices[0].free_bytes_at_start = 60 * kGiB;
  EXPECT_THAT(Screen({facts}), HasSubstr("some hundred MiB"));
  // No thread needs another GPU than the one that it uses, but with two of them set_device(N) is
  // no advice.
  facts.devices.push_back(facts.devices[0]);
  facts.devices.back().device = 2;
  EXPECT_THAT(Screen({facts}), testing::Not(HasSubstr("set_device")));
}

TEST(ScreenReport, OfAContextThatFoundNoRoomSaysSo) {
  Facts facts = Ending(20 * kGiB);
  facts.kind = "stow";
  facts.devices.resize(2);
  facts.devices[0].device = 0;
  facts.devices[1].device = 1;
  facts.devices[1].out_of_memory = 1;
  OutOfMemoryFacts failure;
  failure.library = "native code";
  failure.call = "cuDevicePrimaryCtxRetain";
  failure.device = 1;
  facts.out_of_memory.push_back(failure);
  facts.counts.out_of_memory = 1;
  EXPECT_THAT(Screen({facts}), HasSubstr("native code requested memory for a context"));
  EXPECT_THAT(Screen({facts}), testing::Not(HasSubstr("Unused")));
}

TEST(ScreenReport, OfAJobThatWastesNamesTheFault) {
  Facts facts = Ending(20 * kGiB);
  AdviceFacts growing = Failing().advice.front();
  growing.id = AdviceId::kGrowingMemory;
  growing.evidence = "It grows by 2.00 MiB each.";
  growing.proof.is_fault = true;
  growing.replays = {{"native", kGiB, kGiB, true}};
  growing.replayed_bytes = kGiB;
  facts.advice.push_back(growing);
  EXPECT_THAT(Screen({facts}),
              HasSubstr("Then     In a replay up to the peak, PyTorch's allocator needs 1.00 GiB "
                        "instead\n         of 2.00 GiB.\n"));
  EXPECT_THAT(Screen({facts}),
              AllOf(HasSubstr("── Memory did not run out, but something is wrong ──"),
                    HasSubstr("But      A result of each iteration stays on the card"),
                    HasSubstr("Seen     It grows by 2.00 MiB each."), HasSubstr("[growing_memory]"),
                    HasSubstr("vramstow help growing_memory"), Not(HasSubstr("Healthy"))));
}

TEST(RunSummary, OfAJobThatWastesNamesTheFault) {
  Facts facts = Ending(20 * kGiB);
  AdviceFacts growing = Failing().advice.front();
  growing.id = AdviceId::kGrowingMemory;
  growing.evidence = "It grows by 2.00 MiB each.";
  growing.proof.is_fault = true;
  facts.advice.push_back(growing);
  const auto summary = [](const std::vector<Facts>& traces) {
    return RunSummary(MergeTraces(traces), {.directory = "/tmp/x"});
  };
  EXPECT_THAT(summary({facts}), AllOf(HasSubstr("  but          A result of each iteration stays"),
                                      HasSubstr("[growing_memory]; It grows by 2.00 MiB each.\n")));
  Facts other = Ending(kGiB);
  other.rank = 4;
  facts.rank = 5;
  EXPECT_THAT(summary({other, facts}), HasSubstr("  but          rank 5: A result of each"));
  facts.advice.back().proof.is_fault = false;
  EXPECT_THAT(summary({facts}), Not(HasSubstr("  but  ")));
}

TEST(RunSummary, OfSeveralNamesTheRankThatFailed) {
  std::vector<Facts> traces = {Ending(kGiB), Failing()};
  traces.front().rank = 4;
  traces.back().rank = 5;
  const auto summary = [](const std::vector<Facts>& all) {
    return RunSummary(MergeTraces(all), {.directory = "/tmp/x"});
  };
  EXPECT_THAT(summary(traces), HasSubstr("  failed       rank 5, at "));
  EXPECT_THAT(summary({traces.back()}), Not(HasSubstr("  failed  ")));
}

TEST(ScreenReport, OfSeveralIsAboutTheRankThatFailed) {
  std::vector<Facts> traces = {Ending(kGiB), Sample({{"process.rank", "5"}}).total};
  traces.front().rank = 4;
  traces.front().peak.allocated_bytes *= 2;
  EXPECT_THAT(Screen(traces), AllOf(HasSubstr("── Out of memory, rank 5 at 7.00 ms"),
                                    HasSubstr("── Processes ──"), HasSubstr("rank 4  ")));
  traces.back() = traces.front();
  traces.back().rank = 5;
  traces.back().peak.allocated_bytes *= 2;
  EXPECT_THAT(Screen(traces), AllOf(HasSubstr("── Healthy: memory never ran out in 2 processes"),
                                    HasSubstr("over time, rank 5")));
}

TEST(RunSummary, OfAKilledProgramSaysHowItEnded) {
  Facts facts = Ending(20 * kGiB);
  facts.kind = "stow";
  const auto summary = [&facts](bool is_closed) {
    facts.report.closed = is_closed;
    return RunSummary(MergeTraces({facts}),
                      {.directory = "/tmp/x", .command_end = "the command was ended by signal 9"});
  };
  EXPECT_THAT(
      summary(false),
      HasSubstr("  ended        the command was ended by signal 9; the recording goes up to "));
  EXPECT_THAT(summary(true), Not(HasSubstr("signal 9")));
}

TEST(ScreenReport, OfSeveralNamesTheRanksWhoseRecordingsWereNotClosed) {
  std::vector<Facts> ranks(3, Ending(20 * kGiB));
  for (size_t i = 0; i < ranks.size(); ++i) {
    ranks[i].kind = "stow";
    ranks[i].rank = static_cast<int64_t>(i);
    ranks[i].trace_metadata["device.0.uuid"] = "GPU-" + std::to_string(i);
    ranks[i].report.closed = i == 2;
    ranks[i].end_ns = 388'000'000;
  }
  ranks[0].peak.allocated_bytes *= 2;
  ranks[1].end_ns = 96'000'000;
  ranks[0].trace_metadata["recording.last_event_unix_ns"] = "1796072204137638829";
  ranks[1].trace_metadata["recording.last_event_unix_ns"] = "1796072204097638829";
  EXPECT_THAT(
      Screen(ranks),
      AllOf(HasSubstr("── Memory did not run out up to 96.0 ms, where the recording ends, rank 1 "),
            HasSubstr("Open     These recordings were not closed, in the order of their last "
                      "events:\n         rank 1, rank 0 (40.0 ms later)."),
            Not(HasSubstr("Use a larger batch")), Not(HasSubstr("Healthy"))));
  EXPECT_THAT(
      RunSummary(MergeTraces(ranks), {.directory = "/tmp/x"}),
      HasSubstr("  open         These recordings were not closed, in the order of their last "
                "events: rank 1, rank 0 (40.0 ms later). "));
  ranks[0].report.closed = true;
  EXPECT_THAT(Screen(ranks), AllOf(HasSubstr("Open     The recording of rank 1 was not closed:"),
                                   Not(HasSubstr("Use a larger batch"))));
  ranks[1].report.closed = true;
  EXPECT_THAT(Screen(ranks), AllOf(HasSubstr("── Healthy: memory never ran out in 3 processes"),
                                   HasSubstr("Use a larger batch"), Not(HasSubstr("Open "))));
}

TEST(ScreenReport, StaysWithinTheWidth) {
  Facts facts = Failing();
  Facts recorded = Sample({{"process.command", std::string(500, 'x')}}).total;
  recorded.out_of_memory = facts.out_of_memory;
  recorded.advice = facts.advice;
  for (const size_t width : {40u, 80u, 120u, 200u}) {
    std::istringstream lines(Screen({recorded}, {width, true}));
    size_t longest = 0;
    for (std::string line; std::getline(lines, line);) {
      longest = std::max(longest, Columns(line));
      EXPECT_LE(Columns(line), std::max<size_t>(width, 42)) << line;  // a command stays whole
    }
    EXPECT_GE(longest, width) << "the whole width is used";
  }
}

TEST(ScreenReport, HasColoursOnlyWhereTheyAreWanted) {
  EXPECT_THAT(Screen({Sample().total}), Not(HasSubstr("\x1b")));
  const std::string text = Screen({Sample().total}, {80, true, true});
  EXPECT_THAT(text,
              AllOf(HasSubstr("\x1b[1;31m── Out of memory"), HasSubstr("\x1b[1mFull\x1b[0m")));
  EXPECT_THAT(Screen({Ending(kGiB)}, {80, true, true}), HasSubstr("\x1b[1;32m── Healthy"));
  EXPECT_THAT(TextReport(Sample(), {80, true, true}), HasSubstr("\x1b[1m── Peak"));
  for (char c : Screen({Sample().total}, {80, false})) {
    EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

TEST(TextReport, StaysWithinTheWidth) {
  const FactSet set = Sample({{"process.command", std::string(500, 'x')}});
  for (size_t width : {80u, 90u, 100u}) {
    std::istringstream lines(TextReport(set, {width, true}));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(Columns(line), width) << line;
    }
  }
}

TEST(TextReport, IsPlainAsciiWhereItHasToBe) {
  const std::string text = TextReport(Sample(), {80, false});
  for (const std::string& line : {text}) {
    for (char c : line) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
  }
}

TEST(TextReport, MarksARehearsal) {
  const FactSet set = Sample({{"simulated", "NVIDIA H200, seed 0"}});
  EXPECT_THAT(TextReport(set, {}), HasSubstr("SIMULATED RUN: NVIDIA H200"));
  EXPECT_THAT(RunSummary(set, {.directory = "/tmp"}), HasSubstr("SIMULATED RUN"));
}

TEST(TextReport, SaysWhatIsMissing) {
  Facts facts = Sample().total;
  EXPECT_EQ(MissingText(facts), "");
  facts.report.closed = false;
  facts.report.damaged_chunks = 2;
  facts.report.dropped_events = 5;
  facts.report.missing_events = 7;
  facts.report.overwritten_events = 11;
  facts.report.write_error = ENOSPC;
  facts.counts.frees_of_unseen = 3;
  facts.trace_metadata["stacks.full"] = "1";
  const std::string text = TextReport(MergeTraces({facts}), {});
  EXPECT_THAT(text, HasSubstr("because the disk was full"));
  EXPECT_THAT(RunSummary(MergeTraces({facts}), {.directory = "/tmp"}),
              HasSubstr("because the disk was full"));
  EXPECT_THAT(text, AllOf(HasSubstr("killed"), HasSubstr("2 chunks"), HasSubstr("5 events"),
                          HasSubstr("7 events"), HasSubstr("11 events"), HasSubstr("3 frees"),
                          HasSubstr("(further functions)")));
}

TEST(TextReport, ProposesALowerLimitOnlyToATraceThatWasLarger) {
  Facts facts = Sample().total;
  facts.report.write_error = ENOSPC;
  facts.file = testing::TempDir() + "vramstow-lower-limit.stow";
  std::ofstream(facts.file) << "a trace";
  EXPECT_THAT(MissingText(facts), AllOf(HasSubstr("use another folder for the trace"),
                                        Not(HasSubstr("a lower limit"))));
  std::filesystem::resize_file(facts.file, 80 << 20);
  EXPECT_THAT(MissingText(facts), HasSubstr("or a lower limit (--trace-size=64MiB)"));
  std::filesystem::remove(facts.file);
}

TEST(TextReport, OfATraceCannotControlTheTerminal) {
  const std::string text = TextReport(Sample({{"process.command", "\x1b[2Jevil"}}), {});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Chart, LosesNoPeakHoweverNarrow) {
  TimelineFacts timeline;
  timeline.interval_ns = 1000;
  timeline.points.resize(512);
  for (TimelinePoint& point : timeline.points) point.allocated_highest = 10;
  timeline.points[301].allocated_highest = 1000;
  const std::string chart = Chart(timeline, 512000, {40, 8, true});
  const std::string first_line = chart.substr(0, chart.find('\n'));
  EXPECT_THAT(first_line, AllOf(HasSubstr("1000 B"), HasSubstr("█")));
  EXPECT_THAT(chart, HasSubstr("▁▁▁")) << "little is not nothing";
  EXPECT_EQ(Chart({}, 0, {}), "");
}

TEST(Bar, IsEmptyOnlyForNothing) {
  EXPECT_EQ(Bar(0, 10, 8, true), "");
  EXPECT_EQ(Bar(1, 1000000, 8, false), "#");
  EXPECT_EQ(Bar(10, 10, 8, false), "########");
  EXPECT_EQ(Bar(1, 2, 3, true), "█▌");
}

TEST(RunSummary, OfAHealthyJobHasItsRoom) {
  EXPECT_THAT(RunSummary(MergeTraces({Ending(kGiB)}), {.directory = "/tmp/x"}),
              HasSubstr("; 79.0 GiB of the GPU's 80.0 GiB were never used\n"));
  EXPECT_THAT(RunSummary(Sample(), {.directory = "/tmp/x"}), Not(HasSubstr("never used")));
}

TEST(RunSummary, OfSeveralHealthyProcessesHasTheRoomOfTheFullest) {
  const auto rank = [](int64_t number, const std::string& uuid, uint64_t used) {
    Facts facts = Ending(used);
    facts.rank = number;
    facts.trace_metadata["device.0.uuid"] = uuid;
    return facts;
  };
  const TracePlace place = {.directory = "/tmp/x"};
  EXPECT_THAT(
      RunSummary(MergeTraces({rank(0, "GPU-a", 20 * kGiB), rank(1, "GPU-b", 30 * kGiB)}), place),
      HasSubstr("; in rank 1, 50.0 GiB of the GPU's 80.0 GiB were never used\n"));
  EXPECT_THAT(
      RunSummary(MergeTraces({rank(0, "GPU-a", 20 * kGiB), rank(1, "GPU-a", 30 * kGiB)}), place),
      Not(HasSubstr("never used")))
      << "how much they used together is in no trace";
  Facts cut = rank(1, "GPU-b", 30 * kGiB);
  cut.report.dropped_events = 1;
  EXPECT_THAT(RunSummary(MergeTraces({rank(0, "GPU-a", 20 * kGiB), cut}), place),
              Not(HasSubstr("never used")));
}

// Two processes, each of which would leave most of the same GPU free.
std::vector<Facts> Sharers() {
  std::vector<Facts> sharers;
  for (const uint64_t used : {20 * kGiB, 30 * kGiB}) {
    Facts& facts = sharers.emplace_back(Ending(used));
    facts.trace_metadata["process.pid"] = std::to_string(used);
    facts.trace_metadata["device.0.uuid"] = "GPU-a";
    facts.start_unix_ns = 1'000'000'000;
  }
  return sharers;
}

TEST(ScreenReport, OfProcessesThatSharedAGpuHasTheRoomThatTheDriverReported) {
  std::vector<Facts> sharers = Sharers();
  EXPECT_THAT(Screen(sharers),
              AllOf(HasSubstr("Room     It is not known, because processes shared the GPU.\n"),
                    Not(HasSubstr("never used")), Not(HasSubstr("larger batch"))));
  // The driver has answered the process that is not the main one.
  sharers.front().devices.front().lowest_free_bytes = 25 * kGiB;
  const std::string reported = "at most 25.0 GiB of the GPU's 80.0 GiB were never used";
  EXPECT_THAT(Screen(sharers),
              AllOf(HasSubstr("Room     " + reported + ".\n"), Not(HasSubstr("larger batch"))));
  EXPECT_THAT(RunSummary(MergeTraces(sharers), {.directory = "/tmp/x"}), HasSubstr(reported));
  // One process ran after the other, and the driver was not asked.
  sharers.front().devices.front().lowest_free_bytes.reset();
  sharers.back().start_unix_ns += 3600ULL * 1'000'000'000;
  EXPECT_THAT(Screen(sharers),
              AllOf(HasSubstr("Room     60.0 GiB of the"), HasSubstr("larger batch")));
}

TEST(ScreenReport, OfAProcessThatRanWithShareDoesNotTakeTheGpuForItsOwn) {
  Facts facts = Ending(20 * kGiB);
  facts.trace_metadata["option.share"] = "on,dir=/run/share";
  EXPECT_THAT(Screen({facts}),
              AllOf(HasSubstr("because processes shared the GPU"), Not(HasSubstr("larger batch"))));
  EXPECT_THAT(RunSummary(MergeTraces({facts}), {.directory = "/tmp/x"}),
              Not(HasSubstr("never used")));
  facts.devices.front().lowest_free_bytes = 30 * kGiB;
  EXPECT_THAT(Screen({facts}), HasSubstr("Room     at most 30.0 GiB of the GPU's 80.0 GiB"));
  // Memory left because another process needed the GPU, after the driver had been asked.
  facts.trace_metadata["share.out_bytes"] = "1000000";
  EXPECT_THAT(Screen({facts}), HasSubstr("Room     the GPU was full.\n"));
}

TEST(RunSummary, SaysWhatARankThatRanAloneCannotTell) {
  const FactSet set = Sample({{"simulated",
                               "NVIDIA H100 (simulated), 79.2 GiB each, seed 1, rank 0 of 256 on "
                               "32 nodes, the other ranks are not there"}});
  EXPECT_THAT(RunSummary(set, {.directory = "/tmp"}),
              HasSubstr("  ranks        rank 0 of 256 on 32 nodes ran alone: it cannot show how "
                        "data or routing of experts differ between ranks\n"));
  const auto rank = [](const std::string& number) {
    return Sample({{"simulated", "NVIDIA H100 (simulated), rank " + number +
                                     " of 256, the other ranks are not there"}})
        .total;
  };
  EXPECT_THAT(RunSummary(MergeTraces({rank("0"), rank("255")}), {.directory = "/tmp"}),
              HasSubstr("  ranks        ranks 0, 255 of 256 ran, each alone: they cannot show "));
  EXPECT_THAT(RunSummary(Sample({{"simulated", "NVIDIA H100"}}), {.directory = "/tmp"}),
              Not(HasSubstr("ran alone")));
}

TEST(RunSummary, HasAtMostTenLinesAndAllThatIsWanted) {
  const FactSet set = Sample();
  const std::string text = RunSummary(set, {.directory = "/tmp/x"});
  EXPECT_LE(LinesOf(text), kMaxSummaryLines);
  EXPECT_THAT(text, AllOf(HasSubstr("29.0 MiB allocated, 29.0 MiB reserved"),
                          HasSubstr("4, largest block 24.0 MiB, 1 failed allocation"),
                          HasSubstr("library-1.so 24.0 MiB"), HasSubstr("history.stow"),
                          HasSubstr("vramstow analyze history.stow")));
}

TEST(RunSummary, OfManyProcessesIsNoLonger) {
  std::vector<Facts> traces;
  for (int rank = 0; rank < 64; ++rank) {
    traces.push_back(Sample({{"process.rank", std::to_string(rank)}, {"simulated", "card"}}).total);
    traces.back().report.missing_events = 1;
    traces.back().report.damaged_bytes = 10;
  }
  const std::string text =
      RunSummary(MergeTraces(traces), {.directory = "/tmp/my traces", .unread = 3});
  EXPECT_LE(LinesOf(text), kMaxSummaryLines);
  EXPECT_THAT(text, AllOf(HasSubstr("64 processes (64 ranks), highest peak 29.0 MiB in rank 0"),
                          HasSubstr("64 events"), HasSubstr("3 traces that could not be read"),
                          HasSubstr("vramstow analyze '/tmp/my traces'\n")));
  // If the folder also has traces of other runs, the summary names the traces of this run.
  EXPECT_THAT(RunSummary(MergeTraces(traces), {.directory = "/tmp", .has_others = true}),
              HasSubstr("vramstow analyze history.stow history.stow "));
}

TEST(Identity, TheLeastFreeMemoryIsNotOnlyTheDriversLowestAnswer) {
  Facts facts = Ending(70 * kGiB);
  DeviceFacts& device = facts.devices.front();
  device.free_bytes_at_start = 79 * kGiB;
  device.lowest_free_bytes = 60 * kGiB;
  device.lowest_free_time_ns = 5'000'000;
  EXPECT_THAT(Identity(facts, {}),
              AllOf(HasSubstr("9.00 GiB free at"), Not(HasSubstr("60.0 GiB"))));
  device.lowest_free_bytes = 3 * kGiB;
  EXPECT_THAT(Identity(facts, {}), AllOf(HasSubstr("3.00 GiB free at"), HasSubstr("(at 5.00 ms)")));
}

TEST(CacheSection, DoesNotCountCallsOfEmptyCacheThatItCannotKnow) {
  Facts facts;
  facts.cache.known = true;
  facts.cache.flush_count = 1;
  facts.cache.flushes.resize(1);
  EXPECT_THAT(CacheSection(facts, {}), HasSubstr("returned 1 time, by empty_cache() 0: it took"));
  facts.cache.knows_empty_cache = false;
  EXPECT_THAT(CacheSection(facts, {}), HasSubstr("returned 1 time: it took"));
}

}  // namespace
}  // namespace vramstow
