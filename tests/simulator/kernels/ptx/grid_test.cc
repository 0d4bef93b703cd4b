// Tests threads, blocks, memory spaces, calls, barriers, and the ends of launches.
#include "tests/simulator/kernels/ptx/launch.h"

namespace vramstow::simulator::ptx {
namespace {

// Sets %r30 to the thread's number in the grid, and %rd30 to out + 4 times that number.
constexpr char kIndex[] =
    "mov.u32 %r27, %ctaid.x; mov.u32 %r28, %ntid.x; mov.u32 %r29, %tid.x;\n"
    "mad.lo.s32 %r30, %r27, %r28, %r29; mul.wide.u32 %rd29, %r30, 4; add.s64 %rd30, %rd0, %rd29;\n";

TEST(PtxGridTest, EveryThreadOfEveryBlockRunsOnce) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.blocks = 7;
  launch.threads = 33;
  const std::string body =
      std::string(kIndex) + "add.u32 %r1, %r30, 1; atom.global.add.u32 %r2, [%rd30], %r1;";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  for (uint32_t i = 0; i < 7 * 33; ++i) EXPECT_EQ(i + 1, memory.Get<uint32_t>(i));
  EXPECT_EQ(0u, memory.Get<uint32_t>(7 * 33));
  EXPECT_EQ(7u * 33, memory.writes);
}

TEST(PtxGridTest, BranchesLoopAndGuardsSkip) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 10;
  // Counts the Collatz steps of the thread's number plus one.
  const std::string body = std::string(kIndex) + R"(
    add.u32 %r1, %r30, 1;
    mov.u32 %r2, 0;
  again:
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra done;
    and.b32 %r3, %r1, 1;
    setp.ne.u32 %p2, %r3, 0;
    @%p2 mad.lo.u32 %r1, %r1, 3, 1;
    @!%p2 shr.u32 %r1, %r1, 1;
    add.u32 %r2, %r2, 1;
    bra.uni again;
  done:
    st.global.u32 [%rd30], %r2;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  const uint32_t expected[10] = {0, 1, 7, 2, 5, 8, 16, 3, 19, 6};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(expected[i], memory.Get<uint32_t>(i)) << i;
}

TEST(PtxGridTest, BarriersMakeSharedMemorySeen) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 96;
  launch.blocks = 2;
  // Each thread reads the value that the thread at the mirrored position wrote. It does so twice.
  const std::string body = ".shared .align 4 .b8 mine[384];\n" + std::string(kIndex) + R"(
    mov.u32 %r1, mine;
    shl.b32 %r2, %r29, 2;
    add.u32 %r3, %r1, %r2;
    st.shared.u32 [%r3], %r30;
    bar.sync 0;
    mov.u32 %r4, 95;
    sub.u32 %r5, %r4, %r29;
    shl.b32 %r6, %r5, 2;
    add.u32 %r7, %r1, %r6;
    ld.shared.u32 %r8, [%r7];
    barrier.sync.aligned 0;
    st.shared.u32 [%r3], %r8;
    bar.sync 0;
    ld.shared.u32 %r9, [%r7];
    st.global.u32 [%rd30], %r9;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  for (uint32_t i = 0; i < 192; ++i) EXPECT_EQ(i, memory.Get<uint32_t>(i));
}

TEST(PtxGridTest, ThreadsThatEndedAreNotWaitedFor) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 64;
  const std::string body = std::string(kIndex) + R"(
    setp.lt.u32 %p1, %r29, 32;
    @%p1 exit;
    bar.sync 0;
    st.global.u32 [%rd30], 1;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  EXPECT_EQ(0u, memory.Get<uint32_t>(31));
  EXPECT_EQ(1u, memory.Get<uint32_t>(32));
}

