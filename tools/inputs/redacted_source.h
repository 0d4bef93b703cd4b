// RedactedSource returns another source's events without data that identifies who ran the job, and
// where.
//
// Ownership: owns the other source and the texts that it returns. Threads: one at a time. Errors:
// none. Units: those of the source. Memory: each text once.
#ifndef VRAMSTOW_TOOLS_INPUTS_REDACTED_SOURCE_H_
#define VRAMSTOW_TOOLS_INPUTS_REDACTED_SOURCE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/facts/redactor.h"

namespace vramstow {

// Returns a redactor that replaces the name of this machine, and the folders that contain the given
// files and folders.
Redactor RedactorFor(const std::vector<std::string>& paths);

class RedactedSource : public EventSource {
 public:
  RedactedSource(std::unique_ptr<EventSource> source, Redactor redactor);

  bool Next(Event* event) override { return source_->Next(event); }
  std::string_view CallName(uint16_t call) const override;
  std::string_view LibraryPath(uint16_t library) const override;
  const std::map<std::string, std::string>& facts() const override { return facts_; }
  ReadReport report() const override { return source_->report(); }
  std::string_view Kind() const override { return source_->Kind(); }
  uint32_t Stack() const override { return source_->Stack(); }
  std::vector<CallFrame> Frames(uint32_t stack) const override;
  std::string_view MarkText(const Event& mark) const override;
  std::optional<uint16_t> OpeningCall() const override { return source_->OpeningCall(); }
  bool ReportsFreeCompleted() const override { return source_->ReportsFreeCompleted(); }
  const TraceSums* Sums() const override { return source_->Sums(); }
  bool Rewind() override { return source_->Rewind(); }
  std::vector<TraceGap> Gaps() const override { return source_->Gaps(); }
  std::optional<uint64_t> Reserved() const override { return source_->Reserved(); }
  std::vector<std::string> missing() const override;

 private:
  std::string_view Kept(std::string text) const { return *texts_.insert(std::move(text)).first; }

  std::unique_ptr<EventSource> source_;
  Redactor redactor_;
  std::map<std::string, std::string> facts_;
  mutable std::unordered_set<std::string> texts_;  // its elements do not move
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_REDACTED_SOURCE_H_
