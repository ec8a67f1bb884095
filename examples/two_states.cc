// A recurrent network with two states, small enough to follow by hand: the running sum and the
// running maximum of sequences of different lengths. docs/explanation/sequences.md explains what it
// prints.

#include <trireme/trireme.h>

#include <iostream>
namespace tr = trireme;
namespace nn = trireme::nn;

int main() {
  tr::Program program("two_states");
  tr::Value x = program.input("x", tr::f32, tr::ragged({tr::batch}, {1}));

  auto [sums, maxima] = nn::rnn<2>([&](nn::Step& step) {
    tr::Value now = step.input(x);
    tr::Value sum = step.state({.width = 1});
    tr::Value largest = step.state({.width = 1, .value = -1000});
    tr::Value next_sum = sum + now;
    tr::Value next_largest = maximum(largest, now);
    step.update(sum, next_sum);
    step.update(largest, next_largest);
    step.output(next_sum);
    step.output(next_largest);
  });
  tr::Value last = tr::sequence::last(sums);
  program.set_outputs({sums, maxima, last});
  std::cout << program.str() << '\n';

  tr::Session session(program);
  const tr::Feeds feeds = {{"x", tr::Tensor::from<float>({5, 1}, {1, 2, 3, 5, -4})},
                           {"x.splits", tr::Tensor::from<std::int64_t>({4}, {0, 3, 3, 5})}};
  const std::vector<tr::Tensor> values = session.run(feeds, program.outputs());
  std::cout << "sums    " << values[0].reshaped({-1}).str() << "\nmaxima  "
            << values[1].reshaped({-1}).str() << "\nlast    " << values[2].reshaped({-1}).str()
            << '\n';
}
