#include "interpose/shim/core_loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "include/vramstow/framework.h"
#include "interpose/shim/fingerprint.h"
#include "interpose/shim/objects.h"
#include "interpose/shim/text.h"

namespace vramstow {
namespace {

constexpr char kCoreFile[] = "libvramstow-core.so";

constexpr unsigned kMaxDeepbindFiles = 32;
constexpr unsigned kMaxDeepbindPath = 256;

// All fields start as zero, so no constructor is needed.
struct State {
  const VramstowCore* core;  // all fields: __atomic access
  bool failed;
  void* (*dlsym)(void*, const char*);
  void* (*dlopen)(const char*, int);
  unsigned deepbind_count;
  char deepbind[kMaxDeepbindFiles][kMaxDeepbindPath];
};
State state;

__attribute__((tls_model("initial-exec"))) thread_local VramstowThread this_thread;

VramstowThread* ThisThread() { return &this_thread; }

const char* DeepbindFile(unsigned index) {
  unsigned count = __atomic_load_n(&state.deepbind_count, __ATOMIC_ACQUIRE);
  if (count > kMaxDeepbindFiles) count = kMaxDeepbindFiles;
  return index < count ? state.deepbind[index] : nullptr;
}

// Holds the thread-specific key by which the end of a thread is noticed. glibc stores the values of
// a thread's first 32 keys in the thread itself and those of later keys on the heap. So the key is
// made when the process starts. The functions are looked up, because they are not in libc before
// glibc 2.34.
struct ThreadExit {
  pthread_key_t key;
  int (*set)(pthread_key_t, const void*);  // null if there is no key
  void (*ended)(void* value);              // __atomic access
};
ThreadExit thread_exit;

__attribute__((constructor)) void MakeExitKey() {
  const auto make =
      reinterpret_cast<decltype(&pthread_key_create)>(LibcDefinition("pthread_key_create"));
  const auto set =
      reinterpret_cast<decltype(&pthread_setspecific)>(LibcDefinition("pthread_setspecific"));
  if (make == nullptr || set == nullptr) return;
  const auto call = [](void* value) {
    if (auto* ended = __atomic_load_n(&thread_exit.ended, __ATOMIC_ACQUIRE)) ended(value);
  };
  if (make(&thread_exit.key, call) == 0) thread_exit.set = set;
}

// True if `text` contains `part`.
bool Contains(const char* text, const char* part) {
  for (; *text != '\0'; ++text) {
    size_t i = 0;
    while (part[i] != '\0' && text[i] == part[i]) ++i;
    if (part[i] == '\0') return true;
  }
  return false;
}

// Adds the folder of Python's start-up hook to PYTHONPATH again if a job has set PYTHONPATH for its
// children and so removed the folder. It runs before Python reads the variable.
__attribute__((constructor)) void KeepPythonHook() {
  // VRAMSTOW_HOOKED_VARIABLE belongs to the process that started this one, so it is removed.
  const auto unset = reinterpret_cast<int (*)(const char*)>(LibcDefinition("unsetenv"));
  if (unset != nullptr && Environment(VRAMSTOW_HOOKED_VARIABLE) != nullptr) {
    unset(VRAMSTOW_HOOKED_VARIABLE);
  }
  const char* folder = Environment(VRAMSTOW_PYTHON_START_VARIABLE);
  if (folder == nullptr || *folder == '\0') return;
  const char* path = Environment("PYTHONPATH");
  if (path != nullptr && Contains(path, folder)) return;
  const auto set =
      reinterpret_cast<int (*)(const char*, const char*, int)>(LibcDefinition("setenv"));
  // Linux limits a variable with its name to this size (MAX_ARG_STRLEN).
  static char joined[128 * 1024 - (sizeof "PYTHONPATH=" - 1)];
  char* limit = joined + sizeof joined;
  char* end = AppendText(joined, limit, folder);
  if (path != nullptr && *path != '\0') {
    end = AppendText(end, limit, ":");
    end = AppendText(end, limit, path);
  }
  // AppendText stops at the last byte. Half a path would be worse than none.
  if (set == nullptr || end + 1 == limit) return;
  set("PYTHONPATH", joined, 1);
}

int WatchThreadExit(void (*ended)(void* value), void* value) {
  if (thread_exit.set == nullptr) return 0;
  __atomic_store_n(&thread_exit.ended, ended, __ATOMIC_RELEASE);
  return thread_exit.set(thread_exit.key, value) == 0;
}

constexpr VramstowShim kShim = {HooksFingerprint(), FindSymbol,   OpenLibrary,
                                ThisThread,         DeepbindFile, WatchThreadExit};

// Prints one line, even if several threads fail at once.
void LogFailure(const char* why) {
  if (__atomic_exchange_n(&state.failed, true, __ATOMIC_ACQ_REL)) return;
  char sentence[600];
  char* limit = sentence + sizeof sentence - 1;
  char* end = AppendText(sentence, limit, "vramstow: the core cannot be loaded (");
  end = AppendText(end, limit - 100, why);
  end = AppendText(
      end, limit,
      "), so nothing is recorded in this process: put libvramstow-core.so next to libvramstow.so.");
  *end++ = '\n';
  // A failed write cannot be reported anywhere.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, sentence, static_cast<size_t>(end - sentence));
}

template <typename Function>
Function LibcFunction(Function* cache, const char* name) {
  Function function = __atomic_load_n(cache, __ATOMIC_RELAXED);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(LibcDefinition(name));
    __atomic_store_n(cache, function, __ATOMIC_RELAXED);
  }
  return function;
}

}  // namespace

