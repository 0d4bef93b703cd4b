#include "tests/formats/corpus.h"

#include <cstdlib>
#include <filesystem>

namespace vramstow {

std::string CorpusFile(const std::string& name) {
  const char* set = std::getenv("VRAMSTOW_CORPUS");
  const std::filesystem::path folder =
      set != nullptr ? std::filesystem::path(set) : std::filesystem::path(VRAMSTOW_DEFAULT_CORPUS);
  const std::filesystem::path file = folder / name;
  std::error_code error;
  return std::filesystem::exists(file, error) ? file.string() : std::string();
}

}  // namespace vramstow
