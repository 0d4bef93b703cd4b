#include "tools/launch/python.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "tools/json/json_value.h"
#include "tools/launch/probe.h"

namespace vramstow {
namespace {

constexpr char kQuestion[] = R"(
import importlib.util, json, platform, sys
said = {"program": sys.executable, "release": platform.python_version(), "torch": "", "version": ""}
spec = importlib.util.find_spec("torch")
if spec is not None and spec.submodule_search_locations:
    said["torch"] = list(spec.submodule_search_locations)[0]
    try:
        from importlib.metadata import version
        said["version"] = version("torch")
    except Exception:
        pass
print(json.dumps(said))
)";

}  // namespace

absl::StatusOr<PythonHere> FindPython(uint64_t most_ms) {
  std::string failure_reason;
  for (const char* name : {"python", "python3"}) {
    Environment environment;
    environment.Set("LD_PRELOAD", "");
    const ProbeEnd end = RunProbe({name, "-c", kQuestion}, std::move(environment), most_ms);
    if (end.how == ProbeEnd::How::kNotStarted && end.value == ENOENT) continue;
    const auto said = JsonValue::Parse(end.output);
    if (end.ok() && said.has_value() && said->is_object()) {
      return PythonHere{said->Text("program"), said->Text("release"), said->Text("torch"),
                        said->Text("version")};
    }
    if (failure_reason.empty()) {
      failure_reason =
          absl::StrCat(name, ", when it was asked for its PyTorch, ", end.Words(), ".");
    }
  }
  if (!failure_reason.empty()) return absl::FailedPreconditionError(failure_reason);
  return absl::NotFoundError("there is no python or python3 in PATH.");
}

}  // namespace vramstow
