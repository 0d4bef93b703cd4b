#include "tools/attach/stopped_thread.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace vramstow {
namespace {

constexpr absl::Duration kStopWait = absl::Seconds(1);
constexpr absl::Duration kCallWait = absl::Milliseconds(100);
constexpr absl::Duration kLongestCall = absl::Seconds(60);  // on a machine that is very busy
constexpr absl::Duration kStep = absl::Microseconds(50);
constexpr int kStopEvent = 128;  // PTRACE_EVENT_STOP, which not every header has

// Returns Yama's setting: 1 if only ancestors may trace a process, 2 if only root may, 3 if nobody
// may.
int YamaScope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  file >> scope;
  return scope;
}

// Returns the process that debugs this thread; 0 if there is none.
pid_t DebuggerOf(pid_t thread) {
  std::ifstream file(absl::StrCat("/proc/", thread, "/status"));
  pid_t debugger = 0;
  for (std::string word; file >> word;) {
    if (word == "TracerPid:") file >> debugger;
  }
  return debugger;
}

absl::Status WhyNot(int error, pid_t thread) {
  if (error == ESRCH) return absl::NotFoundError(absl::StrCat("process ", thread, " has ended."));
  if (error != EPERM && error != EACCES) {
    return absl::InternalError(
        absl::StrCat("process ", thread, " cannot be stopped (", std::strerror(error), ")."));
  }
  if (const pid_t debugger = DebuggerOf(thread); debugger != 0) {
    return absl::FailedPreconditionError(absl::StrCat("process ", thread, " is being debugged by ",
                                                      "process ", debugger,
                                                      ": end the debugger first."));
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "process ", thread, " cannot be attached to: ", WhoMayEnter(YamaScope(), geteuid() == 0)));
}

}  // namespace

// The thread's general registers, and its floating-point and vector registers, which a call may
// change, too.
struct StoppedThread::Registers {
#if defined(__x86_64__)
  static constexpr unsigned kOthers[] = {NT_X86_XSTATE};

  uint64_t result() const { return general.rax; }
  uint64_t program_counter() const { return general.rip; }
  uint64_t stack() const { return general.rsp; }
  void PrepareCall(uint64_t function, std::initializer_list<uint64_t> arguments) {
    unsigned long long* const places[] = {&general.rdi, &general.rsi, &general.rdx,
                                          &general.rcx, &general.r8,  &general.r9};
    size_t i = 0;
    for (const uint64_t argument : arguments) *places[i++] = argument;
    constexpr uint64_t kRedZone = 128;
    general.rsp = ((general.rsp - kRedZone) & ~uint64_t{15}) - sizeof(uint64_t);
    general.rip = function;
    general.rax = 0;
    general.orig_rax = ~uint64_t{0};  // no system call is started again
  }
  // True if the thread was interrupted in a system call that waits, and that starts again
  // afterwards: its result is one of the kernel's own codes, ERESTARTSYS to ERESTART_RESTARTBLOCK.
  bool IsWaiting(pid_t) const {
    const auto code = -static_cast<int64_t>(general.rax);
    return static_cast<int64_t>(general.orig_rax) >= 0 && code >= 512 && code <= 516;
  }
  static constexpr bool kReturnsByStack = true;
#elif defined(__aarch64__)
  static constexpr unsigned kOthers[] = {NT_PRFPREG, NT_ARM_SVE};

  uint64_t result() const { return general.regs[0]; }
  uint64_t program_counter() const { return general.pc; }
  uint64_t stack() const { return general.sp; }
  void PrepareCall(uint64_t function, std::initializer_list<uint64_t> arguments) {
    size_t i = 0;
    for (const uint64_t argument : arguments) general.regs[i++] = argument;
    general.sp &= ~uint64_t{15};
    general.regs[30] = 0;  // the return address
    general.pc = function;
  }
  // True if the thread was interrupted in a system call that waits, and that starts again
  // afterwards: the kernel has set the thread back to the instruction of the system call.
  bool IsWaiting(pid_t thread) const {
    constexpr uint32_t kSystemCall = 0xd4000001;  // svc #0
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, thread, general.pc, nullptr);
    return errno == 0 && static_cast<uint32_t>(word) == kSystemCall;
  }
  static constexpr bool kReturnsByStack = false;
