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
#include "absl/time/time.h"

namespace vramstow {

// Returns the body of the answer. `folder` is the folder of the sockets. An empty text stands for
// the folder that the process uses according to its environment; if that is the default folder,
// others must not be able to write to it. Waits at most `patience` for the whole answer.
absl::StatusOr<std::string> AskProcess(pid_t process, const std::string& folder,
                                       const std::string& request,
                                       absl::Duration patience = absl::Seconds(10));

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_CONTROL_CLIENT_H_
