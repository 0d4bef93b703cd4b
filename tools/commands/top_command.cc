// vramstow top: shows processes that run under vramstow, with regular updates.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tools/commands/command.h"
#include "tools/commands/command_line.h"
#include "tools/terminal/output.h"
#include "tools/top/top_server.h"
#include "tools/top/top_view.h"

namespace vramstow {
namespace {

constexpr char kTopFooter[] =
    "On a terminal the screen is updated until q is pressed or all processes have ended; a, r, p, "
    "o,\ne, i, k and n sort it by allocated, reserved, peak, oom, events, pid, rank and program. "
    "With --once,\nand if the output is not a terminal, one page is printed. The command reads the "
    "traces, and asks the\npool of each process that has one.\n\nExamples:\n  vramstow top\n  "
    "vramstow top "
    "4711\n  vramstow top runs/ --interval 5 --sort rank\n  vramstow top runs/ --json | jq "
    "'.processes[].reserved_bytes'\n  vramstow top --serve=9400\n\nExit status: 0; 1 if the page "
    "could not be written; 2 if there is nothing to show (with --json and "
    "without\nPID and DIR, an empty list is a result).";

constexpr size_t kUnknownRows = 60;  // of a terminal that does not tell its size
constexpr size_t kAllRows = std::numeric_limits<size_t>::max();
constexpr size_t kColumnsElsewhere = 120;

size_t ColumnsOfStdout() {
  winsize size = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kColumnsElsewhere;
}

// Uses the terminal's alternate screen, without echo. Signals that would end or stop the program
// are read from a descriptor meanwhile, so that the terminal is always restored.
class Screen {
 public:
  Screen() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, number);
    struct sigaction stop = {};
    sigaction(SIGTSTP, nullptr, &stop);
    if (stop.sa_handler == SIG_DFL) sigaddset(&signals, SIGTSTP);
    sigprocmask(SIG_BLOCK, &signals, &before_);
    signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
    has_keys_ = tcgetattr(STDIN_FILENO, &terminal_) == 0;
    Enter();
  }
  ~Screen() {
    Leave();
    close(signals_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Shows the page. Returns false if the user wants to leave.
  bool Show(const TopView& view) {
    winsize size = {};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    const size_t rows = known ? size.ws_row : kUnknownRows;
    std::string text = "\x1b[H";
    for (const char c : view.Text(rows - 1, ColumnsOfStdout())) {
      if (c == '\n') text += "\x1b[K";
      text += c;
    }
    return WriteAll(STDOUT_FILENO, text + "\x1b[J");
  }

  // Waits for a key. Returns false if the user wants to leave.
  bool Wait(uint64_t milliseconds) {
    pollfd waited[] = {{signals_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    const int ready = poll(waited, has_keys_ ? 2 : 1, static_cast<int>(milliseconds));
    if (ready <= 0) return true;
    if (waited[0].revents != 0) {
      // The signal is read, so that it does not end the program when it is unblocked.
      signalfd_siginfo signal_at_hand = {};
      if (read(signals_, &signal_at_hand, sizeof signal_at_hand) <= 0) return true;
      if (signal_at_hand.ssi_signo != SIGTSTP) return false;
      Stop();
      return true;
    }
    return read(STDIN_FILENO, &key_, 1) == 1 && key_ != 'q';
  }
  // Returns the last pressed key, once.
  char PopKey() { return std::exchange(key_, '\0'); }

 private:
  // In the background tcsetattr stops the process, so that nothing is drawn there.
  void Enter() {
    if (has_keys_) {
      termios raw = terminal_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    WriteAll(STDOUT_FILENO, "\x1b[?1049h\x1b[?25l");
  }
  void Leave() {
    WriteAll(STDOUT_FILENO, "\x1b[?25h\x1b[?1049l");
    if (has_keys_) tcsetattr(STDIN_FILENO, TCSANOW, &terminal_);
  }
  // Stops this process until it is continued, with the terminal as it was. SIGSTOP would also stop
  // a process without a shell, which nobody would continue; SIGTSTP has no effect there.
  void Stop() {
    Leave();
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, nullptr);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
    Enter();
  }

  sigset_t before_ = {};
  termios terminal_ = {};
  int signals_ = -1;
  char key_ = '\0';
  bool has_keys_ = false;
};

int ServeMetrics(TopView* view, const std::string& place, uint64_t pause_ms) {
  TopServer server(view, pause_ms);
  if (const absl::Status status = server.Open(place); !status.ok()) {
    Complain("top", std::string(status.message()));
    return status.code() == absl::StatusCode::kUnavailable ? kExitCannotWrite : kExitUsage;
  }
  server.Serve();
  return kExitOk;
}

}  // namespace

int TopCommand(const std::vector<std::string>& arguments) {
  std::string target;
  double interval = 1;
  bool once = false;
  bool json = false;
  std::string serve;
  std::string sort = TopOrders().front().name;
  std::vector<std::string> orders;
  for (const TopOrder& order : TopOrders()) orders.emplace_back(order.name);
  const CommandLine line{
      .command = "top",
      .summary =
          "Shows the memory of the processes that run under vramstow, and updates the screen.",
      .footer = kTopFooter,
      .options = {
          {"PID|DIR", &target,
           "The id of a process, or a folder with traces; by default all processes of this host"},
          {"--interval",
           &interval,
           "Seconds between two pages (1)",
           {.range = OptionRange{0.1, 3600}}},
          {"--serve",
           &serve,
           "Answer Prometheus at this address (9400, 0.0.0.0:9400, unix:PATH), and show no page",
           {.takes_no_file = true, .excludes = {"--once", "--json"}}},
          {"--sort",
           &sort,
           "Sort the processes by this key; those that have ended are last",
           {.shows_default = true, .one_of = orders}},
          {"--once", &once, "Print one page"},
          {"--json", &json, "Print one page as JSON on one line"}}};
  if (const auto status = ReadArguments(line, arguments)) return *status;
  TopView view(target);
  view.SortBy(sort);
  if (!serve.empty()) return ServeMetrics(&view, serve, static_cast<uint64_t>(interval * 1000));
  if (const absl::Status status = view.Look(); !status.ok()) {
    Complain("top", std::string(status.message()));
    return kExitUsage;
  }
  if (json) return PrintResult("top", view.Json());
  if (view.is_empty()) {
    Complain("top",
             "no process for which you have permission runs under vramstow on this host: start one "
             "with vramstow run -- COMMAND, or name a folder with traces.");
    return kExitUsage;
  }
  if (once || isatty(STDOUT_FILENO) == 0) {
    return PrintResult("top", view.Text(kAllRows, ColumnsOfStdout()));
  }
  {
    Screen screen;
    // A long trace takes long to read, so at most a quarter of the time is spent on reading.
    const auto pause = static_cast<uint64_t>(interval * 1000);
    while (screen.Show(view) && view.any_runs() &&
           screen.Wait(std::max(pause, 3 * view.cost_ms()))) {
      // When a key is pressed, the page is updated at once, with the last state of the processes.
      if (const char key = screen.PopKey(); key != '\0') {
        view.SortByKey(key);
        continue;
      }
      if (!view.Look().ok()) break;
    }
  }
  // The last page is printed, so that it remains visible.
  return PrintResult("top", view.Text(kAllRows, ColumnsOfStdout()));
}

}  // namespace vramstow
