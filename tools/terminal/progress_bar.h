// ProgressBar: shows on a terminal what the program is working at, once that takes over a second.
//
// Idea: a thread of its own draws one line from Progress, ten times a second, and wipes it out
// before anything else is written to the terminal (WriteAll of output.h asks for that). Where
// stderr is no terminal there is no thread and no line.
//
// Ownership: the descriptor is the caller's. Threads: one bar at a time; Text is a pure function.
// Errors: what cannot be drawn is not seen, and nothing else happens. Units: milliseconds, columns.
#ifndef VRAMSTOW_TOOLS_TERMINAL_PROGRESS_BAR_H_
#define VRAMSTOW_TOOLS_TERMINAL_PROGRESS_BAR_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "tools/base/progress.h"

namespace vramstow {

class ProgressBar {
 public:
  static constexpr std::chrono::milliseconds kPatience{1000};

  // `descriptor`: the terminal. Nothing is drawn before `patience` is over.
  explicit ProgressBar(int descriptor, std::chrono::milliseconds patience = kPatience);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // While this lives, no line is there, and none is drawn.
  class Pause {
   public:
    Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    std::unique_lock<std::mutex> lock_;
  };

  // One line, without its end, of less than `columns` characters.
  static std::string Text(const Progress::View& view, std::chrono::milliseconds since,
                          size_t columns);

 private:
  void Draw();

  const int descriptor_;
  const std::chrono::milliseconds patience_;
  std::condition_variable ends_;
  bool is_over_ = false;  // guarded by the lines' mutex
  std::thread thread_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_PROGRESS_BAR_H_
