#include "tools/launch/python.h"

#include <cerrno>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "tools/launch/probe.h"

namespace vramstow {
namespace {

using Json = nlohmann::json;

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
  std::string trouble;
  for (const char* name : {"python", "python3"}) {
    Environment environment;
    environment.Set("LD_PRELOAD", "");
    const ProbeEnd end = RunProbe({name, "-c", kQuestion}, std::move(environment), most_ms);
    if (end.how == ProbeEnd::How::kNotStarted && end.value == ENOENT) continue;
    const Json said = Json::parse(end.output, nullptr, false);
    if (end.ok() && said.is_object()) {
      return PythonHere{said.value("program", ""), said.value("release", ""),
                        said.value("torch", ""), said.value("version", "")};
    }
    if (trouble.empty()) {
      trouble = absl::StrCat(name, ", asked where its PyTorch is, ", end.Words(), ".");
    }
  }
  if (!trouble.empty()) return absl::FailedPreconditionError(trouble);
  return absl::NotFoundError("there is no python or python3 on the path.");
}

}  // namespace vramstow
