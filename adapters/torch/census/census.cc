#include "adapters/torch/census/census.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <unordered_set>

#include "adapters/torch/census/collector.h"
#include "adapters/torch/census/cycles.h"
#include "adapters/torch/census/deadline.h"
#include "adapters/torch/census/garbage.h"
#include "adapters/torch/census/generations.h"
#include "adapters/torch/census/graph_leaves.h"
#include "adapters/torch/census/live_bytes.h"
#include "adapters/torch/census/quiet.h"
#include "adapters/torch/census/trained_tensors.h"
#include "adapters/torch/census/with_python.h"
#include "include/vramstow/vramstow.h"

namespace vramstow::torch_census {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kWalkNs = kSecond * 3 / 2;
constexpr uint64_t kReportNs = kSecond / 4;
constexpr char kNoTime[] = "its time was over";
constexpr char kLeftOut[] = "looks after earlier failures had used up the time for it";
// The largest number of holders that are reported. A model's cache of keys and values alone has
// some thousands of blocks. Each holder uses one of the trace's 65,536 texts.
constexpr size_t kMaxReported = 8192;
constexpr size_t kEnoughReported = 512;  // the remaining ones are small, or similar
// The time for which a thread waits for Python's lock.
constexpr auto kPatience = std::chrono::milliseconds(200);
constexpr auto kLongPatience = std::chrono::milliseconds(3000);
// The limit of the time of all censuses (reference scans) together: kFreeNs, plus a twentieth of
// the run time.
constexpr uint64_t kFreeNs = 5 * kSecond;
constexpr uint64_t kPartOfTime = 20;

const vramstow_framework_census* table = nullptr;
std::atomic<bool> is_stopped{true};
std::atomic<bool> is_running{false};
std::atomic<uint64_t> spent_ns{0};
uint64_t started_ns = 0;

// Returns the autograd node that saved the tensor, or null if no node saved it.
const Node* SavedBy(const Seen& seen, EntryIndex place) {
  const EntryIndex from = seen[place].from;
  if ((from & Entry::kIsRoot) != 0 || seen[from].what() != What::kNode) return nullptr;
  return seen[from].as<Node>();
}

// Returns a text like "float32 [64, 64], requires grad, in eval(), in no optimizer".
std::string AboutOf(const HolderDescription& description, const Impl* impl,
                    const TrainedTensors& trained, const Node* saved_by, GraphLeaves* leaves) {
  std::string about = Graph::Describe(impl);
  if (description.role == Role::kSaved && saved_by != nullptr && leaves->AreUntrained(saved_by)) {
    about += ", for parameters in no optimizer";
  }
  if (description.role != Role::kParameter) return about;
  if (description.evaluates) about += ", in eval()";
  if (trained.IsUntrained(impl)) about += ", in no optimizer";
  return about;
}

using Addresses = std::unordered_set<uint64_t>;

// Returns the largest tensors, and a sample of the smaller tensors, because thousands of these may
// be elements of one list.
std::vector<const Found*> LargestOf(const Walk& walk, const Addresses& known) {
  constexpr size_t kLargest = kMaxReported / 4 * 3;
  constexpr size_t kOthers = kMaxReported - kLargest;
  std::vector<const Found*> all;
  for (const auto& [address, found] : walk.found()) {
    if (!known.contains(address)) all.push_back(&found);
  }
  std::ranges::sort(all, [](const Found* a, const Found* b) {
    return a->memory.bytes != b->memory.bytes ? a->memory.bytes > b->memory.bytes
                                              : a->memory.address < b->memory.address;
  });
  if (all.size() <= kMaxReported) return all;
  const size_t rest = all.size() - kLargest;
  for (size_t i = 0; i < kOthers; ++i) all[kLargest + i] = all[kLargest + i * rest / kOthers];
  all.resize(kMaxReported);
  return all;
}

// Adds the memory that a walk has found to `findings`. `known` contains the addresses of memory
// whose holder has been reported already.
void ReportFindings(const Walk& walk, const Addresses& known, const Deadline& deadline,
                    Findings* findings) {
  const std::vector<const Found*> largest = LargestOf(walk, known);
  const HolderDescriber describer(walk);
  const TrainedTensors trained(walk);
  GraphLeaves leaves(walk, trained);
  for (const Found* found : largest) {
    if (deadline.is_over()) {
      const bool is_little = findings->holdings.size() < kEnoughReported;
      if (is_little && findings->why_ended.empty()) findings->why_ended = kNoTime;
      return;
    }
    const Seen& seen = found->is_in_models ? walk.models() : walk.all();
    HolderDescription description = describer.Describe(*found);
    std::string about = AboutOf(description, seen[found->place].as<Impl>(), trained,
                                SavedBy(seen, found->place), &leaves);
    findings->holdings.push_back(
        {found->memory, std::move(description.chain), std::move(about), description.role});
  }
}

// Reports all device memory that the program can reach, and returns its addresses.
Addresses ReportReached(Walk* walk, const Deadline& deadline, Findings* findings) {
  walk->Run();
  if (walk->why_stopped() != nullptr) findings->why_ended = walk->why_stopped();
  findings->found_bytes = walk->found_bytes();
  findings->objects = walk->objects();
  ReportFindings(*walk, {}, deadline, findings);
  Addresses reached;
  for (const auto& [address, found] : walk->found()) reached.insert(address);
  return reached;
}

// Reports all device memory that is held only by reference cycles that Python's collector has not
// freed yet.
void ReportGarbage(const Garbage& garbage, const Addresses& reached, Findings* findings) {
  if (garbage.dead().empty()) return;
  for (const Cycle& cycle : Cycles(garbage.dead()).Largest()) {
    for (size_t i = 0; i < cycle.pieces.size(); ++i) {
      const Memory& memory = cycle.pieces[i];
      if (reached.contains(memory.address)) continue;
      if (findings->holdings.size() >= kMaxReported) return;
      findings->found_bytes += memory.bytes;
      findings->holdings.push_back({memory, VRAMSTOW_DEAD_CYCLE + cycle.chain,
                                    i == 0 ? cycle.about : std::string(), Role::kOther});
    }
  }
}

// Reports the memory of values that are held neither by a variable nor by a cycle.
void ReportExpressions(const Garbage& garbage, const Addresses& reached, Walk* walk,
                       const Deadline& deadline, Findings* findings) {
  walk->RunExpressions(garbage.dead());
  for (const auto& [address, found] : walk->found()) {
    if (!reached.contains(address)) findings->found_bytes += found.memory.bytes;
  }
  ReportFindings(*walk, reached, deadline, findings);
}

bool IsMuchMissing(const Findings& findings) {
  constexpr uint64_t kMissingPart = 20;  // a twentieth of the live bytes justifies another search
  return findings.found_bytes + findings.live_bytes / kMissingPart < findings.live_bytes;
}

void LookFurther(const Addresses& reached, PyThreadState* failing, int working,
                 const Deadline& deadline, Findings* findings) {
  if (!Generations::Look() || Generations::AreCollected()) return;
  const Garbage garbage(Generations::kCount, deadline);
  if (!garbage.is_complete()) {
    findings->why_ended = garbage.is_late() ? kNoTime : "there are too many objects";
    return;
  }
  ReportGarbage(garbage, reached, findings);
  if (!IsMuchMissing(*findings)) return;
  Walk walk(failing, working, 0, deadline);
  ReportExpressions(garbage, reached, &walk, deadline, findings);
}

// Takes a census. The caller holds Python's lock.
Findings LookAround(PyThreadState* failing, int working, const AllocatorBytes& held) {
  Findings findings;
  const uint64_t begin_ns = NowNs();
  const uint64_t worked_ns = WorkedNs();
  const Deadline end_of_walk(kWalkNs);
  const Deadline deadline(end_of_walk, kReportNs);
  const Quiet quiet;
  findings.live_bytes = held.live;
  Addresses reached;
  {
    Walk walk(failing, working, held.requested, end_of_walk);
    reached = ReportReached(&walk, deadline, &findings);
  }
  if (findings.why_ended.empty() && IsMuchMissing(findings)) {
    LookFurther(reached, failing, working, deadline, &findings);
  }
  findings.duration_ns = NowNs() - begin_ns;
  findings.worked_ns = WorkedNs() - worked_ns;
  return findings;
}

// Takes a census (a reference scan) while Python's lock is held. If a request has failed, its
// thread may hold the allocator's lock. So this thread itself reads the allocator's figures, before
// the census. In all other cases the figures are read when Python's lock is held, because the
// program may allocate more tensors until then.
bool LookWithLock(bool is_failure, Findings* findings) {
  const AllocatorBytes before = is_failure ? AskAllocator() : AllocatorBytes{};
  PyThreadState* failing = PyGILState_GetThisThreadState();
  const int working = gettid();
  return WithPython(is_failure ? kPatience : kLongPatience, [&] {
    *findings = LookAround(failing, working, is_failure ? before : AskAllocator());
  });
}

}  // namespace

