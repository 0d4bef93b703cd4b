// Macros that describe locks to clang's -Wthread-safety: which data a lock guards, and which lock a
// function takes, releases or expects.
//
// Idea: they have the names of Abseil's thread annotations, but do not need Abseil, because most of
// the code that has locks runs inside a foreign process. Other compilers ignore them. The preset
// `thread-safety` of CMakePresets.json checks them as errors.
//
// Source: clang's page "Thread Safety Analysis".
// Ownership: none. Threads: none. Errors: none. Units: none.
#ifndef VRAMSTOW_BASE_THREAD_ANNOTATIONS_H_
#define VRAMSTOW_BASE_THREAD_ANNOTATIONS_H_

#if defined(__clang__)
#define VRAMSTOW_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define VRAMSTOW_THREAD_ATTRIBUTE(x)
#endif

// Annotations of a class. Its objects are locks, or hold a lock from construction to destruction.
#define VRAMSTOW_CAPABILITY(name) VRAMSTOW_THREAD_ATTRIBUTE(capability(name))
#define VRAMSTOW_SCOPED_CAPABILITY VRAMSTOW_THREAD_ATTRIBUTE(scoped_lockable)

// Annotations of a variable. It may be used only while the lock is held; with PT_, this applies to
// the data behind the pointer.
#define VRAMSTOW_GUARDED_BY(lock) VRAMSTOW_THREAD_ATTRIBUTE(guarded_by(lock))
#define VRAMSTOW_PT_GUARDED_BY(lock) VRAMSTOW_THREAD_ATTRIBUTE(pt_guarded_by(lock))

// Annotations of a lock. They state the order in which locks are taken.
#define VRAMSTOW_ACQUIRED_BEFORE(...) VRAMSTOW_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))
#define VRAMSTOW_ACQUIRED_AFTER(...) VRAMSTOW_THREAD_ATTRIBUTE(acquired_after(__VA_ARGS__))

// Annotations of a function. They state that the caller must hold the lock, or must not hold it, or
// that the function takes or releases the lock.
#define VRAMSTOW_REQUIRES(...) VRAMSTOW_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define VRAMSTOW_EXCLUDES(...) VRAMSTOW_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define VRAMSTOW_ACQUIRE(...) VRAMSTOW_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define VRAMSTOW_TRY_ACQUIRE(...) VRAMSTOW_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define VRAMSTOW_RELEASE(...) VRAMSTOW_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define VRAMSTOW_ASSERT_HELD(...) VRAMSTOW_THREAD_ATTRIBUTE(assert_capability(__VA_ARGS__))
// Annotation of a function that returns this lock.
#define VRAMSTOW_LOCK_RETURNED(lock) VRAMSTOW_THREAD_ATTRIBUTE(lock_returned(lock))

// Annotation of a function that the analysis cannot follow. The comment beside the function says
// why it is correct.
#define VRAMSTOW_NO_LOCK_ANALYSIS VRAMSTOW_THREAD_ATTRIBUTE(no_thread_safety_analysis)

#endif  // VRAMSTOW_BASE_THREAD_ANNOTATIONS_H_
