// vramstow adapter: builds and lists the allocators that vramstow compiles for frameworks on this
// machine.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/base/progress.h"
#include "tools/base/words.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/json/json_value.h"
#include "tools/launch/adapter.h"
#include "tools/launch/installation.h"
#include "tools/launch/python.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr char kAdapterFooter[] =
    "Actions:\n  build    compile the adapter for a PyTorch, unless it is compiled already, and "
    "print its path\n  status   say whether there is an adapter for a PyTorch, and list all "
    "compiled adapters\n  remove   remove all compiled adapters\n\nvramstow run --pool=on compiles "
    "the adapter that it needs: before it starts a program that is\nlinked to LibTorch, and at the "
    "first import of torch.\n\nExamples:\n  vramstow adapter build\n  vramstow adapter build "
    "--torch venv/lib/python3.11/site-packages/torch\n\nExit status: 0; 1 if the adapter cannot be "
    "compiled; 2 for wrong arguments; 3 with --census or\n--ship if there is none for this release "
    "of PyTorch.";

constexpr uint64_t kPythonPatienceMs = 60'000;

// Returns the folder of the PyTorch that the Python of this shell would import.
absl::StatusOr<std::string> TorchOfPython() {
  const auto python = FindPython(kPythonPatienceMs);
  if (python.ok() && !python->torch_folder.empty()) return python->torch_folder;
  return absl::NotFoundError(
      "the Python of this environment has no PyTorch: name the folder of PyTorch with --torch, or "
      "run the command in an environment that has PyTorch.");
}

int Fail(const absl::Status& status) {
  Complain("adapter", Printable(std::string(status.message())));
  return kExitCannotWrite;
}

int PrintAsJson(const JsonValue& json) { return PrintResult("adapter", json.Dump() + "\n"); }

constexpr int kExitNoneForRelease = 3;

struct Folders {
  absl::StatusOr<AdapterFolder> compiled;  // the user's compiled adapters
  std::string ship;                        // empty unless an adapter is built for a package
};

absl::StatusOr<Adapter> Provide(const TorchInstallation& torch, const Adapters& adapters,
                                const Folders& folders) {
  const std::string shipped = adapters.FindShipped(torch);
  if (!shipped.empty() && folders.ship.empty()) {
    if (folders.compiled.ok()) folders.compiled->NoteTorch(shipped, torch);
    return Adapter{shipped, true, ""};
  }
  Progress::OfProcess().Begin(absl::StrCat("compiling the adapter for PyTorch ", torch.release));
  if (!folders.ship.empty()) return adapters.BuildShipped(torch, folders.ship);
  if (!folders.compiled.ok()) return folders.compiled.status();
  return adapters.Build(torch, *folders.compiled);
}

struct BuildOptions {
  // An unsupported release of PyTorch is not a failure, but gives an exit status of its own.
  bool may_lack = false;
  bool quiet = false;
  bool json = false;
};

int Build(const std::string& torch_folder, const Adapters& adapters, const Folders& folders,
          const BuildOptions& options) {
  const auto torch = FindTorch(torch_folder);
  if (!torch.ok()) return Fail(torch.status());
  const auto adapter = Provide(*torch, adapters, folders);
  if (!adapter.ok()) {
    const int status = Fail(adapter.status());
    return options.may_lack && !adapters.KnowsRelease(torch->release) ? kExitNoneForRelease
                                                                      : status;
  }
  if (options.json) {
    return PrintAsJson(JsonValue::Object({{"release", torch->release},
                                          {"torch", torch->folder},
                                          {"adapter", adapter->path},
                                          {"compiler", adapter->compiler}}));
  }
  if (options.quiet) return PrintResult("adapter", adapter->path + "\n");
  return PrintResult("adapter",
                     absl::StrCat("PyTorch ", torch->release, ": ", adapter->path, "\n"));
}

