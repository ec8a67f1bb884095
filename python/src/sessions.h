#pragma once

#include <memory>
#include <optional>

#include "arguments.h"
#include "trireme/session.h"
#include "trireme/trainer.h"

namespace trireme::python {

// Arrays by the names of inputs. Errors: usage.
Feeds feeds_of(const nb::dict& arrays);

SessionOptions session_options(const Call& call);

// All numbers and tensors of a measurement by name.
nb::dict numbers_of(const Metrics& metrics);

// Whether Ctrl-C has come during a training, and the KeyboardInterrupt.
struct Interrupt {
  std::optional<nb::python_error> error;
};

// Sets the options that a call gives to a training; Ctrl-C then ends it after a step, with a
// checkpoint. The caller throws the error of the Interrupt at the end. `function` is the name in
// messages.
std::shared_ptr<Interrupt> set_fit(const char* function, const nb::kwargs& given,
                                   FitOptions& options);

// Session.state_dict and Session.load_state_dict. Errors: as in trireme/state.h.
nb::dict state_of(Session& session);
nb::tuple load_state(Session& session, const nb::dict& arrays, bool strict, nb::handle layout,
                     const nb::dict& modules);

// Marks a Session, or an object with a Session, as used by this thread while it lives, because runs
// release the interpreter lock. The thread itself may use it again, as callbacks do. Make it and
// destroy it with the lock held. Errors: usage, if another thread uses it.
class InUse {
 public:
  explicit InUse(const void* object);
  ~InUse();
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  const void* object_;
  bool outermost_;
};

}  // namespace trireme::python
