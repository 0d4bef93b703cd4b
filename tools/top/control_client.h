// ControlClient: sends requests to a process at its control socket (base/control.h).
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors: one
// sentence: kNotFound if there can be no such socket, kFailedPrecondition if the process refuses,
// kUnavailable and kDeadlineExceeded if it does not answer, kInvalidArgument for an invalid
// request, kPermissionDenied if another user could answer or does. Units: none.
#ifndef VRAMSTOW_TOOLS_TOP_CONTROL_CLIENT_H_
#define VRAMSTOW_TOOLS_TOP_CONTROL_CLIENT_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace vramstow {

// Returns the body of the answer. `folder` is the folder of the sockets; an empty text stands for
// the usual folder, which others must not be able to write to. Waits at most ten seconds for the
// whole answer.
absl::StatusOr<std::string> AskProcess(pid_t process, const std::string& folder,
                                       const std::string& request);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_CONTROL_CLIENT_H_
