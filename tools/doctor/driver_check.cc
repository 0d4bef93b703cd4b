// Implements driver.*: a child queries the driver and its devices.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/host_mapping.h"
#include "tools/base/words.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/host_mapping.h"
#include "tools/json/json_value.h"
#include "tools/launch/probe.h"

namespace vramstow {
namespace {

constexpr char kRehearse[] = "use a simulated GPU: vramstow run --simulate=h200 -- COMMAND";
constexpr char kSuccess[] = "CUDA_SUCCESS";
// The oldest version with which the calls of the pool and the recorder were tested.
constexpr int kOldestTried = 12000;
constexpr int kProhibited = 2;  // CU_COMPUTEMODE_PROHIBITED

struct Init {
  int result;
  const char* remedy;
};
constexpr Init kInitRemedies[] = {
    {34,
     "remove the folder with the stub library from LD_LIBRARY_PATH: stubs are for linking only"},
    {100,
     "check that nvidia-smi lists a device and that CUDA_VISIBLE_DEVICES does not hide it; a "
     "container needs access to its devices (docker run --gpus all)"},
    {802, "start the fabric manager (systemctl start nvidia-fabricmanager)"},
    {803,
     "reboot, or reload the kernel's driver: it and libcuda.so.1 belong to different releases, for "
     "example after an update"},
    {804,
     "remove the forward-compatibility libcuda.so.1 from LD_LIBRARY_PATH: this GPU does not "
     "support it"}};

std::string RemedyOfInit(int result) {
  for (const Init& init : kInitRemedies) {
    if (init.result == result) return absl::StrCat(init.remedy, "; or ", kRehearse);
  }
  return absl::StrCat(
      "check that nvidia-smi works, that /dev/nvidia-uvm can be opened and that the kernel's log "
      "contains no Xid error; or ",
      kRehearse);
}

// The lines that the child has written, in order. Other lines, which a driver prints, are skipped.
struct DriverReport {
  JsonValue library = JsonValue::Object();
  JsonValue init = JsonValue::Object();
  int version = 0;
  std::vector<JsonValue> devices;
  std::vector<JsonValue> trials;  // one fewer than devices if the last trial did not end
  std::string last = "looking for libcuda.so.1";
};

DriverReport Read(const std::string& output) {
  DriverReport report;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    const auto json = JsonValue::Parse({line.data(), line.size()});
    if (!json.has_value()) continue;
    if (const JsonValue* library = json->Find("library")) {
      report.library = *library;
      report.last = "cuInit";
    } else if (const JsonValue* init = json->Find("init")) {
      report.init = *init;
      report.last = "cuDriverGetVersion";
    } else if (const JsonValue* version = json->Find("version")) {
      report.version = static_cast<int>(version->Integer());
      report.last = "cuDeviceGetCount";
    } else if (const JsonValue* device = json->Find("device")) {
      report.devices.push_back(*device);
      report.last = absl::StrCat("a trial of device ", report.devices.size() - 1);
    } else if (const JsonValue* trial = json->Find("trial")) {
      report.trials.push_back(*trial);
      report.last = "the next device";
    }
  }
  return report;
}

std::string VersionText(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

struct Capability {
  const char* key;  // the key in the trial's result
  const char* good;
  const char* missing;
  const char* remedy;
  Verdict without;
};
constexpr Capability kCapabilities[] = {
    {"allocate", "memory can be allocated", "no memory can be allocated",
     "check which other programs use the device: nvidia-smi", Verdict::kBroken},
    {"virtual_memory", "virtual memory: the pool can cache and remap memory",
     "no virtual memory (cuMemMap): the pool caches memory of cuMemAlloc, but cannot remap it",
     "update the driver; a vGPU or MIG profile may not support it", Verdict::kLimited},
    {"host_mapping", "host memory at device addresses: offload can move live memory",
     "host memory cannot be mapped for the device",
     "update the driver to 12.2 or newer; in a container allow get_mempolicy (docker run "
     "--cap-add SYS_NICE)",
     Verdict::kBroken},
    {"context_event", "events over a whole context: freed memory can be reused quickly",
     "no events over a whole context (cuCtxRecordEvent)",
     "update the driver to 12.5 or newer; until then a freed block waits for an event on each "
     "stream",
     Verdict::kLimited},
    {"stream_ordered", "stream-ordered memory (cudaMallocAsync)", "no stream-ordered memory",
     "nothing, unless the job itself asks for cudaMallocAsync", Verdict::kLimited},
    {"ipc", "memory can be shared between processes (cuIpc)", "no cuIpc",
     "start the ranks of one job in one container with --ipc=host, or let NCCL work without it",
     Verdict::kLimited}};

void AddTrial(const std::string& id, const JsonValue& trial, Findings* findings) {
  const std::string context = trial.Text("context");
  if (context != kSuccess) {
    findings->push_back({absl::StrCat(id, ".context"), Verdict::kBroken,
                         absl::StrCat("no context can be created (", context, ")"),
                         "check which other programs use the device: nvidia-smi"});
    return;
  }
  for (const Capability& capability : kCapabilities) {
    const std::string result = trial.Text(capability.key);
    if (result.empty()) continue;
    const bool good = result == kSuccess;
    findings->push_back(
        {absl::StrCat(id, ".", capability.key), good ? Verdict::kGood : capability.without,
         good ? capability.good : absl::StrCat(capability.missing, " (", result, ")"),
         good ? "" : capability.remedy});
  }
}

void AddDevice(size_t number, const JsonValue& device, const JsonValue* trial, Findings* findings) {
  const std::string id = absl::StrCat("driver.", number);
  const JsonValue* found = device.Find("attributes");
  const JsonValue attributes = found == nullptr ? JsonValue() : *found;
  std::string said = absl::StrCat("device ", number, ": ", device.Text("name"), ", ",
                                  Bytes(device.Unsigned("total_bytes")));
  if (trial != nullptr && trial->Has("free_bytes")) {
    absl::StrAppend(&said, " (", Bytes(trial->Unsigned("free_bytes")), " free)");
  }
  absl::StrAppend(&said, ", compute capability ", attributes.Integer("compute_capability_major"),
                  ".", attributes.Integer("compute_capability_minor"));
  const bool prohibited = attributes.Integer("compute_mode") == kProhibited;
  findings->push_back({id, prohibited ? Verdict::kBroken : Verdict::kGood,
                       prohibited ? said + ", its compute mode refuses all processes" : said,
                       prohibited ? "nvidia-smi --compute-mode=DEFAULT, as root" : ""});
  if (trial != nullptr) AddTrial(id, *trial, findings);
}

// Host memory is tested in separate child processes, because drivers have crashed in this test.
void AddHostMappings(const DoctorPlan& plan, DriverReport* report) {
  const bool asked =
      std::any_of(report->trials.begin(), report->trials.end(),
                  [](const JsonValue& trial) { return trial.Text("virtual_memory") == kSuccess; });
  const std::string setting =
      asked ? FindHostMappings(plan, HostTrialOf::kEverything) : std::string();
  for (size_t i = 0; i < report->trials.size(); ++i) {
    JsonValue& trial = report->trials[i];
    if (trial.Text("context") != kSuccess) continue;
    const std::string uuid = report->devices[i].Text("uuid");
    const HostMapping mapping = ReadHostMapping(FindHostAnswer(setting.c_str(), uuid));
    if (mapping.place == HostPlace::kHost || mapping.place == HostPlace::kNode) {
      trial["host_mapping"] = kSuccess;
    } else if (mapping.place == HostPlace::kNone) {
      trial["host_mapping"] = std::string(mapping.reason);
    } else {
      trial["host_mapping"] = asked ? "it was not tried" : trial.Text("virtual_memory");
    }
  }
}

}  // namespace

Environment DriverEnvironment(const DoctorPlan& plan) {
  Environment environment;
  const char* preload = environment.Get("LD_PRELOAD");
  const std::string before = preload == nullptr ? "" : preload;
  if (!plan.simulate.empty()) {
    AddLibraries(plan.installation, true, &environment);
    environment.Set("VRAMSTOW_SIMULATE", plan.simulate);
  }
  // Removes only vramstow from LD_PRELOAD, because another library that the shell preloads may be
  // the problem.
  std::vector<std::string> kept;
  for (absl::string_view library : absl::StrSplit(before, absl::ByAnyChar(" :"))) {
    if (!library.empty() && !absl::StrContains(library, "vramstow")) kept.emplace_back(library);
  }
  environment.Set("LD_PRELOAD", absl::StrJoin(kept, ":"));
  return environment;
}

Findings CheckDriverHere(const DoctorPlan& plan) {
  const ProbeEnd end = RunProbe({plan.installation.program, "doctor", "--probe=driver"},
                                DriverEnvironment(plan), plan.patience_ms);
  DriverReport report = Read(end.output);
  if (end.ok()) AddHostMappings(plan, &report);
  Findings findings;
  const std::string missing = report.library.Text("missing");
  if (report.library.Has("missing")) {
    findings.push_back(
        {"driver.library", Verdict::kBroken,
         absl::StrCat("there is no CUDA driver on this machine (", missing, ")"),
         absl::StrCat("install NVIDIA's driver; in a container use docker run --gpus all; or ",
                      kRehearse)});
    return findings;
  }
  if (report.library.Has("path")) {
    const bool old = report.version != 0 && report.version < kOldestTried;
    findings.push_back(
        {"driver.library", old ? Verdict::kLimited : Verdict::kGood,
         absl::StrCat(report.library.Bool("simulated") ? "a simulated driver" : "a driver",
                      report.version == 0 ? "" : " for CUDA " + VersionText(report.version), ", ",
                      report.library.Text("path")),
         old ? "update it to a driver for CUDA 12 or newer: older ones were not tested" : ""});
  }
  const auto init = static_cast<int>(report.init.Integer("result"));
  if (init != 0) {
    findings.push_back({"driver.init", Verdict::kBroken,
                        absl::StrCat("cuInit gives ", report.init.Text("name")),
                        RemedyOfInit(init)});
  }
  for (size_t i = 0; i < report.devices.size(); ++i) {
    AddDevice(i, report.devices[i], i < report.trials.size() ? &report.trials[i] : nullptr,
              &findings);
  }
  if (!end.ok()) {
    findings.push_back(
        {"driver.process", Verdict::kBroken,
         absl::StrCat("a process that called the driver ", end.Words(), " in ", report.last),
         absl::StrCat("check that nvidia-smi works and that the kernel's log contains no Xid "
                      "error, and restart the machine; or ",
                      kRehearse)});
  } else if (init == 0 && report.devices.empty()) {
    findings.push_back(
        {"driver.devices", Verdict::kBroken, "the driver has no device", RemedyOfInit(100)});
  }
  return findings;
}

}  // namespace vramstow
