// Removes secrets from a command line before it is written to a trace, which may be shown to other
// people.
//
// Idea: "***" replaces values of arguments and variables with a secret name ("--api-key",
// "HF_TOKEN=", "password"), also within a text (`python -c`, headers of HTTP); texts that begin
// like the tokens of well-known services ("hf_", "sk-"); and passwords in addresses
// ("://user:password@"). A text that only looks like a secret is rather hidden than shown, but
// short numbers are shown after names of counts ("--max-token 512").
//
// Ownership: the caller's buffer. Threads: any. Errors: none. No heap. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_RECORD_SECRETS_H_
#define VRAMSTOW_INTERPOSE_CORE_RECORD_SECRETS_H_

#include <cstddef>

namespace vramstow {

// Writes `arguments` to `shown`, with a space between them and without their secrets. `arguments`
// are texts that end with '\0' each, as in /proc/PID/cmdline; the last one may be cut. Returns the
// number of bytes written, at most `shown_size`: text that does not fit is cut.
size_t ShowWithoutSecrets(const char* arguments, size_t size, char* shown, size_t shown_size);

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RECORD_SECRETS_H_
