#include "tracer/stack_interner.h"

#include <sys/mman.h>

#include "base/zero_memory.h"
#include "tracer/capture/find_object.h"
#include "tracer/format/varint.h"
#include "tracer/thread_registry.h"

namespace vramstow {
namespace {

// After this many captures a thread checks the list of libraries again.
constexpr uint32_t kCapturesBetweenLooks = 1024;

void* ZeroMemory(size_t size) {
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

constexpr size_t kMaxName = sizeof(PythonCode::name);
constexpr uint64_t kNamed = 0x6E616D6564;  // distinguishes these hashes from all others

// Continues a hash with the FNV-1a hash of the two texts of a name.
uint64_t HashOf(uint64_t before, const StackName& name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::string_view text : {name.text.substr(0, kMaxName), name.kind}) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash = (hash ^ 0xff) * 0x100000001b3u;
  }
  return MixInto(before, hash);
}

// One bit for each kind of events that get a stack: events that create memory, marks, and events
// that trim a cache.
constexpr uint64_t kSites = [] {
  uint64_t bits = 0;
  for (const EventKind kind :
       {EventKind::kAllocate, EventKind::kReserve, EventKind::kMap, EventKind::kRegister,
        EventKind::kImport, EventKind::kPoolCreate, EventKind::kContextCreate,
        EventKind::kGraphAllocate, EventKind::kCacheGrow, EventKind::kCacheOutOfMemory,
        EventKind::kCacheTrim, EventKind::kMark}) {
    static_assert(static_cast<unsigned>(EventKind::kModelWork) < 64);
    bits |= uint64_t{1} << static_cast<unsigned>(kind);
  }
  return bits;
}();

// True if the library is vramstow itself, whose frames are of no interest to the user.
bool IsOurs(const CallerObject* library) {
  return library != nullptr && library->role == CallerRole::kVramstow;
}

}  // namespace

// Maps the tables as separate memory, of which only touched pages use physical memory.
void StackInterner::Start(StackMode mode, OpenTrace* trace, TableWriter* writer) {
  trace_ = trace;
  writer_ = writer;
  if (mode == StackMode::kOff) return;
  tables_ = static_cast<StackTables*>(ZeroMemory(sizeof(StackTables)));
  if (tables_ == nullptr) return;
  mode_ = mode;
  wanted_ = mode == StackMode::kAll ? ~uint64_t{0} : kSites;
  if (CanFindObjects()) wanted_quietly_ = wanted_;
}

void StackInterner::GiveBack(const ThreadRegistry& threads) {
  if (tables_ == nullptr) return;
  MakeZero(&tables_->callers, &tables_->node_count);
  tables_->capture.GiveBack();
  for (uint32_t i = 0; i < threads.count(); ++i) {
    StackScratch* const scratch = threads.at(i).stack;
    if (scratch != nullptr) MakeZero(scratch, scratch + 1);
  }
}

__attribute__((noinline)) uint32_t StackInterner::Take(ThreadBuffer* buffer, CaptureMode mode) {
  FramePlace here = {};
  VRAMSTOW_HERE(here);
  const bool must_look =
      mode == CaptureMode::kMayAsk && ++buffer->captures % kCapturesBetweenLooks == 0;
  uint32_t stack = FindKnown(buffer, here);
  if (stack == 0 || must_look) [[unlikely]]
    stack = TakeUnknown(buffer, here, mode, must_look);
  asm volatile("");  // no tail call: this function's frame is where the walk begins
  return stack;
}

// Captures a stack by a walk. If `must_look` is true, the libraries are checked, too.
__attribute__((noinline)) uint32_t StackInterner::TakeUnknown(ThreadBuffer* buffer,
                                                              const FramePlace& here,
                                                              CaptureMode mode, bool must_look) {
  if (buffer->stack == nullptr) {
    buffer->stack = static_cast<StackScratch*>(ZeroMemory(sizeof(StackScratch)));
    if (buffer->stack == nullptr) return 0;
  }
  StackScratch* const scratch = buffer->stack;
  StackMemo::Key key;
  bool has_key = tables_->capture.KeyOf(here, scratch, &key);
  const uint64_t hash = tables_->capture.Capture(scratch, here, mode);
  uint32_t stack = tables_->stacks.Find(hash);
  if (stack == 0 || must_look) {
    stack = InternNew(scratch, hash, here, mode);
    // The libraries or the interpreter may have changed since the key was made. So the stack is not
    // stored under this key.
    has_key = false;
  }
  if (has_key && stack != 0) tables_->capture.Remember(scratch, key, stack);
  return stack;
}

