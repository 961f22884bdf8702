// Daemon threads that are in the core when the interpreter ends.
//
// Python up to 3.13 ends such a thread as soon as it asks for Python's lock, by pthread_exit. glibc does that by an exception,
// which passes through destructors, of nanobind's, that must not throw: the process would abort. Here the thread waits instead
// until the process is gone, as all threads do from Python 3.14 on. The linker puts these functions in the place of Python's
// (--wrap in CMakeLists.txt); in other systems pthread_exit is not an exception.
#include <Python.h>

#include <chrono>
#include <thread>

// The linker prescribes the names.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

void __real_PyEval_RestoreThread(PyThreadState* state);
PyGILState_STATE __real_PyGILState_Ensure();

[[noreturn]] static void wait_for_the_end() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(24));
}

void __wrap_PyEval_RestoreThread(PyThreadState* state) {
  try {
    __real_PyEval_RestoreThread(state);
  } catch (...) {
    wait_for_the_end();
  }
}

PyGILState_STATE __wrap_PyGILState_Ensure() {
  try {
    return __real_PyGILState_Ensure();
  } catch (...) {
    wait_for_the_end();
  }
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
