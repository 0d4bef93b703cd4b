// WithinSource returns the events of another source that lie in ranges of one name.
//
// Idea: a test needs the memory use of its own body, and not of earlier code. Ranges are the marks
// that the application pushed and popped; all ranges with the name count. Memory that was allocated
// outside of the ranges is unknown, and freeing it within a range does not change a level.
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
#include <utility>
#include <vector>

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
  uint32_t Stack() const override { return source_->Stack(); }
  std::vector<CallFrame> Frames(uint32_t stack) const override { return source_->Frames(stack); }
  std::string_view MarkText(const Event& mark) const override { return source_->MarkText(mark); }
  std::optional<uint16_t> OpeningCall() const override { return source_->OpeningCall(); }
  bool ReportsFreeCompleted() const override { return source_->ReportsFreeCompleted(); }
  std::optional<uint64_t> Reserved() const override { return source_->Reserved(); }
  std::vector<std::string> missing() const override { return source_->missing(); }
  bool Rewind() override {
    depth_ = 0;
    return source_->Rewind();
  }
  std::vector<TraceGap> Gaps() const override { return source_->Gaps(); }

 private:
  std::unique_ptr<EventSource> source_;
  std::string name_;
  uint64_t depth_ = 0;  // number of open ranges with the name
  bool found_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_WITHIN_SOURCE_H_
