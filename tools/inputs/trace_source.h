// TraceSource returns the events of a .stow file to the analysis.
//
// Ownership: owns its reader. Threads: one at a time. Errors: Open returns one sentence that names
// the file, what is wrong with it and what to do. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_INPUTS_TRACE_SOURCE_H_
#define VRAMSTOW_TOOLS_INPUTS_TRACE_SOURCE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/typed_event.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/accounts/source_facts.h"
#include "tools/base/progress.h"
#include "tracer/format/reader.h"

namespace vramstow {

class TraceSource : public EventSource {
 public:
  // Returns kNotFound if the file cannot be opened, kInvalidArgument if it is not a trace or has a
  // newer version.
  static absl::StatusOr<std::unique_ptr<TraceSource>> Open(const std::string& path);

  bool Next(Event* event) override {
    if ((++events_ & kEventsBetweenReports) == 0) Progress::OfProcess().Reach(reader_.Part());
    if (!reader_.Next(event)) return false;
    if (tells_reserved_) [[unlikely]]
      reserved_ = TakeReserved(event);
    return true;
  }
  std::string_view CallName(uint16_t call) const override { return reader_.CallName(call); }
  std::string_view LibraryPath(uint16_t library) const override {
    return reader_.Library(library).path;
  }
  const std::map<std::string, std::string>& facts() const override { return reader_.facts(); }
  ReadReport report() const override;
  std::string_view MarkText(const Event& mark) const override {
    return reader_.Annotation(TextNumber(mark));
  }
  // OpeningCall and Reserved use facts that only a trace converted from another kind of file has.
  std::optional<uint16_t> OpeningCall() const override;
  bool ReportsFreeCompleted() const override;
  std::optional<uint64_t> Reserved() const override { return reserved_; }
  std::vector<std::string> missing() const override;
  const TraceSums* Sums() const override { return reader_.sums(); }
  bool Rewind() override {
    reader_.Rewind();
    reserved_.reset();
    return true;
  }
  std::vector<TraceGap> Gaps() const override { return reader_.gaps(); }
  const TraceReader& reader() const { return reader_; }

 private:
  static constexpr uint64_t kEventsBetweenReports = (1 << 16) - 1;  // a mask

  TraceSource() = default;

  TraceReader reader_;
  std::vector<std::string> missing_;
  uint64_t events_ = 0;
  bool tells_reserved_ = false;
  std::optional<uint64_t> reserved_;  // after the last event
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_TRACE_SOURCE_H_
