// Metrics of sequences against sacreBLEU, seqeval and Python, on real sentences and odd ones.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "../command.h"
#include "data/sequence/words.h"
#include "data/testing/needs_data.h"
#include "data/text/lower_case.h"
#include "data/text/utf8.h"
#include "trireme/trireme.h"

namespace trireme::testing {
namespace {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

// The interpreter that tools/python-env.sh made, or that TRIREME_<PACKAGE>_PYTHON names.
std::string python_of(const std::string& named) {
  if (const char* python = std::getenv(named.c_str())) return python;
  if (const char* source = std::getenv("TRIREME_SOURCE_DIR")) {
    const std::string ours = std::string(source) + "/build/venv/bin/python";
    if (std::filesystem::exists(ours)) return "'" + ours + "'";
  }
  return "python3";
}

const std::string kSacrebleu = python_of("TRIREME_SACREBLEU_PYTHON");
const std::string kSeqeval = python_of("TRIREME_SEQEVAL_PYTHON");

#define NEEDS_PACKAGE(python, package)                                                           \
  if (run(python + " -c 'import " package "'").code != 0)                                        \
  GTEST_SKIP() << python << " has no package " package "\n  hint   tools/python-env.sh " package \
               << " gets it from PyPI"

class Oracle : public InFolder {
 protected:
  Json ask(const std::string& python, const std::string& kind, const Json& cases) {
    write(path("cases.json"), cases.dump());
    const Outcome outcome =
        run_here(python + " " TRIREME_SEQUENCE_ORACLE " " + kind + " cases.json >answers.json");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome.code == 0 ? Json::parse(read(path("answers.json"))) : Json::array();
  }
};

// --- BLEU

struct BleuCase {
  std::string name;
  Texts hypotheses = {};
  std::vector<Texts> references = {};
  BleuOptions options = {};
};

Json to_json(const BleuCase& c) {
  return {{"hypotheses", c.hypotheses},
          {"references", c.references},
          {"tokenize", c.options.tokenizer == BleuOptions::Tokenizer::none ? "none" : "13a"},
          {"lowercase", c.options.lower_case},
          {"effective_order", c.options.effective_order},
          {"smooth", c.options.smoothing == BleuOptions::Smoothing::none ? "none" : "exp"}};
}

// Each corpus with both tokenisers, both cases and both ways of smoothing, and with all orders or
// only those that have n-grams.
std::vector<BleuCase> in_all_ways(const std::vector<BleuCase>& cases) {
  std::vector<BleuCase> all;
  for (BleuCase c : cases) {
    for (const auto tokenizer : {BleuOptions::Tokenizer::v13a, BleuOptions::Tokenizer::none}) {
      for (const auto smoothing : {BleuOptions::Smoothing::exp, BleuOptions::Smoothing::none}) {
        for (const int form : {0, 1, 2, 3}) {
          c.options = {tokenizer, smoothing, form % 2 == 1, form >= 2};
          all.push_back(c);
        }
      }
    }
  }
  return all;
}

class AgainstSacrebleu : public Oracle {
 protected:
  // The scores, which must agree to 1e-9.
  std::vector<double> agree(const std::vector<BleuCase>& cases) {
    Json questions = Json::array();
    for (const BleuCase& c : cases) questions.push_back(to_json(c));
    const Json answers = ask(kSacrebleu, "bleu", questions);
    EXPECT_EQ(answers.size(), cases.size());
    std::vector<double> scores;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const BleuCase& c = cases[i];
      const Json& expected = answers[i];
      SCOPED_TRACE(c.name + ": " + to_json({"", {}, {}, c.options}).dump());
      const BleuScore score = corpus_bleu(c.hypotheses, c.references, c.options);
      EXPECT_NEAR(score.score, expected["score"].get<double>(), 1e-9);
      EXPECT_NEAR(score.brevity_penalty, expected["bp"].get<double>(), 1e-12);
      EXPECT_EQ(score.hypothesis_length, expected["hypothesis_length"].get<std::int64_t>());
      EXPECT_EQ(score.reference_length, expected["reference_length"].get<std::int64_t>());
      for (std::size_t n = 0; n < 4; ++n) {
        EXPECT_NEAR(score.precisions[n], expected["precisions"][n].get<double>(), 1e-9) << n;
        EXPECT_EQ(score.matches[n], expected["matches"][n].get<std::int64_t>()) << n;
        EXPECT_EQ(score.totals[n], expected["totals"][n].get<std::int64_t>()) << n;
      }
      scores.push_back(score.score);
    }
    return scores;
  }
};

TEST_F(AgainstSacrebleu, OddSentences) {
  NEEDS_PACKAGE(kSacrebleu, "sacrebleu");
  const std::vector<BleuCase> cases{
      {"empty hypothesis", {""}, {{"a b c d e"}}},
      {"empty among others", {"", "the cat sat on the mat"}, {{"a b"}, {"the cat sat on a mat"}}},
      {"both empty", {""}, {{""}}},
      {"empty reference", {"a b c d"}, {{""}}},
      {"white space alone", {" \t\u00a0"}, {{"a b"}}},
      {"an empty reference among others", {"a b c d e"}, {{"", "a b c d"}}},
      {"no match", {"x y z w v"}, {{"a b c d e"}}},
      {"no match of 4", {"a b c x d e f"}, {{"a b c y d e f"}}},
      {"no match of 2", {"a x b y c z"}, {{"a u b v c w"}}},
      {"short", {"a b"}, {{"a b"}}},
      {"one word", {"a"}, {{"a"}}},
      {"three words", {"a b c"}, {{"a b c"}}},
      {"equal", {"The quick brown fox."}, {{"The quick brown fox."}}},
      {"longer", {"a b c d e f g h"}, {{"a b c d"}}},
      {"shorter", {"a b c d"}, {{"a b c d e f g h"}}},
      {"case", {"The QUICK Brown fox Jumps"}, {{"the quick brown FOX jumps"}}},
      {"references nearer", {"a b c d e f"}, {{"a b c d", "a b c d e f g h", "x"}}},
      {"different numbers of references",
       {"a b c d e", "f g h i j", "k l m n o"},
       {{"a b c d e", "a b c"}, {"f g h x j"}, {"k l m", "l m n o", "m n o p q r"}}},
      {"punctuation",
       {"Hello, world! (It's \"fine\") -- really; yes: no? [a] {b} <c> a/b a\\b ^_` ~|"},
       {{"Hello , world ! ( It's \" fine \" ) -- really ; yes : no ? [ a ] {b} <c> a/b"}}},
      {"stops", {"Wait... what?.. a.b.c .,., ,a, .5 5. 5,."}, {{"Wait . . . what ? a.b.c .5 5 ."}}},
      {"numbers",
       {"It cost $1,234.56, or 3.14-fold; 2-3 in 1990s, -5, 50% & 7.", "v1.2.3-rc4"},
       {{"It cost $ 1,234.56 , or 3.14 -fold ; 2 -3 in 1990s , -5 , 50 % & 7 ."},
        {"v1.2.3 - rc4"}}},
      {"entities",
       {"&quot;a&quot; &amp; b &lt;c&gt; &amp;lt; &apos; &nbsp; &QUOT;x&QUOT; AT&T"},
       {{"\" a \" & b < c > &lt; &apos; & nbsp ; \" x \" AT & T"}}},
      {"joined lines",
       {"end-\nless and\nmore <skipped>here now", "last-\n"},
       {{"endless and more here now"}, {"last-"}}},
      {"skipped in capitals", {"a <SKIPPED> b c d"}, {{"a b c d"}}},
      {"spaces of Unicode",
       {"a\u00a0b\u2003c\u202fd\u3000e\u0085f\u001fg\u200bh\u2060i\ufeffj"},
       {{"a b c d e f g h i j"}}},
      {"French",
       {"\u00ab\u00a0Qu'est-ce que c'est\u202f?\u00a0\u00bb demanda-t-il, l'\u00e9t\u00e9 "
        "dernier\u2026"},
       {{"\u00ab Qu'est-ce que c'est ? \u00bb demanda-t-il l'\u00e9t\u00e9 dernier\u2026"}}},
      {"other scripts",
       {"\u65e5\u672c\u8a9e\u3001\u3067\u3059\u3002 \u041f\u0420\u0418\u0412\u0415\u0422, "
        "\u039a\u039f\u03a3\u039c\u039f\u03a3! \u0130stanbul \U0001f600\U0001f600."},
       {{"\u65e5\u672c\u8a9e\u3001\u3067\u3059\u3002 \u043f\u0440\u0438\u0432\u0435\u0442 , "
         "\u03ba\u03cc\u03c3\u03bc\u03bf\u03c2 ! i\u0307stanbul \U0001f600 \U0001f600 ."}}},
      {"a dot after what is no ASCII",
       {"caf\u00e9.\u00e9t\u00e9 \u65e5.\u672c,1 1,\u65e5"},
       {{"caf\u00e9 . \u00e9t\u00e9 \u65e5 . \u672c , 1 1 , \u65e5"}}}};
  agree(in_all_ways(cases));
}

// A hypothesis made of a sentence by what translators and networks get wrong, or not at all.
std::string corrupted(const std::string& sentence, const std::string& other, std::mt19937& random) {
  Texts words = data::words_of(sentence);
  const Texts others = data::words_of(other);
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  if (one_in(50)) return "";
  Texts result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (one_in(12)) continue;
    if (one_in(12) && !others.empty()) words[i] = others[random() % others.size()];
    if (one_in(20) && i + 1 < words.size()) std::swap(words[i], words[i + 1]);
    if (one_in(25)) words[i] = data::lower_case(words[i]);
    result.push_back(words[i]);
    if (one_in(25)) result.push_back(words[i]);
    if (one_in(40)) result.emplace_back(one_in(2) ? "1,000.5" : "&quot;");
  }
  std::string text;
  for (const std::string& word : result) text += (text.empty() ? "" : " ") + word;
  if (one_in(10)) text += one_in(2) ? "!" : "...";
  return text;
}

