#include "tools/analysis/accounts/event_pipe.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "tests/tools/list_source.h"

namespace vramstow {
namespace {

std::vector<Event> Numbered(uint64_t count) {
  std::vector<Event> events(count);
  for (uint64_t i = 0; i < count; ++i) events[i].sequence = i + 1;
  return events;
}

TEST(EventPipe, GivesAllEventsInTheirOrder) {
  // The events end within a batch, at the end of one, or there are none.
  for (uint64_t count : {uint64_t{50001}, uint64_t{20} * EventBatch::kMax, uint64_t{0}}) {
    ListSource source(Numbered(count));
    EventPipe pipe(&source);
    uint64_t seen = 0;
    while (const EventBatch* batch = pipe.Next()) {
      for (size_t i = 0; i < batch->count; ++i) ASSERT_EQ(batch->events[i].sequence, ++seen);
    }
    EXPECT_EQ(seen, count);
    EXPECT_EQ(pipe.Next(), nullptr);
  }
}

TEST(EventPipe, MayBeLeftBeforeTheEnd) {
  ListSource source(Numbered(100 * EventBatch::kMax));
  EventPipe pipe(&source);
  ASSERT_NE(pipe.Next(), nullptr);
}

class Failing : public ListSource {
 public:
  Failing() : ListSource(Numbered(3 * EventBatch::kMax)) {}
  bool Next(Event* event) override {
    if (++calls_ > 2 * EventBatch::kMax) throw std::bad_alloc();
    return ListSource::Next(event);
  }

 private:
  size_t calls_ = 0;
};

TEST(EventPipe, ThrowsWhatTheSourceThrew) {
  Failing source;
  EventPipe pipe(&source);
  EXPECT_NE(pipe.Next(), nullptr);
  EXPECT_NE(pipe.Next(), nullptr);
  EXPECT_THROW(pipe.Next(), std::bad_alloc);
}

class Talking : public ListSource {
 public:
  Talking() : ListSource({{.kind = EventKind::kAllocate}, {.kind = EventKind::kMark}}) {}
  uint32_t Stack() const override { return 7; }
  std::optional<uint64_t> Reserved() const override { return 512; }
  std::string_view MarkText(const Event&) const override { return "step"; }
};

TEST(EventPipe, BringsStacksMarksAndReservedMemory) {
  Talking source;
  EventPipe pipe(&source);
  const EventBatch* batch = pipe.Next();
  ASSERT_NE(batch, nullptr);
  ASSERT_EQ(batch->count, 2u);
  EXPECT_EQ(batch->events[0].stack, 7u);
  ASSERT_EQ(batch->texts.size(), 1u);
  EXPECT_EQ(batch->texts[0].first, 1u);
  EXPECT_EQ(batch->texts[0].second, "step");
  ASSERT_EQ(batch->reserved.size(), 2u);
  EXPECT_EQ(batch->reserved[1].second, 512u);
}

}  // namespace
}  // namespace vramstow
