// SnapshotSource passes a PyTorch memory snapshot to the analysis as events, with its state at the
// end.
//
// Ownership: owns the snapshot. Threads: one at a time. Errors: none; missing() describes what the
// snapshot lacks. Units: bytes, nanoseconds from the earliest time in the snapshot.
#ifndef VRAMSTOW_TOOLS_INPUTS_SNAPSHOT_SOURCE_H_
#define VRAMSTOW_TOOLS_INPUTS_SNAPSHOT_SOURCE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/facts/facts.h"
#include "tools/formats/snapshot.h"
#include "tools/formats/snapshot_events.h"

namespace vramstow {

class SnapshotSource : public EventSource {
 public:
  explicit SnapshotSource(Snapshot snapshot);

  bool Next(Event* event) override;
  std::string_view CallName(uint16_t call) const override { return SnapshotEvents::CallName(call); }
  std::string_view LibraryPath(uint16_t) const override { return "unknown"; }
  const std::map<std::string, std::string>& facts() const override { return facts_; }
  ReadReport report() const override;
  std::string_view Kind() const override { return "pytorch_snapshot"; }
  uint32_t Stack() const override { return events_->stack(); }
  std::vector<CallFrame> Frames(uint32_t stack) const override;
  std::string_view MarkText(const Event& mark) const override;
  std::optional<uint16_t> OpeningCall() const override { return opening_call_; }
  bool ReportsFreeCompleted() const override { return true; }
  std::vector<std::string> missing() const override { return missing_; }

  // Returns the segments of the file.
  SnapshotStateFacts State() const;

 private:
  std::unique_ptr<Snapshot> snapshot_;
  std::unique_ptr<SnapshotEvents> events_;
  std::map<std::string, std::string> facts_;
  std::vector<std::string> missing_;
  uint16_t opening_call_ = 0;
  uint16_t begin_call_ = 0;
  uint16_t end_call_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_SNAPSHOT_SOURCE_H_
