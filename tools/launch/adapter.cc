#include "tools/launch/adapter.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/launch/run_logged.h"
#include "tools/launch/saved_fields.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

// What one kind of library is made of, and which releases 2.x of PyTorch it knows.
struct KindFacts {
  const char* folder;  // of its .cc files, below the sources
  const char* prefix;  // of the compiled library's name
  int first_minor;
  int last_minor;
  const char* otherwise;  // what to say of a release that it does not know
};

// By AdapterKind. The releases are those that tests/run --torch=all goes through.
constexpr KindFacts kKinds[] = {
    {"torch", "torch-", 4, 15,
     "has an allocator interface that this vramstow does not know (it knows 2.4 to 2.15)"},
    {"observer", "torch-observer-", 2, 15,
     "is not one that this vramstow can observe (2.2 to 2.15)"},
    {"values", "torch-values-", 2, 15,
     "is not one whose operators this vramstow can compute (2.2 to 2.15)"},
    {"census", "torch-census-", 15, 15,
     "is not the one in which this vramstow can tell who holds tensors (2.15)"},
};
constexpr int kMajor = 2;
constexpr char kNoCompiler[] =
    "there is no C++ compiler here to build the adapter with (c++, g++ or clang++).";
constexpr char kPrefix[] = "torch-";  // of all kinds
constexpr char kSuffix[] = ".so";
constexpr char kShippedFolder[] = "compiled-adapters";  // beside the sources
// Where these are the same, a library that was compiled for another copy of the release fits.
constexpr const char* kDecidingHeaders[] = {"c10/cuda/CUDACachingAllocator.h",
                                            "c10/core/CachingDeviceAllocator.h",
                                            "c10/core/Allocator.h",
                                            "c10/core/StorageImpl.h",
                                            "c10/core/TensorImpl.h",
                                            "c10/macros/cmake_macros.h",
                                            "ATen/core/boxing/KernelFunction.h",
                                            "ATen/core/dispatch/Dispatcher.h",
                                            "ATen/core/ivalue.h",
                                            "torch/csrc/autograd/generated/Functions.h"};
