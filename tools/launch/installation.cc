#include "tools/launch/installation.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace vramstow {
namespace {

// The libraries that a simulated run preloads, in order: a library comes after those whose symbols
// it uses. If there are two versions of a library, they are for wheels of CUDA 13 and CUDA 12. A
// wheel finds its library by the version of each symbol.
constexpr const char* kSimulatorPreloads[] = {
    "libcudart.so.13",   "libcudart.so.12",   "libcublasLt.so.13", "libcublasLt.so.12",
    "libcublas.so.13",   "libcublas.so.12",   "libcudnn.so.9",     "libnccl.so.2",
    "libcupti.so.13",    "libcupti.so.12",    "libcufft.so.12",    "libcufft.so.11",
    "libcurand.so.10",   "libcusparse.so.12", "libcusolver.so.12", "libcusolver.so.11",
    "libcusparseLt.so.0"};

}  // namespace

Installation InstallationOf(const std::string& program) {
  const std::filesystem::path prefix = std::filesystem::path(program).parent_path().parent_path();
  const std::filesystem::path lib = prefix / "lib";
  return {lib / "libvramstow.so",
          lib / "vramstow/simulator",
          lib / "vramstow/adapters",
          lib / "vramstow/python",
          program,
          lib / "vramstow/export",
          prefix / "share/doc/vramstow/docs"};
}

absl::StatusOr<Installation> FindInstallation() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::InternalError(
        absl::StrCat("cannot find the path of this program (/proc/self/exe: ", error.message(),
                     "): is /proc mounted?"));
  }
  return InstallationOf(program);
}

std::vector<std::string> PreloadedLibraries(const Installation& installation, bool rehearsal) {
  std::vector<std::string> libraries = {installation.shim};
  if (!rehearsal) return libraries;
  libraries.reserve(1 + std::size(kSimulatorPreloads));
  for (const char* name : kSimulatorPreloads) {
    libraries.push_back(absl::StrCat(installation.simulator_directory, "/", name));
  }
  return libraries;
}

absl::Status CheckInstallation(const Installation& installation, bool rehearsal) {
  for (const std::string& library : PreloadedLibraries(installation, rehearsal)) {
    if (library.find_first_of(" :;$") != std::string::npos) {
      return absl::FailedPreconditionError(
          absl::StrCat(library,
                       " cannot be preloaded, because its path has a space, ':', ';' or '$': "
                       "move vramstow to another folder."));
    }
    if (access(library.c_str(), R_OK) != 0) {
      return absl::NotFoundError(
          absl::StrCat("cannot read ", library, " (", strerror(errno),
                       "): build or install vramstow again, with all its parts."));
    }
  }
  return absl::OkStatus();
}

}  // namespace vramstow
