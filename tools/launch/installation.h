// Installation: where the libraries lie that a command is run with, seen from the program.
//
// Ownership: copies. Threads: pure functions. Errors: one sentence that names what is not there.
// Units: none. The layout is the one of docs/architecture.md.
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

// Of the running program. Nothing is checked but that the program knows where it is.
absl::StatusOr<Installation> FindInstallation();
// Of a program at this absolute path.
Installation InstallationOf(const std::string& program);

// What LD_PRELOAD has to name, in order.
std::vector<std::string> PreloadedLibraries(const Installation& installation, bool rehearsal);

// Whether all that is needed is there, and can be said in LD_PRELOAD and LD_LIBRARY_PATH, which
// have no way to write a space, a colon, a semicolon or a dollar sign.
absl::Status CheckInstallation(const Installation& installation, bool rehearsal);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_INSTALLATION_H_
