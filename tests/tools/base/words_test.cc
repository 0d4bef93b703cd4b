#include "tools/base/words.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

constexpr uint64_t kSecondNs = 1000000000;

TEST(Words, CountsHaveThousandsApart) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1000), "1,000");
  EXPECT_EQ(Count(1234567), "1,234,567");
  EXPECT_EQ(Counted(1, "block"), "1 block");
  EXPECT_EQ(Counted(0, "block"), "0 blocks");
}

TEST(Words, TimesHaveAFittingUnit) {
  EXPECT_EQ(Time(0), "0 ns");
  EXPECT_EQ(Time(4200000), "4.20 ms");
  EXPECT_EQ(Time(12300), "12.3 us");
  EXPECT_EQ(Time(12 * kSecondNs), "12.0 s");
  EXPECT_EQ(Time(119 * kSecondNs), "119 s");
  EXPECT_EQ(Time(200 * kSecondNs), "3 min 20 s");
  EXPECT_EQ(Time(7500 * kSecondNs), "2 h 05 min");
}

TEST(Words, OnlyAllIsAHundredPercentAndOnlyNothingIsNone) {
  EXPECT_EQ(Share(0, 10), "0%");
  EXPECT_EQ(Share(1, 1000), "<1%");
  EXPECT_EQ(Share(999, 1000), "99%");
  EXPECT_EQ(Share(10, 10), "100%");
  EXPECT_EQ(Share(5, 0), "0%");
  EXPECT_EQ(Ratio(145, 100), "1.45");
}

TEST(Words, WhatIsInATraceCannotControlATerminal) {
  EXPECT_EQ(Printable("plain ünïcode …"), "plain ünïcode …");
  EXPECT_EQ(Printable("\x1b[31mred\n\x7f"), "?[31mred??");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "2J"),
            "?2J");
  EXPECT_EQ(Printable("\xff\xc3"), "??");
  EXPECT_EQ(Printable("\xe2\x82"), "??");
  EXPECT_EQ(Printable("\xe0\x80\x80"), "???");  // longer than it has to be
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???");  // half of a character of UTF-16
}

TEST(Words, AWordForTheShellIsQuotedWhereItHasToBe) {
  EXPECT_EQ(ShellWord("traces/python-4711.stow"), "traces/python-4711.stow");
  EXPECT_EQ(ShellWord("my traces"), "'my traces'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("größe 1"), "'größe 1'");
}

TEST(Words, AWordForTheShellIsTheSameAgainWhateverItsBytesAre) {
  EXPECT_EQ(ShellWord("a\nb\tit's\\"), "$'a\\nb\\tit\\'s\\\\'");
  EXPECT_EQ(ShellWord("\x1b[0m\xff"), "$'\\x1b[0m\\xff'");
}

TEST(Words, AProcessHasItsOwnPlural) {
  EXPECT_EQ(Counted(1, "other process"), "1 other process");
  EXPECT_EQ(Counted(2, "other process"), "2 other processes");
  EXPECT_EQ(Counted(2, "event"), "2 events");
}

TEST(Words, TextIsShortenedInTheMiddle) {
  EXPECT_EQ(Shortened("short", 10, true), "short");
  EXPECT_EQ(Shortened("libtorch_cuda.so", 9, true), "libt…a.so");
  EXPECT_EQ(Shortened("libtorch_cuda.so", 9, false), "libt...so");
  EXPECT_EQ(Shortened("ööööö", 3, true), "ö…ö");
  EXPECT_EQ(Columns(Shortened("ööööööööö", 6, true)), 6u);
  EXPECT_EQ(Shortened("abcdef", 1, true), "a");
}

TEST(Words, LinesAreBrokenAtSpaces) {
  EXPECT_EQ(Wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(Wrapped("unbreakable words", 4), "unbreakable\nwords");
  EXPECT_EQ(Wrapped("", 4), "");
}

}  // namespace
}  // namespace vramstow
