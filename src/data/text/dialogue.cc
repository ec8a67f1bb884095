// What people ask, with what they mean by it or an answer.
#include <yaml-cpp/yaml.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "data/archive.h"
#include "data/blob.h"
#include "data/csv.h"
#include "data/text/corpus.h"
#include "data/text/dialogue.h"
#include "data/text/utf8.h"

namespace trireme::data {
namespace {

constexpr int kDeepestList = 32;

// Collects the texts below a node, in lists. Numbers and words like "yes" are texts, too. An alias
// may contain itself, and a few of them may stand for very many nodes, so the depth is limited, and
// a file has at most one node for each of its bytes. Returns false if it has more.
bool collect_texts(const YAML::Node& node, int depth, std::size_t& nodes_left,
                   std::vector<std::string>& texts) {
  if (depth > kDeepestList || nodes_left == 0) return false;
  --nodes_left;
  if (node.IsScalar()) texts.push_back(node.Scalar());
  if (!node.IsSequence()) return true;
  for (const YAML::Node& child : node) {
    if (!collect_texts(child, depth + 1, nodes_left, texts)) return false;
  }
  return true;
}

// The words of a file's name without folders and end: its category.
std::string stem_of(const std::string& name) {
  const std::string file = name.substr(name.rfind('/') + 1);
  return file.substr(0, file.rfind('.'));
}

}  // namespace

std::vector<std::vector<std::string>> parse_conversations(const std::string& text,
                                                          const std::string& name) {
  check_utf8(text, name);
  std::vector<std::vector<std::string>> conversations;
  try {
    const YAML::Node root = YAML::Load(text);
    const YAML::Node list = root.IsMap() ? root["conversations"] : YAML::Node();
    if (!list || !list.IsSequence()) fail_data(name + ": no list of conversations");
    std::size_t nodes_left = text.size();
    for (const YAML::Node& conversation : list) {
      conversations.emplace_back();
      if (collect_texts(conversation, 0, nodes_left, conversations.back())) continue;
      fail_data(name + ": the lists are nested too deeply, or aliases repeat too much");
    }
  } catch (const YAML::Exception& error) {
    fail_data(name + ":" + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
  return conversations;
}

Corpus intents_from_json(const std::string& text, const std::string& name,
                         const std::string& list) {
  Corpus corpus = empty_corpus(name, {"text", "label"});
  const auto root = try_parse_json(text);
  if (root.is_discarded()) fail_data(name + ": no JSON, or damaged");
  if (!root.is_object() || !root.contains(list) || !root[list].is_array() || root[list].empty()) {
    fail_data(name + ": no list \"" + list + "\" of examples");
  }
  for (const auto& pair : root[list]) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      fail_data(name + ": " + list + ": example " + std::to_string(corpus.size()) +
                " is no pair of text and label");
    }
    add_example(corpus, {pair[0].get<std::string>(), pair[1].get<std::string>()});
  }
  return corpus;
}

Corpus banking77(std::string_view split, const LoadOptions& options) {
  const std::string path = find_part(known_place("banking77"), split, options.directory)[0];
  const CsvTable table = parse_csv(read_text(path), path);
  const std::size_t text = table.index("text");
  const std::size_t label = table.index("category");
  Corpus corpus = empty_corpus(path, {"text", "label"});
  corpus.values = {table.columns[text].words(), table.columns[label].words()};
  if (corpus.size() == 0) fail_data(path + ": the file has a header, but no rows");
  return corpus;
}

Corpus clinc150(std::string_view split, const LoadOptions& options) {
  static const std::map<std::string_view, std::string> kLists = {
      {"train", "train"},         {"validation", "val"},         {"test", "test"},
      {"train_oos", "oos_train"}, {"validation_oos", "oos_val"}, {"test_oos", "oos_test"}};
  const std::string path = find_part(known_place("clinc150"), split, options.directory)[0];
  return intents_from_json(read_text(path), path, kLists.at(split));
}

Corpus chatterbot(std::string_view language, const LoadOptions& options) {
  const std::string path = find_part(known_place("chatterbot"), language, options.directory)[0];
  const std::string folder = "/" + std::string(language) + "/";
  Corpus corpus = empty_corpus(path, {"question", "answer", "category"});
  for (const ArchivedFile& file :
       read_archive(read_blob(path).bytes, path, [&](const std::string& name) {
         return name.find(folder) != std::string::npos && name.ends_with(".yml");
       })) {
    for (const auto& turns : parse_conversations(file.bytes, path + ": " + file.name)) {
      for (std::size_t i = 1; i < turns.size(); ++i) {
        add_example(corpus, {turns[0], turns[i], stem_of(file.name)});
      }
    }
  }
  if (corpus.size() == 0) fail_data(path + ": no conversations in " + folder);
  return corpus;
}

}  // namespace trireme::data
