#include "interpose/core/runtime/process.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "interpose/core/runtime/log.h"

namespace vramstow {
namespace {

// Written once, by the thread that starts vramstow.
constinit Options settings;

// pthread_atfork calls its functions without an argument, so they find the process here. Set by the
// thread that starts vramstow.
constinit Process* forking_process = nullptr;

const char* LookUpEnvironment(const char* name) { return std::getenv(name); }

// Calls `use` with each setting that is a text. Such a text may lie in the environment block.
template <typename Use>
void VisitTexts(Options* options, const Use& use) {
  const auto visit = [&use](auto* value) {
    if constexpr (std::is_same_v<decltype(value), const char**>) use(value);
  };
#define VRAMSTOW_OPTION(field, type, default_value, flag, metavar, environment, help) \
  visit(&options->field);
#include "base/options.def"
#undef VRAMSTOW_OPTION
}

// A copy of the texts, outside the environment block.
struct Texts {
  char* memory = nullptr;
  size_t size = 0;
};

// Copies the texts, because a program that sets its process title overwrites the environment block,
// where getenv's texts lie. A forked child that begins a trace would then read overwritten
// settings. If there is no memory for the copy, the texts stay in the environment block.
Texts CopyTexts(Options* options) {
  Texts texts;
  VisitTexts(options, [&texts](const char** text) { texts.size += std::strlen(*text) + 1; });
  void* memory =
      mmap(nullptr, texts.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return {};
  texts.memory = static_cast<char*>(memory);
  char* end = texts.memory;
  VisitTexts(options, [&end](const char** text) {
    const size_t length = std::strlen(*text) + 1;
    *text = static_cast<const char*>(std::memcpy(end, *text, length));
    end += length;
  });
  return texts;
}

}  // namespace

bool Process::Start() {
  // Everything that takes time or a lock is done before one thread is chosen, so that the other
  // threads wait for a few stores only. The chosen thread must not wait for any other thread.
  Options options;
  OptionError error;
  State state = state_.load(std::memory_order_acquire);
  if (state == State::kNew) {
    const bool valid = ReadOptions(LookUpEnvironment, &options, &error);
    const Texts texts = CopyTexts(&options);
    if (state_.compare_exchange_strong(state, State::kStarting, std::memory_order_acq_rel)) {
      settings = options;
      options_.store(&settings, std::memory_order_relaxed);
      state_.store(valid ? State::kActive : State::kRefused, std::memory_order_release);
      if (!valid) {
        Log("%s Until this is corrected, vramstow records nothing in this process.",
            error.sentence);
        return false;
      }
      PrepareForForks();
      return true;
    }
    if (texts.memory != nullptr) munmap(texts.memory, texts.size);  // another thread's copy is used
  }
  // If the process was forked while another thread stored these values, that thread does not exist
  // in the child. So the child waits in vain, and vramstow is inactive in it.
  constexpr int kMaxYields = 100000;
  for (int i = 0; i < kMaxYields && state_.load(std::memory_order_acquire) == State::kStarting;
       ++i) {
    sched_yield();
  }
  state = state_.load(std::memory_order_acquire);
  return state != State::kRefused && state != State::kStarting;
}

void Process::PrepareForForks() {
  process_id_.store(getpid(), std::memory_order_relaxed);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    if (madvise(memory, page, MADV_WIPEONFORK) == 0) {
      auto* mark = static_cast<uint32_t*>(memory);
      *mark = 1;
      fork_mark_.store(mark, std::memory_order_release);
    } else {
      munmap(memory, page);
    }
  }
  // If pthread_atfork fails for lack of memory, a fork is noticed only by the page that the kernel
  // empties in the child.
  forking_process = this;
  pthread_atfork(nullptr, nullptr, [] { forking_process->EnterChild(); });
}

bool Process::IsSameProcessId() const {
  const pid_t known = process_id_.load(std::memory_order_relaxed);
  return known == 0 || known == getpid();
}

bool Process::AdmitsForked(Hook hook) {
  return hook == Hook::kcuInit || hook == Hook::kcuGetProcAddress ||
         hook == Hook::kcuGetProcAddress_v2;
}

bool Process::AdmitsFinished(Hook hook) {
  return hook == Hook::kcuMemFree_v2 || hook == Hook::kcuMemFreeAsync ||
         hook == Hook::kcuMemFreeAsync_ptsz;
}

// Forgets the parent's state in a forked child. It must be async-signal-safe: only one thread is
// left, and threads that no longer exist may have held locks.
void Process::EnterChild() {
  if (uint32_t* mark = fork_mark_.load(std::memory_order_relaxed)) {
    __atomic_store_n(mark, 1, __ATOMIC_RELAXED);
  }
  process_id_.store(getpid(), std::memory_order_relaxed);
  abandon_();
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::kActive) {
    state_.store(State::kForked, std::memory_order_relaxed);
  } else if (state == State::kStarting) {
    state_.store(State::kRefused, std::memory_order_relaxed);
  }
}

void Process::Wake() {
  State expected = State::kForked;
  state_.compare_exchange_strong(expected, State::kActive, std::memory_order_acq_rel);
}

bool Process::Finish() {
  State state = state_.load(std::memory_order_acquire);
  while (state == State::kActive || state == State::kForked) {
    if (state_.compare_exchange_weak(state, State::kFinished, std::memory_order_acq_rel)) {
      return true;
    }
  }
  return false;
}

}  // namespace vramstow
