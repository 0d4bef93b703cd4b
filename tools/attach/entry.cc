#include "tools/attach/entry.h"

#include <sys/mman.h>
#include <unistd.h>

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
        " runs no Python that can be entered. Name the process of Python itself: a "
        "launcher's or a shell's children have their own numbers (pgrep -af python)."));
  }
  const RemoteFile* libc = process.FindFile("libc.so.6");
  if (libc == nullptr) libc = process.FindFile("libc-2.");
  python.map_memory = libc == nullptr ? 0 : process.FindFunction(*libc, "mmap");
  if (python.map_memory == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", process.pid(), " does not use glibc, which vramstow needs."));
  }
  return python;
}

absl::StatusOr<Entered> EnterPython(const RemoteProcess& process, const PythonProcess& python,
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
        absl::StrCat("process ", process.pid(), " has no memory left on the host."));
  }
  entered.page = *memory;
  std::string whole = absl::StrReplaceAll(
      text, {{"$PAGE", absl::StrCat(entered.page)}, {"$BYTES", absl::StrCat(entered.page_bytes)}});
  whole.push_back('\0');
  if (const absl::Status status = (*thread)->Write(entered.page, whole); !status.ok()) {
    return status;
  }
  const auto added = (*thread)->Call(python.add_pending_call, {python.run_text, entered.page});
  if (!added.ok()) return added.status();
  if (static_cast<int32_t>(*added) != 0) {
    return absl::UnavailableError(absl::StrCat(
        "process ", process.pid(), " has too much that waits for its main thread. Try again."));
  }
  thread->reset();
  entered.stopped = absl::Now() - begin;
  return entered;
}

}  // namespace vramstow
