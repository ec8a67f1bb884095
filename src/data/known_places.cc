// Where the files of the data sets that have names may be, and how to get them.
#include <algorithm>

#include "base/error.h"
#include "data/find.h"
#include "trireme/known_data.h"

namespace trireme::data {
namespace {

// A file as it is and as people pack it.
std::vector<std::string> packed(const std::string& file) {
  return {file + ".zst", file + ".gz", file};
}

std::vector<KnownPart> mnist_parts() {
  const auto part = [](const std::string& split, const std::string& stem) {
    const std::string images = stem + "-images-idx3-ubyte";
    const std::string labels = stem + "-labels-idx1-ubyte";
    return KnownPart{split, {{images + ".gz", images}, {labels + ".gz", labels}}};
  };
  return {part("train", "train"), part("test", "t10k")};
}

// Parts of one file each; the same file where the loader does the splitting.
std::vector<KnownPart> train_and_test(std::vector<std::string> train,
                                      std::vector<std::string> test) {
  return {{"train", {std::move(train)}}, {"test", {std::move(test)}}};
}

// Parts that are in the same file.
std::vector<KnownPart> parts_of_one(const std::vector<std::string>& file,
                                    const std::vector<std::string>& splits) {
  std::vector<KnownPart> parts;
  for (const std::string& split : splits) parts.push_back({split, {file}});
  return parts;
}

// Text: what text_data.h has.
std::vector<KnownPlace> make_corpora() {
  const auto held_out = [](const std::string& file) {
    return parts_of_one(packed(file), {"train", "test"});
  };
  const std::vector<std::string> languages = {
      "bengali", "chinese",   "dutch",    "english",    "french",     "german",
      "hebrew",  "hindi",     "hinglish", "indonesian", "italian",    "japanese",
      "korean",  "marathi",   "oriya",    "persian",    "portuguese", "russian",
      "spanish", "swedish",   "tamil",    "telugu",     "thai",       "traditionalchinese",
      "turkish", "ukrainian", "urdu",     "yoruba"};
  return {
      {"movie_reviews",
       {"sentiment", "movie_reviews"},
       "",
       "put movie_reviews.zip of NLTK into $TRIREME_DATA/sentiment",
       held_out("movie_reviews.zip")},
      {"sentence_polarity",
       {"sentiment", "sentence_polarity"},
       "",
       "put sentence_polarity.zip of NLTK into $TRIREME_DATA/sentiment",
       held_out("sentence_polarity.zip")},
      {"wikitext2",
       {"text", "wikitext2"},
       "",
       "put wikitext2.valid.txt and wikitext2.test.txt into $TRIREME_DATA/text",
       {{"validation", {packed("wikitext2.valid.txt")}}, {"test", {packed("wikitext2.test.txt")}}}},
      {"tiny_shakespeare",
       {"text", "tiny_shakespeare"},
       "",
       "put tinyshakespeare.txt into $TRIREME_DATA/text",
       held_out("tinyshakespeare.txt")},
      {"tatoeba",
       {"translation", "tatoeba"},
       "",
       "put fra-eng.zip, English and French with a tab between, into $TRIREME_DATA/translation",
       held_out("fra-eng.zip")},
      {"propbank",
       {"srl", "propbank"},
       "",
       "put ewt_srl.conll, the English Web Treebank with PropBank roles, into $TRIREME_DATA/srl",
       held_out("ewt_srl.conll")},
      {"banking77",
       {"dialogue", "banking77"},
       "",
       "put banking77.train.csv and banking77.test.csv into $TRIREME_DATA/dialogue",
       train_and_test(packed("banking77.train.csv"), packed("banking77.test.csv"))},
      {"clinc150",
       {"dialogue", "clinc150"},
       "",
       "put clinc150.json into $TRIREME_DATA/dialogue",
       parts_of_one(packed("clinc150.json"),
                    {"train", "validation", "test", "train_oos", "validation_oos", "test_oos"})},
      {"chatterbot",
       {"dialogue", "chatterbot"},
       "",
       "put chatterbot.tar, the folder chatterbot_corpus, into $TRIREME_DATA/dialogue",
       parts_of_one(packed("chatterbot.tar"), languages)},
  };
}

std::vector<KnownPlace> make_places() {
  const std::vector<std::string> california = packed("california_housing.csv");
  const std::vector<std::string> boston = {"boston_house_prices.csv"};
  std::vector<KnownPlace> places = {
      {"fashion_mnist",
       {"fashion-mnist", "fashion_mnist"},
       "/usr/share/datasets/fashion-mnist",
       "get it with: apt-get install dataset-fashion-mnist",
       mnist_parts()},
      {"mnist",
       {"mnist"},
       "",
       "put the four files of MNIST into $TRIREME_DATA/mnist",
       mnist_parts()},
      {"cifar10",
       {"cifar10"},
       "",
       "put cifar10_train.rec and cifar10_test.rec into $TRIREME_DATA/cifar10",
       train_and_test(packed("cifar10_train.rec"), packed("cifar10_test.rec"))},
      {"california_housing",
       {"housing", "california_housing"},
       "",
       "put california_housing.csv into $TRIREME_DATA/housing",
       train_and_test(california, california)},
      {"boston_housing",
       {"housing", "boston_housing"},
       "/usr/lib/python3/dist-packages/sklearn/datasets/data",
       "get it with: apt-get install python3-sklearn",
       train_and_test(boston, boston)},
      {"adult",
       {"ctr", "adult"},
       "",
       "put adult-train.csv and adult-test.csv into $TRIREME_DATA/ctr",
       train_and_test(packed("adult-train.csv"), packed("adult-test.csv"))},
      {"movielens",
       {"movielens"},
       "",
       "put ratings.csv of MovieLens into $TRIREME_DATA/movielens",
       train_and_test(packed("ratings.csv"), packed("ratings.csv"))},
      {"frappe",
       {"ctr", "frappe"},
       "",
       "put frappe.validation.libfm and frappe.test.libfm into $TRIREME_DATA/ctr",
       train_and_test(packed("frappe.validation.libfm"), packed("frappe.test.libfm"))},
      {"criteo",
       {"ctr", "criteo"},
       "",
       "put criteo_train.csv, a sample with a header, into $TRIREME_DATA/ctr",
       train_and_test(packed("criteo_train.csv"), packed("criteo_train.csv"))},
      {"bccd",
       {"detection", "bccd"},
       "",
       "put the BCCD data set as bccd_voc.tar into $TRIREME_DATA/detection",
       parts_of_one(packed("bccd_voc.tar"), {"train", "validation", "test"})},
  };
  for (KnownPlace& corpus : make_corpora()) places.push_back(std::move(corpus));
  const std::vector<std::string> remote = downloadable_datasets();
  for (KnownPlace& place : places) {
    if (std::find(remote.begin(), remote.end(), place.name) == remote.end()) continue;
    place.advice += ", or run: trireme data download " + place.name;
  }
  return places;
}

}  // namespace

const std::vector<KnownPlace>& known_places() {
  static const std::vector<KnownPlace> places = make_places();
  return places;
}

const KnownPlace& known_place(std::string_view name) {
  for (const KnownPlace& place : known_places()) {
    if (place.name == name) return place;
  }
  fail_internal("no known data set " + std::string(name));
}

}  // namespace trireme::data
