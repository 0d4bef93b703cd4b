// Writes the call log: one CSV line for each call that allocates or frees memory, before the call
// returns.
//
// Idea: an independent record of what was requested and answered. docs/contracts.md describes
// the columns: sequence,time_ns,device,call,address,bytes,result. Each line is one write() to a
// file opened for appending, so a killed process leaves whole lines.
//
// Ownership: owns the file. Threads: the caller holds the driver's lock. Errors: Open returns false
// and one sentence; a line that cannot be written is dropped, and the first such failure is
// reported on stderr. Units: bytes, virtual nanoseconds.
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

  // Opens the file at `path`; %p in `path` is replaced by the process id.
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
