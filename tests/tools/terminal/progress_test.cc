// Tests that progress is displayed while the program works, and when it is not displayed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "tools/base/progress.h"
#include "tools/terminal/output.h"
#include "tools/terminal/progress_bar.h"

namespace vramstow {
namespace {

using std::chrono::milliseconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr char kWipe[] = "\r\x1b[K";

// A pseudo-terminal, and the text that is written to it.
class Terminal {
 public:
  Terminal() {
    setenv("TERM", "xterm", 1);
    const winsize size = {.ws_row = 24, .ws_col = 70, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&outer_, &inner_, nullptr, nullptr, &size), 0);
  }
  ~Terminal() {
    close(outer_);
    close(inner_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int descriptor() const { return inner_; }
  // Reads until the text contains `wanted`.
  std::string Read(const std::string& wanted) {
    std::string text;
    while (text.find(wanted) == std::string::npos) {
      pollfd poll_for = {.fd = outer_, .events = POLLIN, .revents = 0};
      if (poll(&poll_for, 1, 60'000) <= 0) break;
      char piece[4096];
      const ssize_t size = read(outer_, piece, sizeof piece);
      if (size <= 0) break;
      text.append(piece, static_cast<size_t>(size));
    }
    return text;
  }
  // Returns all text that was written before this call. The kernel passes it on a moment later, so
  // a mark is written behind it and waited for.
  std::string ReadAll() {
    constexpr char kMark[] = "<end>";
    EXPECT_EQ(write(inner_, kMark, sizeof kMark - 1), static_cast<ssize_t>(sizeof kMark - 1));
    std::string text = Read(kMark);
    EXPECT_THAT(text, EndsWith(kMark));
    return text.substr(0, text.find(kMark));
  }

 private:
  int outer_ = -1;
  int inner_ = -1;
};

TEST(Progress, StepsAndPartsAddUp) {
  Progress progress;
  EXPECT_EQ(progress.Look().what, "");
  progress.Begin("reading");
  EXPECT_LT(progress.Look().part, 0);
  progress.Reach(0.5);
  EXPECT_DOUBLE_EQ(progress.Look().part, 0.5);
  progress.Begin("reading b", 1, 4);
  EXPECT_DOUBLE_EQ(progress.Look().part, 0.25);
  progress.Reach(0.5);
  EXPECT_DOUBLE_EQ(progress.Look().part, 0.375);
  progress.Begin("rehearsing", 3, 0);
  EXPECT_LT(progress.Look().part, 0);
}

TEST(ProgressBar, LineSaysWhatHowFarAndHowLong) {
  const std::string line = ProgressBar::Text({"reading run.stow", 0.42}, milliseconds(3700), 80);
  EXPECT_EQ(line, "reading run.stow  [########............]  42%  3 s");
  EXPECT_EQ(ProgressBar::Text({"rehearsing", -1}, milliseconds(61'000), 80), "rehearsing  61 s");
  EXPECT_THAT(ProgressBar::Text({"done", 7.0}, milliseconds(0), 80), HasSubstr("] 100%"));
}

TEST(ProgressBar, LineNeverReachesTheLastColumn) {
  const std::string what = "reading \xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc-rank.stow";
  for (size_t columns = 0; columns < 70; ++columns) {
    for (const double part : {-1.0, 0.3}) {
      const std::string line = ProgressBar::Text({what, part}, milliseconds(12'000), columns);
      EXPECT_LT(line.size(), std::max<size_t>(columns, 2)) << columns;
      EXPECT_THAT(line, Not(HasSubstr("?"))) << "no character was cut in two";
    }
  }
}

TEST(ProgressBar, IsDrawnAndWipedOut) {
  Terminal terminal;
  Progress::OfProcess().Begin("counting sheep", 1, 2);
  {
    const ProgressBar bar(terminal.descriptor(), milliseconds(0));
    EXPECT_THAT(terminal.Read("50%"), StartsWith(std::string(kWipe) + "counting sheep  ["));
    // Text that is written while progress is shown begins on an empty line.
    ASSERT_TRUE(WriteAll(terminal.descriptor(), "result\n"));
    EXPECT_THAT(terminal.Read("result"), HasSubstr(std::string(kWipe) + "result"));
    EXPECT_THAT(terminal.Read("50%"), HasSubstr("counting sheep"));
  }
  EXPECT_THAT(terminal.ReadAll(), EndsWith(kWipe));
}

TEST(ProgressBar, IsNotDrawnBeforeItsTimeNorWhereThereIsNoTerminal) {
  Progress::OfProcess().Begin("counting sheep");
  Terminal terminal;
  { const ProgressBar bar(terminal.descriptor(), std::chrono::hours(1)); }
  EXPECT_THAT(terminal.ReadAll(), IsEmpty());
  setenv("TERM", "dumb", 1);
  {
    const ProgressBar bar(terminal.descriptor(), milliseconds(0));
    usleep(250'000);
  }
  EXPECT_THAT(terminal.ReadAll(), IsEmpty());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  setenv("TERM", "xterm", 1);
  {
    const ProgressBar bar(ends[1], milliseconds(0));
    usleep(250'000);
  }
  char byte = 0;
  EXPECT_LT(read(ends[0], &byte, 1), 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace vramstow
