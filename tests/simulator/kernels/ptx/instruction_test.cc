// Tests the results of single instructions on one thread, with values from the PTX ISA's
// definitions.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/simulator/kernels/ptx/launch.h"

namespace vramstow::simulator::ptx {
namespace {

// Returns the value that a body stores at out[0].
uint64_t Result64(const std::string& body) {
  TestMemory memory(64 << 10);
  TestLaunch launch;
  EXPECT_EQ(Ending::kDone, launch.Run(KernelText(body + "\nst.global.b64 [%rd0], %rd9;"), &memory))
      << body;
  return memory.Get<uint64_t>(0);
}

uint32_t Result32(const std::string& body) {
  return static_cast<uint32_t>(Result64(body + "\ncvt.u64.u32 %rd9, %r9;"));
}

float ResultFloat(const std::string& body) {
  return std::bit_cast<float>(Result32(body + "\nmov.b32 %r9, %f9;"));
}

double ResultDouble(const std::string& body) {
  return std::bit_cast<double>(Result64(body + "\nmov.b64 %rd9, %fd9;"));
}

bool ResultPredicate(const std::string& body) {
  return Result32(body + "\nselp.u32 %r9, 1, 0, %p9;") == 1;
}

struct Case {
  const char* body;
  uint64_t expected;
};

TEST(PtxInstructionTest, WholeNumbersWrapAndDivideAsCardsDo) {
  const Case cases[] = {
      {"add.s32 %r9, 2147483647, 1;", 0x80000000},
      {"add.sat.s32 %r9, 2147483647, 1;", 0x7fffffff},
      {"sub.sat.s32 %r9, -2147483648, 1;", 0x80000000},
      {"sub.u32 %r9, 1, 2;", 0xffffffff},
      {"mul.lo.s32 %r9, -3, 5;", 0xfffffff1},
      {"mul.hi.u32 %r9, 0xffffffff, 0xffffffff;", 0xfffffffe},
      {"mul.hi.s32 %r9, -1, 5;", 0xffffffff},
      {"mul24.lo.u32 %r9, 0x1000003, 5;", 15},
      {"mad.lo.u32 %r9, 7, 6, 100;", 142},
      {"mad.hi.u32 %r9, 0x80000000, 4, 1;", 3},
      {"div.s32 %r9, -7, 2;", 0xfffffffd},
      {"div.u32 %r9, 7, 0;", 0xffffffff},
      {"div.s32 %r9, -2147483648, -1;", 0x80000000},
      {"rem.s32 %r9, -7, 2;", 0xffffffff},
      {"rem.u32 %r9, 7, 0;", 7},
      {"min.s32 %r9, -1, 1;", 0xffffffff},
      {"min.u32 %r9, 0xffffffff, 1;", 1},
      {"max.s32 %r9, -1, 1;", 1},
      {"abs.s32 %r9, -5;", 5},
      {"neg.s32 %r9, 5;", 0xfffffffb},
      {"sad.u32 %r9, 3, 10, 100;", 107},
      {"add.cc.u32 %r1, 0xffffffff, 1; addc.u32 %r9, 5, 0;", 6},
      {"sub.cc.u32 %r1, 0, 1; subc.u32 %r9, 5, 0;", 4},
      {"mad.lo.cc.u32 %r1, 0xffffffff, 1, 1; madc.hi.u32 %r9, 0xffffffff, 1, 0;", 1},
  };
  for (const Case& c : cases) EXPECT_EQ(c.expected, Result32(c.body)) << c.body;
}

TEST(PtxInstructionTest, WideAndNarrowNumbersKeepTheirWidth) {
  EXPECT_EQ(0xfffffffe00000001, Result64("mul.wide.u32 %rd9, 0xffffffff, 0xffffffff;"));
  EXPECT_EQ(static_cast<uint64_t>(-15), Result64("mul.wide.s32 %rd9, -3, 5;"));
  EXPECT_EQ(12u, Result64("mad.wide.u32 %rd9, 2, 5, 2;"));
  EXPECT_EQ(1u, Result64("mul.hi.u64 %rd9, 0x8000000000000000, 2;"));
  EXPECT_EQ(0xffffffffffffffff, Result64("mul.hi.s64 %rd9, -1, 2;"));
  EXPECT_EQ(0x8000u,
            Result32("mov.u16 %rs1, 32767; add.s16 %rs1, %rs1, 1; cvt.u32.u16 %r9, %rs1;"));
  EXPECT_EQ(0xffff8000,
            Result32("mov.u16 %rs1, 32767; add.s16 %rs1, %rs1, 1; cvt.s32.s16 %r9, %rs1;"));
}

TEST(PtxInstructionTest, BitsShiftCountAndPermute) {
  const Case cases[] = {
      {"and.b32 %r9, 12, 10;", 8},
      {"or.b32 %r9, 12, 10;", 14},
      {"xor.b32 %r9, 12, 10;", 6},
      {"not.b32 %r9, 0;", 0xffffffff},
      {"cnot.b32 %r9, 0;", 1},
      {"shl.b32 %r9, 1, 31;", 0x80000000},
      {"shl.b32 %r9, 1, 32;", 0},
      {"shr.u32 %r9, 0x80000000, 31;", 1},
      {"shr.s32 %r9, 0x80000000, 40;", 0xffffffff},
      {"shr.u32 %r9, 0x80000000, 40;", 0},
      {"shf.l.wrap.b32 %r9, 0x80000001, 0x2, 1;", 5},
      {"shf.r.clamp.b32 %r9, 0x1, 0x2, 33;", 2},
      {"popc.b32 %r9, 0xf0f0;", 8},
      {"popc.b64 %r9, 0xffffffffffffffff;", 64},
      {"clz.b32 %r9, 1;", 31},
      {"clz.b32 %r9, 0;", 32},
      {"bfind.u32 %r9, 0x100;", 8},
      {"bfind.shiftamt.u32 %r9, 0x100;", 23},
      {"bfind.s32 %r9, -1;", 0xffffffff},
      {"brev.b32 %r9, 1;", 0x80000000},
      {"bfe.u32 %r9, 0xabcd, 4, 8;", 0xbc},
      {"bfe.s32 %r9, 0xabcd, 4, 8;", 0xffffffbc},
      {"bfe.s32 %r9, 0x80000000, 28, 8;", 0xfffffff8},
      {"bfe.u32 %r9, 0xabcd, 40, 8;", 0},
      {"bfi.b32 %r9, 0xf, 0, 8, 4;", 0xf00},
      {"prmt.b32 %r9, 0x33221100, 0x77665544, 0x7250;", 0x77225500},
      {"prmt.b32 %r9, 0x80, 0, 0x8888;", 0xffffffff},
      {"lop3.b32 %r9, 0xf0, 0xcc, 0xaa, 0x80;", 0x80},
      {"lop3.b32 %r9, 0xf0f0, 0xcccc, 0xaaaa, 0x96;", 0xf0f0 ^ 0xcccc ^ 0xaaaa},
  };
  for (const Case& c : cases) EXPECT_EQ(c.expected, Result32(c.body)) << c.body;
}

TEST(PtxInstructionTest, FloatsRoundSaturateAndFlush) {
  EXPECT_EQ(3.5F, ResultFloat("add.f32 %f9, 0f3F800000, 0f40200000;"));
  EXPECT_EQ(0.1F + 0.2F, ResultFloat("add.rn.f32 %f9, 0f3DCCCCCD, 0f3E4CCCCD;"));
  EXPECT_EQ(std::fma(0.1F, 0.1F, -0.01F),
            ResultFloat("fma.rn.f32 %f9, 0f3DCCCCCD, 0f3DCCCCCD, 0fBC23D70A;"));
  EXPECT_EQ(1.0F, ResultFloat("add.sat.f32 %f9, 0f3F800000, 0f3F800000;"));
  EXPECT_EQ(0.0F, ResultFloat("add.sat.f32 %f9, 0f7FFFFFFF, 0f3F800000;"));
  EXPECT_EQ(1.0F / 3.0F, ResultFloat("div.rn.f32 %f9, 0f3F800000, 0f40400000;"));
  EXPECT_EQ(1.0F, ResultFloat("min.f32 %f9, 0f7FFFFFFF, 0f3F800000;"));
  EXPECT_TRUE(std::isnan(ResultFloat("min.NaN.f32 %f9, 0f7FFFFFFF, 0f3F800000;")));
  EXPECT_EQ(3.0F, ResultFloat("sqrt.rn.f32 %f9, 0f41100000;"));
  EXPECT_EQ(8.0F, ResultFloat("ex2.approx.f32 %f9, 0f40400000;"));
  EXPECT_EQ(3.0F, ResultFloat("lg2.approx.ftz.f32 %f9, 0f41000000;"));
  EXPECT_EQ(-1.0F, ResultFloat("copysign.f32 %f9, 0f80000000, 0f3F800000;"));
  // Doubles the smallest subnormal number with and without .ftz.
  EXPECT_EQ(0.0F, ResultFloat("add.ftz.f32 %f9, 0f00000001, 0f00000001;"));
  EXPECT_EQ(2 * std::numeric_limits<float>::denorm_min(),
            ResultFloat("add.f32 %f9, 0f00000001, 0f00000001;"));
  EXPECT_EQ(0.1 * 3, ResultDouble("mul.rn.f64 %fd9, 0d3FB999999999999A, 0d4008000000000000;"));
  EXPECT_EQ(0.25, ResultDouble("rcp.approx.ftz.f64 %fd9, 0d4010000000000000;"));
  EXPECT_TRUE(ResultPredicate("testp.infinite.f32 %p9, 0f7F800000;"));
  EXPECT_FALSE(ResultPredicate("testp.normal.f32 %p9, 0f00000001;"));
}

TEST(PtxInstructionTest, ComparisonsKnowOrderSignAndNumbers) {
  EXPECT_TRUE(ResultPredicate("setp.lt.s32 %p9, -1, 1;"));
  EXPECT_FALSE(ResultPredicate("setp.lt.u32 %p9, -1, 1;"));
  EXPECT_TRUE(ResultPredicate("setp.hi.u32 %p9, -1, 1;"));
  EXPECT_FALSE(ResultPredicate("setp.eq.f32 %p9, 0f7FFFFFFF, 0f7FFFFFFF;"));
  EXPECT_TRUE(ResultPredicate("setp.neu.f32 %p9, 0f7FFFFFFF, 0f7FFFFFFF;"));
  EXPECT_TRUE(ResultPredicate("setp.nan.f64 %p9, 0d7FFFFFFFFFFFFFFF, 0d0000000000000000;"));
  EXPECT_TRUE(ResultPredicate("setp.num.f32 %p9, 0f3F800000, 0f3F800000;"));
  EXPECT_FALSE(ResultPredicate("setp.eq.u32 %p1, 1, 2; setp.eq.and.u32 %p9, 1, 1, %p1;"));
  EXPECT_TRUE(ResultPredicate("setp.eq.u32 %p1, 1, 2; setp.eq.and.u32 %p9, 1, 1, !%p1;"));
  EXPECT_TRUE(ResultPredicate("setp.eq.u32 %p1|%p9, 1, 2;"));
  EXPECT_TRUE(ResultPredicate("setp.eq.u32 %p1, 1, 1; not.pred %p2, %p1; xor.pred %p9, %p1, %p2;"));
  EXPECT_EQ(0xffffffff, Result32("set.lt.u32.s32 %r9, -1, 1;"));
  EXPECT_EQ(1.0F, ResultFloat("set.lt.f32.s32 %f9, -1, 1;"));
  EXPECT_EQ(7u, Result32("slct.u32.s32 %r9, 5, 7, -1;"));
}

TEST(PtxInstructionTest, ConversionsRoundClampAndExtend) {
  const Case cases[] = {
      {"mov.u32 %r1, 0xffffffff; cvt.s64.s32 %rd9, %r1;", 0xffffffffffffffff},
      {"mov.u32 %r1, 0xffffffff; cvt.u64.u32 %rd9, %r1;", 0xffffffff},
      {"mov.u32 %r1, 0x1ff; cvt.u64.u8 %rd9, %r1;", 0xff},
      {"mov.u32 %r1, 0x1ff; cvt.s64.s8 %rd9, %r1;", 0xffffffffffffffff},
      {"mov.f32 %f1, 0f40200000; cvt.rni.s64.f32 %rd9, %f1;", 2},
      {"mov.f32 %f1, 0fC0200000; cvt.rzi.s64.f32 %rd9, %f1;", static_cast<uint64_t>(-2)},
      {"mov.f32 %f1, 0fC0200000; cvt.rmi.s64.f32 %rd9, %f1;", static_cast<uint64_t>(-3)},
      {"mov.f32 %f1, 0fC0200000; cvt.rpi.s64.f32 %rd9, %f1;", static_cast<uint64_t>(-2)},
      {"mov.f32 %f1, 0f7F800000; cvt.rzi.s64.f32 %rd9, %f1;", 0x7fffffffffffffff},
      // NaN becomes 0 only if neither number has 64 bits.
      {"mov.f32 %f1, 0f7FFFFFFF; cvt.rzi.s32.f32 %r1, %f1; cvt.u64.u32 %rd9, %r1;", 0},
      {"mov.f32 %f1, 0f7FFFFFFF; cvt.rzi.s64.f32 %rd9, %f1;", 0x8000000000000000},
      {"mov.f32 %f1, 0f7FFFFFFF; cvt.rzi.u64.f32 %rd9, %f1;", 0x8000000000000000},
      {"mov.f64 %fd1, 0d7FFFFFFFFFFFFFFF; cvt.rzi.s32.f64 %r1, %fd1; cvt.u64.u32 %rd9, %r1;",
       0x80000000},
      {"mov.f64 %fd1, 0d7FFFFFFFFFFFFFFF; cvt.rzi.u16.f64 %rs1, %fd1; cvt.u64.u16 %rd9, %rs1;",
       0x8000},
      {"mov.f32 %f1, 0fBF800000; cvt.rzi.u64.f32 %rd9, %f1;", 0},
      {"mov.f64 %fd1, 0d41F0000000000000; cvt.rzi.u32.f64 %r1, %fd1; cvt.u64.u32 %rd9, %r1;",
       0xffffffff},
      {"mov.u32 %r1, 300; cvt.sat.u8.u32 %r2, %r1; cvt.u64.u32 %rd9, %r2;", 255},
      {"mov.u32 %r1, -300; cvt.sat.s8.s32 %r2, %r1; cvt.u64.u8 %rd9, %r2;", 0x80},
      {"mov.f32 %f1, 0f3FC00000; cvt.rn.f16.f32 %rs1, %f1; cvt.u64.u16 %rd9, %rs1;", 0x3e00},
      {"mov.u16 %rs1, 0x3e00; cvt.f32.f16 %f1, %rs1; mov.b32 %r1, %f1; cvt.u64.u32 %rd9, %r1;",
       0x3fc00000},
  };
  for (const Case& c : cases) EXPECT_EQ(c.expected, Result64(c.body)) << c.body;
  const std::pair<const char*, uint32_t> halves[] = {
      {"0f00000000", 0},      {"0f80000000", 0x8000}, {"0f477FE000", 0x7bff},
      {"0f477FF000", 0x7c00}, {"0f33800000", 1},      {"0f33000000", 0},
      {"0f387FC000", 0x3ff},  {"0f387FE000", 0x400},  {"0f3F801000", 0x3c00},
      {"0f3F803000", 0x3c02}, {"0f3FFFF000", 0x4000}, {"0fFF800000", 0xfc00}};
  for (const auto& [single, half] : halves) {
    EXPECT_EQ(half, Result32("mov.f32 %f1, " + std::string(single) +
                             "; cvt.rn.f16.f32 %rs1, %f1; cvt.u32.u16 %r9, %rs1;"))
        << single;
  }
  EXPECT_EQ(0.5F, ResultFloat("mov.u16 %rs1, 0x3800; cvt.f32.f16 %f9, %rs1;"));
  EXPECT_EQ(std::ldexp(1.0F, -24), ResultFloat("mov.u16 %rs1, 1; cvt.f32.f16 %f9, %rs1;"));
  EXPECT_EQ(3.0F, ResultFloat("mov.u32 %r1, 3; cvt.rn.f32.u32 %f9, %r1;"));
  EXPECT_EQ(0.1F, ResultFloat("mov.f64 %fd1, 0d3FB999999999999A; cvt.rn.f32.f64 %f9, %fd1;"));
  EXPECT_EQ(2.0F, ResultFloat("mov.f32 %f1, 0f40200000; cvt.rni.f32.f32 %f9, %f1;"));
  EXPECT_EQ(-1.0, ResultDouble("mov.u32 %r1, -1; cvt.rn.f64.s32 %fd9, %r1;"));
}

TEST(PtxInstructionTest, NumbersOfSixteenBitsAreConvertedToAllTypesAndBack) {
  const std::string half = "; mov.b32 %r9, {%rs1, 0};";
  const std::pair<const char*, uint32_t> to_short[] = {
      {"cvt.rn.f16.s32 %rs1, -3", 0xc200},
      {"cvt.rn.f16.s64 %rs1, -3", 0xc200},
      {"mov.u16 %rs2, 65535; cvt.rn.f16.u16 %rs1, %rs2", 0x7c00},
      {"mov.u16 %rs2, 65535; cvt.rn.f16.s16 %rs1, %rs2", 0xbc00},
      {"cvt.rn.bf16.s32 %rs1, 0x1010001", 0x4b81},  // rounded once
      {"mov.u64 %rd1, 0x4040000000000001; cvt.rn.bf16.u64 %rs1, %rd1", 0x5e81},
      {"mov.u64 %rd1, 0xbfbfffffffffffff; cvt.rn.bf16.s64 %rs1, %rd1", 0xde81},
      {"mov.u16 %rs2, 65535; cvt.rn.bf16.u16 %rs1, %rs2", 0x4780},
      {"mov.f64 %fd1, 0d3FF0100000000001; cvt.rn.bf16.f64 %rs1, %fd1", 0x3f81},
      {"mov.u16 %rs2, 0x3f80; cvt.rn.f16.bf16 %rs1, %rs2", 0x3c00},
      {"mov.u16 %rs2, 0x3c00; cvt.rn.bf16.f16 %rs1, %rs2", 0x3f80},
      {"mov.u16 %rs2, 0x4100; cvt.rni.f16.f16 %rs1, %rs2", 0x4000},    // 2.5, to even
      {"mov.u16 %rs2, 0x4020; cvt.rpi.bf16.bf16 %rs1, %rs2", 0x4040},  // 2.5, up
      {"cvt.rn.sat.f16.f32 %rs1, 0f40000000", 0x3c00},
      {"cvt.rn.ftz.f16.f32 %rs1, 0f38000000", 0x0200},  // subnormal only as f16
  };
  for (const auto& [body, bits] : to_short) EXPECT_EQ(bits, Result32(body + half)) << body;
  const Case from_short[] = {
      {"mov.u16 %rs1, 0xc100; cvt.rzi.s32.f16 %r1, %rs1; cvt.s64.s32 %rd9, %r1;",
       static_cast<uint64_t>(-2)},
      {"mov.u16 %rs1, 0xc100; cvt.rzi.s64.f16 %rd9, %rs1;", static_cast<uint64_t>(-2)},
      {"mov.u16 %rs1, 0xc020; cvt.rmi.s16.bf16 %rs2, %rs1; cvt.s64.s16 %rd9, %rs2;",
       static_cast<uint64_t>(-3)},
      {"mov.u16 %rs1, 0x7f80; cvt.rzi.u16.bf16 %rs2, %rs1; cvt.u64.u16 %rd9, %rs2;", 0xffff},
      {"mov.u16 %rs1, 0x7fff; cvt.rzi.s32.bf16 %r1, %rs1; cvt.u64.u32 %rd9, %r1;", 0},
      {"mov.u16 %rs1, 0x7fff; cvt.rzi.s64.f16 %rd9, %rs1;", 0x8000000000000000},
      {"mov.u16 %rs1, 0xc020; cvt.f64.bf16 %fd1, %rs1; mov.b64 %rd9, %fd1;", 0xc004000000000000},
      {"mov.u16 %rs1, 0xc100; cvt.f64.f16 %fd1, %rs1; mov.b64 %rd9, %fd1;", 0xc004000000000000},
  };
  for (const Case& c : from_short) EXPECT_EQ(c.expected, Result64(c.body)) << c.body;
}

TEST(PtxInstructionTest, VectorsPackUnpackLoadAndStore) {
  EXPECT_EQ(0x200000001u, Result64("mov.u32 %r1, 1; mov.u32 %r2, 2; mov.b64 %rd9, {%r1, %r2};"));
  EXPECT_EQ(2u, Result32("mov.u64 %rd1, 0x200000001; mov.b64 {%r1, %r9}, %rd1;"));
  EXPECT_EQ(2u, Result32("mov.u64 %rd1, 0x200000001; mov.b64 {_, %r9}, %rd1;"));
  EXPECT_EQ(0x00020001u, Result32("mov.b32 {%rs1, %rs2}, 0x10002; mov.b32 %r9, {%rs2, %rs1};"));
  EXPECT_EQ(44u, Result32("mov.u32 %r1, 11; mov.u32 %r4, 44;\n"
                          "st.global.v4.u32 [%rd0+16], {%r1, 22, 33, %r4};\n"
                          "ld.global.v2.u32 {%r5, %r9}, [%rd0+24];"));
  EXPECT_EQ(0xffffff80, Result32("st.global.u8 [%rd0+7], 0x80; ld.global.s8 %r9, [%rd0+7];"));
  EXPECT_EQ(0x80u, Result32("st.global.u8 [%rd0+7], 0x80; ld.volatile.global.u8 %r9, [%rd0+7];"));
}

TEST(PtxInstructionTest, AtomicsGiveTheOldValueAndKeepTheNew) {
  struct Update {
    const char* name;
    uint32_t old;
    uint32_t operand;
    uint32_t expected;
  };
  const Update updates[] = {
      {"add.u32", 5, 7, 12},
      {"min.s32", 5, static_cast<uint32_t>(-7), static_cast<uint32_t>(-7)},
      {"max.u32", 5, 7, 7},
      {"and.b32", 6, 3, 2},
      {"or.b32", 6, 3, 7},
      {"xor.b32", 6, 3, 5},
      {"exch.b32", 5, 7, 7},
      {"inc.u32", 7, 7, 0},
      {"inc.u32", 6, 7, 7},
      {"dec.u32", 0, 7, 7},
      {"dec.u32", 3, 7, 2},
      {"add.f32", 0x3f800000, 0x40000000, 0x40400000},
      {"add.noftz.f16x2", 0x3c00c000, 0x40003c00, 0x4200bc00},
      {"add.noftz.bf16x2", 0x3f80c000, 0x40003f80, 0x4040bf80},
  };
  for (const Update& update : updates) {
    TestMemory memory(64 << 10);
    memory.Set<uint32_t>(2, update.old);
    TestLaunch launch;
    const std::string body = "mov.u32 %r1, " + std::to_string(update.operand) + "; atom.global." +
                             update.name + " %r2, [%rd0+8], %r1;" + "st.global.u32 [%rd0], %r2;";
    ASSERT_EQ(Ending::kDone, launch.Run(KernelText(body), &memory)) << update.name;
    EXPECT_EQ(update.old, memory.Get<uint32_t>(0)) << update.name;
    EXPECT_EQ(update.expected, memory.Get<uint32_t>(2)) << update.name;
  }
  EXPECT_EQ(9u, Result32("st.global.u32 [%rd0+8], 4; atom.global.cas.b32 %r1, [%rd0+8], 4, 9;\n"
                         "atom.global.cas.b32 %r2, [%rd0+8], 4, 10; ld.global.u32 %r9, [%rd0+8];"));
  EXPECT_EQ(6u,
            Result32("red.relaxed.gpu.global.add.u32 [%rd0+8], 6; ld.global.u32 %r9, [%rd0+8];"));
}

TEST(PtxInstructionTest, AtomicSumsOfShortFloatsAndOfVectors) {
  EXPECT_EQ(0x4200u, Result32("st.global.b32 [%rd0+8], 0x3c00; mov.b16 %rs1, 0x4000;\n"
                              "red.global.gpu.add.noftz.f16 [%rd0+8], %rs1;\n"
                              "ld.global.b32 %r9, [%rd0+8];"));
  EXPECT_EQ(0x3f804040u, Result32("st.global.b32 [%rd0+8], 0x3f80; mov.b16 %rs1, 0x4000;\n"
                                  "atom.global.gpu.acq_rel.add.noftz.bf16 %rs2, [%rd0+8], %rs1;\n"
                                  "ld.global.b16 %rs3, [%rd0+8]; mov.b32 %r9, {%rs3, %rs2};"));
  // The two results of a vector are its old values; the sum of 2 and 1 is 3.
  EXPECT_EQ(0x40c0000040400000u, Result64(R"(
    st.global.v2.b32 [%rd0+16], {0x3f800000, 0x40000000};
    mov.b32 %r1, 0x40000000; mov.b32 %r2, 0x40800000;
    atom.global.gpu.acq_rel.add.v2.f32 {%r3, %r4}, [%rd0+16], {%r1, %r2};
    red.global.add.v2.f32 [%rd0+16], {0f00000000, 0f00000000};
    mov.b32 %f3, %r3; mov.b32 %f4, %r4; add.f32 %f3, %f3, %f4;
    ld.global.v2.f32 {%f1, %f2}, [%rd0+16];
    sub.f32 %f3, %f3, %f1; add.f32 %f1, %f1, %f3;
    mov.b64 %rd9, {%f1, %f2};)"));
  EXPECT_EQ(0x4040404040404040u, Result64(R"(
    st.global.v2.b32 [%rd0+16], {0x3f803f80, 0x3f803f80};
    mov.b16 %rs1, 0x4000;
    atom.global.gpu.acq_rel.add.noftz.v4.bf16 {%rs2, %rs3, %rs4, %rs5}, [%rd0+16],
      {%rs1, %rs1, %rs1, %rs1};
    ld.global.b64 %rd9, [%rd0+16];)"));
}

TEST(PtxInstructionTest, FloatsRoundInTheDirectionThatIsNamed) {
  const float third = 1.0F / 3;  // rounded up
  EXPECT_EQ(third, ResultFloat("mov.f32 %f1, 0f3F800000; div.rn.f32 %f9, %f1, 0f40400000;"));
  EXPECT_EQ(third, ResultFloat("mov.f32 %f1, 0f3F800000; div.rp.f32 %f9, %f1, 0f40400000;"));
  const float below = std::nextafter(third, 0.0F);
  EXPECT_EQ(below, ResultFloat("mov.f32 %f1, 0f3F800000; div.rm.f32 %f9, %f1, 0f40400000;"));
  EXPECT_EQ(below, ResultFloat("mov.f32 %f1, 0f3F800000; div.rz.ftz.f32 %f9, %f1, 0f40400000;"));
  // 1 + 2^-24 lies halfway between two representable numbers; the even one is the lower one.
  EXPECT_EQ(1.0F, ResultFloat("fma.rn.f32 %f9, 0f33800000, 0f3F800000, 0f3F800000;"));
  EXPECT_EQ(std::nextafter(1.0F, 2.0F),
            ResultFloat("fma.rp.f32 %f9, 0f33800000, 0f3F800000, 0f3F800000;"));
  EXPECT_EQ(1.0F, ResultFloat("add.rm.f32 %f9, 0f33800000, 0f3F800000;"));
}

TEST(PtxInstructionTest, BrainFloatsAndPairsRoundToEven) {
  const Case cases[] = {
      {"cvt.rn.bf16.f32 %rs1, 0f3F808000; mov.b32 %r9, {%rs1, 0};", 0x3f80},  // halfway, to even
      {"cvt.rn.bf16.f32 %rs1, 0f3F818000; mov.b32 %r9, {%rs1, 0};", 0x3f82},
      {"cvt.rn.bf16.f32 %rs1, 0f7F7FFFFF; mov.b32 %r9, {%rs1, 0};", 0x7f80},  // infinite
      {"cvt.rn.bf16.f32 %rs1, 0f7FC00001; mov.b32 %r9, {%rs1, 0};", 0x7fff},  // NaN
      {"mov.b16 %rs1, 0xc080; cvt.f32.bf16 %f9, %rs1; mov.b32 %r9, %f9;", 0xc0800000},
      {"cvt.rn.bf16x2.f32 %r9, 0f3F800000, 0fC0000000;", 0x3f80c000},
      {"cvt.rn.f16x2.f32 %r9, 0f3F800000, 0fC0000000;", 0x3c00c000},
  };
  for (const Case& one : cases) EXPECT_EQ(one.expected, Result32(one.body)) << one.body;
}

TEST(PtxInstructionTest, NumbersOfSixteenBitsAreAddedMultipliedAndCompared) {
  const Case cases[] = {
      {"add.f16 %rs1, 0x3c00, 0x4000; mov.b32 %r9, {%rs1, 0};", 0x4200},  // 1 + 2
      {"sub.rn.bf16 %rs1, 0x3f80, 0x4000; mov.b32 %r9, {%rs1, 0};", 0xbf80},
      {"fma.rn.f16 %rs1, 0x3c01, 0x3c01, 0xbc00; mov.b32 %r9, {%rs1, 0};", 0x1800},  // rounded once
      {"fma.rn.bf16 %rs1, 0x3fc0, 0x3f81, 0xb080; mov.b32 %r9, {%rs1, 0};", 0x3fc1},  // once, too
      {"mul.bf16x2 %r9, 0x40003f80, 0x40004000;", 0x40804000},  // 2 × 2 and 1 × 2
      {"fma.rn.sat.f16x2 %r9, 0x40004000, 0x3c003c00, 0xc400c000;", 0x00000000},
      {"max.NaN.f16 %rs1, 0x7e00, 0x3c00; mov.b32 %r9, {%rs1, 0};", 0x7fff},
      {"max.f16 %rs1, 0x7e00, 0x3c00; mov.b32 %r9, {%rs1, 0};", 0x3c00},
      {"neg.bf16x2 %r9, 0x3f80c000;", 0xbf804000},
      {"ex2.approx.f16 %rs1, 0x4200; mov.b32 %r9, {%rs1, 0};", 0x4800},  // 2^3
  };
  for (const Case& one : cases) EXPECT_EQ(one.expected, Result32(one.body)) << one.body;
  EXPECT_TRUE(
      ResultPredicate("mov.b16 %rs1, 0x4000; mov.b16 %rs2, 0x3c00; setp.gt.f16 %p9, %rs1, %rs2;"));
  EXPECT_FALSE(
      ResultPredicate("mov.b16 %rs1, 0x7e00; mov.b16 %rs2, 0x3c00; setp.gt.f16 %p9, %rs1, %rs2;"));
  EXPECT_TRUE(ResultPredicate(
      "mov.b16 %rs1, 0x7fc0; mov.b16 %rs2, 0x3f80; setp.gtu.bf16 %p9, %rs1, %rs2;"));
  EXPECT_TRUE(
      ResultPredicate("mov.b16 %rs1, 0xc000; mov.b16 %rs2, 0x3f80; setp.lt.bf16 %p9, %rs1, %rs2;"));
}

TEST(PtxInstructionTest, NumbersOfEightBitsRoundAndSaturate) {
  const std::string e4m3 = "cvt.rn.satfinite.e4m3x2.f32 %rs1, ";
  const std::string e5m2 = "cvt.rn.satfinite.e5m2x2.f32 %rs1, ";
  const std::string result = "; mov.b32 %r9, {%rs1, 0};";
  EXPECT_EQ(0x38c0u, Result32(e4m3 + "0f3F800000, 0fC0000000" + result));  // 1 and -2
  EXPECT_EQ(0x7e7eu, Result32(e4m3 + "0f43E00000, 0f7F800000" + result));  // 448 and infinite
  EXPECT_EQ(0x0102u, Result32(e4m3 + "0f3B000000, 0f3B600000" + result));  // 2^-9, and halfway
  EXPECT_EQ(0x0080u, Result32(e4m3 + "0f00000000, 0f80000000" + result));  // 0 and -0
  EXPECT_EQ(0x0080u, Result32(e4m3 + "0f00000001, 0fBA000000" + result));  // rounded to 0 and -0
  EXPECT_EQ(0x0080u, Result32(e5m2 + "0f00000000, 0f80000000" + result));
  EXPECT_EQ(0x3cc0u, Result32(e5m2 + "0f3F800000, 0fC0000000" + result));
  EXPECT_EQ(0x7b7fu, Result32(e5m2 + "0f7F800000, 0f7FC00000" + result));
  EXPECT_EQ(0x38c0u, Result32("cvt.rn.satfinite.e4m3x2.f16x2 %rs1, 0x3c00c000" + result));
  EXPECT_EQ(0x3cc0u, Result32("cvt.rn.satfinite.e5m2x2.f16x2 %rs1, 0x3c00c000" + result));
  EXPECT_EQ(0x7e80u, Result32("cvt.rn.satfinite.e4m3x2.f16x2 %rs1, 0x7c008000" + result));
  EXPECT_EQ(0x3c00c000u, Result32("mov.b16 %rs1, 0x38c0; cvt.rn.f16x2.e4m3x2 %r9, %rs1;"));
  EXPECT_EQ(0x7c00c000u, Result32("mov.b16 %rs1, 0x7cc0; cvt.rn.f16x2.e5m2x2 %r9, %rs1;"));
}

TEST(PtxInstructionTest, WhatCachesAreToldChangesNothing) {
  EXPECT_EQ(7u, Result32(R"(
    createpolicy.fractional.L2::evict_first.b64 %rd5, 1.0;
    st.global.L1::evict_last.L2::cache_hint.b32 [%rd0+64], 7, %rd5;
    ld.global.L1::evict_last.L2::cache_hint.b32 %r9, [%rd0+64], %rd5;)"));
  EXPECT_EQ(0x0807060504030201u, Result64(R"(
    st.global.v8.b32 [%rd0+64], {1, 2, 3, 4, 5, 6, 7, 8};
    ld.global.b8 %rd1, [%rd0+64]; ld.global.b8 %rd2, [%rd0+68]; ld.global.b8 %rd3, [%rd0+72];
    ld.global.b8 %rd4, [%rd0+76]; ld.global.b8 %rd5, [%rd0+80]; ld.global.b8 %rd6, [%rd0+84];
    ld.global.b8 %rd7, [%rd0+88]; ld.global.b8 %rd8, [%rd0+92];
    mul.lo.u64 %rd2, %rd2, 0x100; mul.lo.u64 %rd3, %rd3, 0x10000;
    mul.lo.u64 %rd4, %rd4, 0x1000000; mul.lo.u64 %rd5, %rd5, 0x100000000;
    mul.lo.u64 %rd6, %rd6, 0x10000000000; mul.lo.u64 %rd7, %rd7, 0x1000000000000;
    mul.lo.u64 %rd8, %rd8, 0x100000000000000;
    add.u64 %rd9, %rd1, %rd2; add.u64 %rd9, %rd9, %rd3; add.u64 %rd9, %rd9, %rd4;
    add.u64 %rd9, %rd9, %rd5; add.u64 %rd9, %rd9, %rd6; add.u64 %rd9, %rd9, %rd7;
    add.u64 %rd9, %rd9, %rd8;)"));
}

TEST(PtxInstructionTest, CopiesToSharedMemoryFillWithZeros) {
  EXPECT_EQ(0x11223344u, Result64(R"(
    .shared .align 16 .b8 room[32];
    mov.u32 %r1, room;
    st.shared.b64 [%r1], 0xffffffffffffffff;
    st.global.b64 [%rd0+64], 0x5566778811223344;
    cp.async.ca.shared.global [%r1+0], [%rd0+64], 8, 4;
    cp.async.commit_group;
    cp.async.wait_group 0;
    ld.shared.b64 %rd9, [%r1];)"));
}

TEST(PtxInstructionTest, UnknownInstructionsAndModifiersRefuseTheKernel) {
  const char* const bodies[] = {
      "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd0];",
      "add.rn.f32x2 %rd1, %rd2, %rd3;",
      "ld.global.u32 %r1, [%rd0], 5;",
      "mov.u32 %r1, somewhere;",
      "add.u32 %r1, %r2;",
      "add.u32 %unknown, %r1, %r2;",
      "add.u32 %r99, %r1, %r2;",
      "bra nowhere;",
      "call absent, ();",
      "tex.1d.v4.s32.s32 {%r1, %r2, %r3, %r4}, [t, {%r5}];",
      "@%r mov.u32 %r1, 1;",
  };
  for (const char* body : bodies) {
    Program program(KernelText(body));
    const Routine* routine = program.FindKernel("k");
    ASSERT_NE(nullptr, routine);
    EXPECT_NE("", routine->refusal) << body;
  }
}

}  // namespace
}  // namespace vramstow::simulator::ptx
