// The tests of the tracer share this: a folder that goes away, a thread slot, made-up events.
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

// A folder of its own for a test, taken away with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The slot of a thread, as the shim would give it.
void** TestThreadSlot();

// A recorder that is never deleted, as in the product: whoever still records when all is over must
// find it.
Recorder* NewRecorder();

// A recorder in a folder of its own. Recorders live as long as the process, so it does not die with
// this object.
class TestRecorder {
 public:
  explicit TestRecorder(const char* stem = "test", OrderSource order = OrderSource::kBest);
  Recorder* operator->() { return recorder_; }
  Recorder& operator*() { return *recorder_; }
  const std::string& folder() const { return folder_.path(); }
  // Where the file is; also after Close.
  std::string File() const { return folder_.path() + "/" + stem_ + ".stow"; }

 private:
  TemporaryFolder folder_;
  std::string stem_;
  Recorder* recorder_;
};

// Opens `recorder`, which must work.
void OpenIn(Recorder* recorder, const std::string& folder, const char* stem,
            OrderSource order = OrderSource::kBest);

// Threads that run `what` with the numbers from 0.
std::vector<std::thread> StartThreads(int count, const std::function<void(int)>& what);
void JoinAll(std::vector<std::thread>* threads);

// Events as a CUDA job has them, with now and then one that no job has: all fields are used up to
// their limits. The same seed gives the same events.
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

// An allocation of `size` bytes, as interpose would tell it.
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

// All fields but sequence, time and thread, which the recorder sets.
bool SameStory(const Event& a, const Event& b);
bool SameEvent(const Event& a, const Event& b);
std::string ToText(const Event& event);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_TRACER_SUPPORT_H_