#else
#error "vramstow attach supports x86-64 and AArch64"
#endif

  bool Read(pid_t thread) {
    iovec room = {&general, sizeof general};
    if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &room) != 0) return false;
    for (size_t i = 0; i < std::size(kOthers); ++i) {
      others[i].resize(size_t{64} << 10);
      room = {others[i].data(), others[i].size()};
      const bool is_there = ptrace(PTRACE_GETREGSET, thread, kOthers[i], &room) == 0;
      others[i].resize(is_there ? room.iov_len : 0);
    }
    return true;
  }
  bool WriteGeneral(pid_t thread) {
    iovec room = {&general, sizeof general};
    return ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &room) == 0;
  }
  bool WriteAll(pid_t thread) {
    for (size_t i = 0; i < std::size(kOthers); ++i) {
      iovec room = {others[i].data(), others[i].size()};
      if (!others[i].empty()) ptrace(PTRACE_SETREGSET, thread, kOthers[i], &room);
    }
    return WriteGeneral(thread);
  }

  user_regs_struct general = {};
  std::vector<char> others[std::size(kOthers)];
};

std::string WhoMayEnter(int yama_scope, bool is_root) {
  if (yama_scope == 3) {
    return "attaching is disabled until the next reboot (kernel.yama.ptrace_scope is 3).";
  }
  // In a container, root may lack this capability.
  if (is_root)
    return "root has no permission to debug here; start the container with --cap-add=SYS_PTRACE.";
  switch (yama_scope) {
    case 1:
      return "run vramstow attach as root, or permit it with sysctl kernel.yama.ptrace_scope=0.";
    case 2:
      return "run vramstow attach as root (kernel.yama.ptrace_scope is 2).";
    default:
      return "run vramstow attach as the same user or as root; a container needs "
             "--cap-add=SYS_PTRACE.";
  }
}

StoppedThread::StoppedThread(pid_t thread)
    : thread_(thread), saved_(std::make_unique<Registers>()) {}

absl::StatusOr<std::unique_ptr<StoppedThread>> StoppedThread::Stop(pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return WhyNot(errno, thread);
  std::unique_ptr<StoppedThread> stopped(new StoppedThread(thread));
  if (ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) return WhyNot(errno, thread);
  if (const absl::Status status = stopped->AwaitStop(); !status.ok()) return status;
  if (!stopped->saved_->Read(thread)) return WhyNot(errno, thread);
  return stopped;
}

StoppedThread::~StoppedThread() {
  // Delivers a signal that arrived in the meantime.
  ptrace(PTRACE_DETACH, thread_, nullptr, signal_);
}

// Waits for the next change of the thread. Returns its status; 0 if `deadline` passed before.
int StoppedThread::NextStatus(absl::Time deadline) const {
  int status = 0;
  while (waitpid(thread_, &status, __WALL | WNOHANG) == 0) {
    if (absl::Now() > deadline) return 0;
    absl::SleepFor(kStep);
  }
  return status;
}

absl::Status StoppedThread::AwaitStop() {
  const absl::Time deadline = absl::Now() + kStopWait;
  for (int status; (status = NextStatus(deadline)) != 0;) {
    if (!WIFSTOPPED(status)) {
      return absl::NotFoundError(absl::StrCat("process ", thread_, " has ended."));
    }
    const bool is_event = status >> 16 == kStopEvent;
    if (is_event && WSTOPSIG(status) == SIGTRAP) return absl::OkStatus();
    if (is_event) {
      return absl::FailedPreconditionError(
          absl::StrCat("process ", thread_, " is stopped (kill -CONT ", thread_,
                       " lets it continue); a stopped process cannot answer."));
    }
    // Delivers a signal to the process first.
    ptrace(PTRACE_CONT, thread_, nullptr, WSTOPSIG(status));
  }
  return absl::UnavailableError(
      absl::StrCat("process ", thread_,
                   " does not stop, because it waits for a device or a disk. Try again later."));
}