TEST(PtxGridTest, SharedMemoryOfALaunchLiesBehindThatOfTheProgram) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 4;
  launch.dynamic_shared = 16;
  const std::string before = ".extern .shared .align 16 .b8 dynamic[];\n.shared .b8 fixed[20];\n";
  const std::string body = std::string(kIndex) + R"(
    mov.u64 %rd1, dynamic;
    cvta.shared.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r29, 4;
    add.u64 %rd4, %rd2, %rd3;
    st.u32 [%rd4], %r29;
    st.shared.u8 [fixed+19], 9;
    isspacep.shared %p1, %rd4;
    selp.u32 %r1, 100, 0, %p1;
    ld.u32 %r2, [%rd4];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd30], %r3;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body, before), &memory));
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(100 + i, memory.Get<uint32_t>(i));
  launch.threads = 5;
  EXPECT_EQ(Ending::kIllegalAddress, launch.Run(KernelText(body, before), &memory));
}

TEST(PtxGridTest, LocalMemoryIsEachThreadsOwnAndHasGenericAddresses) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 8;
  const std::string body = ".local .align 8 .b8 depot[32];\n" + std::string(kIndex) + R"(
    mov.u64 %rd1, depot;
    cvta.local.u64 %rd2, %rd1;
    st.local.u32 [%rd1+28], %r29;
    bar.sync 0;
    ld.u32 %r1, [%rd2+28];
    ld.local.u32 %r2, [depot+24];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd30], %r3;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(i, memory.Get<uint32_t>(i));
}

constexpr char kFactorial[] = R"(
.func (.param .b32 func_retval0) factorial(.param .b32 factorial_param_0)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  ld.param.u32 %r1, [factorial_param_0];
  setp.gt.u32 %p1, %r1, 1;
  @%p1 bra $more;
  st.param.b32 [func_retval0+0], 1;
  ret;
$more:
  sub.u32 %r2, %r1, 1;
  { // callseq 0, 0
    .param .b32 param0;
    st.param.b32 [param0+0], %r2;
    .param .b32 retval0;
    call.uni (retval0), factorial, (param0);
    ld.param.b32 %r3, [retval0+0];
  }
  mul.lo.u32 %r4, %r1, %r3;
  st.param.b32 [func_retval0+0], %r4;
  ret;
}
)";

constexpr char kCallFactorial[] = R"(
  { .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 retval0;
    call.uni (retval0), factorial, (param0);
    ld.param.b32 %r2, [retval0]; }
  st.global.u32 [%rd0], %r2;)";

TEST(PtxGridTest, FunctionsCallEachOtherAndThemselves) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  const std::string body = std::string("mov.u32 %r1, 10;") + kCallFactorial;
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body, kFactorial), &memory));
  EXPECT_EQ(3628800u, memory.Get<uint32_t>(0));
}

TEST(PtxGridTest, CallsWithoutEndAreStopped) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  const std::string body = std::string("mov.u32 %r1, 1000000;") + kCallFactorial;
  EXPECT_EQ(Ending::kTooLarge, launch.Run(KernelText(body, kFactorial), &memory));
}

TEST(PtxGridTest, VariablesBeginWithTheirValuesAndMayHoldAddresses) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  const std::string before =
      ".visible .global .align 4 .u32 numbers[4] = {10, 20, 0x1e};\n"
      ".const .align 8 .f64 one = 0d3FF0000000000000;\n"
      ".global .align 8 .u64 where = numbers+4;\n";
  const std::string body = R"(
    ld.global.u64 %rd1, [where];
    ld.global.u32 %r1, [%rd1];
    ld.global.u32 %r2, [numbers+8];
    add.u32 %r3, %r1, %r2;
    ld.const.f64 %fd1, [one];
    cvt.rzi.u32.f64 %r4, %fd1;
    add.u32 %r5, %r3, %r4;
    ld.global.u32 %r6, [numbers+12];
    add.u32 %r5, %r5, %r6;
    st.global.u32 [%rd0], %r5;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body, before), &memory));
  EXPECT_EQ(51u, memory.Get<uint32_t>(0));
}

