#include "tools/commands/output_check.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tracer/format/layout.h"

namespace vramstow {
namespace {

bool BeginsAsTrace(const std::string& path) {
  std::error_code error;
  // To open a pipe could block.
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::array<char, sizeof kFileMagic> begin = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), begin.size()) &&
         std::memcmp(begin.data(), kFileMagic, begin.size()) == 0;
}

}  // namespace

std::string WhyNotWrite(const std::string& output, const std::vector<std::string>& inputs,
                        const std::string& flag) {
  if (output.empty() || output == "-") return "";
  const std::string remedy =
      absl::StrCat(", and is not replaced: name another file with ", flag, ".");
  std::error_code error;
  for (const std::string& input : inputs) {
    if (!std::filesystem::equivalent(output, input, error)) continue;
    return absl::StrCat(Printable(output), " is the input itself", remedy);
  }
  return BeginsAsTrace(output) ? absl::StrCat(Printable(output), " is a trace", remedy) : "";
}

}  // namespace vramstow
