// ProgramText has the lines of a source file of the traced program.
//
// Idea: a trace names files by the paths that they had while the program ran. Since then a file may
// have been deleted or replaced, or it may not be a text. So it is read within limits.
//
// Ownership: owns its lines. Threads: free functions. Errors: returns no lines. Units: bytes.
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

// Returns no lines if the path is not a regular file, has more than 4 MiB, or is not a text.
ProgramText ReadProgramText(const std::string& path);

// Returns when a file was last written, or nothing if that is not known.
std::optional<std::filesystem::file_time_type> WhenWritten(const std::string& path);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_BASE_PROGRAM_TEXT_H_