// Only reads, so that the folder may be missing or not writable.
int Status(const std::string& torch_folder, const Adapters& adapters, const AdapterFolder& folder,
           bool json) {
  std::string text;
  const auto torch = FindTorch(torch_folder);
  const auto adapter =
      torch.ok() ? adapters.Find(*torch, folder) : absl::StatusOr<Adapter>(torch.status());
  if (json) {
    JsonValue answer = JsonValue::Object({{"release", nullptr},
                                          {"torch", torch_folder},
                                          {"adapter", nullptr},
                                          {"built", adapter.ok() && adapter->built},
                                          {"why_not", nullptr},
                                          {"folder", folder.path()},
                                          {"adapters", folder.List()}});
    if (torch.ok()) answer["release"] = torch->release;
    if (adapter.ok()) answer["adapter"] = adapter->path;
    if (!adapter.ok()) answer["why_not"] = std::string(adapter.status().message());
    return PrintAsJson(answer);
  }
  if (adapter.ok()) {
    absl::StrAppend(&text, "PyTorch ", torch->release, " in ", torch->folder, ": ",
                    adapter->built ? "built" : "not built yet", "\n");
  } else {
    absl::StrAppend(&text, Printable(std::string(adapter.status().message())), "\n");
  }
  absl::StrAppend(&text, "in ", folder.path(), ":\n");
  for (const std::string& known : folder.List()) absl::StrAppend(&text, "  ", known, "\n");
  return PrintResult("adapter", text);
}

int Remove(const AdapterFolder& folder, bool json) {
  const int count = folder.Clear();
  if (json) return PrintAsJson(JsonValue::Object({{"removed", count}, {"folder", folder.path()}}));
  return PrintResult("adapter", absl::StrCat("removed ", count, " from ", folder.path(), "\n"));
}

}  // namespace

int AdapterCommand(const std::vector<std::string>& arguments) {
  std::string action;
  std::string torch;
  std::string wanted;
  std::string ship;
  bool observer = false;
  bool values = false;
  bool try_newer = WantsNewerTried(std::getenv("VRAMSTOW_ADAPTER_TRY"));
  bool census = false;
  bool quiet = false;
  bool json = false;
  const CommandLine line{
      .command = "adapter",
      .summary = "Compiles, lists and removes the adapters for PyTorch on this machine.",
      .footer = kAdapterFooter,
      .options = {
          {"ACTION",
           &action,
           "build, status or remove (below)",
           {.required = true, .one_of = {"build", "status", "remove"}}},
          {"--torch", &torch, "Folder torch of a PyTorch package, or folder of LibTorch"},
          {"--adapter-dir", &wanted, "Folder for compiled adapters, instead of the default"},
          {"--ship", &ship,
           "Compile an adapter that fits every copy of this release, into this folder, for a "
           "package"},
          {"--observer", &observer, "Use the observer of PyTorch's own allocator"},
          {"--values", &values, "Use the library that computes the values of a simulated run"},
          {"--adapter-try", &try_newer,
           "Also accept a release of PyTorch that is newer than the supported ones"},
          {"--census", &census, "Use the library that finds which objects reference tensors"},
          {"--quiet", &quiet, "Print only the path of the adapter"},
          {"--json", &json, "Print JSON on one line"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;

  const char* chosen = std::getenv("VRAMSTOW_ADAPTER_DIR");
  if (wanted.empty() && chosen != nullptr) wanted = chosen;
  const auto folder =
      action == "build" ? AdapterFolder::Make(wanted) : AdapterFolder::Locate(wanted);
  if (!folder.ok() && action != "build") return Fail(folder.status());
  if (action == "remove") return Remove(*folder, json);
  const auto installation = FindInstallation();
  if (!installation.ok()) return Fail(installation.status());
  if (torch.empty()) {
    const auto found = TorchOfPython();
    if (!found.ok()) return Fail(found.status());
    torch = *found;
  }
  const AdapterRequest request = {observer ? AdapterKind::kObserver
                                  : values ? AdapterKind::kValues
                                  : census ? AdapterKind::kCensus
                                           : AdapterKind::kAllocator,
                                  try_newer};
  const Adapters adapters(installation->adapter_sources, request);
  if (action == "status") return Status(torch, adapters, *folder, json);
  return Build(torch, adapters, {folder, ship},
               {.may_lack = census || !ship.empty(), .quiet = quiet, .json = json});
}

}  // namespace vramstow
