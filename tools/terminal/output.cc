#include "tools/terminal/output.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/base/words.h"
#include "tools/terminal/exit_status.h"
#include "tools/terminal/progress_bar.h"

namespace vramstow {
namespace {

constexpr size_t kWidthWithoutTerminal = 80;
constexpr size_t kLeastWidth = 40;

bool LocaleIsUtf8() {
  // The locale is in the first of these variables that is set, as in setlocale(3).
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    const std::string lower = absl::AsciiStrToLower(value);
    return absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
  }
  return false;
}

// True if stdout is a terminal that can show colours. Any text in NO_COLOR disables colours, as in
// other programs.
bool WantsColour() {
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') &&
         terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

// While this object lives, a write to a pipe without a reader returns an error (EPIPE) and sends no
// signal. So the program continues and removes its temporary folders. The disposition of the signal
// does not change, because children inherit it.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;
  ~WithoutPipeSignal() {
    const int error = errno;
    const timespec at_once = {};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t pipe_ = {};
  sigset_t before_ = {};
  bool was_pending_ = false;
};

}  // namespace

void OccupyStandardStreams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // open() returns the lowest free number, which is the number of the closed stream. The file is
    // opened for the wrong direction, so that reading from stdin, or writing to stdout or stderr,
    // still fails.
    const int place = open("/dev/null", (stream == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    if (place >= 0 && place != stream) close(place);
  }
}

bool WriteAll(int descriptor, std::string_view text) {
  const WithoutPipeSignal without_signal;
  std::optional<ProgressBar::Pause> pause;
  if (isatty(descriptor) == 1) pause.emplace();
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int PrintResult(const std::string& command, std::string_view text) {
  if (WriteAll(STDOUT_FILENO, text)) return kExitOk;
  if (errno == EPIPE) return kExitBrokenPipe;
  Complain(command, absl::StrCat("cannot write to standard output: ", strerror(errno), "."));
  return kExitCannotWrite;
}

void Complain(const std::string& command, std::string_view sentence) {
  std::string line = command.empty() ? "vramstow: " : absl::StrCat("vramstow ", command, ": ");
  // A name of a file or a text from one must not control the terminal.
  const std::vector<std::string> parts = absl::StrSplit(std::string(sentence), '\n');
  for (const std::string& part : parts) absl::StrAppend(&line, Printable(part), "\n");
  WriteAll(STDERR_FILENO, line);
}

TextStyle StyleOfStdout() {
  TextStyle style;
  style.utf8 = LocaleIsUtf8();
  style.width = kWidthWithoutTerminal;
  style.colour = WantsColour();
  winsize window = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
    style.width = std::max<size_t>(window.ws_col, kLeastWidth);
  }
  return style;
}

}  // namespace vramstow
