#include "distributed/monitor/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace trireme::distributed {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_label_name(const std::string& name) {
  return !name.empty() && is_letter(name[0]) && !name.starts_with("__") &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_metric_name(const std::string& name) {
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == ':';
  });
}

const char* kind_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::counter: return "counter";
    case MetricKind::gauge: return "gauge";
    case MetricKind::histogram: return "histogram";
  }
  return "untyped";
}

std::string escaped(const std::string& text, bool quotes) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || (quotes && c == '"')) result += '\\';
    result += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return result;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

// Sorts them, so that their order does not matter.
void check_labels(const std::string& metric, MetricKind kind, Labels& labels) {
  std::sort(labels.begin(), labels.end());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string& name = labels[i].first;
    const bool twice = i > 0 && labels[i - 1].first == name;
    if (!is_label_name(name) || twice || (kind == MetricKind::histogram && name == "le")) {
      fail_usage(fmt::format("\"{}\" cannot be a label of the metric {}", name, metric));
    }
  }
}

std::vector<std::string> label_names(const Labels& labels) {
  std::vector<std::string> names;
  for (const auto& [name, value] : labels) names.push_back(name);
  return names;
}

// "a=\"1\",b=\"2\"", without braces.
std::string labels_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, escaped(value, true));
  }
  return text;
}

std::string sample_line(const std::string& name, const std::string& labels, double value) {
  return labels.empty() ? fmt::format("{} {}\n", name, number_text(value))
                        : fmt::format("{}{{{}}} {}\n", name, labels, number_text(value));
}

std::string lines_of(const std::string& name, const std::string& labels,
                     const Histogram& histogram) {
  std::string text;
  const std::string before = labels.empty() ? "" : labels + ",";
  const std::vector<std::uint64_t> counts = histogram.counts();
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    all += counts[i];
    const std::string bound =
        i < histogram.bounds().size() ? number_text(histogram.bounds()[i]) : "+Inf";
    text += sample_line(name + "_bucket", fmt::format("{}le=\"{}\"", before, bound),
                        static_cast<double>(all));
  }
  text += sample_line(name + "_sum", labels, histogram.sum());
  return text + sample_line(name + "_count", labels, static_cast<double>(all));
}

}  // namespace

void Counter::raise_to(std::uint64_t value) {
  std::uint64_t now = value_.load(std::memory_order_relaxed);
  while (now < value && !value_.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
  }
}

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    if (!std::isfinite(bounds_[i]) || (i > 0 && bounds_[i] <= bounds_[i - 1])) {
      fail_usage("the bounds of a histogram ascend");
    }
  }
}

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> counts;
  for (const auto& count : counts_) counts.push_back(count.load(std::memory_order_relaxed));
  return counts;
}

std::vector<double> time_bounds() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
}

namespace {

void check_name(const std::string& name, MetricKind kind) {
  if (!is_metric_name(name)) fail_usage(fmt::format("\"{}\" is not a name of a metric", name));
  if (name.ends_with("_total") != (kind == MetricKind::counter)) {
    fail_usage(fmt::format("{}: names of counters end in _total, others do not", name));
  }
}

}  // namespace

Registry::Family& Registry::family(MetricKind kind, const std::string& name,
                                   const std::string& help) {
  check_name(name, kind);
  const auto [found, made] = families_.try_emplace(name);
  Family& family = found->second;
  if (made) {
    family.kind = kind;
    family.help = help;
  } else if (family.kind != kind) {
    fail_usage(fmt::format("the metric {} is a {} already", name, kind_name(family.kind)));
  }
  return family;
}

Registry::Metric& Registry::metric(MetricKind kind, const std::string& name,
                                   const std::string& help, Labels labels) {
  check_labels(name, kind, labels);
  Family& of = family(kind, name, help);
  if (of.metrics.empty()) of.label_names = label_names(labels);
  if (of.read || of.label_names != label_names(labels)) {
    fail_usage(fmt::format("the metric {} has other labels already", name));
  }
  return of.metrics[labels_text(labels)];
}

Counter& Registry::counter(const std::string& name, const std::string& help, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  Metric& made = metric(MetricKind::counter, name, help, labels);
  if (made.counter == nullptr) made.counter = std::make_unique<Counter>();
  return *made.counter;
}

Gauge& Registry::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  Metric& made = metric(MetricKind::gauge, name, help, labels);
  if (made.gauge == nullptr) made.gauge = std::make_unique<Gauge>();
  return *made.gauge;
}

Histogram& Registry::histogram(const std::string& name, const std::string& help,
                               const std::vector<double>& bounds, const Labels& labels) {
  auto fresh = std::make_unique<Histogram>(bounds);
  const std::lock_guard lock(mutex_);
  Metric& made = metric(MetricKind::histogram, name, help, labels);
  if (made.histogram == nullptr) made.histogram = std::move(fresh);
  if (made.histogram->bounds() != bounds) {
    fail_usage(fmt::format("the histogram {} has other bounds already", name));
  }
  return *made.histogram;
}

void Registry::collect(MetricKind kind, const std::string& name, const std::string& help,
                       std::function<std::vector<Sample>()> read) {
  if (kind == MetricKind::histogram) fail_usage(name + ": histograms are kept here");
  const std::lock_guard lock(mutex_);
  Family& of = family(kind, name, help);
  if (of.read || !of.metrics.empty()) fail_usage("there is a metric " + name + " already");
  of.read = std::move(read);
}

void Registry::collect(MetricKind kind, const std::string& name, const std::string& help,
                       std::function<double()> read) {
  collect(kind, name, help, [read = std::move(read)] { return std::vector<Sample>{{read()}}; });
}

void Registry::keep_old_name(const std::string& name, const std::string& old_name) {
  const std::lock_guard lock(mutex_);
  const auto found = families_.find(name);
  if (found == families_.end()) fail_usage("there is no metric " + name);
  check_name(old_name, found->second.kind);
  old_names_[name] = old_name;
}

std::string Registry::family_text(const std::string& name, const Family& family) {
  std::string lines;
  for (const auto& [labels, metric] : family.metrics) {
    if (metric.counter != nullptr)
      lines += sample_line(name, labels, static_cast<double>(metric.counter->value()));
    if (metric.gauge != nullptr) lines += sample_line(name, labels, metric.gauge->value());
    if (metric.histogram != nullptr) lines += lines_of(name, labels, *metric.histogram);
  }
  try {
    std::set<std::string> seen;  // the same labels twice would spoil the whole text
    for (Sample& sample : family.read ? family.read() : std::vector<Sample>{}) {
      check_labels(name, family.kind, sample.labels);
      const std::string labels = labels_text(sample.labels);
      if (seen.insert(labels).second) lines += sample_line(name, labels, sample.value);
    }
  } catch (const std::exception&) {  // omitted
    return "";
  }
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n{}", name, escaped(family.help, false), name,
                     kind_name(family.kind), lines);
}

std::string Registry::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, family] : families_) {
    text += family_text(name, family);
    const auto old = old_names_.find(name);
    if (old != old_names_.end()) text += family_text(old->second, family);
  }
  return text;
}

}  // namespace trireme::distributed
