// PickleWriter writes plain data as a pickle of protocol 4.
//
// Idea: it uses only opcodes that both Python and PyTorch's public viewer understand: no
// BINUNICODE8, no bytes, no globals, no frames. Texts are memoized, so that a repeated text costs
// two to five bytes; Remember does the same for other values.
//
// Use: BeginDict, then Key and one value each, then EndDict; BeginList, values, EndList. Lists are
// written in batches, as Python does, because the viewer cannot read very long ones; dicts should
// have no more than some hundred keys.
//
// Ownership: the sink must outlive the writer. Threads: one. Errors: none here; a failing sink
// records its own error (std::ostream does). Units: none.
#ifndef VRAMSTOW_TOOLS_FORMATS_PICKLE_WRITER_H_
#define VRAMSTOW_TOOLS_FORMATS_PICKLE_WRITER_H_

#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace vramstow {

class PickleWriter {
 public:
  explicit PickleWriter(std::ostream* sink);

  void BeginDict() { Begin('}', 'u'); }
  void EndDict() { End(); }
  void BeginList() { Begin(']', 'e'); }
  void EndList() { End(); }

  void Key(std::string_view key) { PutText(key); }
  void None();
  void Bool(bool value);
  void Integer(int64_t value);
  void Unsigned(uint64_t value);
  void Float(double value);
  void Text(std::string_view text);
  void Pair(uint64_t first, uint64_t second);  // a tuple

  // Remember() assigns a number to the value that was written last, and returns the number. Again()
  // writes the value of a number again.
  uint32_t Remember();
  void Again(uint32_t number);

  // Ends the pickle. No list or dict may be open.
  void Finish();

 private:
  struct Open {
    char end;  // the opcode that appends the values on the stack
    uint32_t values = 0;
  };

  void Begin(char start, char end);
  void End();
  void Value();  // counts one more value in the open container
  void PutText(std::string_view text);
  void PutGet(uint32_t number);
  void PutLong(uint64_t bits, int bytes);
  void Byte(uint8_t byte) { buffer_ += static_cast<char>(byte); }
  template <typename T>
  void Raw(T number) {
    buffer_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void FlushIfLarge();

  std::ostream* sink_;
  std::string buffer_;
  std::vector<Open> open_;
  std::deque<std::string> known_texts_;  // a deque, so that views stay valid
  absl::flat_hash_map<std::string_view, uint32_t> texts_;
  uint32_t remembered_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_PICKLE_WRITER_H_
