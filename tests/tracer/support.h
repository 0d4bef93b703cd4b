// Shared parts of the tracer's tests: a temporary folder, a thread slot, random events.
#ifndef VRAMSTOW_TESTS_TRACER_SUPPORT_H_
#define VRAMSTOW_TESTS_TRACER_SUPPORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/event.h"
#include "tracer/format/reader.h"
#include "tracer/recorder.h"

namespace vramstow {

// A folder for one test, which is removed with all its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns the calling thread's slot (the pointer in which the recorder stores the thread's state),
// as the shim would.
void** TestThreadSlot();

// Returns a recorder that is never deleted, as in the product: a thread that records late must
// still find it.
Recorder* NewRecorder();

// A recorder in its own folder. Recorders live as long as the process, so the recorder outlives
// this object.
class TestRecorder {
 public:
  explicit TestRecorder(const char* stem = "test", OrderSource order = OrderSource::kBest);
  Recorder* operator->() { return recorder_; }
  Recorder& operator*() { return *recorder_; }
  const std::string& folder() const { return folder_.path(); }
  // Returns the path of the file, also after Close.
  std::string File() const { return folder_.path() + "/" + stem_ + ".stow"; }

 private:
  TemporaryFolder folder_;
  std::string stem_;
  Recorder* recorder_;
};

// Opens `recorder`, and expects that to succeed.
void OpenIn(Recorder* recorder, const std::string& folder, const char* stem,
            OrderSource order = OrderSource::kBest);

// Waits until the background threads of the recorders that are open have nothing left to do: they
// have written all chunks that were handed over to them before this call, and no fold is running.
// There must be at least one such thread. Fails the test if that takes two minutes.
void WaitForWriter();

// Starts threads that run `what` with the numbers from 0.
std::vector<std::thread> StartThreads(int count, const std::function<void(int)>& what);
void JoinAll(std::vector<std::thread>* threads);

// Makes random events like those of a CUDA job, and sometimes one that no job has: all fields are
// used up to their limits. The same seed yields the same events.
class EventMaker {
 public:
  explicit EventMaker(uint64_t seed) : random_(seed) {}
  Event Next();

 private:
  uint64_t Number();
  Event Wild();

  std::mt19937_64 random_;
  std::vector<uint64_t> live_;
};

// Returns an allocation of `size` bytes, as interpose would record it.
Event Allocation(uint64_t address, uint64_t size);
Event FreeOf(uint64_t address);

struct ReadTrace {
  ReadError error = ReadError::kOk;
  std::vector<Event> events;
  ReadReport report;
  std::map<std::string, std::string> facts;
};
ReadTrace ReadFile(const std::string& path);
ReadTrace ReadBytes(std::string_view bytes);
std::string FileBytes(const std::string& path);
void WriteFileBytes(const std::string& path, std::string_view bytes);

// SameStory compares all fields except sequence, time and thread, which the recorder sets.
bool SameStory(const Event& a, const Event& b);
bool SameEvent(const Event& a, const Event& b);
std::string ToText(const Event& event);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_TRACER_SUPPORT_H_
