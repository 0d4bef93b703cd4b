// Tests disks that are full, read-only, missing or without shared mappings, and a host process that
// closes or reuses our descriptor.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/recorder.h"
#include "tracer/system_calls.h"

namespace vramstow {
namespace {

// Makes system calls fail. A member ..._at is the number of the first call that fails, or 0 if none
// fails; with `once` only that call fails.
struct Faults {
  int allocate_at = 0;  // 0 for never
  int write_at = 0;
  int map_at = 0;
  int unnamed_at = 0;
  int name_at = 0;
  int error = ENOSPC;
  bool once = false;
  bool torn = false;  // a failing write writes half of its bytes first
  int allocated = 0;
  int written = 0;
  int mapped = 0;
  int unnamed = 0;
  int named = 0;
};
Faults g_faults;

bool Fails(int at, int count) { return at != 0 && (g_faults.once ? count == at : count >= at); }

int FaultyAllocate(int fd, off_t offset, off_t bytes) {
  if (Fails(g_faults.allocate_at, ++g_faults.allocated)) {
    errno = g_faults.error;
    return -1;
  }
  return RealSystemCalls().allocate(fd, offset, bytes);
}

ssize_t FaultyWrite(int fd, const iovec* parts, int count, off_t offset) {
  if (Fails(g_faults.write_at, ++g_faults.written)) {
    if (g_faults.torn && parts[0].iov_len > 1) {
      const iovec half = {parts[0].iov_base, parts[0].iov_len / 2};
      (void)RealSystemCalls().write_at(fd, &half, 1, offset);
    }
    errno = g_faults.error;
    return -1;
  }
  return RealSystemCalls().write_at(fd, parts, count, offset);
}

void* FaultyMap(void* address, size_t bytes, int fd, off_t offset) {
  if (Fails(g_faults.map_at, ++g_faults.mapped)) {
    errno = g_faults.error;
    return MAP_FAILED;
  }
  return RealSystemCalls().map_shared(address, bytes, fd, offset);
}

int FaultyOpenUnnamed(const char* directory) {
  if (Fails(g_faults.unnamed_at, ++g_faults.unnamed)) {
    errno = g_faults.error;
    return -1;
  }
  return RealSystemCalls().open_unnamed(directory);
}

int FaultyName(int fd, const char* part, const char* path) {
  if (Fails(g_faults.name_at, ++g_faults.named)) {
    errno = g_faults.error;
    return -1;
  }
  return RealSystemCalls().name(fd, part, path);
}

class DiskTest : public testing::Test {
 protected:
  void SetFaults(const Faults& faults) {
    g_faults = faults;
    SystemCalls faulty = RealSystemCalls();
    faulty.allocate = FaultyAllocate;
    faulty.write_at = FaultyWrite;
    faulty.map_shared = FaultyMap;
    faulty.open_unnamed = FaultyOpenUnnamed;
    faulty.name = FaultyName;
    SetSystemCallsForTest(faulty);
  }
  void TearDown() override { SetSystemCallsForTest(RealSystemCalls()); }

  // Returns a recorder that is not open yet and is never deleted.
  Recorder* NewRecorder() {
    static std::vector<Recorder*>* const immortal = new std::vector<Recorder*>;
    immortal->push_back(new Recorder);
    return immortal->back();
  }
  RecorderError Open(Recorder* recorder, const std::string& folder) {
    return recorder->Open({folder.c_str(), "disk", TestThreadSlot});
  }

  TemporaryFolder folder_;
  const std::string file_ = folder_.path() + "/disk.stow";
};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kEvents = 15000;
#else
constexpr uint64_t kEvents = 40000;
#endif

// Records from two threads, of which one starts after the other. Returns the number of events.
uint64_t RecordAlot(Recorder* recorder) {
  EventMaker maker(9);
  for (uint64_t i = 0; i < kEvents; ++i) recorder->Record(maker.Next());
  std::thread([recorder] {
    for (uint64_t i = 0; i < kEvents; ++i) recorder->Record(Allocation(0x1000, 512));
  }).join();
  for (uint64_t i = 0; i < 100; ++i) recorder->Record(Allocation(0x2000, 512));
  return 2 * kEvents + 100;
}

// Expects every event to be in the trace or counted as dropped, and a gap event to report the
// drops.
void ExpectAllAccountedFor(const std::string& file, uint64_t recorded) {
  const ReadTrace trace = ReadFile(file);
  ASSERT_EQ(trace.error, ReadError::kOk);
  uint64_t events = 0;
  uint64_t reported = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::kGap) {
      reported += event.size;
    } else {
      ++events;
    }
  }
  EXPECT_EQ(events + trace.report.dropped_events, recorded);
  EXPECT_EQ(reported, trace.report.dropped_events);
  EXPECT_EQ(trace.report.missing_events, 0u);
  EXPECT_EQ(trace.report.damaged_chunks, 0u);
}

