// The call log: one CSV line for each call that gives or takes memory, written before it returns.
//
// Idea: an independent witness of what was asked and answered. The form is in docs/architecture.md:
// sequence,time_ns,device,call,address,bytes,result. Each line is one write() to a file opened for
// appending, so a killed process leaves whole lines.
//
// Ownership: owns the file. Threads: the owner's lock. Errors: Open says false and one sentence; a
// line that cannot be written is dropped and the first such is said on stderr. Units: bytes,
// virtual nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_CALL_LOG_H_
#define VRAMSTOW_SIMULATOR_DEVICE_CALL_LOG_H_

#include <cstdint>
#include <string>

namespace vramstow::simulator {

class CallLog {
 public:
  CallLog() = default;
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // `path` may hold %p, which becomes the process id.
  bool Open(const std::string& path, std::string* error);
  bool is_open() const { return file_ >= 0; }

  void Write(uint64_t time_ns, int device, const char* call, uint64_t address, uint64_t bytes,
             int result);

 private:
  int file_ = -1;
  uint64_t sequence_ = 0;
  bool complained_ = false;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_CALL_LOG_H_
