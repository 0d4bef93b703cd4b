// UserCacheFolder: the folder in which vramstow stores its results and compiled files for this user
// on this machine.
//
// Ownership: the result is a copy. Threads: callable from any thread. Errors: the path is empty if
// it is unknown. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_USER_CACHE_H_
#define VRAMSTOW_TOOLS_LAUNCH_USER_CACHE_H_

#include <cstdlib>
#include <filesystem>

namespace vramstow {

// Returns the folder `vramstow` in XDG_CACHE_HOME or in ~/.cache. The folder may not exist yet.
inline std::filesystem::path UserCacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "vramstow";
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".cache/vramstow";
  return {};
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_USER_CACHE_H_
