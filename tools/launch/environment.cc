#include "tools/launch/environment.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "include/vramstow/framework.h"

namespace vramstow {
namespace {

constexpr char kPreload[] = "LD_PRELOAD";
constexpr char kLibraryPath[] = "LD_LIBRARY_PATH";
constexpr char kPythonPath[] = "PYTHONPATH";
constexpr char kProgram[] = VRAMSTOW_PROGRAM_VARIABLE;
constexpr char kPythonStart[] = VRAMSTOW_PYTHON_START_VARIABLE;
constexpr char kTriton[] = "TRITON_LIBCUDA_PATH";
constexpr char kNvtx[] = "NVTX_INJECTION64_PATH";

bool IsVariable(const std::string& entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

}  // namespace

Environment::Environment() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries_.emplace_back(*entry);
  }
}

const char* Environment::Get(std::string_view name) const {
  for (const std::string& entry : entries_) {
    if (IsVariable(entry, name)) return entry.c_str() + name.size() + 1;
  }
  return nullptr;
}

void Environment::Set(std::string_view name, std::string_view value) {
  std::string entry(name);
  entry += '=';
  entry += value;
  for (std::string& known : entries_) {
    if (!IsVariable(known, name)) continue;
    known = std::move(entry);
    return;
  }
  entries_.push_back(std::move(entry));
}

std::vector<char*> Environment::Pointers() {
  std::vector<char*> pointers;
  pointers.reserve(entries_.size() + 1);
  for (std::string& entry : entries_) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  return pointers;
}

void AddLibraries(const Installation& installation, bool rehearsal, Environment* environment) {
  const char* before = environment->Get(kPreload);
  std::string preload = before == nullptr ? "" : before;
  // The names in LD_PRELOAD are separated by spaces or colons.
  const std::vector<std::string> known = absl::StrSplit(preload, absl::ByAnyChar(" :"));
  for (const std::string& library : PreloadedLibraries(installation, rehearsal)) {
    if (std::find(known.begin(), known.end(), library) != known.end()) continue;
    absl::StrAppend(&preload, preload.empty() ? "" : ":", library);
  }
  environment->Set(kPreload, preload);
  if (!rehearsal) return;

  const std::string& folder = installation.simulator_directory;
  const char* path_before = environment->Get(kLibraryPath);
  const std::string path = path_before == nullptr ? "" : path_before;
  if (path != folder && !path.starts_with(folder + ":")) {
    environment->Set(kLibraryPath, path.empty() ? folder : absl::StrCat(folder, ":", path));
  }
  environment->Set(kTriton, folder);
}

void AddCuptiWatch(const Installation& installation, Environment* environment) {
  const std::string folder = installation.shim.substr(0, installation.shim.rfind('/') + 1);
  const std::string library = absl::StrCat(folder, "libvramstow-cupti.so");
  const char* before = environment->Get(kPreload);
  const std::string preload = before == nullptr ? "" : before;
  const std::vector<std::string> known = absl::StrSplit(preload, absl::ByAnyChar(" :"));
  if (std::find(known.begin(), known.end(), library) != known.end()) return;
  environment->Set(kPreload, preload.empty() ? library : absl::StrCat(library, ":", preload));
}

void AddNvtx(const Installation& installation, Environment* environment) {
  if (environment->Get(kNvtx) != nullptr) return;
  const std::string folder = installation.shim.substr(0, installation.shim.rfind('/') + 1);
  environment->Set(kNvtx, absl::StrCat(folder, "libvramstow-core.so"));
}

void AddPythonHook(const Installation& installation, Environment* environment) {
  const std::string& folder = installation.python_start;
  const char* before = environment->Get(kPythonPath);
  const std::string path = before == nullptr ? "" : before;
  if (path != folder && !path.starts_with(folder + ":")) {
    environment->Set(kPythonPath, path.empty() ? folder : absl::StrCat(folder, ":", path));
  }
  environment->Set(kProgram, installation.program);
  // If a job sets PYTHONPATH itself, its child processes find the hook by this variable.
  environment->Set(kPythonStart, folder);
}

}  // namespace vramstow
