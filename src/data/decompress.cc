#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "data/blob.h"

namespace trireme::data {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b", kZstd = "\x28\xb5\x2f\xfd";

[[noreturn]] void fail_packed(const std::string& name, const std::string& kind, std::size_t offset,
                              const std::string& what) {
  fail_data(name + ": damaged " + kind + " data at byte " + std::to_string(offset) + ": " + what);
}

// Makes room for more output, doubling from `first`. Errors: data, if `limit` is reached.
void grow(std::string& output, std::size_t first, std::size_t limit, const std::string& name) {
  if (output.size() >= limit) {
    fail_data(name + ": unpacks to more than the limit of " + std::to_string(limit) +
              " bytes\n  hint   set TRIREME_MAX_FILE_BYTES to raise the limit, or unpack the file");
  }
  output.resize(std::min(limit, std::max(first, output.size() * 2)));
}

std::string gunzip(std::string_view packed, const std::string& name, std::size_t limit) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) fail_internal("zlib cannot start");
  const std::unique_ptr<z_stream, void (*)(z_stream*)> guard(&stream,
                                                             [](z_stream* s) { inflateEnd(s); });

  std::string output;
  std::size_t consumed = 0;
  std::size_t produced = 0;
  int status = Z_OK;
  for (;;) {
    if (produced == output.size()) grow(output, packed.size() * 4 + 64, limit, name);
    constexpr std::size_t kStep = std::size_t{1} << 30;  // zlib counts in 32 bits
    const std::size_t in = std::min(packed.size() - consumed, kStep);
    const std::size_t out = std::min(output.size() - produced, kStep);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data())) + consumed;
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(output.data()) + produced;
    stream.avail_out = static_cast<uInt>(out);
    status = inflate(&stream, Z_NO_FLUSH);
    consumed += in - stream.avail_in;
    produced += out - stream.avail_out;
    if (status == Z_STREAM_END) {
      if (consumed == packed.size()) break;
      inflateReset(&stream);  // another member follows
    } else if (status == Z_BUF_ERROR || (status == Z_OK && in == 0 && stream.avail_out > 0)) {
      fail_packed(name, "gzip", consumed, "the file is cut short");
    } else if (status != Z_OK) {
      fail_packed(name, "gzip", consumed, stream.msg != nullptr ? stream.msg : "not readable");
    }
  }
  output.resize(produced);
  return output;
}

std::string unzstd(std::string_view packed, const std::string& name, std::size_t limit) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::string output;
  ZSTD_outBuffer out{output.data(), 0, 0};
  std::size_t more = 1;  // 0 at the end of a frame
  while (in.pos < in.size || more != 0) {
    if (out.pos == output.size()) {
      grow(output, packed.size() * 4 + 64, limit, name);
      out.dst = output.data();
      out.size = output.size();
    }
    const std::size_t before_in = in.pos;
    const std::size_t before_out = out.pos;
    more = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(more) != 0) fail_packed(name, "zstd", in.pos, ZSTD_getErrorName(more));
    if (more != 0 && in.pos == before_in && out.pos == before_out) {
      fail_packed(name, "zstd", in.pos, "the file is cut short");
    }
  }
  output.resize(out.pos);
  return output;
}

}  // namespace

bool is_packed(std::string_view bytes) {
  return bytes.starts_with(kGzip) || bytes.starts_with(kZstd);
}

std::string decompress(std::string_view packed, const std::string& name, std::size_t limit) {
  if (packed.starts_with(kGzip)) return gunzip(packed, name, limit);
  if (packed.starts_with(kZstd)) return unzstd(packed, name, limit);
  return std::string(packed);
}

}  // namespace trireme::data
