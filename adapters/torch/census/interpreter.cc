#include "adapters/torch/census/interpreter.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace vramstow::torch_census {
namespace {

// Offsets of CPython on machines of 64 bits: Include/cpython/pystate.h, Include/cpython/code.h,
// Include/cpython/frameobject.h, Include/internal/pycore_frame.h.
struct Layout {
  int minor;
  // Up to CPython 3.10 a frame is an object. A code object there has its variables, its cells and
  // the variables of outer functions in three tuples, and its name does not contain the class.
  bool has_frame_objects;
  bool has_cframe;  // the thread points to it, and it points to the frame
  size_t thread_frame, cframe_frame, thread_handled;
  size_t handled_value, handled_next;
  size_t frame_code, frame_previous, frame_variables;
  size_t code_count, code_outer, code_names, code_file, code_name;
};
constexpr Layout kLayouts[] = {
    {9, true, false, 24, 0, 144, 8, 24, 32, 24, 360, 0, 80, 72, 104, 112},
    {10, true, false, 24, 0, 144, 8, 24, 32, 24, 352, 0, 80, 72, 104, 112},
    {11, false, true, 56, 8, 120, 0, 8, 32, 48, 72, 76, 92, 96, 112, 128},
    {12, false, true, 56, 0, 104, 0, 8, 0, 8, 72, 72, 88, 96, 112, 128},
    {13, false, false, 72, 0, 120, 0, 8, 0, 8, 72, 72, 88, 96, 112, 128},
};
constexpr size_t kCellsOfCode = 88;  // in CPython up to 3.10
// Offsets in struct _frame (Include/internal/pycore_frame.h) and in Include/cpython/traceback.h.
constexpr size_t kFrameOfObject = 24;
constexpr size_t kFrameOfTraceback = 24;
constexpr int kMaxFrames = 4096;
constexpr int kMaxVariables = 65536;

const Layout* layout = nullptr;
bool has_handled = false;

template <typename T>
T At(const void* base, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

template <typename T>
bool ReadSafely(const void* base, size_t offset, T* to) {
  iovec local = {to, sizeof *to};
  iovec remote = {const_cast<char*>(static_cast<const char*>(base)) + offset, sizeof *to};
  return base != nullptr &&
         process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof *to);
}

bool IsOf(const void* object, const Type* type) {
  Object head;
  return ReadSafely(object, 0, &head) && head.type == type;
}

bool IsTuple(const void* object, intptr_t count) {
  Tuple tuple;
  Type type;
  return ReadSafely(object, 0, &tuple) && ReadSafely(tuple.head.type, 0, &type) &&
         (type.flags & kIsTuple) != 0 && tuple.count == count;
}

// Up to 3.10.
bool ListsAreRight(const Layout& about, const void* code) {
  for (const size_t place : {about.code_names, kCellsOfCode, about.code_outer}) {
    const void* names = nullptr;
    Tuple tuple;
    if (!ReadSafely(code, place, &names) || !ReadSafely(names, 0, &tuple) ||
        !IsTuple(names, tuple.count) || tuple.count < 0 || tuple.count >= kMaxVariables) {
      return false;
    }
  }
  return true;
}

bool VariablesAreRight(const Layout& about, const void* code) {
  if (about.has_frame_objects) return ListsAreRight(about, code);
  int count = 0;
  int outer = 0;
  const void* names = nullptr;
  return ReadSafely(code, about.code_count, &count) && ReadSafely(code, about.code_outer, &outer) &&
         ReadSafely(code, about.code_names, &names) && count >= 0 && count < kMaxVariables &&
         outer >= 0 && outer <= count && IsTuple(names, count);
}

bool CodeIsRight(const Layout& about, const void* code) {
  const void* file = nullptr;
  const void* name = nullptr;
  return VariablesAreRight(about, code) && ReadSafely(code, about.code_file, &file) &&
         ReadSafely(code, about.code_name, &name) && IsOf(file, &PyUnicode_Type) &&
         IsOf(name, &PyUnicode_Type);
}

const void* InnermostFrame(const Layout& about, const void* thread) {
  const void* frame = nullptr;
  if (!ReadSafely(thread, about.thread_frame, &frame)) return nullptr;
  if (about.has_cframe && !ReadSafely(frame, about.cframe_frame, &frame)) return nullptr;
  return frame;
}

// True if all frames of the thread look as expected.
bool FramesAreRight(const Layout& about, const void* thread) {
  int codes = 0;
  const void* frame = InnermostFrame(about, thread);
  for (int i = 0; frame != nullptr && i < kMaxFrames; ++i) {
    const void* code = nullptr;
    if (!ReadSafely(frame, about.frame_code, &code)) return false;
    if (IsOf(code, &PyCode_Type)) {
      if (!CodeIsRight(about, code)) return false;
      ++codes;
    }
    if (!ReadSafely(frame, about.frame_previous, &frame)) return false;
  }
  return codes > 0;
}

// True if the thread's stack of handled exceptions looks as expected.
bool HandledIsRight(const Layout& about, const void* thread) {
  const void* item = nullptr;
  if (!ReadSafely(thread, about.thread_handled, &item) || item == nullptr) return false;
  for (int i = 0; item != nullptr && i < kMaxFrames; ++i) {
    const void* value = nullptr;
    Object head;
    Type type;
    if (!ReadSafely(item, about.handled_value, &value)) return false;
    if (value != nullptr) {
      if (!ReadSafely(value, 0, &head) || !ReadSafely(head.type, 0, &type)) return false;
      char name[9] = {};
      const bool is_none = ReadSafely(type.name, 0, &name) && std::strcmp(name, "NoneType") == 0;
      if ((type.flags & kIsException) == 0 && !is_none) return false;
    }
    if (!ReadSafely(item, about.handled_next, &item)) return false;
  }
  return true;
}

const Tuple* ListOf(const Object* code, size_t place) { return At<const Tuple*>(code, place); }

int MinorVersion() {
  const char* version = Py_GetVersion();
  return std::strncmp(version, "3.", 2) == 0 ? std::atoi(version + 2) : 0;
}

}  // namespace

