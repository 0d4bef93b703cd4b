#include "tools/inputs/open_input.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/base/progress.h"
#include "tools/formats/input.h"
#include "tools/formats/memory_timeline.h"
#include "tools/formats/minimalloc.h"
#include "tools/formats/profiler_trace.h"
#include "tools/formats/rmm_log.h"
#include "tools/formats/snapshot_reader.h"
#include "tools/inputs/list_source.h"
#include "tools/inputs/snapshot_source.h"
#include "tools/inputs/trace_source.h"

namespace vramstow {
namespace {

// Adds a full stop to the message, because all messages of the program end with one.
absl::Status WithFullStop(const absl::Status& status) {
  std::string sentence(status.message());
  if (!sentence.ends_with('.')) sentence += '.';
  return absl::Status(status.code(), sentence);
}

template <typename T>
absl::StatusOr<std::unique_ptr<EventSource>> ListOf(std::string_view kind, absl::StatusOr<T> read) {
  if (!read.ok()) return WithFullStop(read.status());
  if constexpr (std::is_same_v<T, EventList>) {
    return std::make_unique<EventListSource>(kind, *std::move(read));
  } else if constexpr (std::is_same_v<T, ProfilerTrace>) {
    return std::make_unique<EventListSource>(kind, ProfilerEvents(*read));
  } else {
    return std::make_unique<EventListSource>(kind, MinimallocEvents(*read));
  }
}

absl::StatusOr<InputContent> OpenProfilerTrace(const Input& input) {
  absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(input);
  if (trace.ok() && trace->lacks_addresses) {
    return LevelCurve{"profiler_trace", trace->facts, ProfilerCurve(*trace)};
  }
  auto source = ListOf("profiler_trace", std::move(trace));
  if (!source.ok()) return source.status();
  return *std::move(source);
}

absl::StatusOr<std::unique_ptr<EventSource>> EventsOfProfilerTrace(const Input& input) {
  absl::StatusOr<InputContent> content = OpenProfilerTrace(input);
  if (!content.ok()) return content.status();
  if (auto* source = std::get_if<std::unique_ptr<EventSource>>(&*content)) {
    return std::move(*source);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(input.path(),
                   " is a profiler trace without addresses, as releases of 2021 wrote it: it "
                   "contains a curve and no events. Record it with a newer PyTorch."));
}

absl::StatusOr<std::unique_ptr<EventSource>> OpenEvents(const Input& input) {
  switch (input.sniffed().format) {
    case FileFormat::kPickle: {
      absl::StatusOr<Snapshot> snapshot = ReadSnapshot(input);
      if (!snapshot.ok()) return WithFullStop(snapshot.status());
      return std::make_unique<SnapshotSource>(*std::move(snapshot));
    }
    case FileFormat::kRmmLog:
      return ListOf("rmm_log", ReadRmmLog(input));
    case FileFormat::kProfilerTrace:
      return EventsOfProfilerTrace(input);
    case FileFormat::kMinimalloc:
      return ListOf("minimalloc", ReadMinimalloc(input));
    case FileFormat::kMemoryTimeline:
      return absl::InvalidArgumentError(
          absl::StrCat(input.path(), " is a memory timeline: it contains a curve and no events."));
    case FileFormat::kEmpty:
      return absl::InvalidArgumentError(absl::StrCat(input.path(), " is empty."));
    default:
      return WithFullStop(absl::InvalidArgumentError(NotReadable(input.path(), input.sniffed())));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventSource>> OpenEvents(const std::string& path,
                                                        NameLookup lookup) {
  // A trace that is still being written must not be mapped, so its own reader is tried first.
  auto trace = TraceSource::Open(path);
  if (trace.ok()) return std::make_unique<StackedSource>(*std::move(trace), lookup);
  absl::StatusOr<Input> input = Input::Open(path);
  if (!input.ok()) return WithFullStop(input.status());
  if (input->sniffed().format == FileFormat::kStow) return trace.status();
  return OpenEvents(*input);
}

absl::StatusOr<InputContent> OpenInput(const std::string& path, NameLookup lookup) {
  auto trace = TraceSource::Open(path);
  if (trace.ok()) return std::make_unique<StackedSource>(*std::move(trace), lookup);
  absl::StatusOr<Input> input = Input::Open(path);
  if (!input.ok()) return WithFullStop(input.status());
  if (input->sniffed().format == FileFormat::kStow) return trace.status();
  if (input->sniffed().format == FileFormat::kMemoryTimeline) {
    absl::StatusOr<MemoryTimeline> timeline = ReadMemoryTimeline(*input);
    if (!timeline.ok()) return WithFullStop(timeline.status());
    return LevelCurve{"memory_timeline", {}, *std::move(timeline)};
  }
  if (input->sniffed().format == FileFormat::kProfilerTrace) return OpenProfilerTrace(*input);
  auto source = OpenEvents(*input);
  if (!source.ok()) return source.status();
  return *std::move(source);
}

void BeginReading(const std::string& path, size_t number, size_t count) {
  const size_t slash = path.rfind('/', path.size() < 2 ? 0 : path.size() - 2);
  Progress::OfProcess().Begin(
      absl::StrCat("reading ", slash == std::string::npos ? path : path.substr(slash + 1),
                   count > 1 ? absl::StrCat(" (", number + 1, " of ", count, ")") : ""),
      number, count);
}

std::vector<std::string> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace vramstow
