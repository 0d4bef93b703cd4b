// Tests native stacks: however a function was called, the trace names exactly the calls that
// glibc's backtrace and libunwind find.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/tracer/support.h"
#include "tracer/capture/unwind_library.h"
#include "tracer/recorder.h"

// Functions whose frames cannot be found by the stack pointer or the frame pointer. Each calls
// function(plan, at).
extern "C" {
void CallWithAnotherBaseRegister(void (*function)(void*, size_t), void* plan, size_t at);
void CallWithAnExpression(void (*function)(void*, size_t), void* plan, size_t at);
}
#if defined(__x86_64__)
asm(R"(
  .text
  .globl CallWithAnotherBaseRegister
  .hidden CallWithAnotherBaseRegister
  .type CallWithAnotherBaseRegister, @function
CallWithAnotherBaseRegister:
  .cfi_startproc
  pushq %rbx
  .cfi_def_cfa_offset 16
  .cfi_offset %rbx, -16
  movq %rsp, %rbx
  .cfi_def_cfa_register %rbx
  subq $64, %rsp
  andq $-64, %rsp
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  call *%rax
  movq %rbx, %rsp
  .cfi_def_cfa_register %rsp
  popq %rbx
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size CallWithAnotherBaseRegister, .-CallWithAnotherBaseRegister
  .globl CallWithAnExpression
  .hidden CallWithAnExpression
  .type CallWithAnExpression, @function
CallWithAnExpression:
  .cfi_startproc
  pushq %r12
  .cfi_def_cfa_offset 16
  .cfi_offset %r12, -16
  leaq -48(%rsp), %r12
  /* DW_CFA_def_cfa_expression, 3 bytes: DW_OP_breg12 64 */
  .cfi_escape 0x0f, 0x03, 0x7c, 0xc0, 0x00
  subq $256, %rsp
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  call *%rax
  leaq 48(%r12), %rsp
  .cfi_def_cfa %rsp, 16
  popq %r12
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size CallWithAnExpression, .-CallWithAnExpression
)");
#else
void CallWithAnotherBaseRegister(void (*function)(void*, size_t), void* plan, size_t at) {
  function(plan, at);
  asm volatile("");
}
void CallWithAnExpression(void (*function)(void*, size_t), void* plan, size_t at) {
  function(plan, at);
  asm volatile("");
}
#endif

