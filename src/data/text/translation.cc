// Pairs of sentences that mean the same.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "data/archive.h"
#include "data/blob.h"
#include "data/order.h"
#include "data/text/corpus.h"
#include "data/text/utf8.h"

namespace trireme::data {
namespace {

// The rows of both parts, where source sentences at random are held out, each with all its pairs,
// until there are `wanted`.
Parts hold_out_sources(const Corpus& all, std::size_t wanted) {
  std::map<std::string_view, std::vector<std::int64_t>> pairs;
  std::int64_t count = 0;
  for (const std::string& source : all.field("source")) pairs[source].push_back(count++);
  std::vector<const std::vector<std::int64_t>*> groups;
  for (const auto& [source, rows] : pairs) groups.push_back(&rows);

  constexpr std::uint64_t kSeed = 2000;
  Parts parts;
  for (const std::int64_t group : permutation(static_cast<std::int64_t>(groups.size()), kSeed, 0)) {
    std::vector<std::int64_t>& part = parts.test.size() < wanted ? parts.test : parts.train;
    const std::vector<std::int64_t>& rows = *groups[static_cast<std::size_t>(group)];
    part.insert(part.end(), rows.begin(), rows.end());
  }
  std::sort(parts.train.begin(), parts.train.end());
  std::sort(parts.test.begin(), parts.test.end());
  return parts;
}

}  // namespace

Corpus tatoeba(std::string_view split, const LoadOptions& options) {
  constexpr std::size_t kTestPairs = 2000;
  const std::string path = find_part(known_place("tatoeba"), split, options.directory)[0];
  for (const ArchivedFile& file :
       read_archive(read_blob(path).bytes, path,
                    [](const std::string& name) { return name == "fra.txt"; })) {
    const std::string name = path + ": " + file.name;
    check_utf8(file.bytes, name);
    const Corpus all = corpus_of_lines(file.bytes, name, {"source", "target"});
    return pick(all, hold_out_sources(all, kTestPairs).of(split));
  }
  fail_data(path + ": there is no fra.txt in it");
}

}  // namespace trireme::data
