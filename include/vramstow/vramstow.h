/* vramstow: see, pool and move the GPU memory of a process that knows nothing of it.
 *
 * This is the C API, the only installed header. It is for programs that want to talk to vramstow
 * when it is preloaded; none of it is needed to use vramstow. Conventions:
 *
 *  1. A program may link libvramstow.so, or look a function up with dlsym and go without if it is
 * null.
 *  2. No function prints, exits, throws or keeps a pointer of the caller's.
 *  3. Every function may be called from any thread at any time, also where CUDA was never used.
 *  4. Texts are UTF-8, end with a zero byte and belong to vramstow.
 */
#ifndef VRAMSTOW_VRAMSTOW_H_
#define VRAMSTOW_VRAMSTOW_H_

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the loaded library, such as "0.1.0". Never null. */
const char* vramstow_version(void);

#ifdef __cplusplus
}
#endif

#endif /* VRAMSTOW_VRAMSTOW_H_ */
