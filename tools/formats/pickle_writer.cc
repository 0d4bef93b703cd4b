#include "tools/formats/pickle_writer.h"

#include <bit>

#include "tools/formats/pickle_opcodes.h"

namespace vramstow {
namespace {

constexpr uint8_t kProtocol = 4;
// The number of values that Python appends to a list at a time.
constexpr uint32_t kBatch = 1000;
constexpr size_t kFlushBytes = size_t{1} << 20;
constexpr uint64_t kLongestMemoised = 4096;

}  // namespace

PickleWriter::PickleWriter(std::ostream* sink) : sink_(sink) {
  Byte(pickle::kProtocol);
  Byte(kProtocol);
}

void PickleWriter::Begin(char start, char end) {
  Value();
  buffer_ += start;
  buffer_ += static_cast<char>(pickle::kMark);
  open_.push_back({end});
}

void PickleWriter::End() {
  buffer_ += open_.back().end;
  open_.pop_back();
  FlushIfLarge();
}

void PickleWriter::Value() {
  if (open_.empty()) return;
  Open& open = open_.back();
  // Only lists are split into batches, because the dicts that are written here are short.
  if (open.end == 'e' && open.values == kBatch) {
    buffer_ += open.end;
    buffer_ += static_cast<char>(pickle::kMark);
    open.values = 0;
  }
  ++open.values;
}

void PickleWriter::None() {
  Value();
  Byte(pickle::kNone);
}

void PickleWriter::Bool(bool value) {
  Value();
  Byte(value ? pickle::kNewTrue : pickle::kNewFalse);
}

void PickleWriter::Integer(int64_t value) {
  if (value >= 0) return Unsigned(static_cast<uint64_t>(value));
  Value();
  if (value >= INT32_MIN) {
    Byte(pickle::kBinInt);
    Raw(static_cast<int32_t>(value));
    return;
  }
  PutLong(static_cast<uint64_t>(value), 8);
}

void PickleWriter::Unsigned(uint64_t value) {
  Value();
  if (value <= UINT8_MAX) {
    Byte(pickle::kBinInt1);
    Byte(static_cast<uint8_t>(value));
  } else if (value <= UINT16_MAX) {
    Byte(pickle::kBinInt2);
    Raw(static_cast<uint16_t>(value));
  } else if (value <= INT32_MAX) {
    Byte(pickle::kBinInt);
    Raw(static_cast<int32_t>(value));
  } else {
    // The stored number needs an additional bit for the sign.
    PutLong(value, static_cast<int>(std::bit_width(value)) / 8 + 1);
  }
}

void PickleWriter::PutLong(uint64_t bits, int bytes) {
  Byte(pickle::kLong1);
  Byte(static_cast<uint8_t>(bytes));
  for (int i = 0; i < bytes; ++i) {
    Byte(static_cast<uint8_t>(i < 8 ? bits >> (8 * i) : 0));
  }
}

void PickleWriter::Float(double value) {
  Value();
  Byte(pickle::kBinFloat);
  Raw(__builtin_bswap64(std::bit_cast<uint64_t>(value)));
}

void PickleWriter::Text(std::string_view text) {
  Value();
  PutText(text);
}

void PickleWriter::PutText(std::string_view text) {
  const auto known = texts_.find(text);
  if (known != texts_.end()) return PutGet(known->second);
  if (text.size() <= UINT8_MAX) {
    Byte(pickle::kShortBinUnicode);
    Byte(static_cast<uint8_t>(text.size()));
  } else {
    text = text.substr(0, UINT32_MAX);
    Byte(pickle::kBinUnicode);
    Raw(static_cast<uint32_t>(text.size()));
  }
  buffer_ += text;
  if (text.size() > kLongestMemoised) return;
  known_texts_.emplace_back(text);
  texts_.emplace(known_texts_.back(), Remember());
}

void PickleWriter::Pair(uint64_t first, uint64_t second) {
  Value();
  open_.push_back({0});  // its numbers are not used outside
  Unsigned(first);
  Unsigned(second);
  open_.pop_back();
  Byte(pickle::kTuple2);
}

uint32_t PickleWriter::Remember() {
  Byte(pickle::kMemoize);
  return remembered_++;
}

void PickleWriter::Again(uint32_t number) {
  Value();
  PutGet(number);
}

void PickleWriter::PutGet(uint32_t number) {
  if (number <= UINT8_MAX) {
    Byte(pickle::kBinGet);
    Byte(static_cast<uint8_t>(number));
  } else {
    Byte(pickle::kLongBinGet);
    Raw(number);
  }
}

void PickleWriter::FlushIfLarge() {
  if (buffer_.size() < kFlushBytes) return;
  sink_->write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

void PickleWriter::Finish() {
  Byte(pickle::kStop);
  sink_->write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

}  // namespace vramstow
