// Parses the SPEC, which says which GPU is simulated and how. It is read from VRAMSTOW_SIMULATE,
// or, if that is not set, from VRAMSTOW_SIMULATED_CARD. With VRAMSTOW_SIMULATED_CARD the simulated
// driver takes the place of a machine's own driver, and programs are not informed that the run is
// simulated.
//
// Form: CARD[,option=value]… , for example "h200" or "a100,memory=24GiB,count=2,seed=7". Numbers
// after rank=R are more ranks: "h100,world=256,rank=0,255".
//
// Ownership: a value. Threads: no shared state. Errors: returns false, and one sentence that names
// the wrong part and what would be right. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_SPEC_H_
#define VRAMSTOW_SIMULATOR_DEVICE_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/device/cards.h"

namespace vramstow::simulator {

inline constexpr char kSpecVariable[] = "VRAMSTOW_SIMULATE";
inline constexpr char kCardVariable[] = "VRAMSTOW_SIMULATED_CARD";
inline constexpr char kDefaultSpec[] = "h200";
inline constexpr int kDevicesMax = 16;
inline constexpr int kWorldMax = 65536;
// The CUDA version of the simulated driver. It does not depend on the headers of this build.
inline constexpr int kCudaVersion = 13020;

// Capabilities that a GPU or driver may lack; without=vmm removes kVmm, for example.
enum Capability : uint32_t {
  kVmm = 1u << 0,           // cuMemCreate and related functions
  kHostVmm = 1u << 1,       // cuMemCreate at host locations
  kEventContext = 1u << 2,  // cuCtxRecordEvent
  kIpc = 1u << 3,           // cuIpc*
  kPeer = 1u << 4,          // peer access
  kMemoryPools = 1u << 5,   // stream-ordered allocation
  kShareable = 1u << 6,     // cuMemCreate of memory for other processes, although reported
  kDmaBuf = 1u << 7,        // descriptors of device memory for network cards
  kHostPlace = 1u << 8,     // cuMemCreate on the host as a whole, although reported
  kHostNodes = 1u << 9,     // cuMemCreate at a NUMA node of the host, although reported
};

// What happens to the process that creates memory at a NUMA node of the host.
enum class NodeFault : uint8_t { kNone, kCrash, kHang };

// A job of many ranks of which only some run. Each of these runs without the other ranks.
struct World {
  int ranks = 0;             // of the job; 0: the SPEC has no world=
  int nodes = 0;             // machines of the job, each with the same number of ranks
  std::vector<int> running;  // in the order of the SPEC, each once
  int ranks_per_node() const { return nodes == 0 ? 0 : ranks / nodes; }
};

// One fail= option: which call fails, and when.
struct FaultRule {
  std::string call;         // without ABI suffix
  uint64_t nth = 0;         // counted from 1; 0: by probability
  bool persistent = false;  // also every later call
  double probability = 0;
  uint32_t result = 2;  // CUresult; CUDA_ERROR_OUT_OF_MEMORY
};

// Virtual-memory calls whose duration vmm-time= sets.
enum class VmmCall : uint8_t { kCreate, kMap, kAccess, kUnmap, kRelease };
inline constexpr int kVmmCalls = 5;

// How long one call of a virtual-memory function blocks the program, in real time.
struct VmmTime {
  uint64_t call_ns = 0;
  uint64_t gib_ns = 0;  // in addition, for each GiB
};

struct Spec {
  Card card{};  // the GPU's row in cards.cc, changed by sms= and cc=
  uint64_t memory_bytes = 0;
  uint64_t context_bytes = 0;
  int count = 1;           // number of GPUs of the machine
  std::vector<int> cards;  // GPUs that the process sees, in its order; initially all
  uint64_t seed = 1;
  uint64_t kernel_time_ns = 0;
  VmmTime vmm_times[kVmmCalls];  // indexed by VmmCall
  bool keep_contents = true;
  // Limit of the bytes that device memory stores. A large write that would exceed it is left out.
  // The default is about as much host memory as loading PyTorch takes.
  uint64_t contents_bytes = 512ull << 20;
  bool contents_are_given = false;  // the SPEC sets it, so it also limits computed results
  NodeFault node_fault = NodeFault::kNone;
  uint64_t emulation_bytes =
      1ull << 20;  // a launch that touches fewer bytes is always computed; 0: never
  // Controls the launches that access more than emulation_bytes. If budget_is_time is true, such a
  // launch is computed while there is time for it. Otherwise such launches are computed until
  // together they have accessed allowance_bytes.
  bool budget_is_time = true;
  uint64_t allowance_bytes = 2ull << 30;
  uint64_t gemm_operations = 32ull * 1000000;  // multiplications and additions of a matrix product
  bool gemm_is_limit = false;                  // larger products are never computed
  uint64_t ptx_steps = 64ull * 1000000;  // instructions of a kernel given as PTX; 0: none is run
  bool list_kernels = false;             // list the kernels without effect at exit
  bool adversarial = false;
  bool clock_is_model = false;   // work takes the time that a GPU would take
  bool private_primary = false;  // runtimes get primary contexts without a public function
  uint8_t node_fault_nth = 0;    // the cuMemCreate at a NUMA node that faults, counted from 1
  uint32_t without = 0;          // Capability bits
  int cuda_version = kCudaVersion;
  bool strict_exit = false;
  bool pageable = false;            // kernels may access any host memory, and the GPU reports that
  uint16_t shareable_result = 800;  // CUresult without kShareable; default CUDA_ERROR_NOT_PERMITTED
  std::string call_log;             // a path, in which %p is the process id; empty: none
  std::string work_log;             // like call_log, for the work of a GPU
  std::string share;  // group or file that shares the GPUs, or "none"; empty: the run's
  std::vector<FaultRule> faults;
  World world;
};

// Returns the SPEC in the environment, or kDefaultSpec if there is none.
const char* SpecOfEnvironment();

// Returns false and one sentence in *error if the text is wrong; *spec is unspecified then.
bool ParseSpec(std::string_view text, Spec* spec, std::string* error);

// Returns one line such as "2 x NVIDIA A100-SXM4-80GB (simulated), 24 GiB each, seed 7".
std::string DescribeSpec(const Spec& spec);

// Returns a description of every GPU and option for users.
std::string SpecHelp();

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_SPEC_H_
