// AttachRequest: one question to a process that was started without vramstow, and its answer.
//
// Idea: a temporary folder below /tmp has the question, and the Python code that answers it. The
// process is made to run that code, which writes its answer to the same folder. If the process
// starts late and the folder is gone, it does nothing. A request that is given up is withdrawn with
// a file that only one side can make: the process has begun to answer by then, or never begins.
//
// Ownership: the destructor removes the folder. Threads: used by one thread at a time. Errors: a
// sentence in the status. Units: as named.
#ifndef VRAMSTOW_TOOLS_ATTACH_REQUEST_H_
#define VRAMSTOW_TOOLS_ATTACH_REQUEST_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/attach/entry.h"
#include "tools/attach/remote_process.h"
#include "tools/json/json_value.h"

namespace vramstow {

// The files that an observation needs: those of the installation, and those that were compiled for
// the PyTorch of the process.
struct ObservationFiles {
  std::string script;  // python/start/observation.py
  std::string library;
  std::string observer;
  std::string census;  // empty if there is none for this release
};

struct AttachAnswer {
  JsonValue body;
  absl::Duration stopped;  // how long the process was stopped
  absl::Duration waited;   // until it answered
};

// Returns whether the trace is in the folder of a request, which is removed with it.
bool IsInRequestFolder(const std::string& trace);

class AttachRequest {
 public:
  // Makes the folder, which the process can read.
  static absl::StatusOr<AttachRequest> Make(const RemoteProcess& process);
  ~AttachRequest();
  AttachRequest(AttachRequest&& other) noexcept;
  AttachRequest(const AttachRequest&) = delete;
  AttachRequest& operator=(const AttachRequest&) = delete;

  const std::string& folder() const { return folder_; }

  // Lets the process do `action` ("observe", "census" or "end"), with its trace in `traces`, and
  // waits for the answer. `wants_to_end` returns true if the user does not want to wait any longer.
  absl::StatusOr<AttachAnswer> Ask(const std::string& action, const ObservationFiles& files,
                                   const std::string& traces, absl::Duration patience,
                                   const std::function<bool()>& wants_to_end);

 private:
  AttachRequest(const RemoteProcess& process, std::string folder)
      : process_(process), folder_(std::move(folder)) {}
  absl::Status WriteFile(const std::string& name, const std::string& text) const;
  // Waits until the file of the answer is there. `unchanged` says what holds if the request is
  // withdrawn.
  absl::Status Await(const std::string& answer, const std::string& unchanged,
                     absl::Duration patience, const std::function<bool()>& wants_to_end) const;
  // Returns false if the process has begun to answer.
  bool Withdraw(const std::string& answer) const;

  RemoteProcess process_;
  std::string folder_;
  int asked_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_REQUEST_H_