TEST_F(AgainstSacrebleu, RealSentences) {
  NEEDS_PACKAGE(kSacrebleu, "sacrebleu");
  NEEDS_DATA("tatoeba/test");
  const data::Corpus pairs = data::tatoeba("test");
  const Texts& sources = pairs.field("source");
  const Texts& targets = pairs.field("target");
  std::mt19937 random(11);
  BleuCase single{.name = "one reference"}, several{.name = "all translations"};
  std::map<std::string, Texts> translations;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    translations[sources[i]].push_back(targets[i]);
    single.hypotheses.push_back(corrupted(targets[i], targets[random() % targets.size()], random));
    single.references.push_back({targets[i]});
  }
  for (const auto& [source, ways] : translations) {
    if (ways.size() < 2) continue;
    several.hypotheses.push_back(corrupted(ways[0], ways.back(), random));
    several.references.emplace_back(ways.begin() + 1, ways.end());
  }
  EXPECT_GE(single.hypotheses.size(), 2000u);
  EXPECT_GT(several.hypotheses.size(), 100u);
  const std::vector<double> scores = agree(in_all_ways({single, several}));
  for (const double score : scores) {
    EXPECT_GT(score, 5);
    EXPECT_LT(score, 95);
  }
}

// --- Chunks

class AgainstSeqeval : public Oracle {
 protected:
  struct Case {
    std::vector<Texts> predicted, reference;
    ChunkScheme scheme;
  };