vramstow_framework_census_about AboutOf(const Findings& findings, int reason, int device) {
  return {reason,
          device,
          findings.found_bytes,
          findings.live_bytes,
          findings.duration_ns,
          findings.objects,
          findings.why_ended.empty() ? nullptr : findings.why_ended.c_str()};
}

Census& TheCensus() {
  static auto* census = new Census;
  return *census;
}

const char* Census::Start(const vramstow_framework_census* writer) {
  Interpreter::Look();
  if (!Interpreter::has_frames()) return "it knows CPython 3.9 to 3.13, and this is another one";
  if (!Collector::Look()) return "the functions of the module gc are not Python's own";
  if (!Graph::Look()) return "this PyTorch is built in another way";
  table = writer;
  started_ns = NowNs();
  is_stopped = false;
  return nullptr;
}

void Census::Stop() { is_stopped = true; }

bool Census::MayTake() const { return spent_ns <= kFreeNs + (NowNs() - started_ns) / kPartOfTime; }

int Census::Take(int reason, int device, Findings* findings) {
  if (is_stopped || Interpreter::is_ending()) return VRAMSTOW_NOT_ACTIVE;
  if (reason == VRAMSTOW_CENSUS_OUT_OF_MEMORY && !MayTake()) {
    LeaveOut(reason, device);
    return VRAMSTOW_NOT_ACTIVE;
  }
  if (is_running.exchange(true)) return VRAMSTOW_BUSY;
  const uint64_t begin_ns = NowNs();
  const int result = Look(reason, device, findings);
  if (reason == VRAMSTOW_CENSUS_OUT_OF_MEMORY) {
    const uint64_t idle_ns = findings->duration_ns - findings->worked_ns;
    spent_ns += NowNs() - begin_ns - idle_ns;
  }
  is_running = false;
  return result;
}

