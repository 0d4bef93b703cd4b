#include "tests/tracer/support.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

namespace vramstow {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "vramstow-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make a folder like " << name;
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void** TestThreadSlot() {
  thread_local void* slot = nullptr;
  return &slot;
}

namespace {

// Returns the states of this process's background threads of recorders, as the kernel names them:
// S for a thread that sleeps.
std::string WriterStates() {
  std::string states;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::string name;
    std::string state;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "vramstow-trace") continue;
    std::getline(std::ifstream(task.path() / "stat"), state);
    // The state follows the name, which is in parentheses.
    const size_t at = state.rfind(") ");
    if (at != std::string::npos && at + 2 < state.size()) states += state[at + 2];
  }
  return states;
}

}  // namespace

// The thread sleeps only if no chunk has been handed over since it last looked. A thread that has
// been woken up is not in state S any more, even before it has a processor. A thread that has just
// been started may not have its name yet, so a process without a named one has to wait, too.
void WaitForWriter() {
  constexpr std::chrono::minutes kLongest(2);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  const auto is_idle = [] {
    const std::string states = WriterStates();
    return !states.empty() && states.find_first_not_of('S') == std::string::npos;
  };
  while (!is_idle()) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "the recorder's thread does not sleep: " << WriterStates();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<std::thread> StartThreads(int count, const std::function<void(int)>& what) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) threads.emplace_back(what, i);
  return threads;
}

void JoinAll(std::vector<std::thread>* threads) {
  for (std::thread& thread : *threads) thread.join();
}

void OpenIn(Recorder* recorder, const std::string& folder, const char* stem, OrderSource order) {
  RecorderConfig config = {folder.c_str(), stem, TestThreadSlot, order};
  config.slot_is_static = true;  // the shim's slot is static, too
  ASSERT_EQ(recorder->Open(config), RecorderError::kOk);
}

Recorder* NewRecorder() {
  static auto* const immortal = new std::vector<Recorder*>;
  return immortal->emplace_back(new Recorder);
}

TestRecorder::TestRecorder(const char* stem, OrderSource order)
    : stem_(stem), recorder_(NewRecorder()) {
  OpenIn(recorder_, folder_.path(), stem, order);
}

uint64_t EventMaker::Number() {
  switch (random_() % 8) {
    case 0:
      return 0;
    case 1:
      return ~uint64_t{0};
    case 2:
      return uint64_t{1} << (random_() % 64);
    default:
      return random_() >> (random_() % 64);
  }
}

Event EventMaker::Wild() {
  Event event;
  event.address = Number();
  event.size = Number();
  event.requested = random_() % 2 == 0 ? event.size : Number();
  event.object = Number();
  event.offset = Number();
  event.stream = Number();
  event.result = static_cast<int32_t>(Number());
  event.device = static_cast<int16_t>(Number());
  event.call = static_cast<uint16_t>(Number());
  event.library = static_cast<uint16_t>(Number());
  event.kind = static_cast<EventKind>(random_() % 28);  // kGap is the recorder's own
  event.memory = static_cast<MemoryKind>(random_() % 13);
  event.layer = static_cast<Layer>(random_() % 3);
  event.stack = static_cast<uint32_t>(Number());
  return event;
}

Event EventMaker::Next() {
  const uint64_t what = random_() % 100;
  if (what < 3) return Wild();
  if (what < 50 && !live_.empty()) {
    const size_t which = random_() % live_.size();
    const uint64_t address = live_[which];
    live_[which] = live_.back();
    live_.pop_back();
    return FreeOf(address);
  }
  const uint64_t address = 0x7F0000000000 + 512 * (random_() % (uint64_t{1} << 27));
  live_.push_back(address);
  Event event = Allocation(address, (1 + random_() % 64) << (random_() % 2 == 0 ? 9 : 21));
  event.requested = event.size - random_() % 512;
  event.stream = random_() % 3;
  if (random_() % 4 == 0) event.stack = static_cast<uint32_t>(Number());
  return event;
}

Event Allocation(uint64_t address, uint64_t size) {
  Event event;
  event.kind = EventKind::kAllocate;
  event.memory = MemoryKind::kDevice;
  event.address = address;
  event.size = event.requested = size;
  event.device = 0;
  event.call = 1;
  event.library = 2;
  return event;
}

Event FreeOf(uint64_t address) {
  Event event;
  event.kind = EventKind::kFree;
  event.memory = MemoryKind::kDevice;
  event.address = address;
  event.device = 0;
  event.call = 2;
  event.library = 2;
  return event;
}

namespace {

ReadTrace ReadAll(TraceReader* reader, ReadError error) {
  ReadTrace trace;
  trace.error = error;
  if (error != ReadError::kOk) return trace;
  Event event;
  while (reader->Next(&event)) trace.events.push_back(event);
  trace.report = reader->report();
  trace.facts = reader->facts();
  return trace;
}

auto Fields(const Event& event) {
  return std::tie(event.address, event.size, event.requested, event.object, event.offset,
                  event.stream, event.result, event.device, event.call, event.library, event.kind,
                  event.memory, event.layer, event.stack);
}

}  // namespace

ReadTrace ReadFile(const std::string& path) {
  TraceReader reader;
  return ReadAll(&reader, reader.Open(path.c_str()));
}

ReadTrace ReadBytes(std::string_view bytes) {
  TraceReader reader;
  return ReadAll(&reader, reader.OpenBytes(bytes));
}

std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void WriteFileBytes(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(file.good()) << path;
}

bool SameStory(const Event& a, const Event& b) { return Fields(a) == Fields(b); }

bool SameEvent(const Event& a, const Event& b) {
  return SameStory(a, b) && a.sequence == b.sequence && a.time_ns == b.time_ns &&
         a.thread == b.thread;
}

std::string ToText(const Event& event) {
  std::ostringstream text;
  text << std::hex << std::showbase << event.address << std::dec << ' ' << event.size << ' '
       << event.requested << ' ' << std::hex << event.object << std::dec << ' ' << event.offset
       << ' ' << std::hex << event.stream << std::dec << ' ' << event.result << ' ' << event.device
       << ' ' << event.call << ' ' << event.library << ' ' << EventKindName(event.kind) << ' '
       << MemoryKindName(event.memory) << ' ' << LayerName(event.layer);
  return text.str();
}

}  // namespace vramstow
