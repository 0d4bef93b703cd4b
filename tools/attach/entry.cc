#include "tools/attach/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "tools/attach/stopped_thread.h"

namespace vramstow {

absl::StatusOr<PythonProcess> FindRemotePython(const RemoteProcess& process) {
  PythonProcess python;
  for (const RemoteFile* file : {process.FindFile("libpython3."), process.program()}) {
    if (file == nullptr || python.add_pending_call != 0) continue;
    python.add_pending_call = process.FindFunction(*file, "Py_AddPendingCall");
    python.run_text = process.FindFunction(*file, "PyRun_SimpleString");
  }
  if (python.add_pending_call == 0 || python.run_text == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "process ", process.pid(),
        " runs no Python into which vramstow can attach. Give the PID of the Python process "
        "itself: the children of a launcher or a shell have other numbers (pgrep -af python)."));
  }
  const RemoteFile* libc = process.FindFile("libc.so.6");
  if (libc == nullptr) libc = process.FindFile("libc-2.");
  python.map_memory = libc == nullptr ? 0 : process.FindFunction(*libc, "mmap");
  python.unmap_memory = libc == nullptr ? 0 : process.FindFunction(*libc, "munmap");
  if (python.map_memory == 0 || python.unmap_memory == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", process.pid(), " does not use glibc, which vramstow needs."));
  }
  return python;
}

namespace {

// Writes the text into the mapped page, and asks the main thread to run it.
absl::Status FillPage(StoppedThread& thread, const RemoteProcess& process,
                      const PythonProcess& python, const Entered& entered,
                      const std::string& text) {
  std::string whole = absl::StrReplaceAll(
      text, {{"$PAGE", absl::StrCat(entered.page)}, {"$BYTES", absl::StrCat(entered.page_bytes)}});
  whole.push_back('\0');
  if (const absl::Status status = thread.Write(entered.page, whole); !status.ok()) return status;
  const auto added = thread.Call(python.add_pending_call, {python.run_text, entered.page});
  if (!added.ok()) return added.status();
  if (static_cast<int32_t>(*added) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "process ", process.pid(), " has too many pending calls for its main thread. Try again."));
}

absl::StatusOr<Entered> Enter(const RemoteProcess& process, const PythonProcess& python,
                              const std::string& text) {
  Entered entered;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kNumberBytes = 24;
  entered.page_bytes = (text.size() + kNumberBytes + page) / page * page;
  const absl::Time begin = absl::Now();
  auto thread = StoppedThread::Stop(process.pid());
  if (!thread.ok()) return thread.status();
  const auto memory =
      (*thread)->Call(python.map_memory, {0, entered.page_bytes, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, ~uint64_t{0}, 0});
  if (!memory.ok()) return memory.status();
  if (reinterpret_cast<void*>(*memory) == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("process ", process.pid(), " cannot get any more host memory."));
  }
  entered.page = *memory;
  const absl::Status filled = FillPage(**thread, process, python, entered, text);
  if (!filled.ok()) {
    // If the request failed, the page is unmapped again.
    (*thread)->Call(python.unmap_memory, {entered.page, entered.page_bytes}).IgnoreError();
    return filled;
  }
  thread->reset();
  entered.stopped = absl::Now() - begin;
  return entered;
}

// The message of the child, which enters the process, to its waiting parent.
struct ChildReport {
  int code = static_cast<int>(absl::StatusCode::kAborted);
  uint64_t page = 0;
  uint64_t page_bytes = 0;
  int64_t stopped_ns = 0;
  char message[512] = "the process that attaches was killed.";
};

ChildReport MakeReport(const absl::StatusOr<Entered>& entered) {
  ChildReport report;
  report.code = static_cast<int>(entered.status().code());
  const std::string message(entered.status().message());
  report.message[message.copy(report.message, sizeof report.message - 1)] = '\0';
  if (!entered.ok()) return report;
  report.page = entered->page;
  report.page_bytes = entered->page_bytes;
  report.stopped_ns = absl::ToInt64Nanoseconds(entered->stopped);
  return report;
}

}  // namespace

absl::StatusOr<Entered> EnterPython(const RemoteProcess& process, const PythonProcess& python,
                                    const std::string& text) {
  int ends[2];
  const bool has_pipe = pipe2(ends, O_CLOEXEC) == 0;
  const pid_t child = has_pipe ? fork() : -1;
  if (child == 0) {
    // The child has a session of its own, so that signals to the terminal's processes do not end
    // it.
    setsid();
    const ChildReport report = MakeReport(Enter(process, python, text));
    // If the parent was killed, nobody reads the pipe. The signal that a write then raises is
    // ignored.
    signal(SIGPIPE, SIG_IGN);
    const ssize_t written = write(ends[1], &report, sizeof report);
    _exit(written == static_cast<ssize_t>(sizeof report) ? 0 : 1);
  }
  if (child < 0) {
    const int error = errno;
    if (has_pipe) close(ends[0]), close(ends[1]);
    return absl::ResourceExhaustedError(
        absl::StrCat("no process can be created (", std::strerror(error), ")."));
  }
  close(ends[1]);
  ChildReport report;
  ssize_t count;
  do {
    count = read(ends[0], &report, sizeof report);
  } while (count < 0 && errno == EINTR);
  close(ends[0]);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  if (count != static_cast<ssize_t>(sizeof report)) report = ChildReport();
  if (report.code != 0) {
    return absl::Status(static_cast<absl::StatusCode>(report.code), report.message);
  }
  return Entered{report.page, report.page_bytes, absl::Nanoseconds(report.stopped_ns)};
}

}  // namespace vramstow
