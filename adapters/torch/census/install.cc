// Defines the exported functions by which Python's start-up hook installs the census.
//
// Ownership: as census.h. Threads: any that may take Python's lock. Errors: the reason, as the end
// of a sentence. Units: none.
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>

#include <exception>

#include "adapters/torch/census/census.h"
#include "adapters/torch/census/collection.h"
#include "adapters/torch/census/groups.h"
#include "adapters/torch/failure_ends.h"
#include "include/vramstow/vramstow.h"

namespace vramstow::torch_census {
namespace {

void Visit(const Findings& findings, int reason, int device, vramstow_census_visitor visitor,
           void* context) {
  const vramstow_framework_census_about about = AboutOf(findings, reason, device);
  visitor(context, &about, nullptr, 0);
  Groups groups;
  for (const Holding& holding : findings.holdings) groups.Add(holding);
  for (const HoldingGroup& group : groups.Take()) {
    const vramstow_framework_holding holding = {
        group.role, group.device, 0, group.bytes, group.holder.c_str(), group.about.c_str()};
    visitor(context, &about, &holding, group.blocks);
  }
}

int Take(int reason, int device, vramstow_census_visitor visitor, void* context) {
  Findings findings;
  const int result = TheCensus().Take(reason, device, &findings);
  if (result != VRAMSTOW_OK || visitor == nullptr) return result;
  try {
    Visit(findings, reason, device, visitor, context);
  } catch (const std::exception&) {
    return VRAMSTOW_BUSY;  // no memory on the host
  }
  return result;
}

constexpr vramstow_framework_census_taker kTaker = {Take};

vramstow_table_function FindTables() {
  return reinterpret_cast<vramstow_table_function>(dlsym(RTLD_DEFAULT, VRAMSTOW_TABLE_SYMBOL));
}

const vramstow_framework_census* serving = nullptr;

// Starts to serve requests for a census (a reference scan). Returns null, or the reason why that is
// not possible.
const char* Serve(vramstow_table_function get_table) {
  const auto* table = reinterpret_cast<const vramstow_framework_census*>(
      get_table(VRAMSTOW_TABLE_CENSUS, VRAMSTOW_TABLE_CENSUS_VERSION));
  if (table == nullptr) {
    return "the library is of an older version, or there is no trace";
  }
  const int state = PyGILState_Ensure();  // ctypes releases Python's lock during a call
  const char* why = TheCensus().Start(table);
  PyGILState_Release(state);
  if (why != nullptr) return why;
  table->serve(&kTaker);
  serving = table;
  return nullptr;
}

const char* Start() {
  if (serving != nullptr) return nullptr;
  const vramstow_table_function get_table = FindTables();
  if (get_table == nullptr) return "vramstow is not preloaded";
  if (const char* why = Serve(get_table); why != nullptr) return why;
  // If PyTorch's own allocator is observed, the observer reports failures to the library.
  if (get_table(VRAMSTOW_TABLE_TRACE, VRAMSTOW_TABLE_TRACE_VERSION) == nullptr) {
    c10::cuda::CUDACachingAllocator::get()->attachOutOfMemoryObserver(
        [](int64_t device, size_t, size_t, size_t) {
          if (torch_failure::FailureEnds::InsideFramework()) return;
          Take(VRAMSTOW_CENSUS_OUT_OF_MEMORY, static_cast<int>(device), nullptr, nullptr);
        });
  }
  return nullptr;
}

constexpr vramstow_framework_collector kCollector = {
    [] { return TheCollection().IsPossible() ? 1 : 0; },
    [](int device, int all) { return TheCollection().Collect(device, all != 0); }};

const char* StartCollection() {
  static bool started = false;
  if (started) return nullptr;
  const vramstow_table_function get_table = FindTables();
  if (get_table == nullptr) return "vramstow is not preloaded";
  const auto* table = reinterpret_cast<const vramstow_framework_collection*>(
      get_table(VRAMSTOW_TABLE_COLLECTION, VRAMSTOW_TABLE_COLLECTION_VERSION));
  if (table == nullptr) {
    return "the library is of an older version, or vramstow is not active in this process";
  }
  const int state = PyGILState_Ensure();  // ctypes releases Python's lock during a call
  const char* why = TheCollection().Start(table);
  PyGILState_Release(state);
  if (why != nullptr) return why;
  table->serve(&kCollector);
  started = true;
  return nullptr;
}

}  // namespace
}  // namespace vramstow::torch_census

// Returns null if from now on an out-of-memory error has a census; otherwise the reason, as the end
// of a sentence.
extern "C" __attribute__((visibility("default"))) const char* vramstow_census_start() {
  try {
    return vramstow::torch_census::Start();
  } catch (const std::exception&) {
    return "PyTorch refused";
  }
}

// Starts the census in a process that was started without vramstow. `get_table` is a function of
// vramstow's library. Returns null, or the reason why it did not start, as the end of a sentence.
extern "C" __attribute__((visibility("default"))) const char* vramstow_census_attach(
    vramstow_table_function get_table) {
  try {
    return vramstow::torch_census::Serve(get_table);
  } catch (const std::exception&) {
    return "PyTorch refused";
  }
}

// Stops serving requests for a census. Afterwards vramstow_census_attach may be called again.
extern "C" __attribute__((visibility("default"))) const char* vramstow_census_detach() {
  if (vramstow::torch_census::serving != nullptr) {
    vramstow::torch_census::serving->serve(nullptr);
  }
  return nullptr;
}

// Returns null if from now on garbage is collected before an out-of-memory error.
extern "C" __attribute__((visibility("default"))) const char* vramstow_collection_start() {
  try {
    return vramstow::torch_census::StartCollection();
  } catch (const std::exception&) {
    return "PyTorch refused";
  }
}

// Called before Python ends.
extern "C" __attribute__((visibility("default"))) const char* vramstow_census_stop() {
  vramstow::torch_census::TheCensus().Stop();
  vramstow::torch_census::TheCollection().Stop();
  return nullptr;
}