TEST(PtxGridTest, UnitsKeepTheirOwnNamesAndShareVisibleOnes) {
  const std::string helper = R"(
.version 8.0
.visible .func (.param .b32 r) twice(.param .b32 p)
{ .reg .b32 %r<4>; ld.param.u32 %r1, [p]; add.u32 %r2, %r1, %r1; ld.global.u32 %r3, [own];
  add.u32 %r2, %r2, %r3; st.param.b32 [r], %r2; ret; }
.global .u32 own = 1000;
)";
  const std::string before =
      ".extern .func (.param .b32 r) twice(.param .b32 p);\n.global .u32 own = 7;\n";
  const std::string body = R"(
    { .param .b32 a; .param .b32 b; ld.global.u32 %r1, [own]; st.param.b32 [a], %r1;
      call (b), twice, (a); ld.param.b32 %r2, [b]; }
    st.global.u32 [%rd0], %r2;)";
  // Rewrites the text so that definitions stand after their uses.
  std::string late = helper;
  const size_t at = late.find(".global .u32 own");
  const std::string variable = late.substr(at);
  late = ".version 8.0\n" + variable + late.substr(std::string("\n.version 8.0\n").size(), at - 14);
  TestMemory memory(64 << 10);
  TestLaunch launch;
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body, before) + late, &memory));
  EXPECT_EQ(1014u, memory.Get<uint32_t>(0));
}

TEST(PtxGridTest, TablesOfLabelsBranch) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 3;
  const std::string body = std::string(kIndex) + R"(
  ways: .branchtargets first, second, third;
    brx.idx %r29, ways;
  first: mov.u32 %r1, 11; bra end;
  second: mov.u32 %r1, 22; bra end;
  third: mov.u32 %r1, 33;
  end:
    st.global.u32 [%rd30], %r1;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(11 * (i + 1), memory.Get<uint32_t>(i));
  launch.threads = 4;
  EXPECT_EQ(Ending::kTrap, launch.Run(KernelText(body), &memory));
}

TEST(PtxGridTest, WarpsExchangeSumAndVote) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 64;
  const std::string body = std::string(kIndex) + R"(
    mov.u32 %r1, %r29;
    shfl.sync.down.b32 %r2, %r1, 16, 31, -1; add.u32 %r1, %r1, %r2;
    shfl.sync.down.b32 %r2, %r1, 8, 31, -1; add.u32 %r1, %r1, %r2;
    shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1; add.u32 %r1, %r1, %r2;
    shfl.sync.bfly.b32 %r2, %r1, 2, 31, -1; add.u32 %r1, %r1, %r2;
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; add.u32 %r1, %r1, %r2;
    shfl.sync.idx.b32 %r3|%p1, %r1, 0, 31, -1;
    redux.sync.add.u32 %r4, %r29, -1;
    sub.u32 %r5, %r3, %r4;
    setp.lt.u32 %p2, %r29, 40;
    vote.sync.ballot.b32 %r6, %p2, -1;
    vote.sync.any.pred %p3, %p2, -1;
    selp.u32 %r7, 1, 0, %p3;
    bar.warp.sync -1;
    add.u32 %r8, %r5, %r6;
    add.u32 %r8, %r8, %r7;
    st.global.u32 [%rd30], %r8;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  EXPECT_EQ(0u, memory.Get<uint32_t>(0));  // 0xffffffff plus one
  EXPECT_EQ(0xffu + 1, memory.Get<uint32_t>(63));
}

