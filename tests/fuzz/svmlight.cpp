// libFuzzer's target for the svmlight parser: `make fuzz`. Any bytes are read without harm; the same in one piece and in
// several, which a few inputs read in two threads; and numbers are what strtod makes of them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "host/svmlight_reader.hpp"

using namespace kernline;

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// As io/svmlight.py does it: what is left of a line goes in front of what comes next.
SvmlightReader<double> read(const std::uint8_t* data, std::size_t size, std::size_t piece,
                            const SvmlightOptions& options, int n_threads) {
  SvmlightReader<double> reader(options);
  std::vector<char> kept;
  for (std::size_t begin = 0;; begin += piece) {
    const std::size_t n = std::min(piece, size - std::min(begin, size));
    std::vector<char> text = kept;
    text.insert(text.end(), data + std::min(begin, size), data + std::min(begin, size) + n);
    const bool last = begin + n >= size;
    const std::size_t filled = text.size();
    text.resize(filled + SvmlightReader<double>::padding);
    const auto used = reader.feed(text.data(), static_cast<std::int64_t>(filled), last, n_threads);
    kept.assign(text.begin() + used, text.begin() + static_cast<std::ptrdiff_t>(filled));
    if (last) return reader;
  }
}

template <class T>
bool same(const Growing<T>& a, const Growing<T>& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// A hash that the fuzzer cannot steer: threads take much longer than the rest.
std::uint32_t seed_of(const std::uint8_t* data, std::size_t size) {
  std::uint32_t seed = 1;
  for (std::size_t k = 0; k < size; ++k) seed = (seed ^ data[k]) * 0x01000193u;
  return seed;
}

void check_number(const std::uint8_t* data, std::size_t size) {
  std::vector<char> text(data, data + size);
  text.resize(size + 16, '\n');
  double value = 0.0;
  const char* const end = read_number(text.data(), value);
  if (!end) return;
  text[static_cast<std::size_t>(end - text.data())] = '\0';
  const double expected = std::strtod(text.data(), nullptr);
  require(std::memcmp(&value, &expected, sizeof value) == 0, "a number differs from strtod's");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  SvmlightOptions options;
  options.base = static_cast<IndexBase>(data[0] % 3);
  options.multilabel = data[0] & 4;
  options.skips_bad_lines = data[0] & 8;
  options.n_features = data[0] & 16 ? data[0] >> 5 : -1;
  const unsigned cut = data[1];
  data += 2;
  size -= 2;
  const std::size_t piece = std::max<std::size_t>(1 + cut, size / 6);
  const std::uint32_t hash = (seed_of(data, size) + cut) * 0x9e3779b1u;
  check_number(data, size);
  options.n_bytes = static_cast<std::int64_t>(size);
  SvmlightReader<double> whole = read(data, size, size + 1, options, 1);
  options.n_bytes = 0;
  options.part_bytes = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1 + cut % 16, size / 6));
  SvmlightReader<double> pieces = read(data, size, piece, options, hash >> 24 == 0 ? 2 : 1);
  require(whole.error().line == pieces.error().line && whole.error().column == pieces.error().column &&
              whole.error().message == pieces.error().message,
          "errors differ");
  if (whole.n_bad() > 0 && !options.skips_bad_lines) return 0;
  require(whole.n_bad() == pieces.n_bad() && whole.n_lines() == pieces.n_lines(), "counts differ");
  require(whole.label_text() == pieces.label_text() && whole.whole_labels() == pieces.whole_labels(), "labels differ");
  auto a = whole.take_entries(), b = pieces.take_entries();
  require(
      same(a.row_start, b.row_start) && same(a.narrow, b.narrow) && same(a.wide, b.wide) && same(a.values, b.values),
      "entries differ");
  require(same(whole.take_labels(), pieces.take_labels()) &&
              same(whole.take_label_count(), pieces.take_label_count()) && same(whole.take_qid(), pieces.take_qid()),
          "labels differ");
  return 0;
}
