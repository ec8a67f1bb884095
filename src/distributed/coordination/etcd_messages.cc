#include "distributed/coordination/etcd_messages.h"

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "base/error.h"

namespace trireme::distributed::etcd {
namespace {

// Zeros and empty bytes are not written, as in proto3, except by present().
class Writer {
 public:
  void number(int field, std::int64_t value) {
    if (value != 0) present(field, value);
  }
  void bytes(int field, std::string_view value) {
    if (!value.empty()) present(field, value);
  }
  void message(int field, const Writer& value) { present(field, value.text_); }  // also if empty
  void present(int field, std::int64_t value) {
    protozero::pbf_writer(text_).add_int64(tag(field), value);
  }
  void present(int field, std::string_view value) {
    protozero::pbf_writer(text_).add_bytes(tag(field), value.data(), value.size());
  }
  const std::string& text() const { return text_; }

 private:
  static protozero::pbf_tag_type tag(int field) {
    return static_cast<protozero::pbf_tag_type>(field);
  }

  std::string text_;
};

struct Field {
  int number = 0;
  std::int64_t value = 0;       // of an integer
  std::string_view bytes = {};  // of bytes, text and messages
};

// Calls body(field) for each field of a message. Skips integers of fixed size. Errors: data if
// `bytes` is not a message.
template <class Body>
void each(std::string_view bytes, Body&& body) {
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      Field field{static_cast<int>(reader.tag())};
      switch (reader.wire_type()) {
        case protozero::pbf_wire_type::varint: field.value = reader.get_int64(); break;
        case protozero::pbf_wire_type::length_delimited: {
          const protozero::data_view view = reader.get_view();
          field.bytes = {view.data(), view.size()};
          break;
        }
        default: reader.skip(); continue;
      }
      body(field);
    }
  } catch (const protozero::exception& error) {
    fail_data(std::string("a message of etcd is damaged or cut short (") + error.what() + ")");
  }
}

std::string text(const Field& field) { return std::string(field.bytes); }

// --- KeyValue, ResponseHeader

Writer to_key_value(const Entry& entry) {
  Writer w;
  w.bytes(1, entry.key);
  w.number(2, entry.created);
  w.number(3, entry.modified);
  w.number(4, entry.version);
  w.bytes(5, entry.value);
  w.number(6, entry.lease);
  return w;
}

Entry from_key_value(std::string_view bytes) {
  Entry entry;
  each(bytes, [&](const Field& field) {
    switch (field.number) {
      case 1: entry.key = text(field); break;
      case 2: entry.created = field.value; break;
      case 3: entry.modified = field.value; break;
      case 4: entry.version = field.value; break;
      case 5: entry.value = text(field); break;
      case 6: entry.lease = field.value; break;
      default: break;
    }
  });
  return entry;
}

Writer to_header(std::int64_t revision) {
  Writer w;
  w.number(3, revision);
  return w;
}

std::int64_t from_header(std::string_view bytes) {
  std::int64_t revision = 0;
  each(bytes, [&](const Field& field) {
    if (field.number == 3) revision = field.value;
  });
  return revision;
}

// --- Ranges of keys

// The prefix whose keys are those from `key` to `end`; `key` may lie further on within it.
std::string prefix_of(const std::string& key, const std::string& end) {
  std::string prefix = end;
  if (end == std::string(1, '\0')) {
    prefix.clear();
    return prefix;
  }
  if (static_cast<unsigned char>(end.back()) == 0)
    fail_usage("this store supports only ranges of keys with a common prefix");
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) - 1);
  if (!key.starts_with(prefix))
    fail_usage("this store supports only ranges of keys with a common prefix");
  return prefix;
}

// For all keys, etcd expects a zero byte.
std::string begin_of(const std::string& prefix) {
  return prefix.empty() ? std::string(1, '\0') : prefix;
}

Writer to_range(const Get& get) {
  Writer w;
  if (!get.prefix) {
    w.bytes(1, get.key);
    return w;
  }
  // A page begins directly after a key: at that key and a zero byte.
  w.bytes(1, get.after.empty() ? begin_of(get.key) : get.after + '\0');
  w.bytes(2, end_of_prefix(get.key));
  w.number(3, get.limit);
  return w;
}

Writer to_put(const Put& put) {
  Writer w;
  w.bytes(1, put.key);
  w.bytes(2, put.value);
  w.number(3, put.lease);
  return w;
}

Writer to_delete(const Erase& erase) {
  Writer w;
  w.bytes(1, erase.prefix ? begin_of(erase.key) : erase.key);
  if (erase.prefix) w.bytes(2, end_of_prefix(erase.key));
  return w;
}

