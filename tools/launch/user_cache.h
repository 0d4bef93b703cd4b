// The folder in which vramstow keeps what it found out or made on this machine, for this user.
//
// Ownership: copies. Threads: any. Errors: empty, nobody says where it is. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_USER_CACHE_H_
#define VRAMSTOW_TOOLS_LAUNCH_USER_CACHE_H_

#include <cstdlib>
#include <filesystem>

namespace vramstow {

// `vramstow` in XDG_CACHE_HOME or in ~/.cache, whether it is there or not.
inline std::filesystem::path UserCacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "vramstow";
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".cache/vramstow";
  return {};
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_USER_CACHE_H_