TEST_F(DiskTest, WhicheverCallFailsNothingIsLostUncounted) {
  const int errors[] = {ENOSPC, EIO, EDQUOT, ENODEV, EOPNOTSUPP, ENOMEM};
  for (const int error : errors) {
    for (const bool once : {true, false}) {
      for (int which = 0; which < 5; ++which) {
        for (int at = 1; at <= 6; ++at) {
          SCOPED_TRACE(testing::Message() << "error " << error << (once ? " once" : " from")
                                          << " at call " << at << " of kind " << which);
          Faults faults;
          int* const places[] = {&faults.allocate_at, &faults.write_at, &faults.map_at,
                                 &faults.unnamed_at, &faults.name_at};
          *places[which] = at;
          if (which > 2 && at > 2) continue;  // these calls are made at most twice
          faults.error = error;
          faults.once = once;
          faults.torn = at % 2 == 0;
          SetFaults(faults);
          Recorder* const recorder = NewRecorder();
          const RecorderError opened = Open(recorder, folder_.path());
          if (opened != RecorderError::kOk) {
            EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "left behind";
            EXPECT_FALSE(recorder->is_open());
            continue;
          }
          recorder->Describe("a", "b");
          const uint64_t recorded = RecordAlot(recorder);
          recorder->Close();
          ExpectAllAccountedFor(file_, recorded);
          EXPECT_EQ(ReadFile(file_).facts.size(), 1u);
          std::filesystem::remove(file_);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_F(DiskTest, AfterTheDiskIsFullItIsNotAskedAgain) {
  Faults faults;
  faults.write_at = 2;
  SetFaults(faults);
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(Open(recorder, folder_.path()), RecorderError::kOk);
  RecordAlot(recorder);
  EXPECT_EQ(g_faults.written, 2);
  EXPECT_LE(g_faults.allocated, 3);
  recorder->Close();
  EXPECT_EQ(g_faults.written, 2);
}

TEST_F(DiskTest, WithoutSharedMappingsAWholeTraceIsWritten) {
  Faults faults;
  faults.map_at = 1;
  faults.error = ENODEV;
  SetFaults(faults);
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(Open(recorder, folder_.path()), RecorderError::kOk);
  recorder->Describe("a", "b");
  const uint16_t call = recorder->InternCall("cuMemAlloc");
  const uint64_t recorded = RecordAlot(recorder);
  // The file now contains what a kill would leave: tables and full chunks.
  const ReadTrace killed = ReadFile(file_);
  EXPECT_EQ(killed.facts.at("a"), "b");
  EXPECT_GT(killed.events.size(), recorded / 3);
  EXPECT_EQ(killed.report.damaged_bytes, 0u);
  recorder->Close();
  ExpectAllAccountedFor(file_, recorded);
  TraceReader reader;
  ASSERT_EQ(reader.Open(file_.c_str()), ReadError::kOk);
  EXPECT_EQ(reader.CallName(call), "cuMemAlloc");
  EXPECT_TRUE(reader.report().closed);
}

TEST_F(DiskTest, WithoutUnnamedFilesTheTraceGetsItsNameWhenItIsOne) {
  Faults faults;
  faults.unnamed_at = 1;
  faults.error = EOPNOTSUPP;
  SetFaults(faults);
  WriteFileBytes(file_, "not ours");
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(Open(recorder, folder_.path()), RecorderError::kOk);
  EXPECT_EQ(recorder->path(), folder_.path() + "/disk-2.stow");
  recorder->Record(FreeOf(1));
  recorder->Close();
  EXPECT_EQ(FileBytes(file_), "not ours");
  EXPECT_EQ(ReadFile(folder_.path() + "/disk-2.stow").events.size(), 1u);
  const std::filesystem::directory_iterator files(folder_.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 2) << "the name before was left behind";
}

TEST_F(DiskTest, ASmallFileSystemFillsUpWithoutASignal) {
  const std::string mounted = folder_.path() + "/small";
  ASSERT_EQ(mkdir(mounted.c_str(), 0700), 0);
  if (mount("tmpfs", mounted.c_str(), "tmpfs", 0, "size=300k") != 0) {
    GTEST_SKIP() << "may not mount a small tmpfs here; the other tests let the calls fail instead";
  }
  Recorder* const recorder = NewRecorder();
  EXPECT_EQ(Open(recorder, mounted), RecorderError::kOk);
  const uint64_t recorded = RecordAlot(recorder);
  recorder->Close();
  ExpectAllAccountedFor(mounted + "/disk.stow", recorded);
  // The disk has too little room to open a second recorder.
  Recorder* const second = NewRecorder();
  EXPECT_EQ(second->Open({mounted.c_str(), "second", TestThreadSlot}), RecorderError::kNoSpace);
  EXPECT_FALSE(std::filesystem::exists(mounted + "/second.stow"));
  EXPECT_EQ(umount2(mounted.c_str(), MNT_DETACH), 0);
}

TEST_F(DiskTest, ALimitOnFileSizesIsAFullDiskAndNotADeadlySignal) {
  const pid_t child = fork();
  if (child == 0) {
    // SIGXFSZ would end this process, so the recorder must not raise it.
    const rlimit limit = {200 * 1024, 200 * 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto* const recorder = new Recorder;
    if (recorder->Open({folder_.path().c_str(), "disk", TestThreadSlot}) != RecorderError::kOk) {
      _exit(1);
    }
    RecordAlot(recorder);
    recorder->Close();
    auto* const none = new Recorder;
    const rlimit tiny = {10 * 1024, 200 * 1024};
    setrlimit(RLIMIT_FSIZE, &tiny);
    const RecorderError error = none->Open({folder_.path().c_str(), "none", TestThreadSlot});
    _exit(error == RecorderError::kNoSpace ? 0 : 2);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ExpectAllAccountedFor(file_, 2 * kEvents + 100);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/none.stow"));
}

TEST_F(DiskTest, AFolderThatIsMissingOrReadOnlyIsAnErrorWithItsReason) {
  Recorder* const recorder = NewRecorder();
  errno = 0;
  EXPECT_EQ(Open(recorder, folder_.path() + "/missing"), RecorderError::kCannotCreate);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(Open(recorder, "/proc"), RecorderError::kCannotCreate);
  WriteFileBytes(folder_.path() + "/plain", "");
  EXPECT_EQ(Open(recorder, folder_.path() + "/plain"), RecorderError::kCannotCreate);
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_EQ(Open(recorder, std::string(5000, 'x')), RecorderError::kCannotCreate);
  EXPECT_EQ(errno, ENAMETOOLONG);
  if (geteuid() != 0) {  // permissions do not stop root
    chmod(folder_.path().c_str(), 0500);
    EXPECT_EQ(Open(recorder, folder_.path()), RecorderError::kCannotCreate);
    EXPECT_EQ(errno, EACCES);
    chmod(folder_.path().c_str(), 0700);
  }
  EXPECT_FALSE(recorder->is_open());
  EXPECT_EQ(Open(recorder, folder_.path()), RecorderError::kOk);
  recorder->Close();
}

// Closes all descriptors of the file, like a program that closes all inherited descriptors.
int CloseDescriptorsOf(const std::string& file) {
  struct stat wanted;
  EXPECT_EQ(stat(file.c_str(), &wanted), 0);
  int last = -1;
  for (int fd = 3; fd < 4096; ++fd) {
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_ino != wanted.st_ino) continue;
    close(fd);
    last = fd;
  }
  return last;
}

TEST_F(DiskTest, AHostThatClosesOurDescriptorAndTakesItsNumberIsNotWrittenTo) {
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(Open(recorder, folder_.path()), RecorderError::kOk);
  const int ours = CloseDescriptorsOf(file_);
  ASSERT_GE(ours, 0);
  const std::string theirs = folder_.path() + "/theirs";
  WriteFileBytes(theirs, "precious");
  const int fd = open(theirs.c_str(), O_RDWR);
  ASSERT_EQ(dup2(fd, ours), ours);
  const uint64_t recorded = RecordAlot(recorder);
  EXPECT_GE(CloseDescriptorsOf(file_), 1000) << "small numbers are the program's";
  recorder->Close();
  EXPECT_EQ(FileBytes(theirs), "precious");
  EXPECT_EQ(fcntl(ours, F_GETFD), 0) << "the host's descriptor was closed";
  ExpectAllAccountedFor(file_, recorded);
  close(fd);
  close(ours);
}

// Forks in the middle of a write, as a signal handler may, and lets the child continue. The child
// ends with status 1 if it writes to a file after that.
Recorder* g_recorder;
bool g_is_child;
ssize_t ForkingWrite(int fd, const iovec* parts, int count, off_t offset) {
  if (g_is_child) {
    struct stat status;
    if (fstat(fd, &status) == 0) _exit(1);
  } else if (++g_faults.written == g_faults.write_at) {
    const pid_t child = fork();
    g_is_child = child == 0;
    int status = -1;
    if (g_is_child) {
      g_recorder->AbandonAfterFork();
    } else {
      waitpid(child, &status, 0);
    }
    g_faults.torn = status != 0;
  }
  if (!g_is_child) return RealSystemCalls().write_at(fd, parts, count, offset);
  ssize_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += static_cast<ssize_t>(parts[i].iov_len);
  return bytes;  // as if the write had ended before the signal came
}

TEST_F(DiskTest, AChildThatContinuesAWriteDoesNotOpenTheParentsFileAgain) {
  SystemCalls forking = RealSystemCalls();
  forking.write_at = ForkingWrite;
  SetSystemCallsForTest(forking);
  g_recorder = NewRecorder();
  RecorderConfig config = {folder_.path().c_str(), "disk", TestThreadSlot};
  config.ring_bytes = kLeastRingBytes;
  ASSERT_EQ(g_recorder->Open(config), RecorderError::kOk);
  // The ring is full when the first write is interrupted, so that there are several for each chunk.
  for (int i = 0; i < 4; ++i) RecordAlot(g_recorder);
  for (int at = 1; at < 8; ++at) {
    g_faults = {.write_at = at};
    RecordAlot(g_recorder);
    if (g_is_child) _exit(0);
    ASSERT_GT(g_faults.written, at);
    EXPECT_FALSE(g_faults.torn) << "the child has written, or has failed, at write " << at;
  }
  g_recorder->Close();
}

// Closes the trace in the middle of a copy of it, and lets the program take its number.
std::string g_theirs;
ssize_t ClosingWrite(int fd, const iovec* parts, int count, off_t offset) {
  SetSystemCallsForTest(RealSystemCalls());
  g_recorder->Close();
  const int theirs = open(g_theirs.c_str(), O_RDONLY);
  EXPECT_GE(fcntl(theirs, F_DUPFD, 1000), 1000);
  close(theirs);
  return RealSystemCalls().write_at(fd, parts, count, offset);
}

TEST_F(DiskTest, ACopyThatIsMadeWhileTheTraceIsClosedIsOfTheTrace) {
  g_recorder = NewRecorder();
  ASSERT_EQ(Open(g_recorder, folder_.path()), RecorderError::kOk);
  RecordAlot(g_recorder);
  g_theirs = folder_.path() + "/theirs";
  WriteFileBytes(g_theirs, std::string(4u << 20, 'x'));
  SystemCalls closing = RealSystemCalls();
  closing.write_at = ClosingWrite;
  SetSystemCallsForTest(closing);
  char path[PATH_MAX];
  ASSERT_EQ(g_recorder->WriteCopy("copy", false, path, sizeof path), 0);
  EXPECT_EQ(FileBytes(path).find("xxxx"), std::string::npos) << "the program's file was copied";
  EXPECT_EQ(ReadFile(path).error, ReadError::kOk);
}

TEST_F(DiskTest, AFileThatIsTakenAwayDoesNotHurt) {
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(Open(recorder, folder_.path()), RecorderError::kOk);
  CloseDescriptorsOf(file_);
  std::filesystem::remove(file_);
  RecordAlot(recorder);
  recorder->Close();
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(DiskTest, DescriptorsStayOutOfTheWayAndAreNotInherited) {
  Recorder* const recorder = NewRecorder();
  const int before = dup(0);
  close(before);
  ASSERT_EQ(Open(recorder, folder_.path()), RecorderError::kOk);
  const int after = dup(0);
  EXPECT_EQ(before, after) << "the lowest free number changed";
  close(after);
  const int ours = CloseDescriptorsOf(file_);
  EXPECT_GE(ours, 1000);
  recorder->Close();
}

}  // namespace
}  // namespace vramstow
