#include "tools/base/program_text.h"

#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

namespace vramstow {
namespace {

constexpr uintmax_t kMaxBytes = uintmax_t{4} << 20;

}  // namespace

ProgramText ReadProgramText(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  if (std::filesystem::file_size(path, error) > kMaxBytes || error) return {};
  ProgramText text;
  std::ifstream stream(path, std::ios::binary);
  for (std::string line; std::getline(stream, line);) {
    if (line.find('\0') != std::string::npos) return {};
    text.lines.push_back(std::move(line));
  }
  text.changed = WhenWritten(path);
  return text;
}

std::optional<std::filesystem::file_time_type> WhenWritten(const std::string& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return std::nullopt;
  return time;
}

}  // namespace vramstow
