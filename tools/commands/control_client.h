// ControlClient: asks a process at its control socket (base/control.h).
//
// Ownership: results are copies. Threads: pure functions. Errors: one sentence: kNotFound where
// nobody can be there, kFailedPrecondition where the process refuses, kUnavailable and
// kDeadlineExceeded where it does not answer, kInvalidArgument for what cannot be asked. Units:
// none.
#ifndef VRAMSTOW_TOOLS_COMMANDS_CONTROL_CLIENT_H_
#define VRAMSTOW_TOOLS_COMMANDS_CONTROL_CLIENT_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace vramstow {

// The body of the answer. `folder`: of the sockets; "" for the usual one. Waits ten seconds at
// most.
absl::StatusOr<std::string> AskProcess(pid_t process, const std::string& folder,
                                       const std::string& request);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_COMMANDS_CONTROL_CLIENT_H_
