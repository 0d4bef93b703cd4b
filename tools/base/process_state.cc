#include "tools/base/process_state.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace vramstow {
namespace {

// Returns the fields of /proc/PID/stat (proc(5)) from the third one on. The second one is the name
// in parentheses, and may contain some itself.
std::vector<std::string> FieldsOf(pid_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/stat"));
  std::string line;
  std::getline(file, line);
  const size_t name_ends = line.rfind(')');
  if (name_ends == std::string::npos || name_ends + 2 >= line.size()) return {};
  return absl::StrSplit(line.substr(name_ends + 2), ' ');
}

int64_t Nanoseconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

char StateOfProcess(pid_t process) {
  const std::vector<std::string> fields = FieldsOf(process);
  return fields.empty() || fields[0].empty() ? char{0} : fields[0][0];
}

bool HasEnded(pid_t process) {
  if (kill(process, 0) != 0 && errno == ESRCH) return true;
  const char state = StateOfProcess(process);
  return state == 'Z' || state == 'X';
}

int64_t StartOfProcess(pid_t process) {
  constexpr size_t kStartTime = 22 - 3;
  const std::vector<std::string> fields = FieldsOf(process);
  int64_t ticks = 0;  // since the machine was started
  if (fields.size() <= kStartTime || !absl::SimpleAtoi(fields[kStartTime], &ticks)) return 0;
  const int64_t since_boot = ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
  return Nanoseconds(CLOCK_REALTIME) - (Nanoseconds(CLOCK_BOOTTIME) - since_boot);
}

}  // namespace vramstow
