#include "simulator/device/work_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>

namespace vramstow::simulator {
namespace {

constexpr char kWorkHeader[] =
    "time_ns,kind,name,precision,operations,read_bytes,written_bytes,items\n";

uint64_t UnixTimeNs() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000ull + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

WorkLog::~WorkLog() {
  if (file_ >= 0) close(file_);
}

bool WorkLog::Open(const std::string& path, std::string* error) {
  std::string name = path;
  const size_t place = name.find("%p");
  if (place != std::string::npos) name.replace(place, 2, std::to_string(getpid()));
  file_ = open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    *error = "simulated card: work-log=" + name + " cannot be opened: " + strerror(errno) + ".";
    return false;
  }
  struct stat state;
  const bool fresh = fstat(file_, &state) == 0 && state.st_size == 0;
  if (fresh && write(file_, kWorkHeader, sizeof(kWorkHeader) - 1) < 0) complained_ = true;
  return true;
}

void WorkLog::Write(const vramstowSimulatorWorkLine& line) {
  if (file_ < 0) return;
  char text[512];
  // The name of a kernel may be of any length.
  const int length =
      snprintf(text, sizeof(text),
               "%" PRIu64 ",%s,%.200s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
               UnixTimeNs(), line.kind, line.name, line.precision, line.operations, line.read_bytes,
               line.written_bytes, line.items);
  if (write(file_, text, static_cast<size_t>(length)) == length || complained_.exchange(true)) {
    return;
  }
  fprintf(stderr,
          "vramstow: the simulated card's work log cannot be written (%s); it is not whole.\n",
          strerror(errno));
}

}  // namespace vramstow::simulator
