#include "tools/launch/run_logged.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace vramstow {
namespace {

// Where only the command is to be ended, this process ignores Ctrl-C while this lives. Children do
// not, unless this process did before.
class WithoutInterrupt {
 public:
  explicit WithoutInterrupt(Interrupt interrupt) : ignores_(interrupt == Interrupt::kEndsCommand) {
    if (!ignores_) return;
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &before_);
  }
  WithoutInterrupt(const WithoutInterrupt&) = delete;
  WithoutInterrupt& operator=(const WithoutInterrupt&) = delete;
  ~WithoutInterrupt() {
    if (ignores_) sigaction(SIGINT, &before_, nullptr);
  }

  void AddTo(posix_spawnattr_t* attributes) const {
    if (!ignores_ || before_.sa_handler == SIG_IGN) return;
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    posix_spawnattr_setsigdefault(attributes, &interrupt);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
  }

 private:
  const bool ignores_;
  struct sigaction before_ = {};
};

}  // namespace

int RunLogged(const std::vector<std::string>& command, const std::string& log,
              Interrupt interrupt) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const WithoutInterrupt without_interrupt(interrupt);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  without_interrupt.AddTo(&attributes);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    errno = error;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace vramstow
