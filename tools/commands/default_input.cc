#include "tools/commands/default_input.h"

#include "absl/strings/str_cat.h"
#include "tools/base/words.h"
#include "tools/inputs/newest_trace.h"
#include "tools/terminal/output.h"

namespace vramstow {

bool FindDefaultInput(const std::string& command, std::vector<std::string>* files) {
  if (!files->empty()) return true;
  const auto newest = FindNewestTrace(".");
  if (!newest.ok()) {
    Complain(command, std::string(newest.status().message()));
    return false;
  }
  const std::string others =
      newest->count == 1 ? "" : absl::StrCat(", the newest of ", newest->count, " traces here");
  Complain(command, absl::StrCat("reads ", Printable(newest->path), others, "."));
  files->push_back(newest->path);
  return true;
}

void PrintLeftOut(const std::string& command, const InputSet& inputs) {
  for (const std::string& sentence : inputs.left_out) Complain(command, Printable(sentence));
}

}  // namespace vramstow