void* FindSymbol(void* handle, const char* name) {
  auto* function = LibcFunction(&state.dlsym, "dlsym");
  void* volatile result = function == nullptr ? nullptr : function(handle, name);
  // The result is volatile to prevent a tail call. After a tail call dlsym would take our caller
  // for its own caller.
  return result;
}

void* OpenLibrary(const char* file, int mode) {
  auto* function = LibcFunction(&state.dlopen, "dlopen");
  void* volatile result = function == nullptr ? nullptr : function(file, mode);
  // The result is volatile to prevent a tail call, because dlopen must use the search path of this
  // library.
  return result;
}

const VramstowCore* OpenedCore() { return __atomic_load_n(&state.core, __ATOMIC_ACQUIRE); }

const VramstowCore* OpenCore() {
  if (const VramstowCore* core = OpenedCore()) return core;
  if (__atomic_load_n(&state.failed, __ATOMIC_ACQUIRE)) return nullptr;
  // This library's DT_RPATH is $ORIGIN, so the dynamic linker looks for the file in this library's
  // folder.
  void* handle = OpenLibrary(kCoreFile, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    LogFailure(why == nullptr ? "no reason given" : why);
    return nullptr;
  }
  auto* attach = reinterpret_cast<VramstowAttachFunction>(FindSymbol(handle, VRAMSTOW_ATTACH));
  const VramstowCore* core = attach == nullptr ? nullptr : attach(&kShim);
  if (core == nullptr) {
    LogFailure("it belongs to another version");
    return nullptr;
  }
  __atomic_store_n(&state.core, core, __ATOMIC_RELEASE);
  return core;
}

const char* Environment(const char* name) {
  if (environ == nullptr) return nullptr;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const char* text = *entry;
    const char* wanted = name;
    while (*wanted != '\0' && *text == *wanted) {
      ++text;
      ++wanted;
    }
    if (*wanted == '\0' && *text == '=') return text + 1;
  }
  return nullptr;
}

bool EnvironmentIsOn(const char* name) {
  const char* value = Environment(name);
  return value != nullptr && (EqualText(value, "1") || EqualText(value, "on") ||
                              EqualText(value, "true") || EqualText(value, "yes"));
}

void NoteDeepbind(const char* file) {
  if (file == nullptr) return;
  for (unsigned i = 0; const char* known = DeepbindFile(i); ++i) {
    if (EqualText(known, file)) return;
  }
  const unsigned place = __atomic_load_n(&state.deepbind_count, __ATOMIC_RELAXED);
  if (place >= kMaxDeepbindFiles) return;
  // Two threads may write the same row. Then one of the two names is lost, but the row is still a
  // valid text.
  AppendText(state.deepbind[place], state.deepbind[place] + kMaxDeepbindPath, file);
  __atomic_store_n(&state.deepbind_count, place + 1, __ATOMIC_RELEASE);
}

}  // namespace vramstow
