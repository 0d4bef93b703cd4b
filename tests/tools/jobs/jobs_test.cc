// Tests the outcome of a job: how the command ended, the traces that it left, and their facts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tools/jobs/job.h"
#include "tools/jobs/rehearsal.h"

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kMega = 1 << 20;
constexpr char kWriteTrace[] = VRAMSTOW_WRITE_TRACE;

std::string NewFolder() {
  std::string folder = testing::TempDir() + "/jobs-XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Job JobOf(const std::vector<std::string>& command) {
  const std::string folder = NewFolder();
  return {.command = command,
          .flags = {{"VRAMSTOW_SIMULATE", "h100"}, {"VRAMSTOW_TRACE_DIR", folder}},
          .output = folder + "/output.txt",
          .note = [](const std::string&, std::string_view) {}};
}

Outcome OutcomeOf(const std::vector<std::string>& command) {
  auto outcome = RunJob(JobOf(command));
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  return outcome.ok() ? *std::move(outcome) : Outcome();
}

TEST(Job, TellsHowTheCommandEndedAndWhatItDidWithMemory) {
  const Outcome outcome =
      OutcomeOf({"sh", "-c", std::string(kWriteTrace) + " small; echo said; exit 3"});
  EXPECT_EQ(outcome.exit.status, 3);
  EXPECT_EQ(outcome.exit.end.how, ChildEnd::How::kExited);
  EXPECT_THAT(outcome.exit.not_started, IsEmpty());
  EXPECT_EQ(TextOf(outcome.output), "said\n");
  EXPECT_EQ(outcome.traces.unread, 0u);
  EXPECT_FALSE(outcome.traces.stopped);
  EXPECT_THAT(outcome.traces.running, IsEmpty());
  EXPECT_THAT(outcome.traces.problem, IsEmpty());
  ASSERT_THAT(outcome.facts.traces, SizeIs(1));
  EXPECT_EQ(outcome.facts.total.peak.allocated_bytes, 8 * kMega);
  EXPECT_EQ(outcome.facts.total.counts.out_of_memory, 1u);
  // The explanation is the same as that of vramstow analyze.
  EXPECT_THAT(outcome.facts.traces[0].advice, testing::Not(IsEmpty()));
}

TEST(Job, AddsUpAllProcesses) {
  const std::string once = std::string(kWriteTrace) + " small; ";
  const Outcome outcome = OutcomeOf({"sh", "-c", once + once});
  ASSERT_THAT(outcome.facts.traces, SizeIs(2));
  EXPECT_EQ(outcome.facts.total.peak.allocated_bytes, 16 * kMega);
}

TEST(Job, ASignalThatEndsTheCommandIsNoExitStatusOfItsOwn) {
  const Outcome outcome = OutcomeOf({"sh", "-c", "kill -TERM $$"});
  EXPECT_EQ(outcome.exit.end.how, ChildEnd::How::kKilled);
  EXPECT_EQ(outcome.exit.end.value, SIGTERM);
  EXPECT_EQ(outcome.exit.status, 128 + SIGTERM);
  EXPECT_THAT(outcome.facts.traces, IsEmpty());
}

TEST(Job, ACommandThatIsNotThereHasTheStatusOfShells) {
  const Outcome outcome = OutcomeOf({"no-such-command"});
  EXPECT_EQ(outcome.exit.status, 127);
  EXPECT_EQ(outcome.exit.not_started,
            "cannot run 'no-such-command': there is no such command in PATH.");
  EXPECT_EQ(OutcomeOf({"/"}).exit.status, 126);
}

TEST(Job, CountsTracesThatCannotBeReadAndLeavesOutThoseOfOthers) {
  const std::string other = "VRAMSTOW_RUN_ID=1-other ";
  const Outcome outcome = OutcomeOf({"sh", "-c",
                                     "echo no trace > $VRAMSTOW_TRACE_DIR/broken.stow; " + other +
                                         kWriteTrace + "; " + kWriteTrace + " refused"});
  EXPECT_EQ(outcome.traces.unread, 1u);
  ASSERT_THAT(outcome.facts.traces, SizeIs(1));
  EXPECT_EQ(outcome.facts.traces[0].trace_metadata.at("process.command"), "write_trace refused");
}

TEST(Job, WhatIsWrongIsToldBeforeAnythingStarts) {
  Job job = JobOf({"sh", "-c", "echo started"});
  job.flags["VRAMSTOW_SIMULATE"] = "nocard";
  EXPECT_THAT(std::string(RunJob(job).status().message()), HasSubstr("nocard"));
  EXPECT_FALSE(std::filesystem::exists(job.output));
}

