// ProtoWriter writes messages in the wire format of Protocol Buffers, field by field.
//
// Idea: only a few fields of two public formats are written, for which a library would cost more
// than it saves. A message is a string; a nested message is written first.
//
// Ownership: owns its bytes. Threads: one at a time. Errors: none. Units: none.
// Source: protobuf.dev, "Encoding".
#ifndef VRAMSTOW_TOOLS_EXPORTS_PROTO_WRITER_H_
#define VRAMSTOW_TOOLS_EXPORTS_PROTO_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace vramstow {

class ProtoWriter {
 public:
  // Writes a number of any integral type except those with zigzag encoding. A negative number is
  // written as its 64 bits.
  ProtoWriter& Number(uint32_t field, uint64_t value) {
    Varint(uint64_t{field} << 3 | kVarint);
    Varint(value);
    return *this;
  }
  ProtoWriter& Text(uint32_t field, std::string_view text) {
    Varint(uint64_t{field} << 3 | kLengthDelimited);
    Varint(text.size());
    bytes_.append(text);
    return *this;
  }
  ProtoWriter& Message(uint32_t field, const ProtoWriter& message) {
    return Text(field, message.bytes_);
  }
  // Writes a repeated number, packed; writes nothing if there are none.
  template <typename Numbers>
  ProtoWriter& Packed(uint32_t field, const Numbers& numbers) {
    ProtoWriter packed;
    for (const auto number : numbers) packed.Varint(static_cast<uint64_t>(number));
    return packed.bytes_.empty() ? *this : Text(field, packed.bytes_);
  }

  const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

 private:
  static constexpr uint64_t kVarint = 0;
  static constexpr uint64_t kLengthDelimited = 2;

  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_PROTO_WRITER_H_
