// Tests every layout of a memory snapshot, and the messages about missing parts.
#include "tools/formats/snapshot_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/formats/pickles.h"

namespace vramstow {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

absl::StatusOr<Snapshot> Read(const std::string& bytes) {
  const absl::StatusOr<Input> input = Input::OfBytes("a.pickle", bytes);
  if (!input.ok()) return input.status();
  return ReadSnapshot(*input);
}

Snapshot Good(const std::string& bytes) {
  absl::StatusOr<Snapshot> snapshot = Read(bytes);
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return snapshot.ok() ? *std::move(snapshot) : Snapshot{};
}

void PutNumber(PickleWriter* out, const char* key, uint64_t number) {
  out->Key(key);
  out->Unsigned(number);
}
void PutText(PickleWriter* out, const char* key, const char* text) {
  out->Key(key);
  out->Text(text);
}

// Makes a dict with `segments`: one segment and one block, to which the functions add their keys.
std::string OneBlock(const std::function<void(PickleWriter*)>& segment,
                     const std::function<void(PickleWriter*)>& block) {
  return PickleOf([&](PickleWriter* out) {
    out->BeginDict();
    out->Key("segments");
    out->BeginList();
    out->BeginDict();
    segment(out);
    out->Key("blocks");
    out->BeginList();
    out->BeginDict();
    block(out);
    out->EndDict();
    out->EndList();
    out->EndDict();
    out->EndList();
    out->EndDict();
  });
}

void UsualSegment(PickleWriter* out) {
  PutNumber(out, "device", 0);
  PutNumber(out, "address", 4096);
  PutNumber(out, "total_size", 512);
  PutNumber(out, "allocated_size", 512);
}
void UsualBlock(PickleWriter* out) {
  PutNumber(out, "address", 4096);
  PutNumber(out, "size", 512);
  PutNumber(out, "requested_size", 100);
  PutText(out, "state", "active_allocated");
}

// Makes a dict with one slot of events.
std::string OneSlot(const std::function<void(PickleWriter*)>& entries) {
  return PickleOf([&](PickleWriter* out) {
    out->BeginDict();
    out->Key("device_traces");
    out->BeginList();
    out->BeginList();
    entries(out);
    out->EndList();
    out->EndList();
    out->EndDict();
  });
}

TEST(SnapshotReader, TakesOverEverything) {
  const Snapshot snapshot = Good(FullSnapshotPickle());
  const SnapshotTotals totals = TotalsOf(snapshot.device);
  EXPECT_EQ(totals.segments, 3U);
  EXPECT_EQ(totals.blocks, 6U);
  EXPECT_EQ(totals.pending_bytes, 1024U);
  EXPECT_EQ(TotalsOf(snapshot.device, 2).segments, 1U);
  const SnapshotSegment& large = snapshot.device.segments[1];
  EXPECT_EQ(large.stream, 7U);
  EXPECT_EQ(large.pool, (PoolId{0, 1}));
  EXPECT_EQ(large.type, SegmentType::kLarge);
  EXPECT_TRUE(snapshot.device.segments[2].is_expandable);
  EXPECT_EQ(snapshot.device.segments[2].device, 2);
  ASSERT_EQ(snapshot.device.traces.size(), 4U);
  EXPECT_EQ(snapshot.device.traces[0].size(), 9U);
  EXPECT_THAT(snapshot.device.traces[1], IsEmpty());
  const TraceEntry& oom = snapshot.device.traces[0][6];
  EXPECT_EQ(oom.action, TraceAction::kOutOfMemory);
  EXPECT_EQ(oom.address, uint64_t{123} << 20);
  EXPECT_EQ(snapshot.host.segments.size(), 1U);
  EXPECT_EQ(snapshot.host.traces.size(), 1U);
  EXPECT_EQ(snapshot.settings.size(), 7U);
  EXPECT_EQ(snapshot.stacks.stack_count(), 3U);  // none, forward, backward
  EXPECT_THAT(snapshot.stacks.Stack(kNoStack), IsEmpty());
  EXPECT_THAT(snapshot.missing, IsEmpty());
  EXPECT_TRUE(snapshot.complete);
}

TEST(SnapshotReader, StacksKeepTheirFramesAndFxTexts) {
  const Snapshot snapshot = Good(FullSnapshotPickle());
  const StackId stack = snapshot.device.BlocksOf(snapshot.device.segments[1])[0].stack;
  const auto frames = snapshot.stacks.Stack(stack);
  ASSERT_EQ(frames.size(), 2U);
  const Frame& inner = snapshot.stacks.FrameOf(frames[0]);
  EXPECT_EQ(snapshot.texts.Text(inner.name), "backward");
  EXPECT_EQ(snapshot.texts.Text(inner.filename), "/home/user/train.py");
  EXPECT_EQ(inner.line, 42U);
  EXPECT_EQ(snapshot.texts.Text(inner.fx_node_op), "call_function");
  EXPECT_EQ(snapshot.texts.Text(inner.fx_original_trace), "File \"model.py\", line 7");
  EXPECT_EQ(snapshot.texts.Text(snapshot.stacks.FrameOf(frames[1]).name), "main");
}

TEST(SnapshotReader, OfSeveralSnapshotsTheLastIsRead) {
  const auto put_snapshot = [](PickleWriter* out, uint64_t segments) {
    out->BeginDict();
    out->Key("segments");
    out->BeginList();
    for (uint64_t i = 0; i < segments; ++i) {
      out->BeginDict();
      UsualSegment(out);
      out->EndDict();
    }
    out->EndList();
    out->EndDict();
  };
  const std::string list = PickleOf([&](PickleWriter* out) {
    out->BeginList();
    put_snapshot(out, 1);
    put_snapshot(out, 3);
    out->EndList();
  });
  const std::string dict = PickleOf([&](PickleWriter* out) {
    out->BeginDict();
    out->Key("before");
    put_snapshot(out, 1);
    out->Key("after");
    put_snapshot(out, 3);
    out->EndDict();
  });
  for (const std::string& bytes : {list, dict}) {
    const Snapshot snapshot = Good(bytes);
    EXPECT_EQ(snapshot.device.segments.size(), 3U);
    EXPECT_THAT(snapshot.missing, Contains(HasSubstr("2 snapshots, of which the last is read")));
  }
}

TEST(SnapshotReader, ABareListOfSegmentsIsTheFirstLayout) {
  const std::string bytes = PickleOf([](PickleWriter* out) {
    out->BeginList();
    out->BeginDict();
    UsualSegment(out);
    out->Key("blocks");
    out->BeginList();
    for (const uint64_t size : {256, 256}) {
      out->BeginDict();
      PutNumber(out, "size", size);
      PutText(out, "state", "active_allocated");
      out->Key("history");
      out->BeginList();
      out->BeginDict();
      PutNumber(out, "addr", 4096);
      PutNumber(out, "real_size", 200);
      out->Key("frames");
      out->BeginList();
      out->BeginDict();
      PutText(out, "name", "f");
      PutText(out, "filename", "a.py");
      PutNumber(out, "line", 3);
      out->EndDict();
      out->EndList();
      out->EndDict();
      out->EndList();
      out->EndDict();
    }
    out->EndList();
    out->EndDict();
    out->EndList();
  });
  const Snapshot snapshot = Good(bytes);
  ASSERT_EQ(snapshot.device.blocks.size(), 2U);
  EXPECT_EQ(snapshot.device.blocks[1].address, 4096U + 256);
  EXPECT_EQ(snapshot.device.blocks[1].requested, 200U);
  EXPECT_NE(snapshot.device.blocks[1].stack, kNoStack);
  EXPECT_THAT(snapshot.missing, Contains(HasSubstr("no events")));
  EXPECT_THAT(snapshot.missing, Contains(HasSubstr("no address in 2 blocks")));
  EXPECT_THAT(snapshot.missing, Contains(HasSubstr("no pool id in 1 segment,")));
}

TEST(SnapshotReader, EventsWithoutSegmentsOrTimesAreRead) {
  const Snapshot snapshot = Good(OneSlot([](PickleWriter* out) {
    for (const char* action : {"alloc", "free"}) {
      out->BeginDict();
      PutText(out, "action", action);
      PutNumber(out, "addr", 512);
      PutNumber(out, "size", 512);
      PutNumber(out, "stream", 0);
      out->EndDict();
    }
  }));
  ASSERT_EQ(snapshot.device.traces.size(), 1U);
  EXPECT_EQ(snapshot.device.traces[0][1].action, TraceAction::kFree);
  EXPECT_EQ(snapshot.device.traces[0][1].time_us, kNoTime);
  EXPECT_THAT(snapshot.missing, Contains(HasSubstr("no time in 2 of 2 events")));
  EXPECT_THAT(snapshot.missing, Contains("no segments"));
  EXPECT_THAT(snapshot.missing, Contains("no call stacks"));
}

TEST(SnapshotReader, WhatCannotBeUsedIsLeftOutAndCounted) {
  const Snapshot snapshot = Good(OneSlot([](PickleWriter* out) {
    out->BeginDict();
    PutText(out, "action", "dance");
    PutNumber(out, "addr", 512);
    PutNumber(out, "size", 512);
    out->EndDict();
    out->BeginDict();
    PutText(out, "action", "alloc");
    PutNumber(out, "addr", 512);
    out->EndDict();
    out->BeginDict();
    PutText(out, "action", "alloc");
    PutNumber(out, "addr", 512);
    PutNumber(out, "size", 512);
    out->EndDict();
    out->None();
  }));
  EXPECT_EQ(snapshot.device.traces[0].size(), 1U);
  EXPECT_THAT(snapshot.missing,
              Contains(HasSubstr("3 events could not be used and were left out, the first "
                                 "device_traces[0][0]: its action is 'dance'")));
}

TEST(SnapshotReader, AWrongFieldIsNamed) {
  const auto bad_block = [](const std::function<void(PickleWriter*)>& block) {
    const Snapshot snapshot = Good(OneBlock(UsualSegment, block));
    EXPECT_THAT(snapshot.device.blocks, IsEmpty());
    for (const std::string& sentence : snapshot.missing) {
      if (sentence.find("1 block could not") == 0) return sentence;
    }
    return std::string();
  };
  EXPECT_THAT(bad_block([](PickleWriter* out) {
                PutNumber(out, "address", 4096);
                PutText(out, "size", "big");
                PutText(out, "state", "inactive");
              }),
              HasSubstr("block 0 of the segment at 0x1000: size is a text, not a size"));
  EXPECT_THAT(bad_block([](PickleWriter* out) {
                PutNumber(out, "size", 512);
                PutText(out, "state", "asleep");
              }),
              HasSubstr("its state is 'asleep'"));
  EXPECT_THAT(bad_block([](PickleWriter* out) { PutText(out, "state", "inactive"); }),
              HasSubstr("size is missing"));
  EXPECT_THAT(bad_block([](PickleWriter* out) {
                PutNumber(out, "size", UINT64_MAX);
                PutText(out, "state", "inactive");
              }),
              HasSubstr("after the last address"));
}

TEST(SnapshotReader, NothingThatCanBeUsedIsAnErrorWithTheReason) {
  const absl::StatusOr<Snapshot> no_address =
      Read(OneBlock([](PickleWriter* out) { PutNumber(out, "total_size", 512); }, UsualBlock));
  ASSERT_FALSE(no_address.ok());
  EXPECT_THAT(
      std::string(no_address.status().message()),
      HasSubstr("a.pickle: no segment in it can be used (segments[0]: address is missing)"));
  const absl::StatusOr<Snapshot> bad_device = Read(OneBlock(
      [](PickleWriter* out) {
        PutNumber(out, "device", 1'000'000);
        PutNumber(out, "address", 4096);
        PutNumber(out, "total_size", 512);
      },
      UsualBlock));
  EXPECT_THAT(std::string(bad_device.status().message()),
              HasSubstr("device is not the number of a device"));
}

TEST(SnapshotReader, SumsThatDoNotAgreeAreSaid) {
  const Snapshot snapshot = Good(OneBlock(
      [](PickleWriter* out) {
        PutNumber(out, "address", 4096);
        PutNumber(out, "total_size", 1024);
        PutNumber(out, "allocated_size", 1024);
      },
      UsualBlock));
  EXPECT_THAT(snapshot.missing,
              Contains("the sizes of the blocks do not add up to total_size in 1 segment"));
  EXPECT_THAT(snapshot.missing,
              Contains("the live blocks do not add up to allocated_size in 1 segment"));
}

TEST(SnapshotReader, APickleOfSomethingElseIsNone) {
  const auto sentence = [](const std::string& bytes) {
    const absl::StatusOr<Snapshot> snapshot = Read(bytes);
    EXPECT_FALSE(snapshot.ok());
    return std::string(snapshot.status().message());
  };
  EXPECT_THAT(sentence(PickleOf([](PickleWriter* out) {
                out->BeginDict();
                out->Key("loss");
                out->Float(0.5);
                out->EndDict();
              })),
              HasSubstr("a.pickle: the pickle holds a dict without 'segments'"));
  EXPECT_THAT(sentence(PickleOf([](PickleWriter* out) { out->Integer(5); })),
              HasSubstr("holds a number"));
  EXPECT_THAT(sentence(PickleOf([](PickleWriter* out) {
                out->BeginList();
                out->Integer(5);
                out->EndList();
              })),
              HasSubstr("no segment in it can be used"));
}

TEST(SnapshotReader, AnEmptySnapshotIsOne) {
  const Snapshot snapshot = Good(PickleOf([](PickleWriter* out) {
    out->BeginDict();
    out->Key("segments");
    out->BeginList();
    out->EndList();
    out->Key("device_traces");
    out->BeginList();
    out->EndList();
    out->EndDict();
  }));
  EXPECT_THAT(snapshot.device.segments, IsEmpty());
  EXPECT_THAT(snapshot.missing, Contains("no segments"));
}

// Two bytes of a pickle can repeat a record that was written once. Without a limit, a file of a
// megabyte would become terabytes in memory.
TEST(SnapshotReader, TheSameRecordsOverAndOverAreRefused) {
  std::string bytes = PickleOf([](PickleWriter* out) {
    out->BeginDict();
    out->Key("device_traces");
    out->BeginList();
    out->BeginList();
    for (int i = 0; i < 1000; ++i) {
      out->BeginDict();
      PutText(out, "action", "alloc");
      PutNumber(out, "addr", 512);
      PutNumber(out, "size", 512);
      out->EndDict();
    }
    out->EndList();
    const uint32_t slot = out->Remember();
    for (int i = 0; i < 1000; ++i) out->Again(slot);
    out->EndList();
    out->EndDict();
  });
  const absl::StatusOr<Snapshot> snapshot = Read(bytes);
  EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(snapshot.status().message()),
              HasSubstr("refers to the same records too often"));
}

