#include "tools/attach/attachment.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/attach/entry.h"
#include "tools/attach/remote_process.h"
#include "tools/base/progress.h"
#include "tools/launch/adapter.h"
#include "tools/launch/installation.h"

namespace vramstow {
namespace {

absl::StatusOr<std::string> Compiled(const Installation& installation,
                                     const TorchInstallation& torch, AdapterKind kind) {
  const char* chosen = std::getenv("VRAMSTOW_ADAPTER_DIR");
  const bool tries = WantsNewerTried(std::getenv("VRAMSTOW_ADAPTER_TRY"));
  const Adapters adapters(installation.adapter_sources, {kind, tries});
  if (std::string shipped = adapters.FindShipped(torch); !shipped.empty()) return shipped;
  const auto folder = AdapterFolder::Make(chosen == nullptr ? "" : chosen);
  if (!folder.ok()) return folder.status();
  Progress::OfProcess().Begin(
      absl::StrCat("compiling libraries for PyTorch ", torch.release, ", once"));
  const auto adapter = adapters.Build(torch, *folder);
  if (!adapter.ok()) return adapter.status();
  return adapter->path;
}

// Returns the files that the process will load. They are compiled before the process is stopped.
absl::StatusOr<ObservationFiles> FilesFor(const RemoteProcess& process) {
  constexpr char kAllocator[] = "libc10_cuda.so";
  const RemoteFile* allocator = process.FindFile(kAllocator);
  if (allocator == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", process.pid(),
                     " has not loaded PyTorch with CUDA. Give the PID of the process that uses the "
                     "GPU (nvidia-smi lists them)."));
  }
  const auto installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  const auto torch =
      FindTorch(std::string(absl::StripSuffix(allocator->path, absl::StrCat("/lib/", kAllocator))));
  if (!torch.ok()) return torch.status();
  auto observer = Compiled(*installation, *torch, AdapterKind::kObserver);
  if (!observer.ok()) return observer.status();
  ObservationFiles files{absl::StrCat(installation->python_start, "/vramstow_start/observation.py"),
                         installation->shim, *std::move(observer), ""};
  // If the census (a reference scan) cannot be compiled, a user who requests one gets the reason.
  if (const auto census = Compiled(*installation, *torch, AdapterKind::kCensus); census.ok()) {
    files.census = *census;
  }
  return files;
}

}  // namespace

absl::StatusOr<Attachment> Attachment::Make(pid_t pid, Options options) {
  auto process = RemoteProcess::Open(pid);
  if (!process.ok()) return process.status();
  if (!process->HasOurFiles()) {
    return absl::FailedPreconditionError(
        absl::StrCat("process ", pid, " is in a container with other files: run vramstow ",
                     "attach inside the container (docker exec, kubectl exec)."));
  }
  if (const auto python = FindRemotePython(*process); !python.ok()) return python.status();
  auto files = FilesFor(*process);
  if (!files.ok()) return files.status();
  auto request = AttachRequest::Make(*process);
  if (!request.ok()) return request.status();
  return Attachment(*std::move(request), *std::move(files), std::move(options));
}

absl::StatusOr<AttachAnswer> Attachment::Ask(const std::string& action, bool keeps_trace) {
  return request_.Ask(action, files_, keeps_trace ? options_.traces : request_.folder(),
                      options_.patience,
                      action == "end" ? [] { return false; } : options_.wants_to_end);
}

}  // namespace vramstow
