// Secrets: what in a command line must not get into a trace that may be shown to others.
//
// Idea: values of arguments and variables whose name says that they are secret ("--api-key",
// "HF_TOKEN=", "password"), texts that begin like the tokens of well-known services ("hf_", "sk-"),
// and passwords in addresses ("://user:password@") give way to "***".
//
// Ownership: the caller's buffer. Threads: any. Errors: none. No heap. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_SECRETS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_SECRETS_H_

#include <cstddef>

namespace vramstow {

// `arguments` are texts that end with '\0' each, as /proc/PID/cmdline has them; the last one may be
// cut. Writes them to `shown`, with a space between them and without their secrets. Gives the
// length of what was written, at most `shown_size`: what does not fit is cut.
size_t ShowWithoutSecrets(const char* arguments, size_t size, char* shown, size_t shown_size);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_SECRETS_H_