// Row r of the first matrix has the numbers 8r to 8r + 7. The numbers of the second matrix are
// larger by 100.
TEST(PtxGridTest, AWarpLoadsMatrices) {
  for (const bool turned : {false, true}) {
    TestMemory memory(64 << 10);
    TestLaunch launch;
    launch.threads = 32;
    const std::string body = std::string(kIndex) + R"(
      .shared .align 16 .b8 room[256];
      mov.u32 %r1, room;
      mul.lo.u32 %r2, %r29, 4;
      mul.lo.u32 %r3, %r29, 2;
      add.u32 %r4, %r3, 1;
      shl.b32 %r4, %r4, 16;
      or.b32 %r3, %r3, %r4;
      add.u32 %r5, %r1, %r2;
      st.shared.b32 [%r5], %r3;
      add.u32 %r3, %r3, 6553700;
      st.shared.b32 [%r5+128], %r3;
      bar.sync 0;
      and.b32 %r6, %r29, 15;
      mul.lo.u32 %r6, %r6, 16;
      add.u32 %r6, %r1, %r6;
      ldmatrix.sync.aligned.m8n8.x2)" +
                             std::string(turned ? ".trans" : "") + R"(.shared.b16 {%r7, %r8}, [%r6];
      st.global.b32 [%rd30], %r7;
      st.global.b32 [%rd30+1024], %r8;
      bar.sync 0;
      stmatrix.sync.aligned.m8n8.x2)" +
                             std::string(turned ? ".trans" : "") + R"(.shared.b16 [%r6], {%r8, %r7};
      bar.sync 0;
      ld.shared.b32 %r9, [%r5];
      st.global.b32 [%rd30+2048], %r9;)";
    ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t row = lane / 4;
      const uint32_t column = lane % 4 * 2;
      const uint32_t low = turned ? column * 8 + row : row * 8 + column;
      const uint32_t high = turned ? (column + 1) * 8 + row : low + 1;
      EXPECT_EQ(high << 16 | low, memory.Get<uint32_t>(lane));
      EXPECT_EQ((high + 100) << 16 | (low + 100), memory.Get<uint32_t>(256 + lane));
      // The matrices are stored in reverse order, so the second one lies where the first one was.
      EXPECT_EQ((2 * lane + 101) << 16 | (2 * lane + 100), memory.Get<uint32_t>(512 + lane));
    }
  }
}

// A is 16 × 16 with A[i][j] = i + 1 in column 3 and 0 elsewhere, B[3][j] = j + 1, and C = 0.5, so
// the result is (i + 1)(j + 1) + 0.5. The PTX ISA shows which thread has which elements of
// mma.m16n8k16.
TEST(PtxGridTest, AWarpMultipliesMatrices) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 32;
  const std::string body = std::string(kIndex) + R"(
    shr.u32 %r1, %r29, 2;
    and.b32 %r2, %r29, 3;
    add.u32 %r3, %r1, 1;
    cvt.rn.f32.u32 %f1, %r3;
    add.u32 %r4, %r1, 9;
    cvt.rn.f32.u32 %f2, %r4;
    setp.eq.u32 %p1, %r2, 1;
    selp.f32 %f1, %f1, 0f00000000, %p1;
    selp.f32 %f2, %f2, 0f00000000, %p1;
    cvt.rn.bf16x2.f32 %r5, %f1, 0f00000000;
    cvt.rn.bf16x2.f32 %r6, %f2, 0f00000000;
    mov.u32 %r7, 0;
    mov.u32 %r8, 0;
    cvt.rn.f32.u32 %f3, %r3;
    selp.f32 %f3, %f3, 0f00000000, %p1;
    cvt.rn.bf16x2.f32 %r10, %f3, 0f00000000;
    mov.u32 %r11, 0;
    mov.f32 %f4, 0f3F000000;
    mov.f32 %f5, 0f3F000000;
    mov.f32 %f6, 0f3F000000;
    mov.f32 %f7, 0f3F000000;
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f4, %f5, %f6, %f7},
        {%r5, %r6, %r7, %r8}, {%r10, %r11}, {%f4, %f5, %f6, %f7};
    st.global.f32 [%rd30], %f4;
    add.u64 %rd30, %rd30, 1024;
    st.global.f32 [%rd30], %f5;
    add.u64 %rd30, %rd30, 1024;
    st.global.f32 [%rd30], %f6;
    add.u64 %rd30, %rd30, 1024;
    st.global.f32 [%rd30], %f7;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t row = lane / 4 + k / 2 * 8;
      const uint32_t column = lane % 4 * 2 + k % 2;
      EXPECT_EQ(static_cast<float>((row + 1) * (column + 1)) + 0.5F,
                memory.Get<float>(256 * k + lane))
          << lane << " " << k;
    }
  }
}

TEST(PtxGridTest, BarriersCountWhatThreadsBringAlong) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 64;
  const std::string body = std::string(kIndex) + R"(
    setp.lt.u32 %p1, %r29, 40;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    barrier.cta.red.or.pred %p3, 0, 64, !%p1;
    selp.u32 %r2, 1000, 0, %p2;
    selp.u32 %r3, 100, 0, %p3;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    st.global.u32 [%rd30], %r1;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(140u, memory.Get<uint32_t>(i));
}

