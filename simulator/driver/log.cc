#include "simulator/driver/log.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/driver/call.h"

struct CUlogsCallbackEntry_st {
  CUlogsCallback function;
  void* user;
};

namespace vramstow::simulator {
namespace {

constexpr char kLinesLost[] = "[CUDA][W] older lines are lost: the log holds 25600 bytes\n";
constexpr char kLinesLeftOut[] = "[CUDA][W] older lines are left out: the buffer is too small\n";

// The log and its callbacks. Never destroyed.
struct Log {
  Mutex mutex;
  // The latest lines, each with its newline.
  std::deque<std::string> lines VRAMSTOW_GUARDED_BY(mutex);
  unsigned first VRAMSTOW_GUARDED_BY(mutex) = 0;  // the number of lines.front()
  size_t bytes VRAMSTOW_GUARDED_BY(mutex) = 0;
  std::vector<CUlogsCallbackEntry_st*> callbacks VRAMSTOW_GUARDED_BY(mutex);

  unsigned end() const VRAMSTOW_REQUIRES(mutex) {
    return first + static_cast<unsigned>(lines.size());
  }

  void Add(const std::string& line) VRAMSTOW_REQUIRES(mutex) {
    lines.push_back(line);
    bytes += line.size();
    while (bytes > kLogBytes) {
      bytes -= lines.front().size();
      lines.pop_front();
      ++first;
    }
  }

  // Returns the lines from number `from` on, or only the latest of them that fit into `room` bytes.
  std::string Text(unsigned from, size_t room) const VRAMSTOW_REQUIRES(mutex) {
    const bool lost = from < first;
    size_t start = lost ? 0 : std::min<size_t>(from - first, lines.size());
    size_t size = lost ? sizeof(kLinesLost) - 1 : 0;
    for (size_t i = start; i < lines.size(); ++i) size += lines[i].size();
    std::string text = lost && size <= room ? kLinesLost : "";
    if (size > room) {
      text = kLinesLeftOut;
      size = text.size();
      start = lines.size();
      while (start > 0 && size + lines[start - 1].size() <= room) size += lines[--start].size();
      if (start == lines.size()) return "";
    }
    for (size_t i = start; i < lines.size(); ++i) text += lines[i];
    return text;
  }
};

Log& GlobalLog() {
  static auto* log = new Log;
  return *log;
}

std::string MakeLine(const char* call, CUresult result) {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local = {};
  localtime_r(&now.tv_sec, &local);
  const char* name = "an unknown error";
  const char* text = "";
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  char line[256];
  snprintf(line, sizeof(line), "[%02d:%02d:%02d.%03ld][%ld][CUDA][E][%s] %s: %s\n", local.tm_hour,
           local.tm_min, local.tm_sec, now.tv_nsec / 1000000, syscall(SYS_gettid), call,
           name != nullptr ? name : "?", text != nullptr ? text : "");
  return line;
}

}  // namespace

void LogFailure(const char* call, CUresult result) noexcept {
  // CUDA_ERROR_NOT_READY is an answer and not an error, so it is not logged. A child of fork must
  // not wait for a lock that its parent held.
  if (result == CUDA_ERROR_NOT_READY || Globals().forked.load(std::memory_order_relaxed)) {
    return;
  }
  try {
    std::string line = MakeLine(call, result);
    std::vector<CUlogsCallbackEntry_st> callbacks;
    {
      Log& log = GlobalLog();
      const MutexLock lock(&log.mutex);
      log.Add(line);
      // Inside a callback of the application the driver's lock may be held, so no other callback is
      // called.
      if (CurrentThread().inside_callback) return;
      for (const CUlogsCallbackEntry_st* callback : log.callbacks) callbacks.push_back(*callback);
    }
    if (callbacks.empty()) return;
    line.pop_back();
    const bool before = CurrentThread().inside_callback;
    CurrentThread().inside_callback = true;
    for (const CUlogsCallbackEntry_st& callback : callbacks) {
      callback.function(callback.user, CU_LOG_LEVEL_ERROR, line.data(), line.size());
    }
    CurrentThread().inside_callback = before;
  } catch (...) {  // without memory nothing is logged
    return;
  }
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuLogsRegisterCallback(CUlogsCallback callback, void* user, CUlogsCallbackHandle* handle) {
  if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* entry = new (std::nothrow) CUlogsCallbackEntry_st{callback, user};
  if (entry == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Log& log = GlobalLog();
  const MutexLock lock(&log.mutex);
  log.callbacks.push_back(entry);
  if (handle != nullptr) *handle = entry;
  return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  Log& log = GlobalLog();
  const MutexLock lock(&log.mutex);
  if (std::erase(log.callbacks, handle) == 0) return CUDA_ERROR_INVALID_VALUE;
  delete handle;
  return CUDA_SUCCESS;
}

// As on a GPU, any flags are accepted.
CUresult cuLogsCurrent(CUlogIterator* iterator, unsigned int flags) {
  (void)flags;
  if (iterator == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Log& log = GlobalLog();
  const MutexLock lock(&log.mutex);
  *iterator = log.end();
  return CUDA_SUCCESS;
}

CUresult cuLogsDumpToFile(CUlogIterator* iterator, const char* path, unsigned int flags) {
  if (path == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  FILE* file = fopen(path, "we");
  if (file == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string text;
  {
    Log& log = GlobalLog();
    const MutexLock lock(&log.mutex);
    text = log.Text(iterator == nullptr ? 0 : *iterator, SIZE_MAX);
    if (iterator != nullptr) *iterator = log.end();
  }
  const bool written = fwrite(text.data(), 1, text.size(), file) == text.size();
  return fclose(file) == 0 && written ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer, size_t* size,
                            unsigned int flags) {
  if (buffer == nullptr || size == nullptr || flags != 0 || *size == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Log& log = GlobalLog();
  const MutexLock lock(&log.mutex);
  const unsigned from = iterator == nullptr ? 0 : *iterator;
  const std::string text = log.Text(from, *size - 1);
  // As on a GPU, the buffer is not changed if nothing was logged.
  const bool any = from < log.end();
  if (any) memcpy(buffer, text.c_str(), text.size() + 1);
  *size = text.size();
  if (text.empty() && any) return CUDA_ERROR_INVALID_VALUE;
  if (iterator != nullptr) *iterator = log.end();
  return CUDA_SUCCESS;
}

}  // extern "C"
