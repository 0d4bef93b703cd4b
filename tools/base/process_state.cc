#include "tools/base/process_state.h"

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace vramstow {

char StateOfProcess(pid_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/stat"));
  std::string line;
  std::getline(file, line);
  // The state follows the name, which is in parentheses and may contain some itself.
  const size_t name_ends = line.rfind(')');
  if (name_ends == std::string::npos || name_ends + 2 >= line.size()) return 0;
  return line[name_ends + 2];
}

}  // namespace vramstow
