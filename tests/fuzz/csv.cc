#include "data/blob.h"
#include "data/table.h"
#include "fuzz.h"

// CSV files; the first byte chooses the options.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  trireme::data::CsvOptions options;
  options.header = (data[0] & 1) != 0;
  options.standardize = (data[0] & 2) != 0;
  options.separator = (data[0] & 4) != 0 ? ';' : ',';
  options.skip_lines = data[0] >> 6;
  if ((data[0] & 16) != 0) options.missing = trireme::data::Missing::mean;
  if ((data[0] & 32) != 0) {
    options.categories = {options.header ? "word" : "1"};
    options.classes = true;
    options.missing_word = std::string(1, '?');  // of "?" GCC 12 warns without cause (bug 105651)
  }
  if ((data[0] & 8) != 0) options.one_hot = {options.header ? "name" : "0"};
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    const auto dataset = trireme::data::table_from_csv(bytes, "f", options);
    const char* target = options.classes ? "label" : "target";
    if (dataset.all().at(target).dim(0) != dataset.size()) __builtin_trap();
  });
}
