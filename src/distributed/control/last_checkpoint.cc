#include "distributed/control/last_checkpoint.h"

#include "distributed/coordination/message.h"

namespace trireme::distributed {

std::string text_of(const LastCheckpoint& last) { return encode(last); }

LastCheckpoint last_checkpoint_of(const std::string& text) {
  return decode<LastCheckpoint>(text, "the last checkpoint of a job");
}

}  // namespace trireme::distributed
