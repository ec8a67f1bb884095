#include "data/records.h"

#include <cstring>

#include "base/checksum.h"
#include "data/columns.h"
#include "fuzz.h"

namespace {

using namespace trireme;
using namespace trireme::data;

std::uint64_t number_at(const std::string& file, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, file.data() + at, sizeof number);
  return number;
}

// Writes the checksum of [begin, end) at `at`, if the places are in the file.
void put_hash(std::string& file, std::size_t at, std::size_t begin, std::size_t end) {
  if (begin > end || end > file.size() || at > file.size() || file.size() - at < 8) return;
  const std::uint64_t hash = hash64(std::string_view(file).substr(begin, end - begin));
  std::memcpy(file.data() + at, &hash, sizeof hash);
}

void mend_header(std::string& file) {
  if (file.size() < kRecordsPrefix) return;
  std::uint32_t text = 0;
  std::memcpy(&text, file.data() + 12, sizeof text);
  put_hash(file, 16, kRecordsPrefix, std::min(kRecordsPrefix + text, file.size()));
}

void mend_records(std::string& file) {
  if (file.size() < kRecordsPrefix + kRecordsFooter) return;
  const std::size_t footer = file.size() - kRecordsFooter;
  const std::uint64_t index = number_at(file, footer);
  if (index > footer) return;
  for (std::size_t at = index; at + 16 <= footer; at += 8) {
    const std::uint64_t begin = number_at(file, at), end = number_at(file, at + 8);
    if (begin < file.size()) put_hash(file, begin, begin + 8, end);
  }
  put_hash(file, footer + 16, index, footer);
}

}  // namespace

// Record files. Bits of the first byte say which checksums are put right first, so that the fuzzer
// reaches what they guard: 1 that of the header, 2 those of records and index.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  return fuzz(data + 1, size - 1, [&](std::string_view bytes) {
    std::string file(bytes);
    if ((data[0] & 2) != 0) mend_records(file);
    if ((data[0] & 1) != 0) mend_header(file);
    const Dataset dataset = parse_records(RandomAccess(Blob::own(std::move(file))), "f");
    const Batch batch = dataset.rows(0, 1);
    try {
      columns_of(batch, 1, "f");
    } catch (const Error&) {
      __builtin_trap();  // what was read does not fit together
    }
  });
}