TEST(Job, SeveralJobsRunAtTheSameTimeAndEachHasItsOwnOutcome) {
  // Each command waits for the other one.
  const std::string here = NewFolder() + "/";
  const auto command = [&](const std::string& own, const std::string& other) {
    return std::vector<std::string>{"sh", "-c",
                                    "touch " + here + own + "; while ! test -e " + here + other +
                                        "; do sleep 0.01; done; " + kWriteTrace + " small; echo " +
                                        own + "; exit " + own};
  };
  const auto outcomes = RunJobsTogether({JobOf(command("3", "4")), JobOf(command("4", "3"))});
  ASSERT_TRUE(outcomes.ok()) << outcomes.status();
  ASSERT_THAT(*outcomes, SizeIs(2));
  EXPECT_EQ(outcomes->at(0).exit.status, 3);
  EXPECT_EQ(outcomes->at(1).exit.status, 4);
  EXPECT_EQ(TextOf(outcomes->at(0).output), "3\n");
  EXPECT_EQ(TextOf(outcomes->at(1).output), "4\n");
  for (const Outcome& outcome : *outcomes) EXPECT_THAT(outcome.facts.traces, SizeIs(1));
}

TEST(Job, NoneOfSeveralJobsStartsIfOneIsWrong) {
  Job wrong = JobOf({"sh", "-c", "echo started"});
  wrong.flags["VRAMSTOW_SIMULATE"] = "nocard";
  const Job right = JobOf({"sh", "-c", "echo started"});
  EXPECT_FALSE(RunJobsTogether({right, wrong}).ok());
  EXPECT_FALSE(std::filesystem::exists(right.output));
}

TEST(Job, ACommandThatIsNotThereKeepsLaterOnesFromStarting) {
  const auto outcomes = RunJobsTogether({JobOf({"no-such-command"}), JobOf({"echo", "later"})});
  ASSERT_TRUE(outcomes.ok()) << outcomes.status();
  ASSERT_THAT(*outcomes, SizeIs(2));
  EXPECT_EQ(outcomes->at(0).exit.status, 127);
  EXPECT_THAT(outcomes->at(1).exit.not_started, testing::Not(IsEmpty()));
}

TEST(Rehearsal, IsOfTheProcessThatTookMostAndQuotesTheCommandAlone) {
  const std::string folder = NewFolder() + "/1";
  const auto rehearsal = Rehearse(
      {"sh", "-c", std::string(kWriteTrace) + "; echo last; echo vramstow: a note >&2; exit 7"},
      {{"VRAMSTOW_SIMULATE", "h100"}}, folder);
  ASSERT_TRUE(rehearsal.ok()) << rehearsal.status();
  EXPECT_EQ(rehearsal->exit_status, 7);
  EXPECT_EQ(rehearsal->processes, 1u);
  EXPECT_EQ(rehearsal->facts.peak.allocated_bytes, 8 * kMega);
  EXPECT_EQ(LastLineOf(rehearsal->output, 100), "last");
  EXPECT_EQ(LastLineOf(rehearsal->output, 2), "st");
  std::ofstream(rehearsal->output, std::ios::app) << "\n \nmore\nvramstow run: a note\n";
  EXPECT_THAT(LastLinesOf(rehearsal->output, 5), ElementsAre("last", "more"));
  EXPECT_THAT(LastLinesOf(rehearsal->output, 1), ElementsAre("more"));
}

TEST(Rehearsal, CountsOnlyProcessesThatUsedDeviceMemory) {
  const std::string write = kWriteTrace;
  const auto rehearsal =
      Rehearse({"sh", "-c", write + " idle; " + write + " small; " + write + " idle"},
               {{"VRAMSTOW_SIMULATE", "h100"}}, NewFolder() + "/1");
  ASSERT_TRUE(rehearsal.ok()) << rehearsal.status();
  EXPECT_EQ(rehearsal->processes, 1u);
}

TEST(Rehearsal, ATraceThatIsNotCompleteHasNoPeak) {
  const auto status_of = [](const std::string& script) {
    return Rehearse({"sh", "-c", script}, {{"VRAMSTOW_SIMULATE", "h100"}}, NewFolder() + "/1")
        .status();
  };
  const absl::Status early =
      status_of("trap '' XFSZ; ulimit -f 512; " + std::string(kWriteTrace) + " many");
  EXPECT_EQ(early.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(early.message()),
              testing::StartsWith(
                  "the peak of the command is not known, because its trace ends early: the "));
  const absl::Status unread = status_of("echo no trace > $VRAMSTOW_TRACE_DIR/broken.stow");
  EXPECT_EQ(unread.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(std::string(unread.message()),
            "the peak of the command is not known, because 1 trace of it cannot be read.");
  const absl::Status none = status_of(
      "echo \"vramstow: no trace is written, because no file can be created in '/x' (the disk is "
      "full): choose another folder with VRAMSTOW_TRACE_DIR.\"");
  EXPECT_EQ(
      std::string(none.message()),
      "the peak of the command is not known, because no file can be created in '/x' (the disk "
      "is full).");
}

TEST(Rehearsal, WithoutDeviceMemorySaysWhy) {
  const auto rehearsal = Rehearse({"sh", "-c", "echo because; exit 9"},
                                  {{"VRAMSTOW_SIMULATE", "h100"}}, NewFolder() + "/1");
  EXPECT_EQ(std::string(rehearsal.status().message()),
            "the command failed with exit status 9 before it used device memory: because");
}

}  // namespace
}  // namespace vramstow
