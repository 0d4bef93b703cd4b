// StoppedThread: stops one thread of another process for a moment, lets it call functions, and
// resumes it in its old state.
//
// Idea: it makes calls as a debugger does (ptrace): the thread's registers are saved, set to a
// call, and restored. The call returns to address 0, which traps. Only functions that a thread may
// call at any point are called: thin wrappers of a system call, and Py_AddPendingCall. The other
// threads keep running.
//
// Ownership: the destructor always resumes the thread. Threads: only the thread that created the
// object may use it (ptrace's rule). Errors: a sentence in the status. Units: none.
#ifndef VRAMSTOW_TOOLS_ATTACH_STOPPED_THREAD_H_
#define VRAMSTOW_TOOLS_ATTACH_STOPPED_THREAD_H_

#include <sys/types.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace vramstow {

// Returns half a sentence that says who may stop a thread if the kernel refused, depending on
// Yama's ptrace_scope and on whether the caller is root.
std::string WhoMayEnter(int yama_scope, bool is_root);

class StoppedThread {
 public:
  // Fails if the kernel does not permit it, or the thread does not stop within a second.
  static absl::StatusOr<std::unique_ptr<StoppedThread>> Stop(pid_t thread);
  ~StoppedThread();
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  // Calls a function with up to six numbers, and returns its result. Fails if the function waits in
  // a system call after 100 ms or a multiple of it, or if it runs for a minute; then the call is
  // abandoned and the thread's state is restored.
  absl::StatusOr<uint64_t> Call(uint64_t function, std::initializer_list<uint64_t> arguments);

  // Writes to the memory of the process.
  absl::Status Write(uint64_t address, std::string_view bytes) const;

 private:
  struct Registers;

  explicit StoppedThread(pid_t thread);
  int NextStatus(absl::Time deadline) const;
  absl::Status AwaitStop();
  absl::Status AwaitReturn();

  const pid_t thread_;
  std::unique_ptr<Registers> saved_;
  int signal_ = 0;  // a signal that arrived meanwhile, delivered on resumption
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_STOPPED_THREAD_H_
