// Implements python.*: the interpreter of this shell, its PyTorch, and whether the adapters for its
// tensors exist or can be compiled.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/base/words.h"
#include "tools/doctor/checks.h"
#include "tools/launch/adapter.h"
#include "tools/launch/probe.h"
#include "tools/launch/python.h"

namespace vramstow {
namespace {

// A program that needs the same features of the compiler and of the headers as the adapter, except
// PyTorch's headers, which take long to compile.
constexpr char kSource[] =
    "#include <concepts>\n#include <cuda_runtime_api.h>\n"
    "template <std::integral T> T Same(T value) { return value; }\n"
    "int main() { return Same(0); }\n";

// One kind of adapter, with the texts of this report.
struct Looked {
  const char* id;
  AdapterKind kind;
  const char* able;       // says what works with the adapter
  const char* subject;    // the name of the adapter
  const char* build;      // the command that compiles it
  const char* otherwise;  // says what works without it
};
constexpr Looked kObserverLooked = {
    "python.observer",
    AdapterKind::kObserver,
    "tensors are seen",
    "observer",
    "vramstow adapter build --observer",
    "until then traces show PyTorch's segments, and the library that requested them"};
constexpr Looked kAllocatorLooked = {
    "python.adapter",
    AdapterKind::kAllocator,
    "the pool can serve tensors",
    "adapter",
    "vramstow adapter build",
    "until then --pool=on serves PyTorch's segments, and PyTorch's own allocator caches memory"};

Finding Broken(const Looked& looked, std::string said, std::string remedy) {
  return {looked.id, Verdict::kBroken, std::move(said), std::move(remedy)};
}

// Makes a finding of a status message, which loses its full stop.
Finding BrokenBy(const Looked& looked, const absl::Status& status) {
  const std::string said(status.message());
  return Broken(looked, said.substr(0, said.size() - (said.ends_with('.') ? 1 : 0)),
                looked.otherwise);
}

// Checks that the compiler can compile a small program with the headers that the adapter includes
// in addition to PyTorch's.
Finding TryCompiler(const Looked& looked, const TorchInstallation& torch,
                    const std::string& compiler, uint64_t patience_ms) {
  std::vector<std::string> command = {"sh",
                                      "-c",
                                      "printf '%s' \"$0\" | \"$@\"",
                                      kSource,
                                      compiler,
                                      "-std=c++20",
                                      "-fsyntax-only",
                                      "-x",
                                      "c++",
                                      "-"};
  for (const std::string& folder : torch.include_folders) {
    command.insert(command.end(), {"-isystem", folder});
  }
  const ProbeEnd end = RunProbe(command, Environment(), patience_ms);
  if (end.ok()) {
    return {looked.id, Verdict::kGood,
            absl::StrCat(looked.able, ": the ", looked.subject,
                         " will be compiled at the first use, by ", compiler, " (", looked.build,
                         " does it now)"),
            ""};
  }
  const std::string first = end.errors.substr(0, end.errors.find('\n'));
  return Broken(looked,
                absl::StrCat("the ", looked.subject, " cannot be compiled: ", compiler, " ",
                             end.Words(), first.empty() ? "" : ", " + Printable(first)),
                absl::StrCat("install a compiler for C++20 (g++ 10 or newer) and CUDA's runtime "
                             "headers, or name one in CXX; ",
                             looked.otherwise));
}

Finding CheckAdapter(const Looked& looked, const DoctorPlan& plan, const PythonHere& python) {
  const auto torch = FindTorch(python.torch_folder);
  if (!torch.ok()) return BrokenBy(looked, torch.status());
  const char* chosen = std::getenv("VRAMSTOW_ADAPTER_DIR");
  const auto folder = AdapterFolder::Make(chosen == nullptr ? "" : chosen);
  if (!folder.ok()) return BrokenBy(looked, folder.status());
  const Adapters allocators(plan.installation.adapter_sources,
                            {looked.kind, WantsNewerTried(std::getenv("VRAMSTOW_ADAPTER_TRY"))});
  const auto adapter = allocators.Find(*torch, *folder);
  if (!adapter.ok()) {
    if (absl::StrContains(adapter.status().message(), "no C++ compiler")) {
      return Broken(looked,
                    absl::StrCat("there is no C++ compiler to compile the ", looked.subject,
                                 " with (c++, g++ or clang++)"),
                    absl::StrCat("install one (apt-get install g++); ", looked.otherwise));
    }
    return BrokenBy(looked, adapter.status());
  }
  if (adapter->built) {
    return {looked.id, Verdict::kGood,
            absl::StrCat(looked.able, ": the ", looked.subject, " is compiled, ", adapter->path),
            ""};
  }
  return TryCompiler(looked, *torch, adapter->compiler, plan.patience_ms);
}

// Checks whether call stacks contain lines of this Python (tracer/capture/python_runtime.h).
Finding CheckLines(const std::string& release) {
  constexpr int kFirst = 10;
  constexpr int kLast = 14;
  const std::vector<std::string> numbers = absl::StrSplit(release, '.');
  int minor = 0;
  const bool is_known = numbers.size() > 1 && numbers[0] == "3" &&
                        absl::SimpleAtoi(numbers[1], &minor) && minor >= kFirst && minor <= kLast;
  if (is_known) {
    return {"python.lines", Verdict::kGood, "source lines of the program are known", ""};
  }
  return {"python.lines", Verdict::kLimited,
          absl::StrCat("lines of Python ", release,
                       " cannot be read: memory is shown by library, and causes are less sure"),
          absl::StrCat("run the job with CPython 3.", kFirst, " to 3.", kLast)};
}

}  // namespace

Findings CheckPython(const DoctorPlan& plan) {
  Findings findings;
  const auto python = FindPython(plan.patience_ms);
  if (!python.ok()) {
    const std::string said(python.status().message());
    findings.push_back({"python.program", Verdict::kLimited, said.substr(0, said.size() - 1),
                        "activate the environment in which the job runs, if it is a Python job"});
    return findings;
  }
  findings.push_back({"python.program", Verdict::kGood,
                      absl::StrCat("Python ", python->release, ", ", python->program), ""});
  findings.push_back(CheckLines(python->release));
  if (python->torch_folder.empty()) {
    findings.push_back({"python.torch", Verdict::kLimited, "it has no PyTorch",
                        "activate the environment in which the job runs, if it is a PyTorch job"});
    return findings;
  }
  findings.push_back({"python.torch", Verdict::kGood,
                      absl::StrCat("PyTorch ", python->torch_version, ", ", python->torch_folder),
                      ""});
  findings.push_back(CheckAdapter(kObserverLooked, plan, *python));
  findings.push_back(CheckAdapter(kAllocatorLooked, plan, *python));
  return findings;
}

}  // namespace vramstow
