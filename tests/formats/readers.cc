#include "tests/formats/readers.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/base/utf8.h"
#include "tools/formats/memory_timeline.h"
#include "tools/formats/minimalloc.h"
#include "tools/formats/profiler_timeline.h"
#include "tools/formats/profiler_trace.h"
#include "tools/formats/rmm_log.h"
#include "tools/formats/snapshot_events.h"
#include "tools/formats/snapshot_reader.h"
#include "tools/formats/snapshot_writer.h"

namespace vramstow {
namespace {

void Promise(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void CheckSentence(const absl::Status& status) {
  const std::string sentence(status.message());
  Promise(!sentence.empty(), "an error has a sentence");
  Promise(sentence.find('\n') == std::string::npos, "a sentence is one line");
  Promise(IsUtf8(sentence), "a sentence is UTF-8");
}

// The limits are small, so that decompression bombs are cheap to make.
constexpr UnpackLimits kLimits = {
    .max_bytes = uint64_t{1} << 26, .max_ratio = 300, .free_bytes = uint64_t{1} << 20};

void CheckEvents(SnapshotEvents* events) {
  Event event;
  uint64_t sequence = 0;
  uint64_t time_ns = 0;
  while (events->Next(&event)) {
    Promise(event.sequence == ++sequence, "sequence numbers rise by one");
    Promise(event.time_ns >= time_ns, "time does not go back");
    time_ns = event.time_ns;
  }
}

void CheckSnapshot(const Snapshot& snapshot) {
  for (size_t i = 0; i < snapshot.texts.size(); ++i) {
    Promise(IsUtf8(snapshot.texts.Text(static_cast<TextId>(i))), "texts are UTF-8");
  }
  for (const std::string& sentence : snapshot.missing) {
    Promise(IsUtf8(sentence), "what is missing is said in UTF-8");
  }
  TotalsOf(snapshot.device);
  for (const SnapshotPart part : {SnapshotPart::kDevices, SnapshotPart::kHost}) {
    SnapshotEvents events(&snapshot, kAllDevices, part);
    CheckEvents(&events);
  }
  std::ostringstream sink;
  if (!WriteSnapshot(snapshot, &sink).ok()) return;  // blocks that overlap
  const std::string written = sink.str();
  const absl::StatusOr<Input> input = Input::OfBytes("written", written);
  Promise(input.ok(), "what is written is recognised");
  const absl::StatusOr<Snapshot> again = ReadSnapshot(*input);
  Promise(again.ok(), "what is written is read");
  Promise(again->device.segments.size() == snapshot.device.segments.size(),
          "what is written has the same segments");
}

void CheckList(const EventList& list) {
  uint64_t sequence = 0;
  uint64_t time_ns = 0;
  for (const Event& event : list.events) {
    Promise(event.sequence == ++sequence, "sequence numbers rise by one");
    Promise(event.time_ns >= time_ns, "time does not go back");
    time_ns = event.time_ns;
  }
}

// A timeline to which events were added is still a valid timeline.
void CheckTimeline(const Input& input) {
  const absl::StatusOr<ProfilerTimeline> timeline = ReadProfilerTimeline(input);
  if (!timeline.ok()) return CheckSentence(timeline.status());
  for (const ProfilerOperator& one : timeline->operators) {
    Promise(one.name < timeline->names.size(), "an operator has a name");
    Promise(one.begin_ns <= one.end_ns, "an operator ends behind its beginning");
    const ProfilerOperator* const at = timeline->At(one.thread, one.begin_ns);
    Promise(at != nullptr && at->begin_ns <= one.begin_ns, "an operator is at work as it begins");
  }
  std::string copy;
  const absl::Status copied = CopyWithEvents(
      input,
      [](std::string* text) {
        *text += "{\"cat\":\"added\"},";
        return false;
      },
      [&copy](std::string_view piece) {
        copy += piece;
        return true;
      });
  Promise(copied.ok(), "what has operators has a list of events");
  const absl::StatusOr<Input> again = Input::OfBytes("copy", copy, kLimits);
  Promise(again.ok(), "the copy is recognised");
  const absl::StatusOr<ProfilerTimeline> same = ReadProfilerTimeline(*again);
  Promise(same.ok() && same->operators.size() == timeline->operators.size(),
          "the copy has the same operators");
}

template <typename T>
bool Ok(const absl::StatusOr<T>& result) {
  if (!result.ok()) CheckSentence(result.status());
  return result.ok();
}

}  // namespace

bool ReadAsWhateverItIs(std::string_view bytes) {
  const absl::StatusOr<Input> input = Input::OfBytes("file", bytes, kLimits);
  if (!Ok(input)) return false;
  switch (input->sniffed().format) {
    case FileFormat::kPickle: {
      const absl::StatusOr<Snapshot> snapshot = ReadSnapshot(*input);
      if (!Ok(snapshot)) return false;
      CheckSnapshot(*snapshot);
      return true;
    }
    case FileFormat::kProfilerTrace: {
      CheckTimeline(*input);
      const absl::StatusOr<ProfilerTrace> trace = ReadProfilerTrace(*input);
      if (!Ok(trace)) return false;
      CheckList(ProfilerEvents(*trace));
      return true;
    }
    case FileFormat::kMemoryTimeline:
      return Ok(ReadMemoryTimeline(*input));
    case FileFormat::kRmmLog: {
      const absl::StatusOr<EventList> list = ReadRmmLog(*input);
      if (!Ok(list)) return false;
      CheckList(*list);
      return true;
    }
    case FileFormat::kMinimalloc: {
      const absl::StatusOr<std::vector<MinimallocBuffer>> buffers = ReadMinimalloc(*input);
      if (!Ok(buffers)) return false;
      MaximumLoad(*buffers);
      CheckList(MinimallocEvents(*buffers));
      return true;
    }
    default:
      Promise(!NotReadable("file", input->sniffed()).empty(), "strangers are named");
      return false;
  }
}

}  // namespace vramstow
