// The jobs of texts in examples/jobs, a few steps of each, and their models by the command line.

#include "end_to_end.h"

namespace trireme::testing {
namespace {

using ::testing::HasSubstr;

class TextJobs : public EndToEnd {
 protected:
  // Trains and tests a job on few examples, and measures what it saved on the same ones.
  void run(const std::string& job, const std::string& data, const std::string& metric) {
    const std::string output =
        train(job,
              "--set data.limit=300 --set data.test_limit=40 --set data.batch=20 "
              "--set train.schedule=constant --set train.max_steps=4 --no-sheet");
    const std::string eval = succeeds(kTrireme + " eval model --data " + data + " --limit 40");
    const double measured = number_behind(output, "test " + metric + ": ");
    EXPECT_NEAR(number_behind(eval, metric + ": "), measured, 1e-4 * std::max(1.0, measured));
  }
};

TEST_F(TextJobs, WordsAsNgrams) {
  NEEDS_DATA("wikitext2/test");
  run("word_ngrams", "wikitext2/test", "perplexity");
  EXPECT_THAT(succeeds(kTrireme + " predict model --text 'the first part of the' --top 3"),
              HasSubstr("3.  "));
  const Outcome few = run_here(kTrireme + " predict model --text 'part of the'");
  EXPECT_EQ(few.code, 3);
  EXPECT_THAT(few.output, HasSubstr("the model needs 4 tokens, but the text has 3"));
}

TEST_F(TextJobs, WordsNearEachOther) {
  NEEDS_DATA("wikitext2/test");
  run("word_skip_gram", "wikitext2/test", "auc");
  run("word_tree", "wikitext2/test", "accuracy");
  EXPECT_THAT(succeeds(kTrireme + " predict model --data wikitext2/test --rows 0:2"),
              HasSubstr("prediction"));
}

TEST_F(TextJobs, Characters) {
  NEEDS_DATA("tiny_shakespeare/test");
  const std::string small = " --set data.batch=2 --set data.limit=8 --set data.test_limit=2 ";
  const std::string output =
      train("character_model", small + "--set train.max_steps=2 --set data.text.test_length=100");
  EXPECT_LT(number_behind(output, "test perplexity: "), 256);
  EXPECT_THAT(succeeds(kTrireme + " predict model --text 'First Citize' --top 2"),
              HasSubstr("First Citize"));
  EXPECT_THAT(succeeds(kTrireme + " eval model --data tiny_shakespeare/test --limit 2"),
              HasSubstr("perplexity: "));
}

TEST_F(TextJobs, Translation) {
  NEEDS_DATA("tatoeba/test");
  for (const char* job : {"translation", "translation_transformer"}) {
    const std::string output =
        train(job,
              "--set data.train=tatoeba/test --set data.text.size=400 --set data.limit=300 "
              "--set data.test_limit=40 --set train.max_steps=4 --no-sheet");
    EXPECT_GT(number_behind(output, "test perplexity: "), 1);
    EXPECT_THAT(succeeds(kTrireme + " predict model --text 'Where is he?' --text 'Go on.'"),
                HasSubstr("Where is he?"));
    EXPECT_THAT(succeeds(kTrireme + " predict model --data tatoeba/test --rows 3:5 --json"),
                HasSubstr("\"written\""));
    EXPECT_THAT(succeeds(kTrireme + " eval model --data tatoeba/test --limit 20"),
                HasSubstr("(20 examples)"));
  }
  const Outcome none = run_here(kTrireme + " predict model --data mnist/test");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.output, HasSubstr("are no texts"));
}

TEST_F(TextJobs, SemanticRoles) {
  NEEDS_DATA("propbank/test");
  run("semantic_roles", "propbank/test", "chunk_f1");
  const std::string predicted =
      succeeds(kTrireme + " predict model --data propbank/test --rows 0:2");
  EXPECT_THAT(predicted, HasSubstr("predictions"));
  EXPECT_THAT(predicted, HasSubstr(" O "));
}

}  // namespace
}  // namespace trireme::testing
