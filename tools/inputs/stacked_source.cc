#include "tools/inputs/stacked_source.h"

#include "absl/strings/str_split.h"

namespace vramstow {

StackedSource::StackedSource(std::unique_ptr<TraceSource> trace, NameLookup lookup)
    : trace_(std::move(trace)), lookup_(lookup) {
  const auto folders = trace_->facts().find("python.package_folders");
  if (folders == trace_->facts().end()) return;
  package_folders_ = absl::StrSplit(folders->second, ':', absl::SkipEmpty());
}

bool StackedSource::Next(Event* event) {
  const bool got = trace_->Next(event);
  stack_ = got ? event->stack : 0;
  return got;
}

std::vector<CallFrame> StackedSource::Frames(uint32_t stack) const {
  std::vector<CallFrame> frames;
  for (const TraceFrame& frame : trace_->reader().Stack(stack)) {
    if (frame.kind == TraceFrame::Kind::kPython) {
      frames.push_back(
          {.function = frame.function, .file = PythonFile(frame.file), .line = frame.line});
    } else if (frame.kind == TraceFrame::Kind::kNative) {
      AddNative(frame, &frames);
    }
  }
  return frames;
}

std::string_view StackedSource::PythonFile(std::string_view file) const {
  for (const std::string& folder : package_folders_) {
    if (!file.starts_with(folder) || file.substr(folder.size(), 1) != "/") continue;
    const auto known = files_of_packages_.find(file);
    if (known != files_of_packages_.end()) return known->second;
    const std::string renamed = folder + "/site-packages" + std::string(file.substr(folder.size()));
    return files_of_packages_.emplace(file, renamed).first->second;
  }
  return file;
}

void StackedSource::AddNative(const TraceFrame& frame, std::vector<CallFrame>* frames) const {
  const TraceLibrary& library = trace_->reader().Library(frame.library);
  const std::vector<TraceFunction>& kept = trace_->reader().Functions(frame.library, frame.offset);
  for (const TraceFunction& function : kept) {
    frames->push_back({.function = function.name,
                       .file = function.file.empty() ? std::string_view(library.path)
                                                     : std::string_view(function.file),
                       .line = function.line});
  }
  if (!kept.empty()) return;
  static const std::vector<SourcePlace> unknown;
  const bool is_looked_up = lookup_ == NameLookup::kAllLibraries || !library.build_id.empty();
  const std::vector<SourcePlace>& places =
      is_looked_up ? symbolizer_.Resolve(library, frame.offset) : unknown;
  if (places.empty()) frames->push_back({.function = "??", .file = library.path});
  for (const SourcePlace& place : places) {
    frames->push_back({.function = place.function,
                       .file = place.file.empty() ? std::string_view(library.path) : place.file,
                       .line = static_cast<uint32_t>(place.line)});
  }
}

}  // namespace vramstow