std::string_view TextOf(Object* text) {
  if (text == nullptr || !Is(text, kIsText)) return {};
  intptr_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return {};
  }
  return {data, static_cast<size_t>(size)};
}

std::string_view Code::name() const { return TextOf(At<Object*>(code_, layout->code_name)); }
std::string_view Code::file() const { return TextOf(At<Object*>(code_, layout->code_file)); }
int Code::variables() const {
  if (!layout->has_frame_objects) return At<int>(code_, layout->code_count);
  return static_cast<int>(ListOf(code_, layout->code_names)->count +
                          ListOf(code_, kCellsOfCode)->count) +
         outer_variables();
}
int Code::outer_variables() const {
  if (!layout->has_frame_objects) return At<int>(code_, layout->code_outer);
  return static_cast<int>(ListOf(code_, layout->code_outer)->count);
}
std::string_view Code::variable(int number) const {
  intptr_t place = number;
  if (place < 0) return {};
  for (const size_t list : {layout->code_names, kCellsOfCode, layout->code_outer}) {
    const Tuple* names = ListOf(code_, list);
    if (place < names->count) return TextOf(names->items[place]);
    place -= names->count;
    if (!layout->has_frame_objects) break;
  }
  return {};
}
bool Code::is_users() const { return IsUsersFile(file()); }

bool Frame::has_code() const {
  const auto* code = At<const Object*>(frame_, layout->frame_code);
  return code != nullptr && code->type == &PyCode_Type;
}
Code Frame::code() const { return Code(At<Object*>(frame_, layout->frame_code)); }
Frame Frame::caller() const { return Frame(At<const void*>(frame_, layout->frame_previous)); }
Object* Frame::variable(int number) const {
  return At<Object*>(frame_,
                     layout->frame_variables + static_cast<size_t>(number) * sizeof(Object*));
}

