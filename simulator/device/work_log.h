// Writes the work log: one CSV line for each piece of work, with the size that it would have on a
// GPU. The lines cover operators (with their operations and bytes), copies between the host and
// devices, and collectives.
//
// Idea: the simulated device computes little and models no speeds. A reader that estimates how long
// a GPU would take gets the amount of work from here. The columns are
// time_ns,kind,name,precision,operations,read_bytes,written_bytes,items. Each line is one write()
// to a file opened for appending, so a killed process leaves whole lines.
//
// Ownership: owns the file. Threads: any; a line is written whole. Errors: Open returns false and
// one sentence; a line that cannot be written is dropped, and the first such failure is reported on
// stderr. Units: bytes; nanoseconds since 1970.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_WORK_LOG_H_
#define VRAMSTOW_SIMULATOR_DEVICE_WORK_LOG_H_

#include <atomic>
#include <string>

#include "simulator/simulator_api.h"

namespace vramstow::simulator {

class WorkLog {
 public:
  WorkLog() = default;
  ~WorkLog();
  WorkLog(const WorkLog&) = delete;
  WorkLog& operator=(const WorkLog&) = delete;

  // Opens the file at `path`; %p in `path` is replaced by the process id.
  bool Open(const std::string& path, std::string* error);
  bool is_open() const { return file_ >= 0; }

  void Write(const vramstowSimulatorWorkLine& line);

 private:
  int file_ = -1;
  std::atomic<bool> complained_{false};
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_WORK_LOG_H_
