// Declares the parts of CPython that the census uses: layouts that all releases share, and
// functions of its C API.
//
// Idea: the census is compiled without Python's headers, which many machines lack, and one compiled
// census serves CPython 3.9 to 3.13. The head of an object and of a type is the same in all these
// releases. Other fields have different offsets; interpreter.h stores the offsets, and checks them
// before they are used.
//
// Ownership: pointers are borrowed, unless a function says otherwise. Threads: the caller holds the
// interpreter's lock. Errors: as in Python's functions. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_CPYTHON_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_CPYTHON_H_

#include <cstddef>
#include <cstdint>

namespace vramstow::torch_census {

struct Type;

struct Object {
  intptr_t references;
  Type* type;
};

using Visitor = int (*)(Object* object, void* context);
using Traverse = int (*)(Object* self, Visitor visitor, void* context);

// A field of an object that Python code can name: a slot of __slots__, or a member that a C type
// defines.
struct Field {
  const char* name;
  int type;
  intptr_t offset;
  int flags;
  const char* documentation;
};
inline constexpr int kIsObject = 6;
inline constexpr int kIsSlot = 16;

struct Type {
  Object head;
  intptr_t item_count;
  const char* name;
  intptr_t basic_size;
  intptr_t item_size;
  void* functions[15];  // tp_dealloc to tp_as_buffer
  unsigned long flags;
  const char* documentation;
  Traverse traverse;
  void* more[6];  // tp_clear to tp_methods
  const Field* fields;
  void* properties;
  Type* base;
  Object* dict;      // up to 3.11; later a C type may store it elsewhere
  void* further[9];  // tp_descr_get to tp_bases
  Object* order;     // the method resolution order: a tuple of types
};
static_assert(offsetof(Type, flags) == 168 && offsetof(Type, traverse) == 184 &&
              offsetof(Type, fields) == 240 && offsetof(Type, base) == 256 &&
              offsetof(Type, dict) == 264 && offsetof(Type, order) == 344);

struct Tuple {
  Object head;
  intptr_t count;
  Object* items[1];
};

struct List {
  Object head;
  intptr_t count;
  Object** items;
};

struct Cell {
  Object head;
  Object* content;
};

// The layout of classmethod, staticmethod and property.
struct Wrapper {
  Object head;
  Object* function;
};

// Flags of a type.
inline constexpr unsigned long kHasCollector = 1ul << 14;
inline constexpr unsigned long kIsLong = 1ul << 24;
inline constexpr unsigned long kIsList = 1ul << 25;
inline constexpr unsigned long kIsTuple = 1ul << 26;
inline constexpr unsigned long kIsText = 1ul << 28;
inline constexpr unsigned long kIsDict = 1ul << 29;
inline constexpr unsigned long kIsException = 1ul << 30;
inline constexpr unsigned long kIsType = 1ul << 31;

inline bool Is(const Object* object, unsigned long flag) {
  return (object->type->flags & flag) != 0;
}

extern "C" {
struct PyThreadState;
struct PyInterpreterState;

int Py_IsInitialized();
__attribute__((weak)) int Py_IsFinalizing();
__attribute__((weak)) int _Py_IsFinalizing();
const char* Py_GetVersion();
int PyGILState_Check();
int PyGILState_Ensure();
void PyGILState_Release(int state);
PyThreadState* PyGILState_GetThisThreadState();
PyInterpreterState* PyInterpreterState_Main();
PyThreadState* PyInterpreterState_ThreadHead(PyInterpreterState* interpreter);
PyThreadState* PyThreadState_Next(PyThreadState* thread);
__attribute__((weak)) int PyGC_Enable();
__attribute__((weak)) int PyGC_Disable();
__attribute__((weak)) int PyGC_IsEnabled();
// Return the thread that holds the interpreter's lock. Python up to 3.12 has the first function,
// Python 3.13 and later the second.
__attribute__((weak)) PyThreadState* _PyThreadState_UncheckedGet();
__attribute__((weak)) PyThreadState* PyThreadState_GetUnchecked();
PyThreadState* PyEval_SaveThread();
void PyEval_RestoreThread(PyThreadState* thread);

int PyObject_GC_IsTracked(Object* object);
int PyType_IsSubtype(Type* type, Type* base);
// Returns a new reference.
Object* PyObject_GenericGetDict(Object* object, void* context);
void Py_DecRef(Object* object);
int PyDict_Next(Object* dict, intptr_t* place, Object** key, Object** value);
Object* PyDict_GetItemString(Object* dict, const char* key);
Object* PyImport_GetModuleDict();
// Return new references.
Object* PyImport_ImportModule(const char* name);
Object* PyObject_GetAttrString(Object* object, const char* name);
Object* PyObject_CallFunction(Object* callable, const char* format, ...);
Object* PyList_New(intptr_t count);
Object* PyModule_GetDict(Object* module);
const char* PyUnicode_AsUTF8AndSize(Object* text, intptr_t* size);
long PyLong_AsLongAndOverflow(Object* number, int* overflow);
void PyErr_Fetch(Object** type, Object** value, Object** traceback);
void PyErr_Restore(Object* type, Object* value, Object* traceback);
void PyErr_Clear();
Object* PyFunction_GetCode(Object* function);
Object* PyFunction_GetClosure(Object* function);
// Returns a borrowed reference.
Object* PyMethod_Self(Object* method);

extern Object _Py_FalseStruct;
extern Object _Py_TrueStruct;
extern Type PyFrame_Type;
extern Type PyCode_Type;
extern Type PyCFunction_Type;
extern Type PyCell_Type;
extern Type PyFunction_Type;
extern Type PyModule_Type;
extern Type PyTraceBack_Type;
extern Type PyMethod_Type;
extern Type PyClassMethod_Type;
extern Type PyStaticMethod_Type;
extern Type PyProperty_Type;
extern Type PyGen_Type;
extern Type PyCoro_Type;
extern Type PyDict_Type;
extern Type PyUnicode_Type;
extern Type PyLong_Type;
}

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_CPYTHON_H_
