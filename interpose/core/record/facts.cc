#include "interpose/core/record/facts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/host_mapping.h"
#include "interpose/core/record/secrets.h"
#include "interpose/core/record/trace_name.h"

namespace vramstow {
namespace {

std::atomic<int64_t> utc_offset{0};  // in seconds

// The target of the link /proc/self/exe, stored at the first use. If two threads store it at once,
// they write the same bytes.
char program_path[512];

const char* ProgramPath() {
  if (program_path[0] == '\0') {
    char path[sizeof program_path] = {};
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return "unknown";
    std::memcpy(program_path, path, sizeof path);
  }
  return program_path;
}

// Reads a file of /proc. The size of such a file cannot be found out before. Returns the number of
// bytes.
size_t ReadWhole(const char* path, char* buffer, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  size_t length = 0;
  while (length < size) {
    const ssize_t count = read(file, buffer + length, size - length);
    if (count <= 0) break;
    length += static_cast<size_t>(count);
  }
  close(file);
  return length;
}

// Records the command as a fact: its arguments, separated by spaces and without secrets. A very
// long command is cut.
void DescribeCommand(Recorder* recorder) {
  char arguments[4096];
  const size_t size = ReadWhole("/proc/self/cmdline", arguments, sizeof arguments);
  char command[4096];
  recorder->Describe("process.command",
                     {command, ShowWithoutSecrets(arguments, size, command, sizeof command)});
}

[[gnu::format(printf, 3, 4)]] void DescribeFormatted(Recorder* recorder, const char* key,
                                                     const char* format, ...) {
  char value[128];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(value, sizeof value, format, arguments);
  va_end(arguments);
  if (length > 0 && static_cast<size_t>(length) < sizeof value) {
    recorder->Describe(key, {value, static_cast<size_t>(length)});
  }
}

int64_t Nanoseconds(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

// Reads field 22 of /proc/self/stat: the start time of the process in clock ticks since boot. The
// name in field 2 may contain spaces and brackets, so fields are counted from the last bracket.
int64_t StartTicks(const char* path) {
  char text[1024];
  const size_t length = ReadWhole(path, text, sizeof text - 1);
  text[length] = '\0';
  const char* field = std::strrchr(text, ')');
  if (field == nullptr) return 0;
  for (int number = 2; number < 22; ++number) {
    field = std::strchr(field + 1, ' ');
    if (field == nullptr) return 0;
  }
  return std::strtoll(field, nullptr, 10);
}

void DescribeStartTime(Recorder* recorder) {
  const int64_t ticks = StartTicks("/proc/self/stat");
  if (ticks == 0) return;
  const int64_t since_boot = ticks * (1000000000 / sysconf(_SC_CLK_TCK));
  const int64_t age = Nanoseconds(CLOCK_BOOTTIME) - since_boot;
  DescribeFormatted(recorder, "process.start_time", "%lld",
                    static_cast<long long>(Nanoseconds(CLOCK_REALTIME) - age));
}

// Returns the value of the first variable that is set, or null.
template <size_t kCount>
const char* FirstOf(const char* const (&variables)[kCount]) {
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

template <size_t kCount>
void DescribeEnvironment(Recorder* recorder, const char* key,
                         const char* const (&variables)[kCount]) {
  if (const char* value = FirstOf(variables)) recorder->Describe(key, value);
}

constexpr const char* kRankVariables[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                          "PMI_RANK"};

constexpr const char* kLocalRankVariables[] = {"LOCAL_RANK", "SLURM_LOCALID",
                                               "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"};

// Records which job the process belongs to, by the launcher's name for the job, because each rank
// of a job may have its own `vramstow run`. If torchrun gives no name, MASTER_ADDR and MASTER_PORT
// identify the job.
void DescribeJob(Recorder* recorder) {
  const auto value_of = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr || std::strcmp(value, "none") == 0 ? "" : value;
  };
  if (*value_of("SLURM_JOB_ID") != '\0') {
    DescribeFormatted(recorder, "run.job", "%.60s.%.60s", value_of("SLURM_JOB_ID"),
                      value_of("SLURM_STEP_ID"));
    return;
  }
  for (const char* variable : {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "PBS_JOBID", "LSB_JOBID",
                               "FLUX_JOB_ID", "JOB_ID"}) {
    if (*value_of(variable) == '\0') continue;
    DescribeFormatted(recorder, "run.job", "%.120s", value_of(variable));
    return;
  }
  if (*value_of("MASTER_ADDR") == '\0') return;
  DescribeFormatted(recorder, "run.job", "%.90s:%.20s", value_of("MASTER_ADDR"),
                    value_of("MASTER_PORT"));
}

// Records how often the launcher has started the job again, by Slurm (a requeued job has the same
// id) and by torchrun (--max-restarts). The processes of one rank that have other numbers are
// attempts at the same work.
void DescribeRestarts(Recorder* recorder) {
  DescribeEnvironment(recorder, "run.requeue", {"SLURM_RESTART_COUNT"});
  DescribeEnvironment(recorder, "run.restart", {"TORCHELASTIC_RESTART_COUNT"});
}

// Returns the text, or null if it is no number.
const char* NumberOf(const char* text) {
  constexpr size_t kMaxDigits = 9;
  if (text == nullptr) return nullptr;
  const size_t digits = std::strspn(text, "0123456789");
  return digits <= kMaxDigits && text[digits] == '\0' ? text : nullptr;
}

void DescribeOption(Recorder* recorder, const char* key, bool value) {
  recorder->Describe(key, value ? "1" : "0");
}
void DescribeOption(Recorder* recorder, const char* key, const char* value) {
  recorder->Describe(key, value);
}

void DescribeDevice(Recorder* recorder, const Driver& driver, int number) {
  CUdevice device;
  if (driver.cuDeviceGet()(&device, number) != CUDA_SUCCESS) return;
  char key[48];
  const auto with_name = [&key, number](const char* name) {
    std::snprintf(key, sizeof key, "device.%d.%s", number, name);
    return key;
  };
  char name[256] = {};
  if (driver.cuDeviceGetName() != nullptr &&
      driver.cuDeviceGetName()(name, sizeof name - 1, device) == CUDA_SUCCESS) {
    recorder->Describe(with_name("name"), name);
  }
  size_t bytes = 0;
  if (driver.cuDeviceTotalMem_v2() != nullptr &&
      driver.cuDeviceTotalMem_v2()(&bytes, device) == CUDA_SUCCESS) {
    DescribeFormatted(recorder, with_name("total_bytes"), "%zu", bytes);
  }
  if (auto* attribute = driver.cuDeviceGetAttribute()) {
    int major = 0;
    int minor = 0;
    if (attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) == CUDA_SUCCESS &&
        attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) == CUDA_SUCCESS) {
      DescribeFormatted(recorder, with_name("compute_capability"), "%d.%d", major, minor);
    }
  }
  CUuuid uuid;
  if (driver.cuDeviceGetUuid_v2() != nullptr &&
      driver.cuDeviceGetUuid_v2()(&uuid, device) == CUDA_SUCCESS) {
    static_assert(sizeof uuid.bytes == 16);
    char text[kDeviceUuidBytes];
    WriteDeviceUuid(uuid.bytes, text);
    recorder->Describe(with_name("uuid"), text);
    const std::string_view host = FindHostAnswer(std::getenv(kHostMappingVariable), text);
    if (!host.empty()) recorder->Describe(with_name("host_mapping"), host);
  }
}

}  // namespace

