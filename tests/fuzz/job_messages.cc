// What processes of a job tell each other beside parameters: owners and tasks, ranges of batches,
// the view of a job, orders.

#include "distributed/control/group_keys.h"
#include "distributed/control/job_snapshot.h"
#include "distributed/control/job_view.h"
#include "distributed/control/mover.h"
#include "distributed/control/orders.h"
#include "distributed/launch/task_reader.h"
#include "distributed/master/protocol.h"
#include "fuzz.h"

// The first byte is how many tasks a frame says it has.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trireme::distributed;
  fuzz(data, size, [](std::string_view input) {
    if (input.empty()) return;
    Frame frame;
    frame.header.count = static_cast<unsigned char>(input[0]);
    frame.payload = Payload(std::string(input.substr(1)));
    const Owned owned = owned_of(frame);
    Frame again;
    put_owned(again, owned);
    if (again.payload.text() != frame.payload.text()) __builtin_trap();
  });
  fuzz(data, size, [](std::string_view input) { range_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) {
    const JobSnapshot cut = job_snapshot_of(input);
    if (job_snapshot_of(text_of(cut)).queue.epoch != cut.queue.epoch) __builtin_trap();
  });
  fuzz(data, size, [](std::string_view input) { save_order_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) { save_report_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) { load_order_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) { load_report_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) { tick_order_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) { tick_report_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) { export_order_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) {
    const ExportReport report = export_report_of(std::string(input));
    if (export_report_of(text_of(report)).parts != report.parts) __builtin_trap();
  });
  fuzz(data, size, [](std::string_view input) { slot_move_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) { group_start_of(std::string(input)); });
  fuzz(data, size, [](std::string_view input) { group_saved_of(std::string(input)); });
  return fuzz(data, size, [](std::string_view input) {
    const JobView view = job_view_of(std::string(input));
    if (!(job_view_of(text_of(view)) == view)) __builtin_trap();
  });
}