namespace vramstow {
namespace {

// A plan of nested calls: each entry of `ways` says how the next call is made, and the last call
// records an event.
struct Plan {
  Recorder* recorder;
  std::vector<int> ways;
  std::vector<void*> truth;
  std::vector<uintptr_t> judge;  // the result of libunwind
  uint64_t sequence = 0;
};
Plan* g_plan = nullptr;  // for callbacks without an argument

void Follow(Plan* plan, size_t at);

__attribute__((noinline)) void RecordHere(Plan* plan) {
  std::array<void*, 8192> addresses;
  const int count = backtrace(addresses.data(), static_cast<int>(addresses.size()));
  plan->truth.assign(addresses.begin(), addresses.begin() + count);
  std::array<uintptr_t, 8192> seen;
  const size_t judged = UnwindLibrary::Opened()->Walk(seen.data(), seen.size());
  plan->judge.assign(seen.begin(), seen.begin() + static_cast<long>(judged));
  plan->sequence = plan->recorder->Record(Allocation(0x1000, 512));
}

__attribute__((noinline)) void Plainly(Plan* plan, size_t at) {
  Follow(plan, at);
  asm volatile("");
}

void Use(char* bytes) { asm volatile("" ::"r"(bytes) : "memory"); }

__attribute__((noinline)) void WithRoom(Plan* plan, size_t at) {
  char* const room = static_cast<char*>(alloca(16 + at * 24));
  Use(room);
  Follow(plan, at);
  Use(room);
}

// An alignment of 128 bytes needs a realigned stack. If alloca() is also called in such a function,
// the frame has to be found in another way.
__attribute__((noinline)) void Aligned(Plan* plan, size_t at) {
  alignas(128) char bytes[128];
  Use(bytes);
  Follow(plan, at);
  Use(bytes);
}

__attribute__((noinline)) void AlignedWithRoom(Plan* plan, size_t at) {
  alignas(64) char bytes[64];
  char* const room = static_cast<char*>(alloca(100 + at));
  Use(bytes);
  Use(room);
  Follow(plan, at);
  Use(bytes);
  Use(room);
}

#if defined(__clang__)
__attribute__((noinline)) void WithFramePointer(Plan* plan, size_t at) {
#else
__attribute__((noinline, optimize("no-omit-frame-pointer"))) void WithFramePointer(Plan* plan,
                                                                                   size_t at) {
#endif
  Follow(plan, at);
  asm volatile("");
}

size_t g_at = 0;
int Compare(const void*, const void*) {
  if (g_plan != nullptr) {
    Plan* const plan = g_plan;
    g_plan = nullptr;
    Follow(plan, g_at);
  }
  return 0;
}

__attribute__((noinline)) void ByLibc(Plan* plan, size_t at) {
  int two[2] = {1, 2};
  g_plan = plan;
  g_at = at;
  qsort(two, 2, sizeof two[0], Compare);
}

__attribute__((noinline)) void ByFunctionObject(Plan* plan, size_t at) {
  const std::function<void()> call = [plan, at] { Follow(plan, at); };
  call();
}

struct CallsWhenItGoes {
  Plan* plan;
  size_t at;
  ~CallsWhenItGoes() { Follow(plan, at); }
};

__attribute__((noinline)) void WhileAnExceptionFlies(Plan* plan, size_t at) {
  try {
    const CallsWhenItGoes last = {plan, at};
    throw std::runtime_error("on its way");
  } catch (const std::runtime_error&) {
  }
}

void OnSignal(int) {
  Plan* const plan = g_plan;
  g_plan = nullptr;
  Follow(plan, g_at);
}

__attribute__((noinline)) void BySignal(Plan* plan, size_t at) {
  g_plan = plan;
  g_at = at;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

void FollowUntyped(void* plan, size_t at) { Follow(static_cast<Plan*>(plan), at); }

__attribute__((noinline)) void ByAnotherRegister(Plan* plan, size_t at) {
  CallWithAnotherBaseRegister(FollowUntyped, plan, at);
  asm volatile("");
}

__attribute__((noinline)) void ByAnExpression(Plan* plan, size_t at) {
  CallWithAnExpression(FollowUntyped, plan, at);
  asm volatile("");
}

// ThreadSanitizer delays signal handlers, so with it the last way to make a call, which uses a
// handler, is left out.
#if defined(__SANITIZE_THREAD__)
constexpr int kWays = 10;
#else
constexpr int kWays = 11;
#endif

__attribute__((noinline)) void Follow(Plan* plan, size_t at) {
  static constexpr void (*kCalls[])(Plan*, size_t) = {
      Plainly, WithRoom,         Aligned,           AlignedWithRoom, WithFramePointer,
      ByLibc,  ByFunctionObject, ByAnotherRegister, ByAnExpression,  WhileAnExceptionFlies,
      BySignal};
  if (at == plan->ways.size()) {
    RecordHere(plan);
  } else {
    kCalls[plan->ways[at]](plan, at + 1);
  }
  asm volatile("");
}

std::vector<uintptr_t> Addresses(const TraceReader& reader, uint32_t stack) {
  std::vector<uintptr_t> addresses;
  for (const TraceFrame& frame : reader.Stack(stack)) {
    if (frame.kind == TraceFrame::Kind::kCut) {
      addresses.push_back(0);
      continue;
    }
    EXPECT_EQ(frame.kind, TraceFrame::Kind::kNative);
    EXPECT_NE(frame.library, kUnknownName);
    addresses.push_back(reader.Library(frame.library).base + frame.offset);
  }
  return addresses;
}

std::string Text(uintptr_t address) {
  Dl_info info = {};
  dladdr(reinterpret_cast<void*>(address), &info);
  return std::string(info.dli_fname != nullptr ? info.dli_fname : "?") + " " +
         (info.dli_sname != nullptr ? info.dli_sname : "?");
}

// Compares two stacks from the caller of RecordHere outwards. The inner frames differ, because the
// two stacks begin in different functions and at different addresses of RecordHere.
void ExpectSameCallers(const std::vector<uintptr_t>& seen, const std::vector<void*>& truth,
                       const std::string& what) {
  ASSERT_GE(truth.size(), 4u);
  // A sanitizer's own backtrace begins one function further in.
  size_t skipped = 1;
  size_t first = seen.size();
  for (; skipped <= 2 && first == seen.size(); ++skipped) {
    first = 0;
    const uintptr_t caller = reinterpret_cast<uintptr_t>(truth[skipped]);
    while (first < seen.size() && seen[first] != caller) ++first;
  }
  --skipped;
  ASSERT_LT(first, seen.size()) << what << ": who called is not on the stack";
  EXPECT_LE(first, 6u);
  for (size_t i = skipped; i < truth.size(); ++i) {
    const uintptr_t expected = reinterpret_cast<uintptr_t>(truth[i]);
    const size_t place = first + i - skipped;
    ASSERT_LT(place, seen.size()) << what << ": ends before " << Text(expected);
    ASSERT_EQ(seen[place], expected)
        << what << ": " << Text(seen[place]) << " instead of " << Text(expected);
  }
  EXPECT_EQ(seen.size(), first + truth.size() - skipped) << what;
}

// Expects that libunwind and backtrace find the same frames from RecordHere outwards.
void ExpectJudgesAgree(const Plan& plan, const std::string& what) {
  size_t first = 0;
  while (first < plan.truth.size() &&
         reinterpret_cast<uintptr_t>(plan.truth[first]) != plan.judge.at(1)) {
    ++first;
  }
  ASSERT_EQ(plan.judge.size(), plan.truth.size() - first + 1) << what;
  for (size_t i = 1; i < plan.judge.size(); ++i) {
    ASSERT_EQ(plan.judge[i], reinterpret_cast<uintptr_t>(plan.truth[first + i - 1])) << what;
  }
}

// Recorders live as long as the process, as in the product.
Recorder* NewRecorder() {
  static std::vector<Recorder*>* const immortal = new std::vector<Recorder*>;
  immortal->push_back(new Recorder);
  return immortal->back();
}

// Runs each plan five times, and compares the trace with the result of backtrace. From the third
// time on a stack may be recognised without a walk.
constexpr int kRounds = 5;
void RunAndCompare(std::vector<Plan> plans) {
  TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(recorder->Open({folder.path().c_str(), "test", TestThreadSlot, OrderSource::kBest,
                            StackMode::kAll}),
            RecorderError::kOk);
  for (int round = 0; round < kRounds; ++round) {
    for (Plan& plan : plans) {
      plan.recorder = recorder;
      Follow(&plan, 0);
    }
  }
  recorder->Close();
  TraceReader reader;
  ASSERT_EQ(reader.Open((folder.path() + "/test.stow").c_str()), ReadError::kOk);
  std::vector<uint32_t> first_stacks;
  Event event;
  for (size_t i = 0; reader.Next(&event); ++i) {
    const Plan& plan = plans[i % plans.size()];
    std::string what = "ways";
    for (const int way : plan.ways) what += " " + std::to_string(way);
    // A compiler that unrolls the loop makes the rounds different call sites, so only the last
    // round is compared.
    if (i >= (kRounds - 1) * plans.size()) {
      EXPECT_EQ(event.sequence, plan.sequence);
      ExpectSameCallers(Addresses(reader, event.stack), plan.truth, what);
      ExpectJudgesAgree(plan, what);
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(reader.report().events, kRounds * plans.size());
}

class WithUnwinder : public testing::Environment {
 public:
  void SetUp() override {
    ASSERT_TRUE(UnwindLibrary::Open(VRAMSTOW_TEST_UNWINDER, dlopen, dlsym)) << dlerror();
  }
};
[[maybe_unused]] const testing::Environment* const g_unwinder =
    testing::AddGlobalTestEnvironment(new WithUnwinder);

TEST(StackTest, EachWayOfCallingIsSeenAsItIs) {
  for (int way = 0; way < kWays; ++way) {
    SCOPED_TRACE(way);
    RunAndCompare({Plan{nullptr, {way}, {}, {}}});
  }
}

TEST(StackTest, GeneratedChainsOfCallsAreSeenFrameForFrame) {
  std::mt19937 random(5);
  std::vector<Plan> plans;
  for (int i = 0; i < 300; ++i) {
    Plan plan = {};
    // Ways with a signal handler are chosen rarely, because a few nested handlers are enough.
    for (uint64_t depth = random() % 50; depth > 0; --depth) {
      plan.ways.push_back(static_cast<int>(random() % (random() % 16 == 0 ? kWays : 9)));
    }
    plans.push_back(plan);
  }
  RunAndCompare(plans);
}

TEST(StackTest, DeepRecursionIsSeenWhole) {
  Plan plan = {};
  plan.ways.assign(1200, 0);
  RunAndCompare({plan});
}

TEST(StackTest, OfATooDeepRecursionTheInnermostFramesAreSeenAndThatItWasCut) {
  TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(recorder->Open({folder.path().c_str(), "test", TestThreadSlot, OrderSource::kBest,
                            StackMode::kAll}),
            RecorderError::kOk);
  Plan plan = {};
  plan.recorder = recorder;
  plan.ways.assign(3000, 0);
  Follow(&plan, 0);
  recorder->Close();
  TraceReader reader;
  ASSERT_EQ(reader.Open((folder.path() + "/test.stow").c_str()), ReadError::kOk);
  Event event;
  ASSERT_TRUE(reader.Next(&event));
  const std::vector<uintptr_t> seen = Addresses(reader, event.stack);
  ASSERT_EQ(seen.size(), 4097u);
  EXPECT_EQ(seen.back(), 0u);
  // In the middle of the recursion two return addresses alternate, so either may be in this frame.
  EXPECT_TRUE(seen[2000] == reinterpret_cast<uintptr_t>(plan.truth[1900]) ||
              seen[2000] == reinterpret_cast<uintptr_t>(plan.truth[1901]));
}

TEST(StackTest, ThreadsHaveTheirOwnStacks) {
  TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(recorder->Open({folder.path().c_str(), "test", TestThreadSlot, OrderSource::kBest,
                            StackMode::kSites}),
            RecorderError::kOk);
  constexpr int kThreads = 8;
  std::vector<std::vector<Plan>> plans(kThreads);
  std::vector<std::thread> threads = StartThreads(kThreads, [&](int thread) {
    std::mt19937 random(static_cast<unsigned>(thread));
    for (int i = 0; i < 300; ++i) {
      Plan plan = {};
      plan.recorder = recorder;
      // The listed ways of calling use no global variable, so several threads can use them.
      const int ways[] = {0, 1, 2, 3, 4, 6, 7, 8};
      for (uint64_t depth = random() % 40; depth > 0; --depth) {
        plan.ways.push_back(ways[random() % 8]);
      }
      Follow(&plan, 0);
      recorder->Record(FreeOf(0x1000));  // has no stack
      plans[static_cast<size_t>(thread)].push_back(plan);
    }
  });
  JoinAll(&threads);
  recorder->Close();
  std::map<uint64_t, const Plan*> by_sequence;
  for (const auto& of_thread : plans) {
    for (const Plan& plan : of_thread) by_sequence[plan.sequence] = &plan;
  }
  TraceReader reader;
  ASSERT_EQ(reader.Open((folder.path() + "/test.stow").c_str()), ReadError::kOk);
  Event event;
  size_t seen = 0;
  while (reader.Next(&event)) {
    if (event.kind == EventKind::kFree) {
      EXPECT_EQ(event.stack, 0u);
      continue;
    }
    ++seen;
    ASSERT_TRUE(by_sequence.contains(event.sequence));
    ExpectSameCallers(Addresses(reader, event.stack), by_sequence[event.sequence]->truth, "thread");
    if (HasFailure()) return;
  }
  EXPECT_EQ(seen, size_t{kThreads} * 300);
}

#if defined(__x86_64__)
extern "C" void __register_frame(void*);  // libgcc's
extern "C" void __deregister_frame(void*);

// A page of code that no compiler made, and its unwinding data, as a JIT compiler makes them.
struct MadeCode {
  uint8_t code[64];
  alignas(8) uint8_t frames[64];
};

MadeCode* MakeCode() {
  void* const page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MadeCode* const made = static_cast<MadeCode*>(page);
  // The function (function, plan, at): sub $24, %rsp; mov %rdi, %rax; mov %rsi, %rdi; mov %rdx,
  // %rsi; call *%rax; add $24, %rsp; ret
  const uint8_t code[] = {0x48, 0x83, 0xEC, 0x18, 0x48, 0x89, 0xF8, 0x48, 0x89, 0xF7,
                          0x48, 0x89, 0xD6, 0xFF, 0xD0, 0x48, 0x83, 0xC4, 0x18, 0xC3};
  memcpy(made->code, code, sizeof code);
  const uint8_t common[] = {20,   0, 0, 0,    0,  0, 0, 0,   // length, CIE
                            1,    0, 1, 0x78, 16,            // version, "", units, RA
                            0x0C, 7, 8,                      // CFA = rsp + 8
                            0x90, 1, 0, 0,    0,  0, 0, 0};  // RA at CFA - 8, padding
  const uint8_t function[] = {28, 0, 0, 0, 28, 0, 0, 0};     // length, back to the CIE
  uint8_t* out = made->frames;
  memcpy(out, common, sizeof common);
  out += sizeof common;
  memcpy(out, function, sizeof function);
  out += sizeof function;
  const uint64_t begin = reinterpret_cast<uintptr_t>(made->code);
  const uint64_t length = sizeof code;
  memcpy(out, &begin, 8);
  memcpy(out + 8, &length, 8);
  const uint8_t program[] = {0x44, 0x0E, 32, 0, 0, 0, 0, 0};  // after 4 bytes: CFA = rsp + 32
  memcpy(out + 16, program, sizeof program);
  memset(out + 24, 0, 4);  // the end of the list
  return made;
}

TEST(StackTest, CodeThatIsMadeAtRunTimeAndRegisteredIsSteppedOver) {
  MadeCode* const made = MakeCode();
  __register_frame(made->frames);
  TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(recorder->Open({folder.path().c_str(), "test", TestThreadSlot, OrderSource::kBest,
                            StackMode::kAll}),
            RecorderError::kOk);
  Plan plan = {recorder, {0, 4}, {}, {}};
  reinterpret_cast<void (*)(void (*)(void*, size_t), void*, size_t)>(made->code)(FollowUntyped,
                                                                                 &plan, 0);
  recorder->Close();
  TraceReader reader;
  ASSERT_EQ(reader.Open((folder.path() + "/test.stow").c_str()), ReadError::kOk);
  Event event;
  ASSERT_TRUE(reader.Next(&event));
  std::vector<uintptr_t> seen;
  size_t in_no_library = 0;
  for (const TraceFrame& frame : reader.Stack(event.stack)) {
    in_no_library += frame.library == kUnknownName;
    seen.push_back(frame.library == kUnknownName
                       ? frame.offset
                       : reader.Library(frame.library).base + frame.offset);
  }
  EXPECT_EQ(in_no_library, 1u);
  ExpectSameCallers(seen, plan.truth, "made code");
  __deregister_frame(made->frames);
}
#endif

TEST(StackTest, WhatAFrameworkSaysIsAtWorkIsInsideOfTheStack) {
  TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(recorder->Open({folder.path().c_str(), "test", TestThreadSlot, OrderSource::kBest,
                            StackMode::kSites}),
            RecorderError::kOk);
  const std::string long_name(5000, 'x');
  const StackName names[] = {
      {"aten::mm", "<operator>"}, {"Decoder.up", "<module>"}, {long_name, "<module>"}};
  const uint32_t stack = recorder->CaptureStack(EventKind::kAllocate);
  ASSERT_NE(stack, 0u);
  std::vector<uint32_t> named(4);
  std::vector<std::thread> threads = StartThreads(4, [&](int thread) {
    named[static_cast<size_t>(thread)] = recorder->NameStack(stack, names, 3);
  });
  JoinAll(&threads);
  EXPECT_EQ(named, std::vector<uint32_t>(4, named[0]));
  EXPECT_NE(named[0], stack);
  EXPECT_NE(recorder->NameStack(stack, names, 2), named[0]);
  EXPECT_EQ(recorder->NameStack(stack, names, 0), stack);
  EXPECT_EQ(recorder->NameStack(0, names, 3), 0u);
  Event event = Allocation(0x1000, 512);
  event.stack = named[0];
  recorder->RecordWithStack(event);
  recorder->Close();
  EXPECT_EQ(recorder->NameStack(stack, names, 1), stack) << "closed";

  TraceReader reader;
  ASSERT_EQ(reader.Open((folder.path() + "/test.stow").c_str()), ReadError::kOk);
  ASSERT_TRUE(reader.Next(&event));
  const std::vector<TraceFrame> frames = reader.Stack(event.stack);
  const std::vector<TraceFrame> outer = reader.Stack(stack);
  ASSERT_EQ(frames.size(), outer.size() + 3);
  EXPECT_EQ(frames[0].function, "aten::mm");
  EXPECT_EQ(frames[0].file, "<operator>");
  EXPECT_EQ(frames[0].line, 0u);
  EXPECT_EQ(frames[1].function, "Decoder.up");
  EXPECT_EQ(frames[1].file, "<module>");
  EXPECT_EQ(frames[2].function, long_name.substr(0, 512)) << "cut";
  EXPECT_EQ(frames[3].offset, outer[0].offset);
}

// The stacks have new hashes after each change of the libraries, so that their table becomes full
// in a long job, though each frame is in the trace only once.
TEST(StackTest, AStackGetsANumberAlsoAfterTheTableOfHashesWasFull) {
  const TemporaryFolder folder;
  Recorder* const recorder = NewRecorder();
  ASSERT_EQ(recorder->Open({folder.path().c_str(), "test", TestThreadSlot, OrderSource::kBest,
                            StackMode::kSites}),
            RecorderError::kOk);
  const uint32_t stack = recorder->CaptureStack(EventKind::kAllocate);
  ASSERT_NE(stack, 0u);
  uint32_t named = stack;
  for (int i = 0; i < 200'000; ++i) {
    const std::string inner = std::to_string(i % 450);
    const std::string outer = std::to_string(i / 450);
    const StackName names[] = {{inner, "<operator>"}, {outer, "<module>"}};
    named = recorder->NameStack(stack, names, 2);
  }
  EXPECT_NE(named, stack);
  const uint32_t later = recorder->CaptureStack(EventKind::kAllocate);
  EXPECT_NE(later, 0u);
  EXPECT_NE(later, stack) << "another line";
  const StackName first[] = {{"0", "<operator>"}, {"0", "<module>"}};
  const StackName last[] = {{"199", "<operator>"}, {"444", "<module>"}};
  EXPECT_NE(recorder->NameStack(stack, first, 2), stack);
  EXPECT_EQ(recorder->NameStack(stack, last, 2), named) << "its frames are in the trace already";
  recorder->Close();

  TraceReader reader;
  ASSERT_EQ(reader.Open((folder.path() + "/test.stow").c_str()), ReadError::kOk);
  EXPECT_EQ(reader.Stack(later).size(), reader.Stack(stack).size());
}

// Records in a separate process whose only Python is a library that imitates one. Returns true if
// the recording worked.
bool RecordBesideStrangePython(int which, const std::string& folder) {
  const std::string library =
      VRAMSTOW_TEST_LIBRARIES "/libstrangepython" + std::to_string(which) + ".so";
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) return false;
  Recorder* const recorder = NewRecorder();
  RecorderConfig config = {folder.c_str(), "strange", TestThreadSlot};
  config.stacks = StackMode::kAll;
  if (recorder->Open(config) != RecorderError::kOk) return false;
  for (int i = 0; i < 1000; ++i) recorder->Record(Allocation(0x1000, 512));
  recorder->Close();
  return true;
}

TEST(StackTest, APythonThatIsNotAsItIsKnownIsLeftAlone) {
  for (int which = 1; which <= 6; ++which) {
    const TemporaryFolder folder;
    const pid_t child = fork();
    if (child == 0) _exit(RecordBesideStrangePython(which, folder.path()) ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << which;
    TraceReader reader;
    ASSERT_EQ(reader.Open((folder.path() + "/strange.stow").c_str()), ReadError::kOk);
    Event event;
    size_t events = 0;
    while (reader.Next(&event)) {
      ++events;
      ASSERT_NE(event.stack, 0u);
      for (const TraceFrame& frame : reader.Stack(event.stack)) {
        ASSERT_EQ(frame.kind, TraceFrame::Kind::kNative);
      }
    }
    EXPECT_EQ(events, 1000u);
  }
}

}  // namespace
}  // namespace vramstow
