#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trireme {

// Writes a TensorBoard event file: records of a little-endian u64 length, its masked CRC-32C, an
// Event in the wire format of Protocol Buffers and its masked CRC-32C.
class EventFile {
 public:
  // Creates a file in `directory`, named by time, host and process. Readers drop the events of
  // other files of the folder from `first_step` on, because a resumed run repeats these steps.
  // Errors: io.
  EventFile(const std::string& directory, std::int64_t first_step);

  // Errors: io.
  void add(std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars);
  // An event with the bytes of a Summary.Value (event_values.h), or of a GraphDef. Errors: io.
  void add_value(std::int64_t step, std::string_view value);
  void add_graph(std::string_view graph);
  const std::string& path() const { return path_; }

 private:
  void write_record(std::string_view event);

  std::string path_;
  std::ofstream file_;
};

}  // namespace trireme
