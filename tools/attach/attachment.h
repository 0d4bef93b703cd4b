// Attachment: sends questions to a process that was started without vramstow.
//
// Idea: the libraries that the process will load are compiled before code is run in it, so that it
// never waits for a compiler.
//
// Ownership: owns the folder of the request. Threads: used by one thread at a time. Errors: one
// sentence. Units: none.
#ifndef VRAMSTOW_TOOLS_ATTACH_ATTACHMENT_H_
#define VRAMSTOW_TOOLS_ATTACH_ATTACHMENT_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/attach/request.h"

namespace vramstow {

class Attachment {
 public:
  struct Options {
    std::string traces;       // the folder for a trace that stays
    absl::Duration patience;  // how long to wait for an answer
    std::function<bool()> wants_to_end;
  };

  static absl::StatusOr<Attachment> Make(pid_t pid, Options options);

  // Makes the process do `action` ("observe", "census" or "end") and returns its answer. The
  // process writes its trace into the folder Options::traces if `keeps_trace` is set. Otherwise it
  // writes into the folder of the request, which is deleted with this object. For "end" this
  // function waits for the answer even if the user presses Ctrl-C, but no longer than
  // Options::patience.
  absl::StatusOr<AttachAnswer> Ask(const std::string& action, bool keeps_trace);

 private:
  Attachment(AttachRequest request, ObservationFiles files, Options options)
      : request_(std::move(request)), files_(std::move(files)), options_(std::move(options)) {}

  AttachRequest request_;
  ObservationFiles files_;
  Options options_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ATTACH_ATTACHMENT_H_