  // Gives the number of correct chunks.
  std::int64_t agree(const std::vector<Case>& cases) {
    Json questions = Json::array();
    for (const Case& c : cases) {
      questions.push_back({{"predicted", c.predicted}, {"reference", c.reference}});
    }
    const Json answers = ask(kSeqeval, "chunks", questions);
    EXPECT_EQ(answers.size(), cases.size());
    std::int64_t correct = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      SCOPED_TRACE("case " + std::to_string(i));
      const ChunkCounts counts =
          chunk_f1(cases[i].predicted, cases[i].reference, {.scheme = cases[i].scheme});
      EXPECT_EQ(counts.correct, answers[i]["correct"].get<std::int64_t>());
      EXPECT_EQ(counts.predicted, answers[i]["predicted"].get<std::int64_t>());
      EXPECT_EQ(counts.reference, answers[i]["reference"].get<std::int64_t>());
      EXPECT_NEAR(counts.precision(), answers[i]["precision"].get<double>(), 1e-12);
      EXPECT_NEAR(counts.recall(), answers[i]["recall"].get<double>(), 1e-12);
      EXPECT_NEAR(counts.f1(), answers[i]["f1"].get<double>(), 1e-12);
      correct += counts.correct;
    }
    return correct;
  }
};

Texts mistaken(Texts tags, const Texts& all, unsigned one_in, std::mt19937& random) {
  for (std::string& tag : tags) {
    if (random() % one_in == 0) tag = all[random() % all.size()];
  }
  return tags;
}

