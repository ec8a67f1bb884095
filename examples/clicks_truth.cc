// Prints the best AUC that any model can reach on synthetic clicks: the area under the ROC curve of
// the true probabilities, over the test rows of examples/jobs/clicks_*.toml.
//   clicks_truth [IDS] [EXAMPLES] [FIRST]

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

#include <trireme/trireme.h>
namespace tr = trireme;

int main(int argc, char** argv) {
  tr::data::ClickOptions options{.examples = 200'000, .first = 1'000'000'000, .ids = 300};
  if (argc > 1) options.ids = std::atoll(argv[1]);
  if (argc > 2) options.examples = std::atoll(argv[2]);
  if (argc > 3) options.first = std::atoll(argv[3]);
  options.truth = true;
  try {
    std::vector<std::pair<float, bool>> clicks;  // true probability, and whether it was a click
    const tr::data::Dataset rows = tr::data::synthetic_clicks(options);
    for (std::int64_t first = 0; first < rows.size(); first += 4096) {
      const tr::data::Batch batch = rows.rows(first, std::min(first + 4096, rows.size()));
      const tr::Tensor &truth = batch.at("truth"), &target = batch.at("target");
      for (std::int64_t i = 0; i < truth.elements(); ++i) {
        clicks.emplace_back(truth.data<float>()[i], target.data<float>()[i] > 0.5f);
      }
    }
    // The probability that a click had a larger probability than a row without one. Ties are too
    // rare to matter.
    std::sort(clicks.begin(), clicks.end());
    double others = 0, pairs = 0;
    for (const auto& [probability, click] : clicks) {
      if (click) pairs += others;
      else ++others;
    }
    const double positives = static_cast<double>(clicks.size()) - others;
    std::cout << "clicks: " << positives / static_cast<double>(clicks.size()) << '\n'
              << "truth auc: " << pairs / (positives * others) << '\n';
  } catch (const tr::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