// RequestOp and ResponseOp: the number of the field is the kind of the operation.
constexpr int kRange = 1, kPut = 2, kDelete = 3;

Writer to_operation(const Action& action) {
  Writer w;
  if (const auto* get = std::get_if<Get>(&action)) w.message(kRange, to_range(*get));
  else if (const auto* put = std::get_if<Put>(&action)) w.message(kPut, to_put(*put));
  else w.message(kDelete, to_delete(std::get<Erase>(action)));
  return w;
}

Action from_operation(std::string_view bytes) {
  std::optional<Action> action;
  each(bytes, [&](const Field& field) {
    switch (field.number) {
      case kRange: action = from_range_request(field.bytes); break;
      case kPut: action = from_put_request(field.bytes); break;
      case kDelete: action = from_delete_request(field.bytes); break;
      default: fail_usage("this store supports only range, put and delete in a transaction");
    }
  });
  if (!action) fail_data("an operation of a transaction is empty");
  return std::move(*action);
}

// --- Compare: result, target, key, and a field for each kind of target

constexpr int kResults[] = {0, 3, 2, 1};  // of Condition::Is: EQUAL, NOT_EQUAL, LESS, GREATER
constexpr int kTargets[] = {3, 1, 2, 0};  // of Condition::Of: VALUE, CREATE, MOD, VERSION
constexpr int kFields[] = {7, 5, 6, 4};

Writer to_compare(const Condition& condition) {
  const auto of = static_cast<std::size_t>(condition.of);
  Writer w;
  w.number(1, kResults[static_cast<std::size_t>(condition.is)]);
  w.number(2, kTargets[of]);
  w.bytes(3, condition.key);
  if (condition.of == Condition::Of::value) w.present(kFields[of], condition.value);
  else w.present(kFields[of], condition.number);
  return w;
}

template <std::size_t n>
std::size_t index_of(const int (&list)[n], std::int64_t wanted) {
  for (std::size_t i = 0; i < n; ++i) {
    if (list[i] == wanted) return i;
  }
  fail_usage("this store does not support this comparison");
}

Condition from_compare(std::string_view bytes) {
  std::int64_t result = 0, target = 0;
  Condition condition;
  each(bytes, [&](const Field& field) {
    switch (field.number) {
      case 1: result = field.value; break;
      case 2: target = field.value; break;
      case 3: condition.key = text(field); break;
      case 4:
      case 5:
      case 6: condition.number = field.value; break;
      case 7: condition.value = text(field); break;
      default: fail_usage("this store does not support this comparison");
    }
  });
  condition.is = static_cast<Condition::Is>(index_of(kResults, result));
  condition.of = static_cast<Condition::Of>(index_of(kTargets, target));
  return condition;
}

}  // namespace

std::string to_txn_request(const Transaction& transaction) {
  Writer w;
  for (const Condition& condition : transaction.when) w.message(1, to_compare(condition));
  for (const Action& action : transaction.then) w.message(2, to_operation(action));
  for (const Action& action : transaction.otherwise) w.message(3, to_operation(action));
  return w.text();
}

Transaction from_txn_request(std::string_view bytes) {
  Transaction transaction;
  each(bytes, [&](const Field& field) {
    if (field.number == 1) transaction.when.push_back(from_compare(field.bytes));
    if (field.number == 2) transaction.then.push_back(from_operation(field.bytes));
    if (field.number == 3) transaction.otherwise.push_back(from_operation(field.bytes));
  });
  return transaction;
}

std::string to_txn_response(const Transaction& transaction, const Outcome& outcome) {
  Writer w;
  w.message(1, to_header(outcome.revision));
  w.number(2, outcome.succeeded ? 1 : 0);
  std::size_t got = 0;
  for (const Action& action : outcome.succeeded ? transaction.then : transaction.otherwise) {
    Writer operation, response;
    int kind = std::holds_alternative<Put>(action) ? kPut : kDelete;
    if (std::holds_alternative<Get>(action)) {
      kind = kRange;
      for (const Entry& entry : outcome.got[got++]) response.message(2, to_key_value(entry));
    }
    operation.message(kind, response);
    w.message(3, operation);
  }
  return w.text();
}

Outcome from_txn_response(std::string_view bytes) {
  Outcome outcome;
  each(bytes, [&](const Field& field) {
    if (field.number == 1) outcome.revision = from_header(field.bytes);
    if (field.number == 2) outcome.succeeded = field.value != 0;
    if (field.number != 3) return;
    each(field.bytes, [&](const Field& response) {
      if (response.number != kRange) return;
      std::vector<Entry>& entries = outcome.got.emplace_back();
      each(response.bytes, [&](const Field& part) {
        if (part.number == 2) entries.push_back(from_key_value(part.bytes));
      });
    });
  });
  return outcome;
}

