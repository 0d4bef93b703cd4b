// StoppedThread: stops one thread of another process for a moment, has it call functions, and lets
// it go on as if nothing had been.
//
// Idea: a debugger's call by hand (ptrace): the thread's registers are put aside, set to a call,
// and put back. The call returns to address 0, which traps. Only functions that a thread may call
// at any point are called so: thin ones around a system call, and Py_AddPendingCall. The other
// threads go on.
//
// Ownership: the thread goes on when the object ends, whatever happened. Threads: the one that made
// it (ptrace's rule). Errors: a sentence in the status. Units: none.
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

// Half a sentence that says who may stop a thread where the kernel refused: by Yama's ptrace_scope,
// and whether the one who tried is root.
std::string WhoMayEnter(int yama_scope, bool is_root);

class StoppedThread {
 public:
  // Fails where the kernel does not permit it, and where the thread does not stop within a second.
  static absl::StatusOr<std::unique_ptr<StoppedThread>> Stop(pid_t thread);
  ~StoppedThread();
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  // Gives the result of the function for up to six numbers. Fails if it does not return within 100
  // ms: then the thread goes on where it was, and the call is given up.
  absl::StatusOr<uint64_t> Call(uint64_t function, std::initializer_list<uint64_t> arguments);

  // Writes into the memory of its process.
  absl::Status Write(uint64_t address, std::string_view bytes) const;

 private:
  struct Registers;

  explicit StoppedThread(pid_t thread);
  int NextStatus(absl::Time deadline) const;
  absl::Status AwaitStop();
  absl::Status AwaitReturn();

  const pid_t thread_;
  std::unique_ptr<Registers> saved_;
  int signal_ = 0;  // one that came meanwhile, for when the thread goes on
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_STOPPED_THREAD_H_