// If the call takes long, the thread is interrupted, to see what it does. A call that waits is
// given up: it waits for a lock that the stopped thread holds itself. A call that runs continues,
// because it may hold a lock itself, which nobody would release if it never ended.
absl::Status StoppedThread::AwaitReturn() {
  const absl::Time last = absl::Now() + kLongestCall;
  absl::Time deadline = absl::Now() + kCallWait;
  while (true) {
    const int status = NextStatus(deadline);
    const bool is_last = absl::Now() > last;
    if (status == 0 && is_last) break;
    if (status == 0) {
      ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);
      deadline = absl::Now() + kStopWait;
      continue;
    }
    if (!WIFSTOPPED(status)) {
      return absl::NotFoundError(absl::StrCat("process ", thread_, " has ended."));
    }
    Registers now;
    iovec room = {&now.general, sizeof now.general};
    ptrace(PTRACE_GETREGSET, thread_, NT_PRSTATUS, &room);
    const bool is_trap = WSTOPSIG(status) == SIGSEGV && now.program_counter() == 0;
    if (is_trap) return absl::OkStatus();
    const bool is_event = status >> 16 == kStopEvent;
    if (is_event && WSTOPSIG(status) == SIGTRAP) {
      if (is_last || now.IsWaiting(thread_)) break;
      deadline = absl::Now() + kCallWait;
    }
    if (!is_event && WSTOPSIG(status) != SIGTRAP) signal_ = WSTOPSIG(status);
    ptrace(PTRACE_CONT, thread_, nullptr, nullptr);
  }
  // The state of the thread is restored as if the call had never begun.
  return absl::UnavailableError(absl::StrCat("process ", thread_, " is busy. Try again."));
}

absl::StatusOr<uint64_t> StoppedThread::Call(uint64_t function,
                                             std::initializer_list<uint64_t> arguments) {
  Registers call;
  call.general = saved_->general;
  call.PrepareCall(function, arguments);
  if (Registers::kReturnsByStack) {
    constexpr char kZero[sizeof(uint64_t)] = {};
    const absl::Status status = Write(call.stack(), {kZero, sizeof kZero});
    if (!status.ok()) return status;
  }
  if (!call.WriteGeneral(thread_) || ptrace(PTRACE_CONT, thread_, nullptr, nullptr) != 0) {
    return WhyNot(errno, thread_);
  }
  const absl::Status returned = AwaitReturn();
  Registers after;
  iovec room = {&after.general, sizeof after.general};
  ptrace(PTRACE_GETREGSET, thread_, NT_PRSTATUS, &room);
  if (!saved_->WriteAll(thread_) && returned.ok()) return WhyNot(errno, thread_);
  if (!returned.ok()) return returned;
  return after.result();
}

absl::Status StoppedThread::Write(uint64_t address, std::string_view bytes) const {
  iovec from = {const_cast<char*>(bytes.data()), bytes.size()};
  iovec to = {reinterpret_cast<void*>(address), bytes.size()};
  if (process_vm_writev(thread_, &from, 1, &to, 1, 0) == static_cast<ssize_t>(bytes.size())) {
    return absl::OkStatus();
  }
  // A container may permit ptrace but not process_vm_writev. All writes begin at a whole word, so
  // ptrace can write them word by word.
  bool is_written = true;
  for (size_t i = 0; i < bytes.size() && is_written; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    is_written = ptrace(PTRACE_POKEDATA, thread_, address + i, word) == 0;
  }
  if (is_written) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the memory of process ", thread_, " cannot be written (",
                                          std::strerror(errno), ")."));
}

}  // namespace vramstow