constexpr uint64_t kHashStart = 0xcbf29ce484222325U;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// FNV-1a, 64 bits.
void AddTo(uint64_t* hash, std::string_view text) {
  for (const char c : text) *hash = (*hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  *hash = (*hash ^ 0xff) * 0x100000001b3U;
}

// A C++ compiler: $CXX, or the first that PATH has.
std::string FindCompiler() {
  const char* path = std::getenv("PATH");
  const char* chosen = std::getenv("CXX");
  std::vector<std::string> names = {"c++", "g++", "clang++"};
  if (chosen != nullptr && *chosen != '\0') names.insert(names.begin(), chosen);
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos) {
      if (access(name.c_str(), X_OK) == 0) return name;
      continue;
    }
    for (absl::string_view folder : absl::StrSplit(path == nullptr ? "/usr/bin" : path, ':')) {
      std::string file = absl::StrCat(folder, "/", name);
      if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return "";
}

// What tells one compiler from another without starting it.
std::string CompilerMark(const std::string& compiler) {
  std::error_code error;
  const fs::path file = fs::canonical(compiler, error);
  struct stat about = {};
  if (error || stat(file.c_str(), &about) != 0) return compiler;
  return absl::StrCat(file.string(), " ", about.st_size, " ", about.st_mtim.tv_sec);
}

const KindFacts& FactsOf(AdapterKind kind) { return kKinds[static_cast<size_t>(kind)]; }

// The headers, and the .cc files of one folder: those of an observer lie below the adapter's.
std::vector<fs::path> SourceFiles(const std::string& sources, AdapterKind kind) {
  const char* folder = FactsOf(kind).folder;
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(sources, error)) {
    const fs::path& path = entry.path();
    const bool is_unit = path.extension() == ".cc" && path.parent_path().filename() == folder;
    if (is_unit || path.extension() == ".h") files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> CompileCommand(const TorchInstallation& torch, const std::string& sources,
                                        const std::string& compiler, const std::string& unit,
                                        const std::string& fields, const std::string& output,
                                        bool shipped) {
  const std::string libraries = absl::StrCat(torch.folder, "/lib");
  std::vector<std::string> command = {
      compiler,
      "-std=c++20",
      "-O2",
      "-fPIC",
      "-shared",
      "-fvisibility=hidden",
      absl::StrCat("-D_GLIBCXX_USE_CXX11_ABI=", torch.cxx11_abi ? 1 : 0),
      absl::StrCat("-DVRAMSTOW_TORCH_RELEASE=\"", torch.release, "\""),
      absl::StrCat("-DVRAMSTOW_SAVED_FIELDS=\"", fields, "\""),
      "-I",
      sources};
  for (const std::string& folder : torch.include_folders) {
    command.insert(command.end(), {"-isystem", folder});
  }
  command.insert(command.end(), {unit, "-o", output, absl::StrCat("-L", libraries), "-lc10_cuda",
                                 "-lc10", "-ltorch_cpu"});
  if (shipped) {
    // A process that loads it has PyTorch's libraries already, wherever they lie. It names them
    // even where it was linked to empty ones, because they are visible to those who name them only.
    command.insert(command.begin() + 1, {"-Wl,-s", "-Wl,--no-as-needed"});
  } else {
    command.push_back(absl::StrCat("-Wl,-rpath,", libraries));
  }
  return command;
}

// What a shipped adapter was made from: not where PyTorch lies, and not how it was compiled.
std::string ShippedName(const TorchInstallation& torch, const std::string& sources,
                        AdapterKind kind) {
  uint64_t source = kHashStart;
  for (const fs::path& file : SourceFiles(sources, kind)) AddTo(&source, ReadFile(file));
  uint64_t headers = kHashStart;
  for (const char* header : kDecidingHeaders) {
    AddTo(&headers, ReadFile(fs::path(torch.folder) / "include" / header));
  }
  return absl::StrCat(FactsOf(kind).prefix, torch.release, "-abi", torch.cxx11_abi ? 1 : 0, "-",
                      absl::Hex(source, absl::kZeroPad16), "-",
                      absl::Hex(headers, absl::kZeroPad16), kSuffix);
}

// The first line of a compiler's output that says what is wrong.
std::string FirstError(const std::string& log) {
  std::string first;
  for (absl::string_view line : absl::StrSplit(ReadFile(log), '\n')) {
    if (first.empty()) first = std::string(line);
    if (line.find("error") != absl::string_view::npos) return std::string(line);
  }
  return first;
}

absl::Status Compile(const TorchInstallation& torch, const std::string& sources, AdapterKind kind,
                     const Adapter& adapter, bool shipped) {
  const std::string stem = absl::StrCat(adapter.path, ".", getpid());
  const std::string unit = stem + ".cc";
  const std::string output = stem + ".tmp";
  const std::string log = stem + ".log";
  const std::string fields = stem + ".inc";
  if (kind == AdapterKind::kCensus) {
    const fs::path header = "include/torch/csrc/autograd/generated/Functions.h";
    std::ofstream(fields) << SavedFields(ReadFile(fs::path(torch.folder) / header));
  }
  {
    // All in one unit: PyTorch's headers take most of the time, and are read once.
    std::ofstream text(unit);
    for (const fs::path& file : SourceFiles(sources, kind)) {
      if (file.extension() == ".cc") text << "#include \"" << file.string() << "\"\n";
    }
  }
  const int status = RunLogged(
      CompileCommand(torch, sources, adapter.compiler, unit, fields, output, shipped), log);
  absl::Status result = absl::OkStatus();
  if (status != 0) {
    result = absl::InternalError(
        absl::StrCat("the adapter for PyTorch ", torch.release, " cannot be compiled with ",
                     adapter.compiler, " (", FirstError(log), "): is a C++20 compiler installed?"));
  } else if (rename(output.c_str(), adapter.path.c_str()) != 0) {
    result = absl::InternalError(
        absl::StrCat("cannot write ", adapter.path, " (", strerror(errno), ")."));
  }
  for (const std::string& file : {unit, output, log, fields}) unlink(file.c_str());
  return result;
}

// The folder for compiled adapters, whether it is there or not; empty: nobody says where it is.
fs::path FolderPath(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "vramstow";
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache/vramstow";
  return {};
}

// So that a later run knows the adapter without being told of this PyTorch.
void NoteTorch(const TorchInstallation& torch, const Adapter& adapter) {
  const std::string file = TorchFileOf(adapter.path);
  if (ReadFile(file) == torch.folder) return;
  const std::string written = absl::StrCat(file, ".", getpid());
  std::ofstream(written) << torch.folder;
  if (rename(written.c_str(), file.c_str()) != 0) unlink(written.c_str());
}

// Whoever holds this lock compiles. Below 0: there is none.
int OpenLock(const Adapter& adapter) {
  return open((adapter.path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

absl::Status CheckRelease(const std::string& release, const AdapterWish& wish) {
  const KindFacts& facts = FactsOf(wish.kind);
  const std::vector<std::string> numbers = absl::StrSplit(release, '.');
  const int major = std::atoi(numbers[0].c_str());
  const int minor = numbers.size() < 2 ? 0 : std::atoi(numbers[1].c_str());
  const bool is_newer = major > kMajor || (major == kMajor && minor > facts.last_minor);
  if (is_newer && wish.try_newer) return absl::OkStatus();
  if (!is_newer && major == kMajor && minor >= facts.first_minor) return absl::OkStatus();
  const char* advice = is_newer ? "; --adapter-try tries it." : ".";
  return absl::FailedPreconditionError(
      absl::StrCat("PyTorch ", release, " ", facts.otherwise, advice));
}

}  // namespace

absl::StatusOr<TorchInstallation> FindTorch(const std::string& folder) {
  std::error_code error;
  TorchInstallation torch;
  torch.folder = fs::canonical(folder, error);
  if (error || !fs::exists(fs::path(torch.folder) / "lib/libc10_cuda.so")) {
    return absl::NotFoundError(absl::StrCat(
        "there is no PyTorch with CUDA in ", folder,
        " (lib/libc10_cuda.so): name the folder torch of its package, or of LibTorch."));
  }
  const fs::path about = fs::path(torch.folder) / "share/cmake/Torch";
  const std::string version = ReadFile(about / "TorchConfigVersion.cmake");
  std::smatch found;
  if (!std::regex_search(version, found, std::regex(R"re(PACKAGE_VERSION "([0-9.]+))re"))) {
    return absl::NotFoundError(
        absl::StrCat("cannot tell the release of the PyTorch in ", torch.folder, "."));
  }
  torch.release = found[1];
  const std::string config = ReadFile(about / "TorchConfig.cmake");
  torch.cxx11_abi = config.find("_GLIBCXX_USE_CXX11_ABI=0") == std::string::npos;
  torch.include_folders = {torch.folder + "/include"};
  const fs::path packages = fs::path(torch.folder).parent_path();
  const char* home = std::getenv("CUDA_HOME");
  for (const fs::path& candidate :
       {packages / "nvidia/cu13/include", packages / "nvidia/cuda_runtime/include",
        packages / "triton/backends/nvidia/include",
        fs::path(home == nullptr ? "" : home) / "include", fs::path("/usr/local/cuda/include")}) {
    if (fs::exists(candidate / "cuda_runtime_api.h")) torch.include_folders.push_back(candidate);
  }
  return torch;
}

std::string ExistingAdapterFolder(const std::string& wanted) {
  const fs::path folder = FolderPath(wanted);
  std::error_code error;
  return folder.empty() || !fs::is_directory(folder, error) ? "" : fs::absolute(folder).string();
}

absl::StatusOr<std::string> AdapterFolder(const std::string& wanted) {
  const fs::path folder = FolderPath(wanted);
  if (folder.empty()) {
    return absl::FailedPreconditionError(
        "there is no folder for compiled adapters, because HOME is not set: name one with "
        "VRAMSTOW_ADAPTER_DIR.");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || access(folder.c_str(), W_OK | X_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write compiled adapters into ", folder.string(), " (",
                     error ? error.message() : strerror(errno),
                     "): name another folder with VRAMSTOW_ADAPTER_DIR."));
  }
  return fs::absolute(folder).string();
}

absl::StatusOr<Adapter> FindAdapter(const TorchInstallation& torch, const std::string& sources,
                                    const std::string& folder, const AdapterWish& wish) {
  const absl::Status release = CheckRelease(torch.release, wish);
  if (!release.ok()) return release;
  const std::vector<fs::path> files = SourceFiles(sources, wish.kind);
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat("the adapter's source is not in ", sources,
                                            ": build or install vramstow again."));
  }
  if (const std::string shipped = ShippedAdapter(torch, sources, wish.kind); !shipped.empty()) {
    return Adapter{shipped, true, ""};
  }
  uint64_t hash = kHashStart;
  for (const fs::path& file : files) AddTo(&hash, ReadFile(file));
  for (const char* part :
       {"lib/libc10_cuda.so", "include/c10/cuda/CUDACachingAllocator.h",
        "include/c10/core/CachingDeviceAllocator.h", "include/c10/core/Allocator.h"}) {
    AddTo(&hash, ReadFile(fs::path(torch.folder) / part));
  }
  AddTo(&hash, absl::StrCat(torch.release, torch.cxx11_abi ? " 1 " : " 0 ", torch.folder));
  Adapter adapter;
  adapter.compiler = FindCompiler();
  const std::string stem =
      absl::StrCat(FactsOf(wish.kind).prefix, torch.release, "-", absl::Hex(hash), "-");
  if (adapter.compiler.empty()) {
    // One that was compiled when there was a compiler is as good.
    for (const std::string& known : ListAdapters(folder)) {
      if (fs::path(known).filename().string().starts_with(stem)) return Adapter{known, true, ""};
    }
    return absl::FailedPreconditionError(kNoCompiler);
  }
  uint64_t compiler = kHashStart;
  AddTo(&compiler, CompilerMark(adapter.compiler));
  adapter.path = absl::StrCat(folder, "/", stem, absl::Hex(compiler), kSuffix);
  adapter.built = access(adapter.path.c_str(), R_OK) == 0;
  return adapter;
}

bool WantsNewerTried(const char* value) {
  return value != nullptr &&
         (absl::string_view(value) == "1" || absl::EqualsIgnoreCase(value, "on") ||
          absl::EqualsIgnoreCase(value, "yes") || absl::EqualsIgnoreCase(value, "true"));
}

std::string ShippedAdapter(const TorchInstallation& torch, const std::string& sources,
                           AdapterKind kind) {
  const fs::path file =
      fs::path(sources).parent_path() / kShippedFolder / ShippedName(torch, sources, kind);
  return access(file.c_str(), R_OK) == 0 ? file.string() : "";
}

absl::StatusOr<Adapter> CompileShipped(const TorchInstallation& torch, const std::string& sources,
                                       const std::string& folder, const AdapterWish& wish) {
  const absl::Status release = CheckRelease(torch.release, wish);
  if (!release.ok()) return release;
  Adapter adapter = {absl::StrCat(folder, "/", ShippedName(torch, sources, wish.kind)), true,
                     FindCompiler()};
  if (adapter.compiler.empty()) return absl::FailedPreconditionError(kNoCompiler);
  if (access(adapter.path.c_str(), R_OK) == 0) return adapter;
  const absl::Status status = Compile(torch, sources, wish.kind, adapter, /*shipped=*/true);
  if (!status.ok()) return status;
  return adapter;
}

std::string TorchFileOf(const std::string& adapter) { return adapter + ".folder"; }

absl::StatusOr<Adapter> BuildAdapter(const TorchInstallation& torch, const std::string& sources,
                                     const std::string& folder, const AdapterWish& wish) {
  auto adapter = FindAdapter(torch, sources, folder, wish);
  if (!adapter.ok()) return adapter;
  if (adapter->built) {
    if (fs::path(adapter->path).parent_path() == folder) NoteTorch(torch, *adapter);
    return adapter;
  }
  // Ranks of one job come here at the same time: one builds, the others find it done.
  const int descriptor = OpenLock(*adapter);
  if (descriptor >= 0) flock(descriptor, LOCK_EX);
  absl::Status status = absl::OkStatus();
  if (access(adapter->path.c_str(), R_OK) != 0) {
    status = Compile(torch, sources, wish.kind, *adapter, /*shipped=*/false);
  }
  if (descriptor >= 0) close(descriptor);
  if (!status.ok()) return status;
  NoteTorch(torch, *adapter);
  adapter->built = true;
  return adapter;
}

absl::StatusOr<Adapter> BuildAdapterLater(const TorchInstallation& torch,
                                          const std::string& sources, const std::string& folder,
                                          const AdapterWish& wish) {
  auto adapter = FindAdapter(torch, sources, folder, wish);
  if (!adapter.ok() || adapter->built) return adapter;
  const int descriptor = OpenLock(*adapter);
  if (descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (descriptor >= 0) close(descriptor);
    return adapter;
  }
  // The lock goes to the child, which nobody has to wait for: its parent ends at once.
  const pid_t child = fork();
  if (child != 0) {
    close(descriptor);
    if (child > 0) return adapter;
    return absl::UnavailableError(absl::StrCat("cannot start a process (", strerror(errno), ")."));
  }
  setsid();
  if (nice(19) < 0) errno = 0;  // then it has the usual priority
  if (const int nowhere = open("/dev/null", O_RDWR); nowhere >= 0) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, standard);
  }
  const absl::Status status = Compile(torch, sources, wish.kind, *adapter, /*shipped=*/false);
  if (status.ok()) NoteTorch(torch, *adapter);
  _exit(status.ok() ? 0 : 1);
}

bool KnowsRelease(const std::string& release, const AdapterWish& wish) {
  return CheckRelease(release, wish).ok();
}

std::vector<ReadyAdapter> ListReadyAdapters(const std::string& sources, const std::string& folder,
                                            const AdapterWish& wish) {
  std::vector<ReadyAdapter> ready;
  for (const std::string& known : ListAdapters(folder)) {
    const std::string torch_folder = ReadFile(TorchFileOf(known));
    if (torch_folder.empty()) continue;
    const auto torch = FindTorch(torch_folder);
    if (!torch.ok()) continue;
    // Another release may lie there by now, or this vramstow have another adapter.
    const auto adapter = FindAdapter(*torch, sources, folder, wish);
    if (adapter.ok() && adapter->built && adapter->path == known) {
      ready.push_back({torch_folder, known});
    }
  }
  return ready;
}

std::vector<std::string> ListAdapters(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace vramstow