// A record with a million keys, and a stack of a million frames, can be referred to a million
// times.
TEST(SnapshotReader, LargePartsOverAndOverAreRefused) {
  const auto entries_with = [](const std::function<void(PickleWriter*)>& part) {
    return PickleOf([&part](PickleWriter* out) {
      out->BeginDict();
      out->Key("device_traces");
      out->BeginList();
      out->BeginList();
      part(out);
      out->EndList();
      out->EndList();
      out->EndDict();
    });
  };
  const absl::StatusOr<Snapshot> keys = Read(entries_with([](PickleWriter* out) {
    out->BeginDict();
    PutText(out, "action", "alloc");
    PutNumber(out, "addr", 512);
    for (int i = 0; i < 100'000; ++i) PutNumber(out, "size", 512);
    out->EndDict();
    const uint32_t record = out->Remember();
    for (int i = 0; i < 100'000; ++i) out->Again(record);
  }));
  EXPECT_EQ(keys.status().code(), absl::StatusCode::kResourceExhausted) << keys.status();

  const auto stack_of = [&entries_with](int count) {
    return Read(entries_with([count](PickleWriter* out) {
      out->BeginDict();
      PutText(out, "action", "alloc");
      PutNumber(out, "addr", 512);
      PutNumber(out, "size", 512);
      out->Key("frames");
      out->BeginList();
      out->BeginDict();
      PutText(out, "name", "f");
      out->EndDict();
      const uint32_t frame = out->Remember();
      for (int i = 1; i < count; ++i) out->Again(frame);
      out->EndList();
      out->EndDict();
    }));
  };
  const absl::StatusOr<Snapshot> deep = stack_of(100'000);
  ASSERT_TRUE(deep.ok()) << deep.status();
  EXPECT_EQ(deep->stacks.Stack(deep->device.traces[0][0].stack).size(), 4096U);
}

TEST(SnapshotReader, TooManyDevicesAreRefused) {
  const auto with_slots = [](int count) {
    return Read(PickleOf([count](PickleWriter* out) {
      out->BeginDict();
      out->Key("device_traces");
      out->BeginList();
      for (int i = 0; i < count; ++i) {
        out->BeginList();
        out->EndList();
      }
      out->EndList();
      out->EndDict();
    }));
  };
  EXPECT_TRUE(with_slots(1024).ok());
  EXPECT_EQ(with_slots(1025).status().message(),
            "a.pickle: the snapshot has events of 1025 devices, and vramstow reads at most 1024");
}

TEST(SnapshotReader, LongKeysOfSettingsAreLeftOutAndLongTextsCut) {
  const std::string longest(100'000, 'k');
  const Snapshot snapshot = Good(PickleOf([&longest](PickleWriter* out) {
    out->BeginDict();
    out->Key("segments");
    out->BeginList();
    out->EndList();
    out->Key("allocator_settings");
    out->BeginDict();
    PutNumber(out, longest.c_str(), 1);
    PutText(out, "text", longest.c_str());
    out->EndDict();
    out->EndDict();
  }));
  ASSERT_EQ(snapshot.settings.size(), 1U);
  EXPECT_EQ(snapshot.settings[0].name, "text");
  EXPECT_EQ(std::get<std::string>(snapshot.settings[0].value).size(), 4096U);
}

TEST(SnapshotReader, ACutFileGivesWhatWasReadableAndSaysSo) {
  const std::string whole = FullSnapshotPickle();
  size_t partial = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::StatusOr<Snapshot> snapshot = Read(whole.substr(0, size));
    if (!snapshot.ok()) {
      EXPECT_THAT(std::string(snapshot.status().message()), Not(IsEmpty()));
      continue;
    }
    ++partial;
    EXPECT_FALSE(snapshot->complete);
    ASSERT_THAT(snapshot->missing, Not(IsEmpty()));
    EXPECT_THAT(snapshot->missing.front(), HasSubstr("the pickle ends after")) << size;
  }
  EXPECT_GT(partial, whole.size() / 2);
}

TEST(SnapshotReader, TextsThatAreNotUtf8BecomeSo) {
  const Snapshot snapshot = Good(PickleOf([](PickleWriter* out) {
    out->BeginDict();
    out->Key("segments");
    out->BeginList();
    out->EndList();
    out->Key("external_annotations");
    out->BeginList();
    out->BeginDict();
    PutText(out, "name", "a\xff\xc0\xafz\xed\xa0\x80");
    PutText(out, "stage", "START");
    out->EndDict();
    out->EndList();
    out->EndDict();
  }));
  ASSERT_EQ(snapshot.annotations.size(), 1U);
  EXPECT_EQ(snapshot.texts.Text(snapshot.annotations[0].name),
            "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(SnapshotReader, DeepSettingsAreLeftOut) {
  const Snapshot snapshot = Good(PickleOf([](PickleWriter* out) {
    out->BeginDict();
    out->Key("segments");
    out->BeginList();
    out->EndList();
    out->Key("allocator_settings");
    for (int i = 0; i < 100; ++i) {
      out->BeginDict();
      PutNumber(out, "n", 1);
      out->Key("d");
    }
    out->None();
    for (int i = 0; i < 101; ++i) out->EndDict();
  }));
  EXPECT_EQ(snapshot.settings.size(), 4U);
  EXPECT_EQ(snapshot.settings.back().name, "d.d.d.n");
}

}  // namespace
}  // namespace vramstow