// Records that there is no census (reference scan) for this failure, so that a reader of the trace
// does not use the result of an older one.
void Census::LeaveOut(int reason, int device) {
  const vramstow_framework_census_about about = {reason, device, 0, 0, 0, 0, kLeftOut};
  table->begin(&about);
}

int Census::Look(int reason, int device, Findings* findings) const {
  const bool is_failure = reason == VRAMSTOW_CENSUS_OUT_OF_MEMORY;
  try {
    if (!LookWithLock(is_failure, findings)) return VRAMSTOW_BUSY;
    return Write(reason, device, *findings) ? VRAMSTOW_OK : VRAMSTOW_NOT_ACTIVE;
  } catch (const std::exception&) {
    return VRAMSTOW_BUSY;  // no memory on the host
  }
}

bool Census::Write(int reason, int device, const Findings& findings) const {
  const vramstow_framework_census_about about = AboutOf(findings, reason, device);
  if (table->begin(&about) != VRAMSTOW_OK) return false;
  for (const Holding& holding : findings.holdings) {
    const vramstow_framework_holding reported = {static_cast<int32_t>(holding.role),
                                                 holding.memory.device,
                                                 holding.memory.address,
                                                 holding.memory.bytes,
                                                 holding.holder.c_str(),
                                                 holding.about.c_str()};
    table->hold(&reported);
  }
  return true;
}

}  // namespace vramstow::torch_census
