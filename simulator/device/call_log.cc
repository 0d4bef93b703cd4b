#include "simulator/device/call_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>

namespace vramstow::simulator {
namespace {

constexpr char kHeader[] = "sequence,time_ns,device,call,address,bytes,result\n";

std::string ExpandProcess(std::string path) {
  const size_t place = path.find("%p");
  if (place != std::string::npos) path.replace(place, 2, std::to_string(getpid()));
  return path;
}

}  // namespace

CallLog::~CallLog() {
  if (file_ >= 0) close(file_);
}

bool CallLog::Open(const std::string& path, std::string* error) {
  const std::string name = ExpandProcess(path);
  file_ = open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    *error = "simulated card: call-log=" + name + " cannot be opened: " + strerror(errno) + ".";
    return false;
  }
  struct stat state;
  const bool fresh = fstat(file_, &state) == 0 && state.st_size == 0;
  if (fresh && write(file_, kHeader, sizeof(kHeader) - 1) < 0) complained_ = true;
  return true;
}

void CallLog::Write(uint64_t time_ns, int device, const char* call, uint64_t address,
                    uint64_t bytes, int result) {
  if (file_ < 0) return;
  char line[256];
  const int length =
      snprintf(line, sizeof(line), "%" PRIu64 ",%" PRIu64 ",%d,%s,0x%" PRIx64 ",%" PRIu64 ",%d\n",
               ++sequence_, time_ns, device, call, address, bytes, result);
  if (write(file_, line, static_cast<size_t>(length)) == length || complained_) return;
  complained_ = true;
  fprintf(stderr,
          "vramstow: the simulated card's call log cannot be written (%s); it is not whole.\n",
          strerror(errno));
}

}  // namespace vramstow::simulator