// Writes a stack that is not in the trace yet. A stack that was unwound by the rules of an unloaded
// library is nearly always such a new stack, so that case is detected here.
uint32_t StackInterner::InternNew(StackScratch* scratch, uint64_t hash, const FramePlace& here,
                                  CaptureMode mode) {
  const void* const self = trace_->Self();
  if (self == nullptr) return 0;
  if (mode == CaptureMode::kMayAsk && tables_->capture.Refresh()) {
    hash = tables_->capture.Capture(scratch, here, mode);
  }
  if (MergeAndAddLibraries(scratch) && mode == CaptureMode::kQuiet) {
    // A new library may lie at the address of an unloaded one, of which the rules are still cached.
    tables_->capture.Forget();
    hash = tables_->capture.Capture(scratch, here, mode);
    MergeAndAddLibraries(scratch);
  }
  if (!writer_->mutex()->Lock(self)) return 0;
  uint32_t stack = tables_->stacks.Find(hash);
  if (stack == 0 && trace_->IsRecording()) stack = EmitStack(*scratch, hash);
  writer_->mutex()->Unlock();
  return stack;
}

// Returns true if one of these frames is in a library that appeared in no earlier stack.
bool StackInterner::MergeAndAddLibraries(StackScratch* scratch) {
  const size_t known = tables_->callers.size();
  StackCapture::Merge(scratch);
  for (size_t i = 0; i < scratch->count; ++i) {
    const StackFrame& frame = scratch->frames[i];
    scratch->libraries[i] =
        frame.kind == StackFrame::kNative
            ? tables_->callers.FindDirect(reinterpret_cast<const void*>(frame.place))
            : nullptr;
  }
  return tables_->callers.size() != known;
}

// Writes a stack and returns its number; 0 if there is no room.
uint32_t StackInterner::EmitStack(const StackScratch& scratch, uint64_t hash) {
  size_t first = 0;
  while (first < scratch.count && IsOurs(scratch.libraries[first])) ++first;
  uint32_t stack = scratch.is_cut ? InternNode({0, FrameKind::kCut, 0, 0}) : 0;
  bool is_written = !scratch.is_cut || stack != 0;
  for (size_t i = scratch.count; i > first && is_written; --i) {
    stack = InternNode(NodeOf(scratch.frames[i - 1], scratch.libraries[i - 1], stack));
    is_written = stack != 0;
  }
  if (!is_written) EmitThatTablesAreFull();
  if (!is_written || stack == 0) return 0;
  Keep(hash, stack);
  return stack;
}

// Stores the number of a whole stack. Each library that is loaded or unloaded gives all stacks new
// hashes, so the old ones fill the table sooner or later. They are removed then. A stack that is
// still in use is added again when it is captured, with the number that it had.
void StackInterner::Keep(uint64_t hash, uint32_t stack) {
  if (tables_->stacks.is_full()) tables_->stacks.Clear();
  tables_->stacks.Add(hash, stack);
}

void StackInterner::EmitThatTablesAreFull() {
  if (tables_->is_full || !trace_->IsRecording()) return;
  tables_->is_full = true;
  writer_->DescribeLocked("stacks.full", "1");
}

// Returns the number of a stack with names as additional innermost frames. Each pair of a stack and
// names is written once; later calls only look it up.
uint32_t StackInterner::Name(uint32_t stack, const StackName* names, size_t count) {
  if (stack == 0 || count == 0 || tables_ == nullptr) return stack;
  uint64_t hash = MixInto(kNamed, stack);
  for (size_t i = 0; i < count; ++i) hash = HashOf(hash, names[i]);
  hash |= 1;
  if (const uint32_t known = tables_->stacks.Find(hash)) return known;
  const void* const self = trace_->Self();
  if (self == nullptr || !writer_->mutex()->Lock(self)) return stack;
  uint32_t named = tables_->stacks.Find(hash);
  if (named == 0 && trace_->IsRecording()) {
    named = stack;
    for (size_t i = count; i > 0 && named != 0; --i) {
      const uint32_t code = InternName(names[i - 1]);
      named = code == 0 ? 0 : InternNode({named, FrameKind::kPython, code, 0});
    }
    if (named != 0) {
      Keep(hash, named);
    } else {
      EmitThatTablesAreFull();
    }
  }
  writer_->mutex()->Unlock();
  return named != 0 ? named : stack;
}

