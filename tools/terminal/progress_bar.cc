#include "tools/terminal/progress_bar.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenLines{100};
constexpr char kWipe[] = "\r\x1b[K";
constexpr size_t kBarWidth = 20;
constexpr size_t kColumnsUnlessKnown = 80;

// The line of the bar. There is only one in a process, because a process has one terminal.
struct Line {
  std::mutex mutex;
  int drawn_on = -1;  // the descriptor on which a line is drawn
};

Line& LineOfProcess() {
  static Line line;
  return line;
}

void Put(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void Wipe(Line* line) {
  if (line->drawn_on < 0) return;
  Put(line->drawn_on, kWipe);
  line->drawn_on = -1;
}

// True for a terminal that can erase a line.
bool CanDraw(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) == 1 && terminal != nullptr && *terminal != '\0' &&
         std::string_view(terminal) != "dumb";
}

size_t ColumnsOf(int descriptor) {
  winsize window = {};
  if (ioctl(descriptor, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return kColumnsUnlessKnown;
  return window.ws_col;
}

}  // namespace

ProgressBar::ProgressBar(int descriptor, milliseconds patience)
    : descriptor_(descriptor), patience_(patience) {
  if (!CanDraw(descriptor)) return;
  // All signals are blocked while the thread is started, so that only the main thread handles
  // signals.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { Draw(); });
  } catch (const std::system_error&) {
    // If no thread can be started, there is no bar.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressBar::~ProgressBar() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(LineOfProcess().mutex);
    is_over_ = true;
    Wipe(&LineOfProcess());
  }
  ends_.notify_all();
  thread_.join();
}

void ProgressBar::Draw() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(LineOfProcess().mutex);
  const auto is_over = [this] { return is_over_; };
  milliseconds wait = patience_;
  while (!ends_.wait_for(lock, wait, is_over)) {
    wait = kBetweenLines;
    const Progress::View view = Progress::OfProcess().Look();
    if (view.what.empty()) continue;
    const auto since =
        std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
    Put(descriptor_, absl::StrCat(kWipe, Text(view, since, ColumnsOf(descriptor_))));
    LineOfProcess().drawn_on = descriptor_;
  }
}

ProgressBar::Pause::Pause() : lock_(LineOfProcess().mutex) { Wipe(&LineOfProcess()); }

std::string ProgressBar::Text(const Progress::View& view, milliseconds since, size_t columns) {
  std::string right = absl::StrFormat("  %d s", since.count() / 1000);
  if (view.part >= 0) {
    const double part = std::min(view.part, 1.0);
    const auto full = static_cast<size_t>(part * static_cast<double>(kBarWidth));
    right =
        absl::StrFormat("  [%s%s] %3d%%%s", std::string(full, '#'),
                        std::string(kBarWidth - full, '.'), static_cast<int>(part * 100), right);
  }
  const size_t most = columns > 1 ? columns - 1 : 1;
  if (right.size() >= most) return right.substr(right.size() - most);
  std::string left = Printable(view.what);
  // Cuts the text in its middle. Its beginning says what the program does, and its end names the
  // file.
  constexpr std::string_view kCut = "...";
  const size_t room = most - right.size();
  if (left.size() > room) {
    const size_t kept = room > kCut.size() ? room - kCut.size() : 0;
    size_t head = kept / 2;
    size_t tail = left.size() - (kept - head);
    // The text must not be cut in the middle of a character.
    const auto is_inside = [&](size_t i) {
      return i < left.size() && (static_cast<unsigned char>(left[i]) & 0xC0u) == 0x80u;
    };
    while (head > 0 && is_inside(head)) --head;
    while (is_inside(tail)) ++tail;
    left = left.substr(0, head) + std::string(kCut.substr(0, room)) + left.substr(tail);
  }
  return left + right;
}

}  // namespace vramstow
