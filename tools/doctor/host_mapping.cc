#include "tools/doctor/host_mapping.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/host_mapping.h"
#include "tools/base/folder_entries.h"
#include "tools/doctor/driver_functions.h"
#include "tools/json/json_value.h"
#include "tools/launch/file_text.h"
#include "tools/launch/fingerprint.h"
#include "tools/launch/probe.h"
#include "tools/launch/user_cache.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kFile[] = "host-mapping";
constexpr char kTrial[] = "1";  // must change when the trial changes
constexpr size_t kMaxLines = 64;

// --- Answers of earlier trials -------------------------------------------------------------------

// Returns the lines of /proc/self/status that show what a sandbox allows.
std::string Sandbox() {
  std::string kept;
  const std::string status = TextOfFile("/proc/self/status");
  for (const absl::string_view line : absl::StrSplit(status, '\n')) {
    if (absl::StartsWith(line, "Seccomp:") || absl::StartsWith(line, "CapEff:")) {
      absl::StrAppend(&kept, line, "\n");
    }
  }
  return kept;
}

std::string Cards() {
  std::vector<std::string> cards;
  for (const fs::path& entry : EntriesOf("/proc/driver/nvidia/gpus")) {
    cards.push_back(TextOfFile(entry / "information"));
  }
  std::sort(cards.begin(), cards.end());
  return absl::StrJoin(cards, "\n");
}

// Returns a fingerprint of this driver, these devices and this kernel, without starting the driver.
std::string KeyOf(const DoctorPlan& plan, const std::string& library) {
  struct stat file = {};
  stat(library.c_str(), &file);
  utsname kernel = {};
  uname(&kernel);
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  Fingerprint print;
  for (const std::string& text :
       {std::string(kTrial), library, absl::StrCat(file.st_size, " ", file.st_mtime),
        std::string(kernel.release), plan.simulate, std::string(visible == nullptr ? "" : visible),
        TextOfFile("/proc/driver/nvidia/version"), Cards(),
        TextOfFile("/sys/devices/system/node/has_cpu"), Sandbox()}) {
    print.Add(text);
  }
  return absl::StrCat(absl::Hex(print.value(), absl::kZeroPad16));
}

std::string Recall(const std::string& key) {
  const fs::path folder = UserCacheFolder();
  if (folder.empty()) return "";
  const std::string lines = TextOfFile(folder / kFile);
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    if (absl::StartsWith(line, key + " ")) return std::string(line.substr(key.size() + 1));
  }
  return "";
}

// Writes the answer to the cache, newest first. A folder that cannot be written is ignored; the
// next run tries again.
void Remember(const std::string& key, const std::string& setting) {
  const fs::path folder = UserCacheFolder();
  std::error_code error;
  if (folder.empty()) return;
  fs::create_directories(folder, error);
  std::vector<std::string> kept = {absl::StrCat(key, " ", setting)};
  const std::string lines = TextOfFile(folder / kFile);
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    if (kept.size() < kMaxLines && !absl::StartsWith(line, key)) kept.emplace_back(line);
  }
  const std::string written = absl::StrCat((folder / kFile).string(), ".", getpid());
  std::ofstream(written) << absl::StrJoin(kept, "\n") << "\n";
  if (rename(written.c_str(), (folder / kFile).c_str()) != 0) unlink(written.c_str());
}

// Returns the driver that a command will find, without initialising it.
std::string LibraryOf(const DoctorPlan& plan) {
  if (!plan.simulate.empty()) {
    const std::string path = plan.installation.simulator_directory + "/libcuda.so.1";
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    return error ? path : real.string();
  }
  void* const library = DriverFunctions::Open();
  return library == nullptr ? "" : DriverFunctions(library).Path();
}

// --- New trials ----------------------------------------------------------------------------------

