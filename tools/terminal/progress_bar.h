// ProgressBar shows on a terminal what the program is doing, if that takes more than a second.
//
// Idea: a thread draws one line from Progress ten times a second. It erases the line before other
// text is written to the terminal (WriteAll of output.h requests that). If stderr is not a
// terminal, there is no thread and no line.
//
// Ownership: the descriptor belongs to the caller. Threads: one bar at a time; Text is a pure
// function. Errors: a failed write is ignored. Units: milliseconds, columns.
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

  // `descriptor` is the terminal. Nothing is drawn before `patience` has passed.
  explicit ProgressBar(int descriptor, std::chrono::milliseconds patience = kPatience);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // While this object lives, there is no line on the terminal, and none is drawn.
  class Pause {
   public:
    Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    std::unique_lock<std::mutex> lock_;
  };

  // Returns one line of less than `columns` characters, without a line end.
  static std::string Text(const Progress::View& view, std::chrono::milliseconds since,
                          size_t columns);

 private:
  void Draw();

  const int descriptor_;
  const std::chrono::milliseconds patience_;
  std::condition_variable ends_;
  bool is_over_ = false;  // guarded by the mutex of the lines
  std::thread thread_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_PROGRESS_BAR_H_
