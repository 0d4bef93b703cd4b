// Makes the golden files of the current version, and describes their contents. It is run by hand
// once for each version of the format; its output is committed and never made again:
//
//   trace_golden_maker FOLDER
//
// Writes FOLDER/v5.0-closed.stow, a small trace that was closed, with FOLDER/v5.0-closed.txt, its
// contents; and v5.0-killed.stow and .txt, a trace with full chunks as a kill leaves it. Full
// chunks are compressed. There are marks with texts, launches, and frees that complete.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/tracer/golden.h"
#include "tests/tracer/support.h"
#include "tracer/recorder.h"

namespace vramstow {
namespace {

void RecordTables(Recorder* recorder) {
  recorder->Describe("process.command", "python train.py --size 3");
  recorder->Describe("device.0.name", "first");
  recorder->Describe("device.0.name", "NVIDIA H200");
  recorder->InternCall("cuMemAlloc");
  recorder->InternCall("cuMemFree");
  recorder->InternLibrary("/usr/lib/libtorch_cuda.so", 0x7F0000000000, "00112233445566778899aabb");
  recorder->InternLibrary("/usr/lib/libnccl.so.2", 0x7F1000000000, "");
}

void RecordMany(Recorder* recorder, uint64_t seed, int count) {
  EventMaker maker(seed);
  for (int i = 0; i < count; ++i) recorder->Record(maker.Next());
}

// Records long events that repeat. They fill a chunk soon, but the file in the repository
// compresses well.
void RecordLong(Recorder* recorder, uint64_t seed, int count) {
  EventMaker maker(seed);
  std::vector<Event> events;
  while (events.size() < 200) {
    const Event event = maker.Next();
    if (event.object > uint64_t{1} << 40) events.push_back(event);
  }
  for (int i = 0; i < count; ++i) recorder->Record(events[static_cast<size_t>(i) % 200]);
}

Recorder* OpenCompressing(const std::string& folder, const char* stem) {
  auto* const recorder = new Recorder;
  RecorderConfig config = {folder.c_str(), stem, TestThreadSlot};
  config.background = config.compress = config.slot_is_static = true;
  if (recorder->Open(config) != RecorderError::kOk) std::abort();
  return recorder;
}

// Waits until the recorder's thread has written the chunks that were handed over.
void Wait() { std::this_thread::sleep_for(std::chrono::milliseconds(500)); }

void RecordMarks(Recorder* recorder) {
  recorder->RecordMark(MarkKind::kMoment, recorder->InternAnnotation("iteration"), 3);
  recorder->RecordMark(MarkKind::kRangeBegins, recorder->InternAnnotation("forward"), 0);
  recorder->RecordMark(MarkKind::kRangeEnds, 0, 0);
}

void RecordLaunches(Recorder* recorder) {
  Event launches;
  launches.kind = EventKind::kLaunch;
  launches.object = recorder->InternAnnotation("_Z6kernelPfi");
  launches.size = 1234;
  recorder->RecordWithStack(launches);
  launches.size = 100;
  launches.offset = 1;
  launches.stream = 2;
  recorder->RecordWithStack(launches);
}

// Records blocks whose memory may be allocated again at once.
void RecordCompleted(Recorder* recorder) {
  for (uint64_t i = 0; i < 20; ++i) {
    Event event = Allocation(0x7F0000000000 + i % 3 * 512, 512);
    recorder->RecordWithStack(event);
    event.kind = EventKind::kFree;
    const uint64_t sequence = recorder->RecordWithStack(event);
    if (recorder->CompleteFree(sequence)) continue;
    event.kind = EventKind::kFreeCompleted;
    recorder->RecordWithStack(event);
  }
}

void MakeClosed(const std::string& folder) {
  Recorder* const recorder = OpenCompressing(folder, "v5.0-closed");
  RecordTables(recorder);
  // One thread records all of these events, so they are in order in one chunk.
  std::thread([recorder] {
    RecordMarks(recorder);
    RecordLaunches(recorder);
    RecordCompleted(recorder);
    RecordMany(recorder, 1, 60);
  }).join();
  std::thread([recorder] { RecordMany(recorder, 2, 60); }).join();
  recorder->Close();
}

void MakeKilled(const std::string& folder) {
  Recorder* const recorder = OpenCompressing(folder, "open");
  RecordTables(recorder);
  RecordMarks(recorder);
  recorder->Describe("long", std::string(40000, '.'));
  recorder->Describe("longer", std::string(40000, ','));  // begins the second chunk of tables
  RecordLong(recorder, 4, 3000);                          // begins the second chunk of events
  std::thread([recorder] {
    RecordMany(recorder, 5, 300);
    RecordCompleted(recorder);
  }).join();
  RecordMany(recorder, 6, 300);
  Wait();
  // A copy of a file that is being written equals the file after a kill.
  std::filesystem::copy_file(folder + "/open.stow", folder + "/v5.0-killed.stow");
  recorder->Close();
  std::filesystem::remove(folder + "/open.stow");
}

}  // namespace
}  // namespace vramstow

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "Say into which folder the golden files are to go.\n");
    return 2;
  }
  const std::string folder = argv[1];
  vramstow::MakeClosed(folder);
  vramstow::MakeKilled(folder);
  for (const char* name : {"v5.0-closed", "v5.0-killed"}) {
    const std::string text = vramstow::Describe(folder + "/" + name + ".stow");
    vramstow::WriteFileBytes(folder + "/" + name + ".txt", text);
  }
  return 0;
}
