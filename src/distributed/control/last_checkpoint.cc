#include "distributed/control/last_checkpoint.h"

#include "distributed/control/json.h"

namespace trireme::distributed {

std::string text_of(const LastCheckpoint& last) {
  return Json{{"checkpoint", last.checkpoint},
              {"why", checkpoint::escaped(last.why)},
              {"epoch", last.epoch},
              {"done", last.done},
              {"steps", last.steps}}
      .dump();
}

LastCheckpoint last_checkpoint_of(const std::string& text) {
  return parsed_json(text, "last checkpoint of a job", [](const Json& json) {
    LastCheckpoint last;
    last.checkpoint = json.at("checkpoint").get<std::int64_t>();
    last.why = checkpoint::unescaped(json.at("why").get<std::string>());
    last.epoch = json.at("epoch").get<std::int64_t>();
    last.done = json.at("done").get<std::int64_t>();
    last.steps = json.at("steps").get<std::uint64_t>();
    return last;
  });
}

}  // namespace trireme::distributed
