// ProgramText: the lines of a file of the program, for whoever shows them or looks for words.
//
// Idea: a trace names files by the paths that they had while the program ran. Meanwhile a file may
// be gone, may be another one, or may be no text. So it is read within bounds.
//
// Ownership: its lines. Threads: free functions. Errors: no lines. Units: bytes.
#ifndef VRAMSTOW_TOOLS_BASE_PROGRAM_TEXT_H_
#define VRAMSTOW_TOOLS_BASE_PROGRAM_TEXT_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vramstow {

struct ProgramText {
  std::vector<std::string> lines;
  std::optional<std::filesystem::file_time_type> changed;  // null: not known
};

// No lines: no regular file, more than 4 MiB, or not a text.
ProgramText ReadProgramText(const std::string& path);

// When a file was last written; null: not known.
std::optional<std::filesystem::file_time_type> WhenWritten(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_PROGRAM_TEXT_H_
