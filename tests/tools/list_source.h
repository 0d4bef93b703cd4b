// An event source over a list, and functions that make events, for the tests of the tools.
#ifndef VRAMSTOW_TESTS_TOOLS_LIST_SOURCE_H_
#define VRAMSTOW_TESTS_TOOLS_LIST_SOURCE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/analysis/accounts/analyzer.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

// A list of events. Call n is named "call-n", library n has the path "/lib/library-n.so".
class ListSource : public EventSource {
 public:
  explicit ListSource(std::vector<Event> events, std::map<std::string, std::string> facts = {})
      : events_(std::move(events)), facts_(std::move(facts)) {
    for (int i = 0; i < 16; ++i) {
      calls_.push_back("call-" + std::to_string(i));
      libraries_.push_back("/lib/library-" + std::to_string(i) + ".so");
    }
    libraries_[kProgram] = "/usr/bin/program";
    report_.closed = true;
    report_.events = events_.size();
  }

  static constexpr uint16_t kProgram = 15;  // among the libraries

  bool Next(Event* event) override {
    if (next_ == events_.size()) return false;
    *event = events_[next_++];
    return true;
  }
  std::string_view CallName(uint16_t call) const override { return calls_[call % 16]; }
  std::string_view LibraryPath(uint16_t library) const override { return libraries_[library % 16]; }
  const std::map<std::string, std::string>& facts() const override { return facts_; }
  ReadReport report() const override { return report_; }
  ReadReport& mutable_report() { return report_; }
  bool Rewind() override {
    next_ = 0;
    return true;
  }
  std::vector<TraceGap> Gaps() const override { return gaps_; }
  void SetGaps(std::vector<TraceGap> gaps) { gaps_ = std::move(gaps); }

 private:
  std::vector<Event> events_;
  std::map<std::string, std::string> facts_;
  std::vector<std::string> calls_;
  std::vector<std::string> libraries_;
  ReadReport report_;
  std::vector<TraceGap> gaps_;
  size_t next_ = 0;
};

// Builds a history: it assigns ascending sequence numbers and times.
class History {
 public:
  // Adds the event and returns its sequence number. Each event is a millisecond later than the
  // last.
  uint64_t Add(Event event) {
    event.sequence = events_.size() + 1;
    event.time_ns = event.sequence * 1000000;
    if (event.thread == 0) event.thread = 1;
    events_.push_back(event);
    return event.sequence;
  }
  uint64_t Allocate(uint64_t address, uint64_t size, MemoryKind memory = MemoryKind::kDevice,
                    uint16_t library = 1) {
    return Add({.address = address,
                .size = size,
                .device = 0,
                .call = 1,
                .library = library,
                .kind = EventKind::kAllocate,
                .memory = memory});
  }
  uint64_t Free(uint64_t address, MemoryKind memory = MemoryKind::kDevice, uint16_t library = 1) {
    return Add({.address = address,
                .device = 0,
                .call = 2,
                .library = library,
                .kind = EventKind::kFree,
                .memory = memory});
  }
  uint64_t Refuse(uint64_t sequence, int32_t result = 1) {
    return Add({.object = sequence, .result = result, .call = 2, .kind = EventKind::kRefused});
  }
  uint64_t Map(uint64_t address, uint64_t size, uint64_t handle) {
    return Add({.address = address, .size = size, .object = handle, .kind = EventKind::kMap});
  }
  uint64_t Unmap(uint64_t address, uint64_t size) {
    return Add({.address = address, .size = size, .kind = EventKind::kUnmap});
  }
  uint64_t Reserve(uint64_t address, uint64_t size) {
    return Add({.address = address, .size = size, .kind = EventKind::kReserve});
  }
  uint64_t Unreserve(uint64_t address, uint64_t size) {
    return Add({.address = address, .size = size, .kind = EventKind::kUnreserve});
  }

  const std::vector<Event>& events() const { return events_; }
  Facts Analyze(std::map<std::string, std::string> facts = {}) const {
    ListSource source(events_, std::move(facts));
    return vramstow::Analyze(&source, "history.stow");
  }

 private:
  std::vector<Event> events_;
};

inline const TallyFacts* Find(const std::vector<TallyFacts>& tallies, const std::string& name) {
  for (const TallyFacts& tally : tallies) {
    if (tally.name == name) return &tally;
  }
  return nullptr;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_TOOLS_LIST_SOURCE_H_
