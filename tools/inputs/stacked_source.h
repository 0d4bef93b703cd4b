// StackedSource returns the events of a .stow file together with their call stacks, whose frames
// have names.
//
// Idea: a trace has names of Python frames. It has names of native frames if they were looked up on
// the machine where the trace was made. Other frames are looked up when a stack is requested, which
// the analysis does once for each stack that it needs.
//
// Ownership: owns the trace; the texts of frames are valid as long as the source. Threads: one at a
// time. Errors: an unknown frame has its library's path and the function "??".
#ifndef VRAMSTOW_TOOLS_INPUTS_STACKED_SOURCE_H_
#define VRAMSTOW_TOOLS_INPUTS_STACKED_SOURCE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/inputs/trace_source.h"
#include "tools/symbols/symbolizer.h"

namespace vramstow {

// The libraries of this machine in which the names of native frames are looked up.
enum class NameLookup {
  kAllLibraries,
  // Only libraries whose build id is in the trace. Without it, a trace could name any file of this
  // machine, and a report that is to be shown would have names of functions from that file.
  kKnownLibraries,
};

inline NameLookup LookupFor(bool is_redacted) {
  return is_redacted ? NameLookup::kKnownLibraries : NameLookup::kAllLibraries;
}

class StackedSource : public EventSource {
 public:
  explicit StackedSource(std::unique_ptr<TraceSource> trace,
                         NameLookup lookup = NameLookup::kAllLibraries);

  bool Next(Event* event) override;
  std::string_view CallName(uint16_t call) const override { return trace_->CallName(call); }
  std::string_view LibraryPath(uint16_t library) const override {
    return trace_->LibraryPath(library);
  }
  const std::map<std::string, std::string>& facts() const override { return trace_->facts(); }
  ReadReport report() const override { return trace_->report(); }
  std::vector<std::string> missing() const override { return trace_->missing(); }
  uint32_t Stack() const override { return stack_; }
  std::string_view MarkText(const Event& mark) const override { return trace_->MarkText(mark); }
  std::vector<CallFrame> Frames(uint32_t stack) const override;
  std::optional<uint16_t> OpeningCall() const override { return trace_->OpeningCall(); }
  bool ReportsFreeCompleted() const override { return trace_->ReportsFreeCompleted(); }
  std::optional<uint64_t> Reserved() const override { return trace_->Reserved(); }
  const TraceSums* Sums() const override { return trace_->Sums(); }
  bool Rewind() override { return trace_->Rewind(); }
  std::vector<TraceGap> Gaps() const override { return trace_->Gaps(); }

 private:
  void AddNative(const TraceFrame& frame, std::vector<CallFrame>* frames) const;
  // Returns the path of a file of the program. If the file is of a package in a folder of
  // PYTHONPATH, the path says so, as that of other packages does:
  // "/packages/site-packages/timm/models/resnet.py".
  std::string_view PythonFile(std::string_view file) const;

  std::unique_ptr<TraceSource> trace_;
  NameLookup lookup_;
  uint32_t stack_ = 0;  // of the event that Next returned last
  std::vector<std::string> package_folders_;
  mutable std::map<std::string, std::string, std::less<>> files_of_packages_;  // renamed
  mutable Symbolizer symbolizer_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_INPUTS_STACKED_SOURCE_H_
