#include "data/table.h"
#include "data/table_encoding.h"
#include "fuzz.h"
#include "session/job/node.h"

// What a saved model keeps of its job as JSON: keys of a job, and how a table was read. The first
// byte chooses which.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme;
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    if ((data[0] & 1) != 0) {
      const data::TableEncoding encoding = data::read_encoding(bytes, "model.json");
      const std::string once = data::encoding_text(encoding);
      if (data::encoding_text(data::read_encoding(once, "f")) != once) __builtin_trap();
      const data::CsvTable table = data::parse_csv("a,b,y\n1,x,2\n,,3\n", "t.csv");
      data::encode_table(table, encoding, {}, false);
      return;
    }
    const std::string once = job::json_text(job::parse_json(std::string(bytes), "model.json"));
    if (job::json_text(job::parse_json(once, "f")) != once) __builtin_trap();
  });
}