// The answers of the children so far.
struct ReportedMapping {
  std::vector<std::string> entries;  // entries of the setting
  std::string library;
  std::string trying;  // the device whose trial has not ended
  std::string init;    // the name of the error, if there was one
  bool lasting = true;
  bool complete = false;  // all devices have an answer
};

// Returns one entry of the answer. Entries are separated by semicolons, so semicolons in a reason
// are replaced.
std::string Entry(const std::string& uuid, const std::string& said) {
  return absl::StrCat(uuid, "=", absl::StrReplaceAll(said, {{";", ","}, {"\n", " "}}));
}

void ReadMapping(const std::string& output, ReportedMapping* reported) {
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const auto json = JsonValue::Parse({line.data(), line.size()});
    if (!json.has_value()) continue;
    if (json->Has("library")) {
      reported->library = json->Text("library");
    } else if (const JsonValue* init = json->Find("init")) {
      reported->init = init->Integer("result") == 0 ? "" : init->Text("name");
    } else if (json->Has("trying")) {
      reported->trying = json->Text("trying");
    } else if (const JsonValue* answer = json->Find("answer")) {
      reported->entries.push_back(Entry(answer->Text("uuid"), answer->Text("said")));
      reported->lasting = reported->lasting && answer->Bool("lasting");
      reported->trying.clear();
    }
  }
}

// Returns the job's environment for the trial. It is changed so that the trial does not write to
// the call log and does not share GPUs with other processes, as the user may have requested for the
// job. It also enables the computation of kernels.
Environment TrialEnvironment(const DoctorPlan& plan, const ReportedMapping& reported) {
  Environment environment = DriverEnvironment(plan);
  if (!plan.simulate.empty()) {
    environment.Set("VRAMSTOW_SIMULATE",
                    absl::StrCat(plan.simulate,
                                 ",call-log=/dev/null,share=none,contents=keep,"
                                 "emulation=16MiB,ptx=64M"));
  }
  environment.Set(kHostMappingVariable, absl::StrJoin(reported.entries, ";"));
  return environment;
}

// A child that crashed or hung has written which device it tried. The next child continues after
// that device.
ReportedMapping Ask(const DoctorPlan& plan) {
  const auto end = Clock::now() + std::chrono::milliseconds(plan.patience_ms);
  constexpr int kMaxChildren = 64;
  ReportedMapping reported;
  for (int i = 0; i < kMaxChildren; ++i) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    reported.trying.clear();
    const ProbeEnd child =
        RunProbe({plan.installation.program, "doctor", "--probe=host"},
                 TrialEnvironment(plan, reported), static_cast<uint64_t>(left.count()));
    ReadMapping(child.output, &reported);
    reported.complete = child.ok();
    if (reported.complete) break;
    // The next test may be in time: the first start of CUDA on many devices takes long.
    if (child.how == ProbeEnd::How::kTooSlow) reported.lasting = false;
    const bool tried = !reported.trying.empty();
    reported.entries.push_back(Entry(tried ? reported.trying : "*",
                                     absl::StrCat("no:a process that tested it ", child.Words())));
    if (tried) continue;
    reported.lasting = false;
    reported.complete = true;
    break;
  }
  if (!reported.complete) {
    reported.lasting = false;
    reported.entries.push_back(Entry("*", "no:there was no time left to test it"));
  }
  return reported;
}

}  // namespace

std::string FindHostMappings(const DoctorPlan& plan, HostTrialOf trial) {
  if (trial == HostTrialOf::kUnknown) {
    std::string known = Recall(KeyOf(plan, LibraryOf(plan)));
    if (!known.empty()) return known;
  }
  ReportedMapping reported = Ask(plan);
  if (!reported.init.empty()) {
    reported.entries.push_back(Entry("*", absl::StrCat("no:cuInit gave ", reported.init)));
    reported.lasting = false;
  }
  const std::string setting = absl::StrJoin(reported.entries, ";");
  if (reported.lasting && !setting.empty()) Remember(KeyOf(plan, reported.library), setting);
  return setting;
}

}  // namespace vramstow