Get from_range_request(std::string_view bytes) {
  std::string key, end;
  Get get;
  each(bytes, [&](const Field& field) {
    if (field.number == 1) key = text(field);
    if (field.number == 2) end = text(field);
    if (field.number == 3) get.limit = field.value;
  });
  if (end.empty()) return {key};
  get.prefix = true;
  get.key = prefix_of(key, end);
  if (key == begin_of(get.key)) return get;
  if (key.empty() || key.back() != '\0')
    fail_usage("this store supports only ranges of keys with a common prefix");
  get.after = key.substr(0, key.size() - 1);
  return get;
}

std::string to_range_response(const Outcome& outcome) {
  Writer w;
  w.message(1, to_header(outcome.revision));
  for (const Entry& entry : outcome.got.at(0)) w.message(2, to_key_value(entry));
  w.number(4, static_cast<std::int64_t>(outcome.got[0].size()));
  return w.text();
}

Put from_put_request(std::string_view bytes) {
  Put put;
  each(bytes, [&](const Field& field) {
    if (field.number == 1) put.key = text(field);
    if (field.number == 2) put.value = text(field);
    if (field.number == 3) put.lease = field.value;
  });
  return put;
}

std::string to_put_response(const Outcome& outcome) {
  Writer w;
  w.message(1, to_header(outcome.revision));
  return w.text();
}

Erase from_delete_request(std::string_view bytes) {
  std::string key, end;
  each(bytes, [&](const Field& field) {
    if (field.number == 1) key = text(field);
    if (field.number == 2) end = text(field);
  });
  if (end.empty()) return {key};
  Erase erase{prefix_of(key, end), true};
  if (key != begin_of(erase.key))
    fail_usage("this store supports only ranges of keys with a common prefix");
  return erase;
}

std::string to_delete_response(const Outcome& outcome, std::int64_t erased) {
  Writer w;
  w.message(1, to_header(outcome.revision));
  w.number(2, erased);
  return w.text();
}

std::string to_numbers(const Numbers& numbers) {
  Writer w;
  for (const auto& [field, value] : numbers) w.number(field, value);
  return w.text();
}

Numbers from_numbers(std::string_view bytes) {
  Numbers numbers;
  each(bytes, [&](const Field& field) {
    if (field.bytes.data() == nullptr) numbers[field.number] = field.value;
  });
  return numbers;
}

// WatchRequest.create_request
std::string to_watch_request(const WatchRequest& request) {
  Writer create, w;
  create.bytes(1, begin_of(request.prefix));
  create.bytes(2, end_of_prefix(request.prefix));
  create.number(3, request.from);
  w.message(1, create);
  return w.text();
}

WatchRequest from_watch_request(std::string_view bytes) {
  WatchRequest request;
  bool creates = false;
  each(bytes, [&](const Field& field) {
    if (field.number != 1) return;
    creates = true;
    std::string key, end;
    each(field.bytes, [&](const Field& part) {
      if (part.number == 1) key = text(part);
      if (part.number == 2) end = text(part);
      if (part.number == 3) request.from = part.value;
    });
    if (end.empty()) fail_usage("this store watches only ranges of keys with a common prefix");
    request.prefix = prefix_of(key, end);
    if (key != begin_of(request.prefix))
      fail_usage("this store watches only ranges of keys with a common prefix");
  });
  if (!creates) fail_usage("the first request of a watch must create it");
  return request;
}

std::string to_watch_response(const WatchResponse& response) {
  Writer w;
  w.message(1, to_header(response.revision));
  w.number(3, response.created ? 1 : 0);
  w.number(4, response.cancelled ? 1 : 0);
  w.number(5, response.compacted);
  for (const Event& event : response.events) {
    Writer e;
    e.number(1, event.erased ? 1 : 0);
    e.message(2, to_key_value(event.entry));
    w.message(11, e);
  }
  return w.text();
}

WatchResponse from_watch_response(std::string_view bytes) {
  WatchResponse response;
  each(bytes, [&](const Field& field) {
    switch (field.number) {
      case 1: response.revision = from_header(field.bytes); break;
      case 3: response.created = field.value != 0; break;
      case 4: response.cancelled = field.value != 0; break;
      case 5: response.compacted = field.value; break;
      case 11: {
        Event& event = response.events.emplace_back();
        each(field.bytes, [&](const Field& part) {
          if (part.number == 1) event.erased = part.value == 1;
          if (part.number == 2) event.entry = from_key_value(part.bytes);
        });
        break;
      }
      default: break;
    }
  });
  return response;
}

}  // namespace trireme::distributed::etcd
