#include "tools/inputs/within_source.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/typed_event.h"

namespace vramstow {
namespace {

constexpr uint64_t kText = 1;  // the number of the text "forward"

class Listed : public EventSource {
 public:
  explicit Listed(std::vector<Event> events) : events_(std::move(events)) {}
  bool Next(Event* event) override {
    if (next_ == events_.size()) return false;
    *event = events_[next_++];
    return true;
  }
  std::string_view CallName(uint16_t) const override { return "unknown"; }
  std::string_view LibraryPath(uint16_t) const override { return "unknown"; }
  const std::map<std::string, std::string>& facts() const override { return facts_; }
  ReadReport report() const override { return {}; }
  std::string_view MarkText(const Event& mark) const override {
    return TextNumber(mark) == kText ? "forward" : "other";
  }
  uint32_t Stack() const override { return static_cast<uint32_t>(next_); }

 private:
  std::vector<Event> events_;
  size_t next_ = 0;
  std::map<std::string, std::string> facts_;
};

Event Mark(MarkKind kind) { return MarkEvent{kind, kText, 0}.ToEvent(); }

Event Block(EventKind kind, uint64_t address) {
  Event event;
  event.kind = kind;
  event.memory = MemoryKind::kDevice;
  event.address = address;
  event.size = 512;
  return event;
}

// Returns the events within "forward", as letters with an address: a, f, and the ranges ( and ).
std::string Within(std::vector<Event> events) {
  WithinSource within(std::make_unique<Listed>(std::move(events)), "forward");
  std::string text;
  Event event;
  while (within.Next(&event)) {
    if (event.kind == EventKind::kMark) {
      text += MarkEvent::Of(event).kind == MarkKind::kRangeBegins ? "(" : ")";
    } else {
      text += (event.kind == EventKind::kAllocate ? "a" : "f") + std::to_string(event.address);
    }
  }
  return text;
}

TEST(WithinSourceTest, WhatIsFreedBetweenTwoRangesIsFreedWhenTheSecondOneBegins) {
  EXPECT_EQ(Within({Mark(MarkKind::kRangeBegins), Block(EventKind::kAllocate, 1),
                    Block(EventKind::kAllocate, 2), Mark(MarkKind::kRangeEnds),
                    Block(EventKind::kFree, 2), Mark(MarkKind::kRangeBegins),
                    Block(EventKind::kAllocate, 3), Mark(MarkKind::kRangeEnds)}),
            "(a1a2)f2(a3)");
}

TEST(WithinSourceTest, WhatIsFreedAfterTheLastRangeWasLeftBehindByIt) {
  EXPECT_EQ(Within({Mark(MarkKind::kRangeBegins), Block(EventKind::kAllocate, 1),
                    Mark(MarkKind::kRangeEnds), Block(EventKind::kFree, 1)}),
            "(a1)");
}

TEST(WithinSourceTest, WhatWasAllocatedOutsideIsNotSeen) {
  EXPECT_EQ(Within({Block(EventKind::kAllocate, 1), Mark(MarkKind::kRangeBegins),
                    Block(EventKind::kAllocate, 2), Mark(MarkKind::kRangeEnds),
                    Block(EventKind::kFree, 1), Block(EventKind::kFree, 2),
                    Block(EventKind::kAllocate, 2), Block(EventKind::kFree, 2),
                    Mark(MarkKind::kRangeBegins), Mark(MarkKind::kRangeEnds)}),
            "(a2)f2()");
}

TEST(WithinSourceTest, AnEventBetweenTwoRangesHasNoStackOfAnotherOne) {
  WithinSource within(
      std::make_unique<Listed>(std::vector<Event>{
          Mark(MarkKind::kRangeBegins), Block(EventKind::kAllocate, 1), Mark(MarkKind::kRangeEnds),
          Block(EventKind::kFree, 1), Mark(MarkKind::kRangeBegins)}),
      "forward");
  std::vector<uint32_t> stacks;
  Event event;
  while (within.Next(&event)) stacks.push_back(within.Stack());
  EXPECT_EQ(stacks, (std::vector<uint32_t>{1, 2, 3, 0, 5}));
}

}  // namespace
}  // namespace vramstow
