// Installation: the paths of the libraries with which a command is run. They are relative to the
// path of the program vramstow.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors: one
// sentence that names the missing file. Units: none. The layout is the one of docs/architecture.md.
#ifndef VRAMSTOW_TOOLS_LAUNCH_INSTALLATION_H_
#define VRAMSTOW_TOOLS_LAUNCH_INSTALLATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vramstow {

struct Installation {
  std::string shim;                 // lib/libvramstow.so
  std::string simulator_directory;  // lib/vramstow/simulator
  std::string adapter_sources;      // lib/vramstow/adapters
  std::string python_start;         // lib/vramstow/python: the start-up hook
  std::string program;              // bin/vramstow
  std::string export_parts;         // lib/vramstow/export
  std::string pages;                // share/doc/vramstow/docs
};

// Returns the installation of the running program. It only checks that the program knows its own
// path.
absl::StatusOr<Installation> FindInstallation();
// Returns the installation of a program at this absolute path.
Installation InstallationOf(const std::string& program);

// Returns the libraries for LD_PRELOAD, in order.
std::vector<std::string> PreloadedLibraries(const Installation& installation, bool rehearsal);

// Checks that all needed files exist. Also checks that their paths can be written in LD_PRELOAD and
// LD_LIBRARY_PATH, where a space, a colon, a semicolon or a dollar sign cannot be part of a path.
absl::Status CheckInstallation(const Installation& installation, bool rehearsal);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_INSTALLATION_H_