TEST_F(AgainstSeqeval, TagsAtRandom) {
  NEEDS_PACKAGE(kSeqeval, "seqeval");
  std::mt19937 random(12);
  std::vector<Case> cases;
  const std::vector<std::pair<ChunkScheme, std::string>> schemes{
      {ChunkScheme::iob, "BI"}, {ChunkScheme::ioe, "IE"}, {ChunkScheme::iobes, "BIES"}};
  for (const auto& [scheme, prefixes] : schemes) {
    Texts tags{"O"};
    for (const char prefix : prefixes) {
      for (const char* type : {"-X", "-Y-Z"}) tags.push_back(prefix + std::string(type));
    }
    for (int i = 0; i < 60; ++i) {
      Case c{.scheme = scheme};
      for (int sequence = 0; sequence < 5; ++sequence) {
        const Texts right = mistaken(Texts(1 + random() % 9, "O"), tags, 1, random);
        c.reference.push_back(right);
        c.predicted.push_back(mistaken(right, tags, 4, random));
      }
      cases.push_back(c);
    }
  }
  EXPECT_GT(agree(cases), 1000);
}

TEST_F(AgainstSeqeval, RolesOfRealSentences) {
  NEEDS_PACKAGE(kSeqeval, "seqeval");
  NEEDS_DATA("propbank/test");
  const data::Corpus corpus = data::propbank("test");
  Case c{.scheme = ChunkScheme::iob};
  std::map<std::string, int> known;
  for (const std::string& roles : corpus.field("roles")) {
    c.reference.push_back(data::words_of(roles));
    for (const std::string& role : c.reference.back()) ++known[role];
  }
  Texts tags;
  for (const auto& [tag, count] : known) tags.push_back(tag);
  std::mt19937 random(13);
  for (const Texts& right : c.reference) c.predicted.push_back(mistaken(right, tags, 20, random));
  EXPECT_GT(agree({c}), 1000);
}

// --- Lower case

TEST_F(Oracle, LowerCaseIsThatOfPython) {
  const std::string python = "/usr/bin/python3";
  const std::string version = "14.0.0";  // of src/data/text/lower_case_table.h
  if (run(python + " -c 'import unicodedata; assert unicodedata.unidata_version == \"" + version +
          "\"'")
          .code != 0) {
    GTEST_SKIP() << python << " does not have the data of Unicode " << version;
  }
  Texts texts;
  for (char32_t block = 0; block < 0x110000; block += 0x100) {
    if (block >= 0xD800 && block < 0xE000) continue;
    std::string text;
    for (char32_t code = block; code < block + 0x100; ++code) {
      data::append_utf8(text, code);
      data::append_utf8(text, U' ');  // a sigma is alone
    }
    texts.push_back(text);
  }
  for (const char* text :
       {"\u039f\u0394\u039f\u03a3 \u039f\u03a3. '\u03a3' \u0391\u03a3'\u0391 \u0391.\u03a3. "
        "\u03a3\u03a3\u03a3 \u0391\u0301\u03a3\u0301 1\u03a3 A\u03a3b \u00df\u03a3 \u03a31",
        "\u0130I\u0131i \u01c5 \u1e9e \u2126 \u212a \U00010400", ""}) {
    texts.emplace_back(text);
  }
  const Json lower = ask(python, "lower", texts);
  ASSERT_EQ(lower.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(data::lower_case(texts[i]), lower[i].get<std::string>()) << i;
  }
}

}  // namespace
}  // namespace trireme::testing
