// Provides the few text functions that the shim needs. The shim does not call libc's functions for
// texts. AddressSanitizer wraps those, and its wrappers crash before the sanitizer has started.
//
// Ownership: none. Threads: pure functions. Errors: none. Units: characters.
#ifndef VRAMSTOW_INTERPOSE_SHIM_TEXT_H_
#define VRAMSTOW_INTERPOSE_SHIM_TEXT_H_

namespace vramstow {

// Compares two texts as strcmp does.
constexpr int CompareText(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

constexpr bool EqualText(const char* a, const char* b) { return CompareText(a, b) == 0; }

constexpr bool StartsWith(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return false;
  }
  return true;
}

// Returns the part after the last slash.
constexpr const char* BaseName(const char* path) {
  const char* name = path;
  for (const char* p = path; *p != '\0'; ++p) {
    if (*p == '/') name = p + 1;
  }
  return name;
}

// Appends `text` at `end` as far as it fits before `limit`, adds a zero byte, and returns the new
// end.
constexpr char* AppendText(char* end, char* limit, const char* text) {
  while (end + 1 < limit && *text != '\0') *end++ = *text++;
  *end = '\0';
  return end;
}

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_TEXT_H_