const char* ProgramName() {
  const char* path = ProgramPath();
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

void FindUtcOffset() {
  const time_t now = time(nullptr);
  tm parts = {};
  if (localtime_r(&now, &parts) != nullptr) {
    utc_offset.store(parts.tm_gmtoff, std::memory_order_relaxed);
  }
}

void NameTrace(bool is_shown, char* stem, size_t size) {
  char arguments[4096];
  const size_t length = ReadWhole("/proc/self/cmdline", arguments, sizeof arguments);
  constexpr int64_t kSecond = 1'000'000'000;
  WriteTraceName({.program = ProgramName(),
                  .is_shown = is_shown,
                  .rank = RankText(),
                  .time = Nanoseconds(CLOCK_REALTIME) / kSecond,
                  .utc_offset = utc_offset.load(std::memory_order_relaxed),
                  .process = static_cast<long>(getpid())},
                 {arguments, length}, stem, size);
}

const char* RankText() { return NumberOf(FirstOf(kRankVariables)); }

const char* LocalRankText() { return NumberOf(FirstOf(kLocalRankVariables)); }

uint64_t ProcessStart(pid_t process) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%ld/stat", static_cast<long>(process));
  return static_cast<uint64_t>(StartTicks(path));
}

void DescribeProcess(Recorder* recorder, const Options& options) {
  recorder->Describe("vramstow.version", VRAMSTOW_VERSION);
  DescribeFormatted(recorder, "process.pid", "%ld", static_cast<long>(getpid()));
  DescribeFormatted(recorder, "process.parent", "%ld", static_cast<long>(getppid()));
  recorder->Describe("process.program", ProgramPath());
  if (options.command) DescribeCommand(recorder);
  DescribeStartTime(recorder);
  utsname host;
  if (uname(&host) == 0) recorder->Describe("process.host", host.nodename);
  // The namespace in which the process id is valid: that of the container.
  struct stat space;
  if (stat("/proc/self/ns/pid", &space) == 0) {
    DescribeFormatted(recorder, "process.pid_space", "%llu",
                      static_cast<unsigned long long>(space.st_ino));
  }
  DescribeEnvironment(recorder, "process.rank", kRankVariables);
  DescribeEnvironment(recorder, "process.local_rank", kLocalRankVariables);
  DescribeEnvironment(recorder, "run.id", {kRunIdVariable});
  DescribeEnvironment(recorder, "python.package_folders", {kPackageFoldersVariable});
  DescribeJob(recorder);
  DescribeRestarts(recorder);
#define VRAMSTOW_OPTION(field, type, default_value, flag, metavar, environment, help) \
  DescribeOption(recorder, "option." #field, options.field);
#include "base/options.def"
#undef VRAMSTOW_OPTION
}

void DescribeDriver(Recorder* recorder, const Driver& driver) {
  if (driver.path() != nullptr) recorder->Describe("driver.path", driver.path());
  if (const char* description = driver.simulator_description()) {
    recorder->Describe("simulated", description);
  }
  if (const int version = driver.CudaVersion(); version != 0) {
    DescribeFormatted(recorder, "driver.version", "%d.%d", version / 1000, version % 1000 / 10);
  }
  int devices = 0;
  if (driver.cuDeviceGetCount() == nullptr || driver.cuDeviceGet() == nullptr ||
      driver.cuDeviceGetCount()(&devices) != CUDA_SUCCESS) {
    return;
  }
  for (int number = 0; number < devices; ++number) DescribeDevice(recorder, driver, number);
}

}  // namespace vramstow
