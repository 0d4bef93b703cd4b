// Tests broken PTX: whatever the text is, parsing and running it ends, within its limits.
#include <random>

#include "tests/simulator/kernels/ptx/launch.h"

namespace vramstow::simulator::ptx {
namespace {

constexpr char kSeed[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 numbers[4] = {10, 20, 0x1e};
.global .align 8 .u64 where = generic(numbers)+4;
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 r) twice(.param .b32 p)
{ .reg .b32 %r<4>; ld.param.u32 %r1, [p]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }
.visible .entry k(.param .u64 k_param_0, .param .align 8 .b8 k_param_1[16])
.maxntid 128, 1, 1
{
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .f32 %f<4>;
  .local .align 8 .b8 depot[32];
  .shared .align 4 .b8 mine[64];
  .loc 1 20 5, function_name $info, inlined_at 1 30 7
  ld.param.u64 %rd1, [k_param_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
again:
  setp.ge.and.u32 %p1|%p2, %r2, 8, %p3;
  @!%p1 add.u32 %r2, %r2, 1;
  @%p2 bra.uni again;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), twice, (a);
    ld.param.b32 %r3, [b]; }
  shfl.sync.bfly.b32 %r4|%p3, %r3, 1, 31, -1;
  bar.sync 0;
  mov.b64 {%r5, %r6}, %rd4;
  ld.global.v2.u32 {%r7, %r8}, [where];
  atom.shared.add.u32 %r9, [mine+4], 1;
  cvt.rn.f32.s32 %f1, %r9;
  fma.rn.ftz.f32 %f2, %f1, 0f3F800000, %f1;
  st.local.f32 [depot+8], %f2;
ways: .branchtargets first, last;
  brx.idx %r10, ways;
first:
  st.global.u32 [%rd4], %r4;
last:
  ret;
}
)";

// Parses a text and runs its kernel, if it has one that is supported.
void Try(const std::string& text) {
  Program program(text);
  const Routine* routine = program.FindKernel("k");
  if (routine == nullptr || !routine->refusal.empty()) return;
  TestMemory memory(64 << 10);
  GridLaunch launch;
  launch.entry = routine;
  launch.grid[0] = 2;
  launch.block[0] = 40;
  launch.static_shared = program.shared_bytes();
  launch.dynamic_shared = 64;
  launch.steps = 20000;
  launch.parameters.resize(routine->frame_bytes);
  const uint64_t address = TestMemory::kAddress;
  if (launch.parameters.size() >= sizeof(address)) {
    memcpy(launch.parameters.data(), &address, sizeof(address));
  }
  launch.variables.assign(program.variables().size(), TestLaunch::kVariables);
  uint64_t steps = 0;
  Run(launch, &memory, &steps);
  EXPECT_LE(steps, launch.steps);
}

TEST(PtxHostileTest, TheSeedItselfRuns) {
  Program program(kSeed);
  const Routine* routine = program.FindKernel("k");
  ASSERT_NE(nullptr, routine);
  EXPECT_EQ("", routine->refusal);
}

TEST(PtxHostileTest, EveryBeginningOfAProgramIsSurvived) {
  const std::string seed = kSeed;
  for (size_t length = 0; length < seed.size(); ++length) Try(seed.substr(0, length));
}

// Replaces a character, removes a part, or copies a word to another position.
std::string Mutate(std::string text, std::mt19937* random) {
  static constexpr char kPieces[][24] = {"{",
                                         "}",
                                         "0xffffffffffffffff",
                                         "%r1",
                                         ".",
                                         "[",
                                         "-",
                                         "18446744073709551615",
                                         ",",
                                         ";",
                                         ".b8",
                                         ".v4",
                                         ".f64",
                                         "@",
                                         "%rd4",
                                         "<99999999>",
                                         "[99999999]",
                                         ".align 1048576",
                                         "again",
                                         "twice",
                                         "\""};
  const auto pick = [&](size_t below) { return (*random)() % std::max<size_t>(below, 1); };
  const size_t changes = 1 + pick(4);
  for (size_t k = 0; k < changes && !text.empty(); ++k) {
    const size_t at = pick(text.size());
    switch (pick(5)) {
      case 0:
        text[at] = static_cast<char>(' ' + pick(95));
        break;
      case 1:
        text.erase(at, 1 + pick(20));
        break;
      case 2:
        text.insert(at, text.substr(pick(text.size()), pick(40)));
        break;
      case 3:
        text.insert(at, kPieces[pick(std::size(kPieces))]);
        break;
      default: {
        const size_t from = pick(text.size());
        const size_t length = pick(12);
        text.replace(at, length, text.substr(from, length));
      }
    }
  }
  return text;
}

TEST(PtxHostileTest, MutatedProgramsNeverCrash) {
  std::mt19937 random(20);
  for (int round = 0; round < 8000; ++round) Try(Mutate(kSeed, &random));
}

TEST(PtxHostileTest, HugeClaimsTakeNoMemory) {
  const char* const bodies[] = {
      ".reg .b32 %x<4000000000>; mov.u32 %x3999999999, 1;",
      ".local .b8 a[4000000000];",
      ".shared .b8 a[4000000000];",
      ".shared .align 1048576 .b8 a[16777000]; .shared .b8 b[16777000];",
      ".local .align 1048576 .b8 a[1]; st.local.u8 [a], 1;",
      "st.shared.u8 [0xfffffffffffffff0+32], 1;",
  };
  for (const char* body : bodies) Try(KernelText(body));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{";
  Try(KernelText(deep));
  Try(KernelText("mov.b64 %rd1, " + deep));
  Try(".version 8.0\n.global .u32 a[2] = " + deep);
  Try(deep);
}

// Each function calls the next one; the parser must not recurse over such a chain.
TEST(PtxHostileTest, LongChainsOfFunctionsAreFollowed) {
  std::string text = ".version 8.0\n.entry k() { call f0; ret; }\n";
  for (int i = 0; i < 20000; ++i) {
    text += ".func f" + std::to_string(i) + "() { call f" + std::to_string(i + 1) + "; ret; }\n";
  }
  text += ".func f20000() { ret; }\n";
  Try(text);
}

}  // namespace
}  // namespace vramstow::simulator::ptx
