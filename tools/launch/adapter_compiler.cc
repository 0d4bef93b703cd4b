#include "tools/launch/adapter_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/base/child_ends.h"
#include "tools/launch/end_signals.h"
#include "tools/launch/file_text.h"
#include "tools/launch/fingerprint.h"
#include "tools/launch/saved_fields.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

// Runs the command with its output in `log`, and returns its exit status. If a signal ended it,
// returns 128 plus the number of the signal. If it cannot be started, returns -1, and errno says
// why. The command is searched on the path unless it has a slash.
int RunLogged(const std::vector<std::string>& command, const std::string& log) {
  const ChildEnds child_ends;
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const sigset_t mask = EndSignals::MaskOfChildren();
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    errno = error;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string FindProgram() {
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

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::InternalError(absl::StrCat("cannot write ", path, " (", strerror(error), ")."));
}

// The temporary files of one compilation, in the same folder as the library. The destructor removes
// them.
class Workplace {
 public:
  explicit Workplace(const std::string& library) : stem_(absl::StrCat(library, ".", getpid())) {}
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    for (const std::string& file : {unit(), output(), log(), fields()}) unlink(file.c_str());
  }

  std::string unit() const { return stem_ + ".cc"; }
  std::string output() const { return stem_ + ".tmp"; }
  std::string log() const { return stem_ + ".log"; }
  std::string fields() const { return stem_ + ".inc"; }

  absl::Status Prepare(const TorchInstallation& torch, const AdapterSource& source) const {
    if (source.kind() == AdapterKind::kCensus) {
      const fs::path header = "include/torch/csrc/autograd/generated/Functions.h";
      const std::string text = SavedFields(TextOfFile(fs::path(torch.folder) / header));
      if (absl::Status written = Write(fields(), text); !written.ok()) return written;
    }
    // All files are compiled as one unit, so that PyTorch's headers are read only once. Reading
    // them takes most of the time.
    std::string text;
    for (const fs::path& file : source.Units()) {
      absl::StrAppend(&text, "#include \"", file.string(), "\"\n");
    }
    return Write(unit(), text);
  }

  // Returns the first line of the compiler's output that reports an error. Returns the first line
  // if none does.
  std::string FirstError() const {
    std::string first;
    for (absl::string_view line : absl::StrSplit(TextOfFile(log()), '\n')) {
      if (first.empty()) first = std::string(line);
      if (line.find("error") != absl::string_view::npos) return std::string(line);
    }
    return first;
  }

 private:
  static absl::Status Write(const std::string& path, const std::string& text) {
    errno = 0;
    std::ofstream file(path);
    file << text;
    file.close();
    if (file.good()) return absl::OkStatus();
    return CannotWrite(path, errno);
  }

  std::string stem_;
};

// Returns why the compiler failed, as the rest of a sentence that begins with its name. `status` is
// what RunLogged returned, and `error` is the errno after it.
std::string CompilerFailure(int status, int error, const Workplace& place) {
  constexpr char kQuestion[] = "): is a C++20 compiler installed?";
  if (status < 0) {
    const bool is_no_program = error == ENOENT || error == ENOEXEC || error == EACCES;
    return absl::StrCat(" (", strerror(error), is_no_program ? kQuestion : ").");
  }
  const std::string first = place.FirstError();
  if (first.empty()) return absl::StrCat(" (it printed no error and ended with ", status, ").");
  const bool refuses_standard = absl::StrContains(first, "c++20");
  return absl::StrCat(" (", first, refuses_standard ? kQuestion : ").");
}

std::vector<std::string> CommandFor(const std::string& compiler, const TorchInstallation& torch,
                                    const AdapterSource& source, const Workplace& place,
                                    AdapterCompiler::Purpose purpose) {
  const std::string libraries = absl::StrCat(torch.folder, "/lib");
  // The code of an allocator or an observer runs at each allocation, so it must be fast. The
  // libraries of other kinds should compile fast.
  const bool often_called =
      source.kind() == AdapterKind::kAllocator || source.kind() == AdapterKind::kObserver;
  std::vector<std::string> command = {
      compiler, "-std=c++20", often_called ? "-O2" : "-O1", "-fPIC", "-shared",
      "-fvisibility=hidden",
      // With this macro, PyTorch's headers declare only the operators whose own headers are
      // included.
      "-DAT_PER_OPERATOR_HEADERS",
      absl::StrCat("-D_GLIBCXX_USE_CXX11_ABI=", torch.cxx11_abi ? 1 : 0),
      absl::StrCat("-DVRAMSTOW_TORCH_RELEASE=\"", torch.release, "\""),
      absl::StrCat("-DVRAMSTOW_SAVED_FIELDS=\"", place.fields(), "\""), "-I", source.folder()};
  for (const std::string& folder : torch.include_folders) {
    command.insert(command.end(), {"-isystem", folder});
  }
  command.insert(command.end(), {place.unit(), "-o", place.output(), absl::StrCat("-L", libraries),
                                 "-lc10_cuda", "-lc10", "-ltorch_cpu"});
  if (purpose == AdapterCompiler::Purpose::kPackage) {
    // A process that loads the adapter has already loaded PyTorch's libraries, in whatever folder
    // they are. The adapter must still name them as needed, because their symbols are visible only
    // to libraries that do so. --no-as-needed keeps these names, although the adapter was linked to
    // empty libraries.
    command.insert(command.begin() + 1, {"-Wl,-s", "-Wl,--no-as-needed"});
  } else {
    // -Wl would split a path with a comma.
    command.insert(command.end(), {"-Xlinker", "-rpath", "-Xlinker", libraries});
  }
  return command;
}

}  // namespace

absl::StatusOr<AdapterCompiler> AdapterCompiler::Find() {
  std::string path = FindProgram();
  if (path.empty()) {
    return absl::FailedPreconditionError(
        "there is no C++ compiler to compile the adapter (c++, g++ or clang++).");
  }
  return AdapterCompiler(std::move(path));
}

std::string AdapterCompiler::Mark() const {
  std::string identity = path_;
  std::error_code error;
  const fs::path file = fs::canonical(path_, error);
  struct stat about = {};
  if (!error && stat(file.c_str(), &about) == 0) {
    identity = absl::StrCat(file.string(), " ", about.st_size, " ", about.st_mtim.tv_sec);
  }
  Fingerprint mark;
  mark.Add(identity);
  return absl::StrCat(absl::Hex(mark.value()));
}

absl::Status AdapterCompiler::Compile(const TorchInstallation& torch, const AdapterSource& source,
                                      Purpose purpose, const std::string& library) const {
  const Workplace place(library);
  if (absl::Status prepared = place.Prepare(torch, source); !prepared.ok()) return prepared;
  const int status = RunLogged(CommandFor(path_, torch, source, place, purpose), place.log());
  const int error = errno;
  if (status != 0) {
    return absl::InternalError(absl::StrCat("the adapter for PyTorch ", torch.release,
                                            " cannot be compiled with ", path_,
                                            CompilerFailure(status, error, place)));
  }
  if (rename(place.output().c_str(), library.c_str()) != 0) return CannotWrite(library, errno);
  return absl::OkStatus();
}

}  // namespace vramstow
