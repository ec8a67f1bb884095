#pragma once

// The layers that a job file may list. Sequences: rows of sequences of different lengths.

#include <optional>
#include <string>

#include "nn/catalog/field.h"
#include "trireme/attention.h"
#include "trireme/convolution.h"
#include "trireme/nn.h"
#include "trireme/recurrent.h"
#include "trireme/sequence.h"

namespace trireme::nn {

inline constexpr Limits kBlocks{1, 200};  // more layers are a typing error
inline constexpr Limits kAxis{-8, 8};

template <class Visit>
void weight_form_field(Visit& visit, WeightForm& form) {
  visit({"weight_form", "few different numbers instead of the weight"}, form,
        Words<WeightForm>{{"full", WeightForm::full},
                          {"binary", WeightForm::binary},
                          {"ternary", WeightForm::ternary},
                          {"log3", WeightForm::log3},
                          {"log4", WeightForm::log4},
                          {"log5", WeightForm::log5}});
}

template <class Visit>
void fields(Visit& visit, LinearOptions& o) {
  visit({"units", "width of the result", kSize, true,
         "in the last layer as many as the target needs"},
        o.units);
  visit({"bias", "adds a bias"}, o.bias);
  visit({"activation", "applied to the result"}, o.activation);
  weight_form_field(visit, o.weight_form);
}

template <class Visit>
void fields(Visit& visit, EmbeddingOptions& o) {
  visit({"num_embeddings",
         "rows of the table: ids are below it",
         {.min = 1},
         true,
         "as many as the data have"},
        o.num_embeddings);
  visit({"dim", "width of a row", kSize, true}, o.dim);
  visit({"sparse_gradient", "optimizers update only the rows that a step looked up"},
        o.sparse_gradient);
  visit({"padding_row", "id whose row stays zero", kNotNegative}, o.padding_row);
  std::optional<double> stddev;
  visit(
      {"stddev", "standard deviation of the first values", kNotNegative, false, "1 / sqrt(`dim`)"},
      stddev);
  if (stddev) o.weight_init = *stddev > 0 ? normal(0, *stddev) : zeros();
}

// What all convolutions have.
template <class Visit, class Options>
void convolution_fields(Visit& visit, Options& o) {
  visit({"channels", "channels of the result", kSize, true}, o.channels);
  visit({"kernel", "size of the window", kSize}, o.kernel);
  visit({"stride", "step of the window", kSize}, o.stride);
  visit({"padding", "zeros around the input", kExtent}, o.padding);
  visit({"dilation", "step between the elements of a window", kSize}, o.dilation);
  visit({"groups", "groups of channels, convolved separately", kSize}, o.groups);
  visit({"bias", "adds a bias to each channel"}, o.bias);
  visit({"activation", "applied to the result"}, o.activation);
}
template <class Visit>
void fields(Visit& visit, Conv1dOptions& o) {
  convolution_fields(visit, o);
  weight_form_field(visit, o.weight_form);
}
template <class Visit>
void fields(Visit& visit, Conv2dOptions& o) {
  convolution_fields(visit, o);
  weight_form_field(visit, o.weight_form);
}
template <class Visit>
void fields(Visit& visit, ConvTranspose1dOptions& o) {
  convolution_fields(visit, o);
  visit({"output_padding", "zeros after the result", kExtent}, o.output_padding);
}
template <class Visit>
void fields(Visit& visit, ConvTranspose2dOptions& o) {
  convolution_fields(visit, o);
  visit({"output_padding", "zeros below and right of the result", kExtent}, o.output_padding);
}

template <class Visit>
void fields(Visit& visit, Conv3dOptions& o) {
  convolution_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, ConvTranspose3dOptions& o) {
  convolution_fields(visit, o);
  visit({"output_padding", "zeros behind, below and right of the result", kExtent},
        o.output_padding);
}

// PoolOptions without what only avg_pool has.
struct MaxPoolOptions : PoolOptions {};
template <class Visit>
void fields(Visit& visit, MaxPoolOptions& o) {
  visit({"kernel", "size of the window", kSize}, o.kernel);
  visit({"stride", "step of the window", kSize, false, "`kernel`"}, o.stride);
  visit({"padding", "border around the input", kExtent}, o.padding);
  visit({"ceil_mode", "a last window that only begins inside the input"}, o.ceil_mode);
}
struct AvgPoolOptions : MaxPoolOptions {};
template <class Visit>
void fields(Visit& visit, AvgPoolOptions& o) {
  fields(visit, static_cast<MaxPoolOptions&>(o));
  visit({"count_include_pad", "padding counts as elements"}, o.count_include_pad);
}

// The same of lines.
struct MaxPool1dOptions : Pool1dOptions {};
template <class Visit>
void fields(Visit& visit, MaxPool1dOptions& o) {
  visit({"kernel", "size of the window", kSize}, o.kernel);
  visit({"stride", "step of the window", kSize, false, "`kernel`"}, o.stride);
  visit({"padding", "border around the input", kExtent}, o.padding);
  visit({"ceil_mode", "a last window that only begins inside the input"}, o.ceil_mode);
}
struct AvgPool1dOptions : MaxPool1dOptions {};
template <class Visit>
void fields(Visit& visit, AvgPool1dOptions& o) {
  fields(visit, static_cast<MaxPool1dOptions&>(o));
  visit({"count_include_pad", "padding counts as elements"}, o.count_include_pad);
}

// The same of volumes.
struct MaxPool3dOptions : Pool3dOptions {};
template <class Visit>
void fields(Visit& visit, MaxPool3dOptions& o) {
  visit({"kernel", "size of the window", kSize}, o.kernel);
  visit({"stride", "step of the window", kSize, false, "`kernel`"}, o.stride);
  visit({"padding", "border around the input", kExtent}, o.padding);
  visit({"ceil_mode", "a last window that only begins inside the input"}, o.ceil_mode);
}
struct AvgPool3dOptions : MaxPool3dOptions {};
template <class Visit>
void fields(Visit& visit, AvgPool3dOptions& o) {
  fields(visit, static_cast<MaxPool3dOptions&>(o));
  visit({"count_include_pad", "padding counts as elements"}, o.count_include_pad);
}

// Of pictures and of lines.
template <class Visit, class Options>
void lp_pool_fields(Visit& visit, Options& o) {
  visit({"power", "power of the norm", {.min = 1}}, o.power);
  visit({"kernel", "size of the window", kSize}, o.kernel);
  visit({"stride", "step of the window", kSize, false, "`kernel`"}, o.stride);
}
template <class Visit>
void fields(Visit& visit, LpPoolOptions& o) {
  lp_pool_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, LpPool1dOptions& o) {
  lp_pool_fields(visit, o);
}

struct AdaptivePool1dOptions {
  std::int64_t size = 1;
};
template <class Visit>
void fields(Visit& visit, AdaptivePool1dOptions& o) {
  visit({"size", "length of the result", kSize}, o.size);
}

struct AdaptivePoolOptions {
  Pair size = 1;
};
template <class Visit>
void fields(Visit& visit, AdaptivePoolOptions& o) {
  visit({"size", "size of the result", kSize}, o.size);
}

struct AdaptivePool3dOptions {
  Triple size = 1;
};
template <class Visit>
void fields(Visit& visit, AdaptivePool3dOptions& o) {
  visit({"size", "size of the result", kSize}, o.size);
}

template <class Visit>
void fields(Visit& visit, Glu& o) {
  visit({"axis", "axis that is halved", kAxis}, o.axis);
}
template <class Visit>
void fields(Visit& visit, Swish& o) {
  visit({"beta", "factor of the input of the sigmoid"}, o.beta);
}
template <class Visit>
void fields(Visit& visit, Threshold& o) {
  visit({"limit", "elements above it stay"}, o.limit);
  visit({"value", "replaces the others"}, o.value);
}

struct MeanOptions {
  int axis = 1;
};
template <class Visit>
void fields(Visit& visit, MeanOptions& o) {
  visit({"axis", "axis to average; axis 0 is the batch", kAxis}, o.axis);
}

template <class Visit>
void fields(Visit& visit, BatchNormOptions& o) {
  visit({"momentum", "weight of the new batch in the running statistics"}, o.momentum);
  visit({"epsilon", "added to the variance"}, o.epsilon);
  visit({"affine", "with a weight and a bias for each channel"}, o.affine);
}
template <class Visit>
void fields(Visit& visit, LayerNormOptions& o) {
  visit({"axes", "number of last axes that are normalized together", kSize}, o.axes);
  visit({"epsilon", "added to the variance"}, o.epsilon);
  visit({"affine", "with a weight and a bias of the shape of these axes"}, o.affine);
}
template <class Visit>
void fields(Visit& visit, GroupNormOptions& o) {
  visit({"groups", "number of groups of channels", kSize, true}, o.groups);
  visit({"epsilon", "added to the variance"}, o.epsilon);
  visit({"affine", "with a weight and a bias for each channel"}, o.affine);
}
template <class Visit>
void fields(Visit& visit, InstanceNormOptions& o) {
  visit({"epsilon", "added to the variance"}, o.epsilon);
  visit({"affine", "with a weight and a bias for each channel"}, o.affine);
}

template <class Visit>
void fields(Visit& visit, RmsNormOptions& o) {
  visit({"axes", "number of last axes that are normalized together", kSize}, o.axes);
  visit({"epsilon", "added to the mean square"}, o.epsilon);
  visit({"affine", "with a weight of the shape of these axes"}, o.affine);
}
template <class Visit>
void fields(Visit& visit, LocalResponseNormOptions& o) {
  visit({"size", "channels of a window", kSize}, o.size);
  visit({"alpha", "factor of the mean square of the window", kNotNegative}, o.alpha);
  visit({"beta", "power of the divisor"}, o.beta);
  visit({"k", "added to the mean square", kPositive}, o.k);
}

template <class Visit>
void fields(Visit& visit, DropoutOptions& o) {
  visit({"rate", "share of elements to drop in training", kFraction}, o.rate);
}
template <class Visit>
void fields(Visit& visit, PreluOptions& o) {
  visit({"per_channel", "one slope for each channel instead of one for all"}, o.per_channel);
  visit({"slope", "first value of the slopes"}, o.slope);
}
template <class Visit>
void fields(Visit& visit, MaxoutOptions& o) {
  visit({"pieces", "adjacent elements to take the maximum of", kSize}, o.pieces);
  visit({"axis", "axis of the channels or features", kAxis}, o.axis);
}

template <class Visit>
void fields(Visit& visit, Im2SequenceOptions& o) {
  visit({"kernel", "size of the window", kSize}, o.kernel);
  visit({"stride", "step of the window", kSize, false, "`kernel`"}, o.stride);
  visit({"padding", "zeros around the picture", kExtent}, o.padding);
  visit({"dilation", "step between the elements of a window", kSize}, o.dilation);
}

template <class Visit>
void fields(Visit& visit, LearnedPositionsOptions& o) {
  visit({"max_steps", "steps with a row of their own; later steps use the last row", kSize, true,
         "the steps of the input"},
        o.max_steps);
}
template <class Visit>
void fields(Visit& visit, TransformerOptions& o) {
  visit({"layers", "number of blocks", kBlocks}, o.layers);
  visit({"heads", "heads of the attention", kSize, true}, o.block.heads);
  visit({"feed_forward", "width of the inner layer", kSize, false, "4 times the width"},
        o.block.feed_forward);
  visit({"activation", "of the inner layer", kAny, false, "relu"}, o.block.activation);
  visit({"dropout", "of attention weights, the inner layer and all branches", kFraction},
        o.block.dropout);
  visit({"pre_norm", "normalizes before each branch instead of after it"}, o.block.pre_norm);
  bool causal = o.block.causal.value_or(false);
  visit({"causal", "each step sees only itself and earlier steps"}, causal);
  o.block.causal = causal;
  visit({"key_heads", "heads of keys and values, shared by heads of queries", kSize, false,
         "`heads`"},
        o.block.key_heads);
  visit({"blockwise",
         "never stores the scores of attention, for long sequences; without dropout "
         "of attention weights"},
        o.block.blockwise);
  bool rotary = o.block.rotary.has_value(), relative = o.block.relative.has_value();
  visit({"rotary", "rotates queries and keys by their positions"}, rotary);
  visit({"relative", "adds a parameter for each distance of keys and queries"}, relative);
  if (rotary) o.block.rotary.emplace();
  if (relative) o.block.relative.emplace();
}

// What all recurrent layers have.
template <class Visit, class Options>
void recurrent_fields(Visit& visit, Options& o) {
  visit({"units", "width of the state", kSize, true}, o.units);
  visit({"layers", "layers; each reads the outputs of the previous one", kBlocks}, o.layers);
  visit({"bidirectional", "in both directions; the outputs are joined"}, o.bidirectional);
  visit({"reverse", "from the last row to the first"}, o.reverse);
  visit({"dropout", "between layers, in training", kFraction}, o.dropout);
}
template <class Visit>
void fields(Visit& visit, RecurrentOptions& o) {
  recurrent_fields(visit, o);
}
template <class Visit>
void fields(Visit& visit, LstmOptions& o) {
  recurrent_fields(visit, o);
  visit({"peepholes", "the gates read the cell state"}, o.peepholes);
  visit({"projection", "width of the output", kSize, false, "`units`"}, o.projection);
  visit({"forget_bias", "added to the input of the forget gate"}, o.forget_bias);
}

template <class Visit>
void fields(Visit& visit, SequenceConvOptions& o) {
  visit({"units", "width of the result", kSize, true}, o.units);
  visit({"kernel", "rows of the window", kSize}, o.kernel);
  visit({"first",
         "offset of the first row of the window",
         {-static_cast<double>(kLargestSize), static_cast<double>(kLargestSize)},
         false,
         "-(`kernel` - 1) / 2, centered"},
        o.first);
  visit({"bias", "adds a bias"}, o.bias);
  visit({"activation", "applied to the result"}, o.activation);
}
template <class Visit>
void fields(Visit& visit, RowConvOptions& o) {
  visit({"future", "following rows in the window", kExtent}, o.future);
}

struct SequenceTopKOptions : sequence::TopKOptions {
  SequenceTopKOptions() { k = 0; }
};
template <class Visit>
void fields(Visit& visit, SequenceTopKOptions& o) {
  visit({"k", "elements to keep of each column", kBlocks, true}, o.k);
  visit({"by_size", "the largest first, instead of in the order of the rows"}, o.by_size);
  visit({"fill", "stands for missing elements of short sequences"}, o.fill);
}

// Calls visit(Entry, options, apply) for every layer, where apply(x, options) returns the result.
template <class Visit>
void for_each_volume_layer(Visit&& visit) {
  visit({"conv3d", "Convolution of volumes `[channels, depth, height, width]`"}, Conv3dOptions{},
        [](const Value& x, const Conv3dOptions& o) { return conv3d(x, o); });
  visit({"conv_transpose3d", "Transposed convolution of volumes"}, ConvTranspose3dOptions{},
        [](const Value& x, const ConvTranspose3dOptions& o) { return conv_transpose3d(x, o); });
  visit({"max_pool3d", "Maxima of windows of volumes"}, MaxPool3dOptions{},
        [](const Value& x, const MaxPool3dOptions& o) { return max_pool3d(x, o); });
  visit({"avg_pool3d", "Means of windows of volumes"}, AvgPool3dOptions{},
        [](const Value& x, const AvgPool3dOptions& o) { return avg_pool3d(x, o); });
  visit({"global_avg_pool3d", "Mean of each channel of volumes"}, NoOptions{},
        [](const Value& x, NoOptions) { return global_avg_pool3d(x); });
  visit({"global_max_pool3d", "Maximum of each channel of volumes"}, NoOptions{},
        [](const Value& x, NoOptions) { return global_max_pool3d(x); });
  visit({"adaptive_avg_pool3d", "Means of windows of volumes, as many as `size` says"},
        AdaptivePool3dOptions{}, [](const Value& x, const AdaptivePool3dOptions& o) {
          return adaptive_avg_pool3d(x, o.size);
        });
  visit({"adaptive_max_pool3d", "Maxima of windows of volumes, as many as `size` says"},
        AdaptivePool3dOptions{}, [](const Value& x, const AdaptivePool3dOptions& o) {
          return adaptive_max_pool3d(x, o.size);
        });
}

template <class Visit>
void for_each_dense_layer(Visit&& visit) {
  visit({"linear", "Product with a weight matrix; pictures are flattened first"}, LinearOptions{},
        [](const Value& x, const LinearOptions& o) {
          return linear(x.rank() == 4 ? flatten(x) : x, o);
        });
  visit({"embedding", "Rows of a table by ids"}, EmbeddingOptions{},
        [](const Value& x, const EmbeddingOptions& o) { return embedding(x, o); });
  visit({"conv2d", "Convolution of pictures `[channels, height, width]`"}, Conv2dOptions{},
        [](const Value& x, const Conv2dOptions& o) { return conv2d(x, o); });
  visit({"conv1d", "Convolution of lines `[channels, length]`"}, Conv1dOptions{},
        [](const Value& x, const Conv1dOptions& o) { return conv1d(x, o); });
  visit({"conv_transpose2d", "Transposed convolution of pictures"}, ConvTranspose2dOptions{},
        [](const Value& x, const ConvTranspose2dOptions& o) { return conv_transpose2d(x, o); });
  visit({"conv_transpose1d", "Transposed convolution of lines"}, ConvTranspose1dOptions{},
        [](const Value& x, const ConvTranspose1dOptions& o) { return conv_transpose1d(x, o); });
  visit({"max_pool", "Maxima of windows"}, MaxPoolOptions{},
        [](const Value& x, const MaxPoolOptions& o) { return max_pool(x, o); });
  visit({"avg_pool", "Means of windows"}, AvgPoolOptions{},
        [](const Value& x, const AvgPoolOptions& o) { return avg_pool(x, o); });
  visit({"global_avg_pool", "Mean of each channel"}, NoOptions{},
        [](const Value& x, NoOptions) { return global_avg_pool(x); });
  visit({"global_max_pool", "Maximum of each channel"}, NoOptions{},
        [](const Value& x, NoOptions) { return global_max_pool(x); });
  visit({"adaptive_avg_pool", "Means of windows, as many as `size` says"}, AdaptivePoolOptions{},
        [](const Value& x, const AdaptivePoolOptions& o) { return adaptive_avg_pool(x, o.size); });
  visit({"adaptive_max_pool", "Maxima of windows, as many as `size` says"}, AdaptivePoolOptions{},
        [](const Value& x, const AdaptivePoolOptions& o) { return adaptive_max_pool(x, o.size); });
  visit({"max_pool1d", "Maxima of windows of lines `[channels, length]`"}, MaxPool1dOptions{},
        [](const Value& x, const MaxPool1dOptions& o) { return max_pool1d(x, o); });
  visit({"avg_pool1d", "Means of windows of lines"}, AvgPool1dOptions{},
        [](const Value& x, const AvgPool1dOptions& o) { return avg_pool1d(x, o); });
  visit({"global_avg_pool1d", "Mean of each channel of lines"}, NoOptions{},
        [](const Value& x, NoOptions) { return global_avg_pool1d(x); });
  visit({"global_max_pool1d", "Maximum of each channel of lines"}, NoOptions{},
        [](const Value& x, NoOptions) { return global_max_pool1d(x); });
  visit({"adaptive_avg_pool1d", "Means of windows of lines, as many as `size` says"},
        AdaptivePool1dOptions{}, [](const Value& x, const AdaptivePool1dOptions& o) {
          return adaptive_avg_pool1d(x, o.size);
        });
  visit({"adaptive_max_pool1d", "Maxima of windows of lines, as many as `size` says"},
        AdaptivePool1dOptions{}, [](const Value& x, const AdaptivePool1dOptions& o) {
          return adaptive_max_pool1d(x, o.size);
        });
  visit({"lp_pool", "Norms of windows"}, LpPoolOptions{},
        [](const Value& x, const LpPoolOptions& o) { return lp_pool(x, o); });
  visit({"lp_pool1d", "Norms of windows of lines"}, LpPool1dOptions{},
        [](const Value& x, const LpPool1dOptions& o) { return lp_pool1d(x, o); });
  visit({"mean", "Mean along an axis"}, MeanOptions{},
        [](const Value& x, const MeanOptions& o) { return mean(x, {.axes = {o.axis}}); });
  visit({"flatten", "Joins all axes except the batch"}, NoOptions{},
        [](const Value& x, NoOptions) { return flatten(x); });
  visit({"batch_norm", "Normalizes each channel over the batch"}, BatchNormOptions{},
        [](const Value& x, const BatchNormOptions& o) { return batch_norm(x, o); });
  visit({"layer_norm", "Normalizes the last axes of each example"}, LayerNormOptions{},
        [](const Value& x, const LayerNormOptions& o) { return layer_norm(x, o); });
  visit({"group_norm", "Normalizes groups of channels of each example"}, GroupNormOptions{},
        [](const Value& x, const GroupNormOptions& o) { return group_norm(x, o); });
  visit({"instance_norm", "Normalizes each channel of each example"}, InstanceNormOptions{},
        [](const Value& x, const InstanceNormOptions& o) { return instance_norm(x, o); });
  visit({"rms_norm", "Divides the last axes of each example by their root mean square"},
        RmsNormOptions{}, [](const Value& x, const RmsNormOptions& o) { return rms_norm(x, o); });
  visit({"local_response_norm", "Divides each channel by the size of its neighbors"},
        LocalResponseNormOptions{}, [](const Value& x, const LocalResponseNormOptions& o) {
          return local_response_norm(x, o);
        });
  visit({"dropout", "Drops elements at random, in training"}, DropoutOptions{},
        [](const Value& x, const DropoutOptions& o) { return dropout(x, o); });
  visit({"channel_dropout", "Drops channels at random, in training"}, DropoutOptions{},
        [](const Value& x, const DropoutOptions& o) { return channel_dropout(x, o); });
  visit({"drop_path", "Drops examples at random, in training: stochastic depth"}, DropoutOptions{},
        [](const Value& x, const DropoutOptions& o) { return drop_path(x, o); });
  visit({"alpha_dropout",
         "Drops elements after `selu` at random, in training; keeps mean and variance"},
        DropoutOptions{},
        [](const Value& x, const DropoutOptions& o) { return alpha_dropout(x, o); });
  visit({"prelu", "Rectifier with trained slopes below 0"}, PreluOptions{},
        [](const Value& x, const PreluOptions& o) { return prelu(x, o); });
  visit({"maxout", "Maxima of adjacent elements"}, MaxoutOptions{},
        [](const Value& x, const MaxoutOptions& o) { return maxout(x, o); });
  visit({"im2sequence", "Windows of a picture as steps `[steps, features]`"}, Im2SequenceOptions{},
        [](const Value& x, const Im2SequenceOptions& o) { return im2sequence(x, o); });
  visit({"sinusoidal_positions", "Adds sines and cosines of the step"}, NoOptions{},
        [](const Value& x, NoOptions) { return add_sinusoidal_positions(x); });
  visit(
      {"learned_positions", "Adds a trained row for each step"}, LearnedPositionsOptions{},
      [](const Value& x, const LearnedPositionsOptions& o) { return add_learned_positions(x, o); });
  visit({"transformer_encoder", "Blocks of self-attention and linear layers"}, TransformerOptions{},
        [](const Value& x, const TransformerOptions& o) { return transformer_encoder(x, o); });
}

template <class Visit>
void for_each_sequence_layer(Visit&& visit) {
  visit({"lstm", "Long short-term memory over sequences"}, LstmOptions{},
        [](const Value& x, const LstmOptions& o) { return lstm(x, o); });
  visit({"gru", "Gated recurrent units over sequences"}, RecurrentOptions{},
        [](const Value& x, const RecurrentOptions& o) { return gru(x, o); });
  visit({"simple_rnn", "Recurrent layer with tanh over sequences"}, RecurrentOptions{},
        [](const Value& x, const RecurrentOptions& o) { return simple_rnn(x, o); });
  visit({"sequence_conv", "Convolution along the rows of sequences"}, SequenceConvOptions{},
        [](const Value& x, const SequenceConvOptions& o) { return sequence_conv(x, o); });
  visit({"row_conv", "Lookahead convolution of each column of sequences"}, RowConvOptions{},
        [](const Value& x, const RowConvOptions& o) { return row_conv(x, o); });
  visit({"sequence_top_k", "The `k` largest elements of each column of a sequence, joined"},
        SequenceTopKOptions{}, [](const Value& x, const SequenceTopKOptions& o) {
          return flatten(sequence::top_k(x, o));
        });
  const auto plain = [&](const char* name, const char* doc,
                         Value (*function)(const Value&, SourceLocation)) {
    visit({name, doc}, NoOptions{},
          [function](const Value& x, NoOptions) { return function(x, SourceLocation::current()); });
  };
  plain("sequence_sum", "Sum of the rows of each sequence", sequence::sum);
  plain("sequence_mean", "Mean of the rows of each sequence", sequence::mean);
  plain("sequence_sqrt_n", "Sum of the rows of each sequence, divided by sqrt(length)",
        sequence::sqrt_n);
  plain("sequence_max", "Maximum of the rows of each sequence", sequence::max);
  plain("sequence_min", "Minimum of the rows of each sequence", sequence::min);
  plain("sequence_first", "First row of each sequence", sequence::first);
  plain("sequence_last", "Last row of each sequence", sequence::last);
  plain("sequence_reverse", "Reverses the rows of each sequence", sequence::reverse);
  plain("sequence_flatten", "Joins the innermost two levels of sequences", sequence::flatten);
}

template <class Visit>
void for_each_layer(Visit&& visit) {
  for_each_dense_layer(visit);
  for_each_volume_layer(visit);
  for_each_sequence_layer(visit);
  visit({"glu", "Gated linear unit: the first half times the sigmoid of the second"}, Glu{},
        [](const Value& x, const Glu& o) { return o(x); });
  visit({"swish", "Times the sigmoid of `beta` times the input"}, Swish{},
        [](const Value& x, const Swish& o) { return o(x); });
  visit({"threshold", "Replaces elements that are not above a limit"}, Threshold{},
        [](const Value& x, const Threshold& o) { return o(x); });
  for (const std::string& name : activation_names()) {
    if (name == "threshold") continue;  // has options
    visit({name.c_str(), "Activation"}, NoOptions{}, [name](const Value& x, NoOptions) {
      return find_activation(name)(x, SourceLocation::current());
    });
  }
}

struct JoinOptions {
  std::optional<std::int64_t> axis = {};
};
template <class Visit>
void fields(Visit& visit, JoinOptions& o) {
  visit({"axis", "axis to join; 0 is the batch", kAxis, false,
         "1, channels, for pictures; else the last axis"},
        o.axis);
}

// Calls visit(Entry, options, apply) for every layer of several inputs, where
// apply(inputs, options) returns the result.
template <class Visit>
void for_each_join(Visit&& visit) {
  using Inputs = std::vector<Value>;
  visit({"add", "Sum of its inputs"}, NoOptions{}, [](const Inputs& inputs, NoOptions) {
    Value sum = inputs[0];
    for (std::size_t i = 1; i < inputs.size(); ++i) sum = sum + inputs[i];
    return sum;
  });
  visit({"multiply", "Product of its inputs, element by element"}, NoOptions{},
        [](const Inputs& inputs, NoOptions) {
          Value product = inputs[0];
          for (std::size_t i = 1; i < inputs.size(); ++i) product = product * inputs[i];
          return product;
        });
  visit({"concat", "Joins its inputs along an axis"}, JoinOptions{},
        [](const Inputs& inputs, const JoinOptions& o) {
          const bool channels = inputs[0].rank() == 4;
          return concat(inputs, {.axis = o.axis.value_or(channels ? 1 : -1)});
        });
}

}  // namespace trireme::nn
