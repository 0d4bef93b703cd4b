#include "tools/launch/run_ends.h"

#include <sys/mman.h>
#include <unistd.h>

#include <sstream>

#include "absl/strings/str_cat.h"

namespace vramstow {
namespace {

constexpr char kVariable[] = "VRAMSTOW_RUN_END";
constexpr char kName[] = "vramstow-run-end";  // python/start/at_exit.py searches for this name
constexpr size_t kMaxBytes = size_t{1} << 20;

}  // namespace

RunEnds::RunEnds(Environment* environment) : file_(memfd_create(kName, MFD_CLOEXEC)) {
  if (file_.get() < 0) return;
  environment->Set(kVariable, absl::StrCat("/proc/", getpid(), "/fd/", file_.get()));
}

std::map<std::string, std::string> RunEnds::Uncaught() const {
  std::map<std::string, std::string> uncaught;
  std::string text(kMaxBytes, '\0');
  const ssize_t count = file_.get() < 0 ? 0 : pread(file_.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  std::istringstream lines(text);
  for (std::string process, error; lines >> process >> error;) uncaught[process] = error;
  return uncaught;
}

}  // namespace vramstow
