// Jobs over texts with wrong settings.

#include "in_command_folder.h"

namespace trireme::testing {
namespace {

class TextJobsMisuse : public InCommandFolder {
 protected:
  TextJobsMisuse() {
    ::setenv("TRIREME_DATA", path("").c_str(), 1);
    write(path("tinyshakespeare.txt"), "To be, or not to be, that is the question.\n");
    write(path("job.toml"),
          "[data]\ntrain = \"tiny_shakespeare/train\"\n"
          "text = { tokens = \"bytes\", next = true, length = 8 }\n"
          "[model]\nlayers = [{ embedding = { dim = 2 } }, \"linear\"]\n"
          "[train]\nloss = \"cross_entropy\"\nmax_steps = 1\n");
  }
  ~TextJobsMisuse() override { ::unsetenv("TRIREME_DATA"); }

  void refuses(const std::string& setting, const std::string& what) const {
    fails("train job.toml --quiet --set '" + setting + "'", 3, what);
  }
};

TEST_F(TextJobsMisuse, KeysThatDoNotFit) {
  refuses(
      "data.text.next=false",
      "tinyshakespeare.txt is one running text; to make examples of it, set one of next = true");
  refuses("data.text.ngrams=3", "set one of");
  refuses("data.text.tokens=byte", "did you mean \"bytes\"");
  refuses("data.text.length=0", "data.text.length: must be");
  refuses("data.text.grams=2", "data.text.grams: unknown key");
  refuses("data.text={skip_grams={windov=2}}", "did you mean \"window\"");
  refuses("data.text={ngrams=90}", "has no run of that length");
}

TEST_F(TextJobsMisuse, NetworksThatDoNotFit) {
  refuses("model.layers=[{embedding={width=2}},\"sequence_mean\",\"linear\"]",
          "there is a target for each row of \"text\", %next : i64[text], but the network ends in");
  refuses("train.metrics=[\"chunk_f1\"]", "needs labels with names such as \"B-ARG0\"");
  refuses("data.text={ngrams=3}", "must end in scores of classes");  // of two words side by side
  refuses("model={name=\"tagger\",units=0}", "model.units: must be");
}

TEST_F(TextJobsMisuse, TextsThatAreTooShort) {
  const Outcome trained = run_here(kTrireme + " train job.toml --quiet");
  ASSERT_EQ(trained.code, 0) << trained.output;
  fails("predict job --text ''", 3, "cannot predict the next token, because the text is empty");
  write(path("tinyshakespeare.txt"), "a");
  fails("train job.toml --quiet", 3, "a text of 1 tokens has no next token");
}

}  // namespace
}  // namespace trireme::testing