StackInterner::Node StackInterner::NodeOf(const StackFrame& frame, const CallerObject* library,
                                          uint32_t parent) {
  if (frame.kind == StackFrame::kPython) {
    const PythonRuntime& python = tables_->capture.python();
    return {parent, FrameKind::kPython, InternCode(frame),
            python.LineOf(frame.place, frame.instruction)};
  }
  if (library == nullptr) return {parent, FrameKind::kNative, kUnknownName, frame.place};
  uint16_t& number = tables_->libraries[library->index];
  if (number == kUnknownName) {
    number = writer_->InternLibraryLocked(library->path, library->base, library->build_id);
  }
  return {parent, FrameKind::kNative, number, frame.place - library->base};
}

uint32_t StackInterner::InternCode(const StackFrame& frame) {
  const uint64_t key = frame.fingerprint | 1;
  const uint32_t number = tables_->codes.Find(key);
  if (number != 0) return number;
  if (tables_->codes.is_full()) return FurtherFunctions();
  tables_->capture.python().Describe(frame.place, &tables_->code);
  return AddCode(key, tables_->code.name, tables_->code.file, tables_->code.first_line);
}

// Writes a name in the form of a code object. The 64-bit hash of its texts is practically certain
// to differ from every code object's fingerprint.
uint32_t StackInterner::InternName(const StackName& name) {
  const uint64_t key = HashOf(0, name) | 1;
  const uint32_t number = tables_->codes.Find(key);
  return number != 0 ? number : AddCode(key, name.text.substr(0, kMaxName), name.kind, 0);
}

// Writes a code object and returns its number; 0 if there is no room.
uint32_t StackInterner::AddCode(uint64_t key, std::string_view name, std::string_view file,
                                uint32_t first_line) {
  if (!tables_->codes.Add(key, tables_->code_count + 1)) return 0;
  return WriteCode(name, file, first_line);
}

uint32_t StackInterner::WriteCode(std::string_view name, std::string_view file,
                                  uint32_t first_line) {
  const uint32_t number = tables_->code_count + 1;
  uint8_t numbers[3 * kMaxVarintBytes];
  uint8_t* out = WriteVarint(numbers, number);
  out = WriteVarint(out, first_line);
  out = WriteVarint(out, name.size());
  const std::string_view parts[] = {AsText(numbers, out), name, file};
  if (!writer_->Append(RecordType::kCode, parts, 3)) return 0;
  tables_->code_count = number;
  return number;
}

// Returns the number of a code object that stands for all functions without room. Its frames count
// as Python's, so that memory is not attributed to a caller of these functions.
uint32_t StackInterner::FurtherFunctions() {
  EmitThatTablesAreFull();
  if (tables_->further_functions == 0) {
    tables_->further_functions = WriteCode("(further functions)", "<unknown file>", 0);
  }
  return tables_->further_functions;
}

uint32_t StackInterner::InternNode(const Node& node) {
  uint64_t key = MixInto(node.parent, static_cast<uint64_t>(node.kind));
  key = MixInto(MixInto(key, node.source), node.place) | 1;
  uint32_t number = tables_->nodes.Find(key);
  if (number != 0) return number;
  number = tables_->node_count + 1;
  uint8_t numbers[5 * kMaxVarintBytes];
  uint8_t* out = WriteVarint(numbers, number);
  out = WriteVarint(out, node.parent);
  *out++ = static_cast<uint8_t>(node.kind);
  out = WriteVarint(out, node.source);
  out = WriteVarint(out, node.place);
  const std::string_view parts[] = {AsText(numbers, out)};
  if (!tables_->nodes.Add(key, number)) return 0;
  if (!writer_->Append(RecordType::kStack, parts, 1)) return 0;
  tables_->node_count = number;
  return number;
}

}  // namespace vramstow
