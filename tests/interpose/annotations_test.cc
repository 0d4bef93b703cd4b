// Tests that a program's annotations are in its trace, in order with its allocations.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/typed_event.h"
#include "tests/interpose/support.h"
#include "tracer/format/reader.h"

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Annotations : public Interposed {
 protected:
  // Returns the marks of the only trace: their kind (0, 1, 2), their number if they have one, and
  // their text.
  std::vector<std::string> Marks() {
    std::vector<std::string> marks;
    TraceReader reader;
    const std::string path = folder() + "/" + OnlyTrace().file;
    EXPECT_EQ(reader.Open(path.c_str()), ReadError::kOk);
    Event event;
    while (reader.Next(&event)) {
      if (event.kind != EventKind::kMark) continue;
      std::string mark = std::to_string(event.offset) + " ";
      if (event.size != 0) mark += "#" + std::to_string(event.size) + " ";
      mark += reader.Annotation(event.object);
      marks.push_back(mark);
    }
    return marks;
  }
};

TEST_F(Annotations, TheCApiSpeaksIntoTheTrace) {
  const Outcome outcome = Run({"annotations"});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, IsEmpty());
  std::vector<std::string> expected = {"0 #10 iteration"};  // begun before the trace
  for (const char* number : {"1", "2", "3", "4"}) {
    expected.push_back(std::string("0 #") + number + " iteration");
    expected.push_back("1 forward");
    expected.push_back("2 forward");
  }
  expected.push_back("0 the end");
  EXPECT_EQ(Marks(), expected);
}

TEST_F(Annotations, NvtxSpeaksIntoTheTrace) {
  const Outcome outcome =
      Run({"annotations"}, {{"NVTX_INJECTION64_PATH", kLibraries + "/libvramstow-core.so"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  std::vector<std::string> marks = Marks();
  ASSERT_GT(marks.size(), 14u);
  marks.erase(marks.begin(), marks.begin() + 14);
  // The first process range was pushed before the trace began.
  EXPECT_THAT(marks, ElementsAre("0 nvtx mark", "1 nvtx range", "1 nvtx domain range",
                                 "2 nvtx domain range", "2 nvtx range", "1 #2 nvtx process range",
                                 "0 nvtx registered text", "2 #2 nvtx process range",
                                 "1 (no ASCII text)", "0 (further texts)"));
  EXPECT_EQ(OnlyTrace().facts.at("nvtx.texts_full"), "1");
}

TEST_F(Annotations, NvtxAloneFindsATableAndNobodyToTell) {
  const Outcome outcome =
      Run({"annotations"}, {{"NVTX_INJECTION64_PATH", kLibraries + "/libvramstow-core.so"}}, "");
  // The C API is missing if vramstow is not preloaded. The program notices this only after its NVTX
  // calls.
  EXPECT_EQ(outcome.status, 99);
  EXPECT_THAT(outcome.error, testing::HasSubstr("vramstow_iteration(9)"));
  EXPECT_THAT(Files(), IsEmpty());
}

// If the simulated GPU has a virtual clock, an event with its time is recorded before each mark.
TEST_F(Annotations, EachMarkHasTheTimeOfASimulatedCardBeforeIt) {
  const Outcome outcome = Run({"annotations"}, {{"FAKE_MODEL_CLOCK", "1"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const ReadTrace trace = OnlyTrace();
  ModelClockEvent last;
  size_t marks = 0;
  size_t between = 0;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const NamedEvent& event = trace.events[i];
    if (event.kind == EventKind::kMark) {
      ++marks;
      ASSERT_GT(i, 1u);
      EXPECT_EQ(trace.events[i - 2].kind, EventKind::kModelClock) << i;
      EXPECT_EQ(trace.events[i - 1].kind, EventKind::kModelWork) << i;
    }
    if (event.kind != EventKind::kModelClock) continue;
    const ModelClockEvent now = ModelClockEvent::Of(event);
    const bool is_for_mark =
        i + 2 < trace.events.size() && trace.events[i + 2].kind == EventKind::kMark;
    ASSERT_LT(i + 1, trace.events.size());
    EXPECT_EQ(ModelWorkEvent::Of(trace.events[i + 1]).work_ns, 5 * now.link_read_bytes);
    EXPECT_EQ(ModelWorkEvent::Of(trace.events[i + 1]).due_ns, now.model_ns + 7);
    EXPECT_GE(now.model_ns - last.model_ns, is_for_mark ? 60'000u : 100'000u);
    EXPECT_EQ(now.link_read_bytes, now.model_ns / 60);
    EXPECT_EQ(now.out_bytes, 2 * now.link_read_bytes);
    EXPECT_EQ(now.in_bytes, 3 * now.link_read_bytes);
    EXPECT_EQ(now.held_ns, 0u);
    between += is_for_mark ? 0 : 1;
    last = now;
  }
  EXPECT_GE(marks, 13u);
  EXPECT_GT(between, 0u) << "allocations have samples, too";
}

TEST_F(Annotations, WithoutSuchAClockNoTimeIsRecorded) {
  EXPECT_EQ(Run({"annotations"}).status, 0);
  EXPECT_THAT(OfKind(OnlyTrace(), EventKind::kModelClock), IsEmpty());
}

}  // namespace
}  // namespace vramstow
