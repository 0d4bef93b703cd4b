// BenchTrace: a recorder that writes into a folder of its own while a benchmark runs.
//
// Ownership: owns the folder until Remove; the recorder lives as long as the process. Threads: one
// at a time, but any thread may use the recorder. Errors: ends the process. Units: none.
#ifndef VRAMSTOW_BENCH_BENCH_TRACE_H_
#define VRAMSTOW_BENCH_BENCH_TRACE_H_

#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tracer/recorder.h"

namespace vramstow {

struct BenchTrace {
  std::string folder;
  Recorder* recorder = nullptr;

  void Open(bool background = false, bool compress = false) {
    std::string name = (std::filesystem::temp_directory_path() / "vramstow-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder = name;
    recorder = new Recorder;  // lives as long as the process
    const auto slot = []() -> void** {
      thread_local void* of_thread = nullptr;
      return &of_thread;
    };
    RecorderConfig config = {folder.c_str(), "bench", slot};
    config.background = background;
    config.compress = compress;
    config.slot_is_static = true;
    if (recorder->Open(config) != RecorderError::kOk) std::abort();
  }
  std::string File() const { return folder + "/bench.stow"; }
  void Remove() { std::filesystem::remove_all(folder); }
};

}  // namespace vramstow

#endif  // VRAMSTOW_BENCH_BENCH_TRACE_H_
