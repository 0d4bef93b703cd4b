#include "simulator/device/spec.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace vramstow::simulator {
namespace {

Spec Right(const char* text) {
  Spec spec;
  std::string error;
  EXPECT_TRUE(ParseSpec(text, &spec, &error)) << error;
  return spec;
}

std::string Wrong(const char* text) {
  Spec spec;
  std::string error;
  EXPECT_FALSE(ParseSpec(text, &spec, &error)) << text;
  return error;
}

TEST(SpecTest, CardAloneHasItsOwnMemory) {
  const CardTable cards = AllCards();
  ASSERT_GE(cards.count, 15u);
  for (size_t i = 0; i < cards.count; ++i) {
    const Spec spec = Right(cards.rows[i].key);
    EXPECT_EQ(cards.rows[i].memory_bytes, spec.memory_bytes);
    EXPECT_EQ(cards.rows[i].context_bytes, spec.context_bytes);
    EXPECT_EQ(1, spec.count);
    EXPECT_TRUE(spec.keep_contents);
  }
}

TEST(SpecTest, EveryOptionIsRead) {
  const Spec spec = Right(
      "a100,memory=24GiB,count=2,seed=7,kernel-time=10us,contents=discard,context=100MiB,"
      "ledger=/tmp/x.csv,order=adversarial,fail=cuMemCreate:3:801,fail=cuMemMap:p0.25,"
      "without=vmm,without=ipc");
  EXPECT_STREQ("a100", spec.card.key);
  EXPECT_EQ(24 * kGiB, spec.memory_bytes);
  EXPECT_EQ(2, spec.count);
  EXPECT_EQ(7u, spec.seed);
  EXPECT_EQ(10000u, spec.kernel_time_ns);
  EXPECT_FALSE(spec.keep_contents);
  EXPECT_EQ(100 * kMiB, spec.context_bytes);
  EXPECT_EQ("/tmp/x.csv", spec.call_log);
  EXPECT_TRUE(spec.adversarial);
  ASSERT_EQ(2u, spec.faults.size());
  EXPECT_EQ("cuMemCreate", spec.faults[0].call);
  EXPECT_EQ(3u, spec.faults[0].nth);
  EXPECT_EQ(801u, spec.faults[0].result);
  EXPECT_EQ(0.25, spec.faults[1].probability);
  EXPECT_EQ(2u, spec.faults[1].result);
  EXPECT_EQ(static_cast<uint32_t>(kVmm | kIpc), spec.without);
}

TEST(SpecTest, ContentsAreKeptUpToWhatIsSaidOrToWhatIsComputed) {
  EXPECT_EQ(512 * kMiB, Right("h200").contents_bytes);
  EXPECT_EQ(512 * kMiB, Right("h200,values=off").contents_bytes);
  EXPECT_EQ(512 * kMiB, Right("h200,allowance=1GiB").contents_bytes);
  EXPECT_EQ(16 * kGiB, Right("h200,allowance=16GiB").contents_bytes);
  EXPECT_LE(kTiB, Right("h200,values=all").contents_bytes);
  EXPECT_EQ(4 * kGiB, Right("h200,contents=4GiB,values=all").contents_bytes);
  EXPECT_EQ(4 * kGiB, Right("h200,values=all,contents=4GiB").contents_bytes);
  const Spec keep = Right("h200,contents=keep");
  EXPECT_TRUE(keep.keep_contents);
  EXPECT_LE(kTiB, keep.contents_bytes);
  EXPECT_FALSE(Right("h200,contents=discard").keep_contents);
}

TEST(SpecTest, MemoryForOthersIsRefusedWithTheResultThatIsNamed) {
  EXPECT_EQ(static_cast<uint32_t>(kShareable), Right("h200,without=shareable").without);
  EXPECT_EQ(800u, Right("h200,without=shareable").shareable_result);
  EXPECT_EQ(static_cast<uint32_t>(kShareable), Right("h200,without=shareable:304").without);
  EXPECT_EQ(304u, Right("h200,without=shareable:304").shareable_result);
}

TEST(SpecTest, TimesOfVirtualMemoryAreForAllCallsOrForOne) {
  const Spec all = Right("h200,vmm-time=20us,vmm-time=create:60us/2ms");
  EXPECT_EQ(60'000u, all.vmm_times[static_cast<int>(VmmCall::kCreate)].call_ns);
  EXPECT_EQ(2'000'000u, all.vmm_times[static_cast<int>(VmmCall::kCreate)].gib_ns);
  for (const VmmCall call : {VmmCall::kMap, VmmCall::kAccess, VmmCall::kUnmap, VmmCall::kRelease}) {
    EXPECT_EQ(20'000u, all.vmm_times[static_cast<int>(call)].call_ns);
    EXPECT_EQ(0u, all.vmm_times[static_cast<int>(call)].gib_ns);
  }
  EXPECT_EQ(0u, Right("h200").vmm_times[0].call_ns);
  EXPECT_EQ(5'000u, Right("h200,vmm-time=release:5us").vmm_times[4].call_ns);
}

TEST(SpecTest, ANodeOfTheHostMayCrashOrHang) {
  EXPECT_EQ(NodeFault::kNone, Right("h200").node_fault);
  EXPECT_EQ(NodeFault::kCrash, Right("h200,host-numa=crash:2").node_fault);
  EXPECT_EQ(2u, Right("h200,host-numa=crash:2").node_fault_nth);
  EXPECT_EQ(NodeFault::kHang, Right("h200,host-numa=hang:1").node_fault);
}

TEST(SpecTest, AnOlderNameOfAnOptionMeansTheSame) {
  EXPECT_EQ("/tmp/x.csv", Right("h200,call-log=/tmp/x.csv").call_log);
  EXPECT_EQ("/tmp/x.csv", Right("h200,ledger=/tmp/x.csv").call_log);
  EXPECT_EQ("/tmp/w%p.csv", Right("h200,work-log=/tmp/w%p.csv").work_log);
  EXPECT_TRUE(Right("h200").budget_is_time && !Right("h200").gemm_is_limit);
  EXPECT_TRUE(Right("h200,gemm=64MFLOP").budget_is_time);
  EXPECT_TRUE(Right("h200,gemm=64MFLOP").gemm_is_limit);
  for (const char* spec : {"h200,allowance=1GiB", "h200,values=all", "h200,emulation=2MiB"}) {
    EXPECT_FALSE(Right(spec).budget_is_time) << spec;
  }
  EXPECT_EQ(2 * kMiB, Right("h200,emulation=2MiB").emulation_bytes);
  EXPECT_EQ(2 * kMiB, Right("h200,effects=2MiB").emulation_bytes);
  EXPECT_NE(std::string::npos, Wrong("h200,emulation=all").find("emulation=all"));
}

TEST(SpecTest, ContextShrinksWithTheMemory) {
  EXPECT_EQ(64 * kMiB, Right("h100,memory=512MiB").context_bytes);
}

TEST(SpecTest, ErrorsNameThePartAndWhatIsRight) {
  EXPECT_NE(std::string::npos, Wrong("gtx").find("h200"));
  EXPECT_NE(std::string::npos, Wrong("").find("h200"));
  EXPECT_NE(std::string::npos, Wrong("h200,colour=red").find("colour"));
  for (const char* text : {"h200,",
                           "h200,memory",
                           "h200,memory=",
                           "h200,memory=1KiB",
                           "h200,memory=2TiB",
                           "h200,count=0",
                           "h200,count=17",
                           "h200,count=2x",
                           "h200,seed=-1",
                           "h200,kernel-time=5",
                           "h200,vmm-time=5",
                           "h200,vmm-time=export:5us",
                           "h200,vmm-time=create:5us/",
                           "h200,vmm-time=create:11s",
                           "h200,contents=maybe",
                           "h200,ledger=",
                           "h200,order=chaos",
                           "h200,fail=cuMemAlloc",
                           "h200,fail=cuMemAlloc:1:0",
                           "h200,fail=cuMemAlloc:1:1000",
                           "h200,fail=cuMemAlloc:1:x",
                           "h200,fail=cuMemAlloc:0",
                           "h200,fail=malloc:1",
                           "h200,fail=cuMemAlloc:p2",
                           "h200,without=gravity",
                           "h200,without=shareable:0",
                           "h200,without=shareable:no",
                           "h200,without=vmm:304",
                           "h200,host-numa=crash",
                           "h200,host-numa=crash:0",
                           "h200,host-numa=melt:1",
                           "h200,sms=0",
                           "h200,sms=1025",
                           "h200,cc=6.1",
                           "h200,cc=13.0",
                           "h200,cc=9",
                           "h200,memory=64MiB,context=64MiB"}) {
    const std::string error = Wrong(text);
    EXPECT_TRUE(error.starts_with("simulated card: ")) << error;
    EXPECT_TRUE(error.ends_with(".")) << error;
  }
}

TEST(SpecTest, AJobOfManyRanksSaysWhichOfThemRun) {
  const World job = Right("h100,world=256,nodes=32,rank=0,255,seed=7").world;
  EXPECT_EQ(job.ranks, 256);
  EXPECT_EQ(job.nodes, 32);
  EXPECT_EQ(job.running, std::vector<int>({0, 255}));
  EXPECT_EQ(Right("h100,world=256,nodes=32,rank=0,255,seed=7").seed, 7u);
  // A machine has eight GPUs, or as many as count= says, or as many as the job has ranks.
  EXPECT_EQ(Right("h100,rank=3,world=256").world.nodes, 32);
  EXPECT_EQ(Right("h100,rank=3,world=256").count, 8);
  EXPECT_EQ(Right("h100,world=4,rank=3").count, 4);
  EXPECT_EQ(Right("h100,world=4,rank=3").world.nodes, 1);
  EXPECT_EQ(Right("h100,count=4,world=256,rank=0").world.nodes, 64);
  EXPECT_EQ(Right("h100,count=8,world=64,nodes=16,rank=0").count, 8);
  EXPECT_EQ(Right("h100").world.ranks, 0);
  EXPECT_NE(DescribeSpec(Right("h100,world=256,rank=0,8,255"))
                .find(", ranks 0, 8 and 255 of 256 on 32 nodes, the other ranks are not there"),
            std::string::npos);
}

TEST(SpecTest, WhatIsWrongWithAJobIsSaidInOneSentence) {
  const auto says = [](const char* text, const char* sentence) {
    EXPECT_EQ(Wrong(text), std::string("simulated card: ") + sentence);
  };
  says("h100,rank=0", "rank=0 needs world=N: how many ranks the job has.");
  says("h100,nodes=2", "nodes=2 needs world=N: how many ranks the job has.");
  says("h100,world=256", "world=256 needs rank=R: which ranks run, such as rank=0.");
  says("h100,world=256,rank=256", "rank=256 is none of world=256: its ranks are 0 to 255.");
  says("h100,world=256,rank=0,5,0", "rank=0 is named twice.");
  says("h100,world=256,nodes=5,rank=0",
       "nodes=5 does not divide world=256: each machine has as many ranks.");
  says("h100,world=100,rank=0",
       "world=100 cannot be spread over machines of 8 cards: say how many machines there are, with "
       "nodes=N.");
  says("h100,world=256,nodes=2,rank=0",
       "nodes=2 makes 128 ranks a machine, which has at most 16 cards: give more.");
  says("h100,count=4,world=16,nodes=2,rank=0", "count=4 is too few for 8 ranks a machine.");
  EXPECT_NE(Wrong("h100,world=0,rank=0").find("a number from 1 to 65536"), std::string::npos);
  EXPECT_NE(Wrong("h100,world=8,rank=x").find("a rank such as 0"), std::string::npos);
  EXPECT_NE(Wrong("h100,world=8,rank=0,x").find("no option"), std::string::npos);
}

TEST(SpecTest, HelpNamesEveryCardAndOption) {
  const std::string help = SpecHelp();
  const CardTable cards = AllCards();
  for (size_t i = 0; i < cards.count; ++i) {
    EXPECT_NE(std::string::npos, help.find(std::string("  ") + cards.rows[i].key + " "))
        << cards.rows[i].key;
  }
  for (const char* name : {"  kernel-time=", "  sms=", "  cc="}) {
    EXPECT_NE(std::string::npos, help.find(name)) << name;
  }
}

TEST(SpecTest, ACardThatIsNotInTheListIsDescribedByItsRelative) {
  const Spec spec = Right("rtx3090,sms=48,cc=8.7,memory=16GiB");
  EXPECT_EQ(spec.card.multiprocessors, 48);
  EXPECT_EQ(spec.card.major, 8);
  EXPECT_EQ(spec.card.minor, 7);
  EXPECT_EQ(spec.memory_bytes, 16 * kGiB);
  // The option changes only this SPEC, and not the row in the table of GPUs.
  EXPECT_EQ(Right("rtx3090").card.multiprocessors, 82);
}

}  // namespace
}  // namespace vramstow::simulator
