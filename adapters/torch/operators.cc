#include "adapters/torch/operators.h"

#include <ATen/record_function.h>

#include <array>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/mutex.h"

namespace vramstow::torch_adapter {
namespace {

using Module = const std::string;
constexpr int kDeepest = 128;

// The operators and modules that one thread is executing. The type is trivial, so it is valid until
// the thread's very end.
struct Work {
  struct Running {
    const at::RecordFunction* function;
    const char* name;
    bool is_backward;
    int modules;  // how many modules the thread was in before
  };
  int running_count;
  int module_count;
  Running running[kDeepest];
  Module* modules[kDeepest];  // null for an unknown module

  Module* module() const { return module_count > 0 ? modules[module_count - 1] : nullptr; }
  void Enter(Module* module) {
    if (module_count < kDeepest) modules[module_count++] = module;
  }
};

Work& ThisThread() {
  thread_local Work work;
  return work;
}

// Stores for each operator of the forward pass the module in which it ran. New entries replace old
// ones.
class Links {
 public:
  void Remember(uint64_t thread, int64_t sequence, Module* module) {
    const MutexLock lock(&lock_);
    links_[PlaceOf(thread, sequence)] = {thread, sequence, module};
  }
  Module* Find(uint64_t thread, int64_t sequence) {
    const MutexLock lock(&lock_);
    const Link& link = links_[PlaceOf(thread, sequence)];
    return link.thread == thread && link.sequence == sequence ? link.module : nullptr;
  }

 private:
  struct Link {
    uint64_t thread = 0;
    int64_t sequence = -1;
    Module* module = nullptr;
  };
  static constexpr size_t kLinks = size_t{1} << 16;
  static size_t PlaceOf(uint64_t thread, int64_t sequence) {
    return (static_cast<uint64_t>(sequence) + thread * 7919) % kLinks;
  }

  SpinLock lock_;
  std::array<Link, kLinks> links_ VRAMSTOW_GUARDED_BY(lock_);
};

// The object is never destroyed, because threads may outlive main.
Links& TheLinks() {
  static auto* links = new Links;
  return *links;
}

// True if the name says only how memory is made, or names a step of the autograd engine. Such a
// name does not show the purpose of the memory.
bool SaysLittle(std::string_view name) {
  return name.find("empty") != std::string_view::npos ||
         name.find("resize") != std::string_view::npos || name.starts_with("autograd::engine::");
}

std::unique_ptr<at::ObserverContext> Begin(const at::RecordFunction& function) {
  Work& work = ThisThread();
  const bool is_backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  const int64_t sequence = function.seqNr();
  if (work.running_count < kDeepest) {
    work.running[work.running_count++] = {&function, function.name(), is_backward,
                                          work.module_count};
    if (is_backward) work.Enter(TheLinks().Find(function.forwardThreadId(), sequence));
  }
  if (!is_backward && sequence >= 0 && work.module() != nullptr) {
    TheLinks().Remember(at::RecordFunction::currentThreadId(), sequence, work.module());
  }
  return nullptr;
}

void End(const at::RecordFunction& function, at::ObserverContext*) {
  Work& work = ThisThread();
  for (int i = work.running_count - 1; i >= 0; --i) {
    if (work.running[i].function != &function) continue;
    work.running_count = i;
    if (work.running[i].is_backward) work.module_count = work.running[i].modules;
    return;
  }
}

}  // namespace

void Operators::Follow() {
  at::addGlobalCallback(
      at::RecordFunctionCallback(&Begin, &End)
          .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

int Operators::Names(vramstow_framework_name (&names)[kMaxNames]) {
  const Work& work = ThisThread();
  const char* operation = nullptr;
  const char* making = nullptr;  // used if there is no better name
  const char* backward = nullptr;
  for (int i = work.running_count - 1; i >= 0 && backward == nullptr; --i) {
    const Work::Running& running = work.running[i];
    if (running.is_backward) {
      backward = running.name;
    } else if (!SaysLittle(running.name)) {
      if (operation == nullptr) operation = running.name;
    } else if (making == nullptr) {
      making = running.name;
    }
  }
  int count = 0;
  if (operation == nullptr && backward == nullptr) operation = making;
  if (operation != nullptr) names[count++] = {operation, VRAMSTOW_NAME_OPERATOR};
  if (backward != nullptr) names[count++] = {backward, VRAMSTOW_NAME_BACKWARD};
  if (work.module() != nullptr) names[count++] = {work.module()->c_str(), VRAMSTOW_NAME_MODULE};
  return count;
}

}  // namespace vramstow::torch_adapter

// Functions that Python's start-up hook calls. The first one assigns a number to a module; the
// others get that number.
extern "C" {

__attribute__((visibility("default"))) const void* vramstow_torch_name_module(const char* name) {
  using namespace vramstow::torch_adapter;
  static vramstow::Mutex mutex;
  static auto* names = new std::unordered_set<std::string>;
  const vramstow::MutexLock lock(&mutex);
  return &*names->emplace(name).first;
}

__attribute__((visibility("default"))) void vramstow_torch_enter_module(const void* module) {
  using namespace vramstow::torch_adapter;
  ThisThread().Enter(static_cast<Module*>(module));
}

__attribute__((visibility("default"))) void vramstow_torch_leave_module(const void* module) {
  using namespace vramstow::torch_adapter;
  Work& work = ThisThread();
  for (int i = work.module_count - 1; i >= 0; --i) {
    if (work.modules[i] != module) continue;
    work.module_count = i;
    return;
  }
}

}  // extern "C"
