// Implements preload.*: a process with vramstow preloaded must leave a trace of its allocations.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/base/words.h"
#include "tools/doctor/checks.h"
#include "tools/json/json_value.h"
#include "tools/launch/probe.h"
#include "tools/pipeline/analyze.h"

namespace vramstow {
namespace {

constexpr char kSimulatedCard[] = "h200";

struct Trial {
  const char* id;
  std::string simulate;
  bool pool;
  std::string works;
  std::string remedy;
};

// Returns the child's answer, or an empty object.
JsonValue Said(const std::string& output) {
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    const auto json = JsonValue::Parse({line.data(), line.size()});
    if (json.has_value() && json->Has("preload")) return *json->Find("preload");
  }
  return JsonValue::Object();
}

// Returns the first line without its full stop.
std::string FirstLine(const std::string& text) {
  std::string line = Printable(text.substr(0, text.find('\n')));
  while (line.ends_with('.')) line.pop_back();
  return line;
}

// Returns why a preloaded process did not behave as it should, or an empty text if it did.
std::string FailureReason(const Trial& trial, const ProbeEnd& end, const std::string& traces) {
  const std::string hint =
      end.errors.empty() ? "" : absl::StrCat("; it said: ", FirstLine(end.errors));
  if (!end.ok()) return absl::StrCat("a preloaded process ", end.Words(), hint);
  const JsonValue said = Said(end.output);
  if (said.Text("version").empty()) {
    return absl::StrCat("the dynamic linker did not preload vramstow", hint);
  }
  const std::string result = said.Text("result");
  if (result != "CUDA_SUCCESS") return absl::StrCat("no memory could be allocated: ", result, hint);
  const auto inputs = AnalyzePaths({traces});
  if (!inputs.ok()) return absl::StrCat("it left no readable trace", hint);
  uint64_t allocations = 0;
  for (const Analysis& analysis : inputs->analyses) {
    allocations += analysis.facts.counts.allocations;
  }
  if (allocations == 0) return absl::StrCat("its trace contains no allocation", hint);
  if (trial.pool && said.Unsigned("pool_bytes") == 0) {
    return absl::StrCat("the pool did not serve it", hint);
  }
  return "";
}

Finding Try(const DoctorPlan& plan, const Trial& trial) {
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  std::string folder = (temporary / "vramstow-doctor-XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    return {trial.id, Verdict::kBroken, "cannot create a folder for a test",
            "name a writable folder in TMPDIR"};
  }
  DoctorPlan meant = plan;
  meant.simulate = trial.simulate;
  Environment environment = DriverEnvironment(meant);
  AddLibraries(plan.installation, !trial.simulate.empty(), &environment);
  environment.Set("VRAMSTOW_TRACE", "1");
  environment.Set("VRAMSTOW_TRACE_DIR", folder);
  environment.Set("VRAMSTOW_POOL", trial.pool ? "on" : "off");
  environment.Set("VRAMSTOW_OFFLOAD", "off");
  environment.Set("VRAMSTOW_CONTROL", "0");  // otherwise the folder of its socket would remain
  if (trial.simulate.empty()) environment.Set("VRAMSTOW_SIMULATE", "");
  const ProbeEnd end = RunProbe({plan.installation.program, "doctor", "--probe=preload"},
                                environment, plan.patience_ms);
  const std::string failure_reason = FailureReason(trial, end, folder);
  std::filesystem::remove_all(folder, error);
  if (failure_reason.empty()) return {trial.id, Verdict::kGood, trial.works, ""};
  return {trial.id, Verdict::kBroken, failure_reason, trial.remedy};
}

// Adds a finding if a library is missing or cannot be named in LD_PRELOAD.
bool FindMissing(const DoctorPlan& plan, bool rehearsal, Findings* findings) {
  const absl::Status status = CheckInstallation(plan.installation, rehearsal);
  if (status.ok()) return false;
  const std::string said(status.message());
  const size_t colon = said.rfind(": ");
  findings->push_back(
      {rehearsal ? "preload.simulator" : "preload.files", Verdict::kBroken, said.substr(0, colon),
       colon == std::string::npos ? "" : said.substr(colon + 2, said.size() - colon - 3)});
  return true;
}

// True if the simulator is installed. The package of tests/card/pack, which tests a real GPU, does
// not contain it; everything except simulated runs works without it.
bool HasSimulator(const DoctorPlan& plan) {
  std::error_code ignored;
  return std::filesystem::exists(plan.installation.simulator_directory, ignored);
}

}  // namespace

Findings CheckPreload(const DoctorPlan& plan, bool driver_works) {
  Findings findings;
  if (FindMissing(plan, false, &findings)) return findings;
  if (!plan.simulate.empty() && FindMissing(plan, true, &findings)) return findings;
  const std::string other =
      "check whether LD_PRELOAD names another library that interferes, and whether the system "
      "allows preloading (set-user-ID programs and some sandboxes do not allow it)";
  if (driver_works) {
    findings.push_back(Try(
        plan, {"preload.trace", plan.simulate, false, "vramstow sees a preloaded process", other}));
    findings.push_back(
        Try(plan, {"preload.pool", plan.simulate, true, "the pool serves a preloaded process",
                   "leave --pool=on out until a driver that supports the pool is installed; traces "
                   "work without it"}));
  }
  if (!plan.simulate.empty()) return findings;
  if (!HasSimulator(plan)) {
    findings.push_back(
        {"preload.simulator", Verdict::kGood, "this installation has no simulator", ""});
  } else if (!FindMissing(plan, true, &findings)) {
    findings.push_back(Try(
        plan, {"preload.rehearsal", kSimulatedCard, true,
               absl::StrCat("vramstow sees a process on a simulated GPU (", kSimulatedCard,
                            "); programs with a static CUDA runtime (CuPy, RMM) need a real GPU"),
               other}));
  }
  return findings;
}

}  // namespace vramstow