TEST(PtxGridTest, LanesThatComeTogetherSeeEachOther) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 40;
  const std::string body = std::string(kIndex) + R"(
    and.b32 %r1, %r29, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra even;
    activemask.b32 %r2;
    bra done;
  even:
    activemask.b32 %r2;
  done:
    { .reg.b32 again; activemask.b32 again; and.b32 %r2, %r2, again; }
    st.global.u32 [%rd30], %r2;)";
  ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory));
  EXPECT_EQ(0x55555555u, memory.Get<uint32_t>(0));
  EXPECT_EQ(0xaaaaaaaau, memory.Get<uint32_t>(31));
  EXPECT_EQ(0x55u, memory.Get<uint32_t>(32));
}

TEST(PtxGridTest, AccessesOutsideOrBesideEndTheLaunch) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  EXPECT_EQ(Ending::kIllegalAddress,
            launch.Run(KernelText("st.global.u32 [%rd0+65536], 1;"), &memory));
  EXPECT_EQ(Ending::kIllegalAddress,
            launch.Run(KernelText("ld.global.u32 %r1, [%rd0+-4];"), &memory));
  EXPECT_EQ(Ending::kIllegalAddress, launch.Run(KernelText("ld.u32 %r1, [0];"), &memory));
  EXPECT_EQ(Ending::kMisalignedAddress,
            launch.Run(KernelText("ld.global.u32 %r1, [%rd0+2];"), &memory));
  EXPECT_EQ(Ending::kIllegalAddress, launch.Run(KernelText("ld.shared.u32 %r1, [4096];"), &memory));
  EXPECT_EQ(Ending::kTrap, launch.Run(KernelText("trap;"), &memory));
  EXPECT_EQ(Ending::kAssertion,
            launch.Run(KernelText("{ .param .b64 p; call __assertfail, (p); }"), &memory));
}

TEST(PtxGridTest, EndlessLoopsStopAtTheirLimit) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.steps = 1000;
  EXPECT_EQ(Ending::kTooLong,
            launch.Run(KernelText("st.global.u32 [%rd0], 5;\nloop: bra loop;"), &memory));
  EXPECT_EQ(5u, memory.Get<uint32_t>(0));
  EXPECT_EQ(1000u, launch.steps_taken);
  // Threads that do nothing use some of the allowed steps, too.
  launch.blocks = 1u << 31;
  launch.threads = 1024;
  EXPECT_EQ(Ending::kTooLong, launch.Run(KernelText(""), &memory));
}

TEST(PtxGridTest, ThreadsThatWaitForEverAreNoticed) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  launch.threads = 2;
  EXPECT_EQ(Ending::kStuck, launch.Run(KernelText("bar.sync 0, 64;"), &memory));
  EXPECT_EQ(Ending::kStuck, launch.Run(KernelText("bar.warp.sync 0;"), &memory));
}

// Kernels that end with their first instruction are not run at all, so their launches cost nothing.
TEST(PtxGridTest, AKernelThatEndsAtOnceIsKnownAsSuch) {
  const auto is_idle = [](const std::string& body) {
    Program program(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .pred %p<2>;\n.reg .b32 %r<2>;\n" +
        body + "\n}\n");
    const Routine* routine = program.FindKernel("k");
    return routine != nullptr && routine->refusal.empty() && routine->idle;
  };
  EXPECT_TRUE(is_idle("ret;"));
  EXPECT_TRUE(is_idle("exit;"));
  EXPECT_TRUE(is_idle("ret;\ntrap;"));
  EXPECT_FALSE(is_idle("@%p1 ret;\ntrap;"));
  EXPECT_FALSE(is_idle("trap;"));
  EXPECT_FALSE(is_idle("mov.u32 %r1, 1;\nret;"));
}

TEST(PtxGridTest, MemoryThatRefusesEndsTheLaunch) {
  TestMemory memory(64 << 10);
  memory.RefuseAll();
  TestLaunch launch;
  EXPECT_EQ(Ending::kRefused, launch.Run(KernelText("st.global.u32 [%rd0], 1;"), &memory));
}

}  // namespace
}  // namespace vramstow::simulator::ptx
