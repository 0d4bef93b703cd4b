// WithinSource returns the events of another source that lie in ranges of one name.
//
// Idea: a test needs the memory use of its own body, and not of earlier code. Ranges are the marks
// that the application pushed and popped; all ranges with the name count. Memory that was allocated
// outside of the ranges is unknown, and freeing it within a range does not change a level. Memory
// that was allocated in a range and freed between two ranges is freed when the second one begins.
//
// Ownership: owns the other source. Threads: one at a time. Errors: none; found() returns whether
// there was such a range. Units: those of the source.
#ifndef VRAMSTOW_TOOLS_INPUTS_WITHIN_SOURCE_H_
#define VRAMSTOW_TOOLS_INPUTS_WITHIN_SOURCE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

class WithinSource : public EventSource {
 public:
  WithinSource(std::unique_ptr<EventSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}

  bool Next(Event* event) override;
  bool found() const { return found_; }

  std::string_view CallName(uint16_t call) const override { return source_->CallName(call); }
  std::string_view LibraryPath(uint16_t library) const override {
    return source_->LibraryPath(library);
  }
  const std::map<std::string, std::string>& facts() const override { return source_->facts(); }
  ReadReport report() const override { return source_->report(); }
  std::string_view Kind() const override { return source_->Kind(); }
  // The source has read on already when an event between two ranges is returned.
  uint32_t Stack() const override { return begin_.has_value() ? 0 : source_->Stack(); }
  std::vector<CallFrame> Frames(uint32_t stack) const override { return source_->Frames(stack); }
  std::string_view MarkText(const Event& mark) const override { return source_->MarkText(mark); }
  std::optional<uint16_t> OpeningCall() const override { return source_->OpeningCall(); }
  bool ReportsFreeCompleted() const override { return source_->ReportsFreeCompleted(); }
  std::optional<uint64_t> Reserved() const override { return source_->Reserved(); }
  std::vector<std::string> missing() const override { return source_->missing(); }
  bool Rewind() override;
  std::vector<TraceGap> Gaps() const override { return source_->Gaps(); }

 private:
  using Place = std::tuple<EventKind, Layer, uint64_t>;
  // Returns the key under which the memory of an event is remembered. `begin` is the kind of the
  // event that allocates such memory.
  static Place PlaceOf(const Event& event, EventKind begin);
  void NoteInside(const Event& event);
  void NoteOutside(const Event& event);
  bool NextGone(Event* event);

  std::unique_ptr<EventSource> source_;
  std::string name_;
  uint64_t depth_ = 0;  // number of open ranges with the name
  bool found_ = false;
  absl::flat_hash_set<Place> made_;  // the memory that was allocated in ranges
  std::vector<Event> gone_;          // the events since the last range that ended such memory
  size_t next_gone_ = 0;             // the first of them that was not returned
  std::optional<Event> begin_;       // the begin of the next range, which follows them
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_WITHIN_SOURCE_H_
