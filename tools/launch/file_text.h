// TextOfFile: returns the text of a small file.
//
// Ownership: the result is a copy. Threads: callable from any thread. Errors: the text is empty if
// the file cannot be read. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_FILE_TEXT_H_
#define VRAMSTOW_TOOLS_LAUNCH_FILE_TEXT_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace vramstow {

inline std::string TextOfFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_FILE_TEXT_H_