int Frame::expression_places() const {
  constexpr int kMaxPlaces = 4096;
  // This number is co_stacksize of Include/cpython/code.h.
  const size_t place = layout->minor <= 10 ? 32 : layout->code_count - 8;
  return std::clamp(At<int>(code().object(), place), 0, kMaxPlaces);
}

const void* Frame::expression_place(int number) const {
  const auto place = static_cast<size_t>(code().variables() + number);
  return At<const void*>(frame_, layout->frame_variables + place * sizeof(Object*));
}

void Interpreter::Look() {
  static bool looked = false;
  if (looked) return;
  looked = true;
  const void* thread = PyGILState_GetThisThreadState();
  const int minor = MinorVersion();
  for (const Layout& about : kLayouts) {
    if (about.minor != minor || !FramesAreRight(about, thread)) continue;
    layout = &about;
    has_handled = HandledIsRight(about, thread);
  }
}

bool Interpreter::has_frames() { return layout != nullptr; }
bool Interpreter::has_short_names() { return layout != nullptr && layout->has_frame_objects; }

Frame Interpreter::FrameOf(PyThreadState* thread) {
  if (layout == nullptr || thread == nullptr) return Frame(nullptr);
  const auto* frame = At<const void*>(thread, layout->thread_frame);
  if (frame != nullptr && layout->has_cframe) {
    frame = At<const void*>(frame, layout->cframe_frame);
  }
  return Frame(frame);
}

Frame Interpreter::FrameOf(Object* frame_object) {
  if (layout == nullptr) return Frame(nullptr);
  if (layout->has_frame_objects) return Frame(frame_object);
  return Frame(At<const void*>(frame_object, kFrameOfObject));
}

int Interpreter::Handled(PyThreadState* thread, Object** exceptions, int most) {
  if (layout == nullptr || !has_handled) return 0;
  int count = 0;
  const auto* item = At<const void*>(thread, layout->thread_handled);
  for (int i = 0; item != nullptr && count < most && i < kMaxFrames; ++i) {
    auto* value = At<Object*>(item, layout->handled_value);
    if (value != nullptr && Is(value, kIsException)) exceptions[count++] = value;
    item = At<const void*>(item, layout->handled_next);
  }
  return count;
}

Object* Interpreter::FrameObjectOf(Object* traceback) {
  return At<Object*>(traceback, kFrameOfTraceback);
}

bool Interpreter::is_ending() {
  if (Py_IsInitialized() == 0) return true;
  if (Py_IsFinalizing != nullptr) return Py_IsFinalizing() != 0;
  return _Py_IsFinalizing != nullptr && _Py_IsFinalizing() != 0;
}

namespace {

// True for a file in a folder of PYTHONPATH that holds installed packages, of which `vramstow run`
// tells.
bool IsInPackageFolder(std::string_view file) {
  const char* const variable = std::getenv("VRAMSTOW_PACKAGE_FOLDERS");
  std::string_view folders = variable == nullptr ? "" : variable;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    if (file.starts_with(folder) && file.substr(folder.size(), 1) == "/") return true;
    folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
  }
  return false;
}

}  // namespace

bool IsUsersFile(std::string_view file) {
  if (file.empty()) return false;
  // Code in a notebook, at the prompt or of `python -c` has one of these file names.
  if (file.front() == '<')
    return file == "<string>" || file == "<stdin>" || file == "<input>" ||
           file.starts_with("<ipython-input");
  for (const std::string_view part : {"/site-packages/", "/dist-packages/", "/lib/python3",
                                      "/lib64/python3", "/vramstow/python/"}) {
    if (file.find(part) != std::string_view::npos) return false;
  }
  return !IsInPackageFolder(file);
}

}  // namespace vramstow::torch_census
