// Reads svmlight text, piece by piece, into one CSR matrix with labels. Threads read parts of a piece into their own memory,
// small enough for the cache; once the sizes are known, each copies its part into place. So memory beyond the result is
// bounded, and the result is the same for any number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/growing.hpp"
#include "host/parallel.hpp"
#include "host/svmlight.hpp"

namespace kernline {

template <class Value>
class SvmlightReader {
 public:
  static constexpr std::size_t padding = 16;  // writable bytes after the text

  explicit SvmlightReader(const SvmlightOptions& options) : options_(options) {
    // A value that rounds to the largest float is valid: FLT_MAX is printed as 3.4028235e38, which is larger.
    if constexpr (sizeof(Value) == sizeof(float)) options_.largest_value = std::nextafter(0x1.ffffffp127, 0.0);
    if (options_.base == IndexBase::zero) shift_ = 0;
    row_start_.push_back(0);
  }

  // Reads the complete lines in n bytes of text and returns their length in bytes; in the last text, all lines are complete.
  // Stops at a bad line, see `error`, unless bad lines are skipped.
  std::int64_t feed(char* text, std::int64_t n, bool last, int n_threads) {
    if (stopped_ || n == 0) return n;
    std::int64_t whole = n;
    if (text[n - 1] != '\n') {
      if (last) {
        text[whole++] = '\n';
      } else {
        while (whole > 0 && text[whole - 1] != '\n') --whole;
      }
    }
    if (!looked_for_qid_) look_for_qid(text, text + whole);
    const auto n_parts = static_cast<std::size_t>(std::clamp(n_threads, 1, 256));
    if (parts_.size() < n_parts) parts_.resize(n_parts);
    for (char* begin = text; begin < text + whole && !stopped_;) begin = read_parts(begin, text + whole, n_parts);
    return std::min(whole, n);
  }

  std::size_t n_rows() const { return n_rows_; }
  std::int64_t n_lines() const { return n_lines_; }
  std::int64_t n_bad() const { return n_bad_; }
  const LineError& error() const { return error_; }
  std::int64_t largest_index() const { return largest_index_; }
  std::int64_t zero_line() const { return zero_line_; }
  bool is_wide() const { return wide_; }
  bool numeric_labels() const { return numeric_labels_; }
  bool whole_labels() const { return whole_labels_; }
  bool has_qid() const { return options_.has_qid; }
  const std::string& label_text() const { return label_text_; }

  // Decides from the text so far whether indices begin at 0, for rows that are handed out before everything is read.
  void settle_base() {
    if (options_.base == IndexBase::unknown) options_.base = zero_line_ > 0 ? IndexBase::zero : IndexBase::one;
  }

  // Hands out the entries read so far and starts again with none. Columns are counted from 0.
  struct Entries {
    Growing<std::int64_t> row_start;
    Growing<std::int32_t> narrow;
    Growing<std::int64_t> wide;
    Growing<Value> values;
  };
  Entries take_entries() {
    if (shift_ == 1 && zero_line_ > 0) {
      for (std::size_t k = 0; k < narrow_.size(); ++k) ++narrow_.data()[k];
      for (std::size_t k = 0; k < wide_columns_.size(); ++k) ++wide_columns_.data()[k];
    }
    Entries taken;
    taken.row_start = std::move(row_start_);
    taken.narrow = std::move(narrow_);
    taken.wide = std::move(wide_columns_);
    taken.values = std::move(values_);
    row_start_.push_back(0);
    if (options_.base == IndexBase::zero) shift_ = 0;
    return taken;
  }
  Growing<double> take_labels() { return std::move(labels_); }
  Growing<std::int32_t> take_label_count() { return std::move(label_count_); }
  Growing<std::int64_t> take_qid() { return std::move(qid_); }

 private:
  // Gives each thread a part, from `begin` on; returns where they end.
  char* read_parts(char* begin, char* end, std::size_t n_parts) {
    const std::ptrdiff_t usual = n_parts == 1 ? part_alone : part_of_many;
    const std::ptrdiff_t length = options_.part_bytes > 0 ? options_.part_bytes : usual;
    std::vector<char*> cuts = {begin};
    while (cuts.size() <= n_parts && cuts.back() < end) {
      char* const target = cuts.back() + std::min(end - cuts.back(), length) - 1;
      cuts.push_back(static_cast<char*>(std::memchr(target, '\n', static_cast<std::size_t>(end - target))) + 1);
    }
    const auto n = static_cast<std::int64_t>(cuts.size()) - 1;
    const auto each = [&](auto&& work) {
      parallel_for(static_cast<int>(n), n, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k < last; ++k) work(static_cast<std::size_t>(k));
      });
    };
    each([&](std::size_t k) { parts_[k].parse(cuts[k], cuts[k + 1], options_); });
    std::vector<std::size_t> place;
    for (std::int64_t k = 0; k < n && !stopped_; ++k) {
      place.push_back(values_.size());
      add(parts_[static_cast<std::size_t>(k)]);
    }
    make_room(cuts.back() - begin);
    parallel_for(static_cast<int>(place.size()), static_cast<std::int64_t>(place.size()),
                 [&](std::int64_t first, std::int64_t last) {
                   for (auto k = static_cast<std::size_t>(first); std::cmp_less(k, last); ++k)
                     copy(parts_[k], place[k]);
                 });
    return cuts.back();
  }

  // Appends everything of a part except its entries, for which memory is reserved.
  void add(const SvmlightPart& part) {
    if (part.n_bad > 0 && n_bad_ == 0) {
      error_ = part.error;
      error_.line += n_lines_;
    }
    n_bad_ += part.n_bad;
    stopped_ = part.n_bad > 0 && !options_.skips_bad_lines;
    if (part.zero_line > 0 && zero_line_ == 0) zero_line_ = n_lines_ + part.zero_line;
    n_lines_ += part.n_lines;
    largest_index_ = std::max(largest_index_, part.largest_index);
    if (!wide_ && largest_index_ >= std::numeric_limits<std::int32_t>::max()) widen();
    const auto base = static_cast<std::int64_t>(values_.size());
    std::int64_t* const row_start = row_start_.extend(part.row_end.size());
    for (std::size_t i = 0; i < part.row_end.size(); ++i) row_start[i] = base + part.row_end[i];
    n_rows_ += part.row_end.size();
    qid_.append(part.qid.data(), part.qid.size());
    labels_.append(part.labels.data(), part.labels.size());
    label_count_.append(part.label_count.data(), part.label_count.size());
    label_text_ += part.label_text;
    numeric_labels_ &= part.numeric_labels;
    whole_labels_ &= part.whole_labels;
    const auto n = static_cast<std::size_t>(part.n_entries);
    values_.extend(n);
    wide_ ? static_cast<void>(wide_columns_.extend(n)) : static_cast<void>(narrow_.extend(n));
  }

  // Reserves memory for the whole file, estimated from the first text: growing arrays is expensive mainly because large ones
  // must be moved.
  void make_room(std::ptrdiff_t n_read) {
    if (options_.n_bytes <= 0 || values_.size() == 0) return;
    const double more = 1.05 * static_cast<double>(options_.n_bytes) / static_cast<double>(n_read);
    const auto enough = [&](std::size_t n) { return static_cast<std::size_t>(more * static_cast<double>(n)) + 1024; };
    values_.reserve(enough(values_.size()));
    wide_ ? wide_columns_.reserve(enough(values_.size())) : narrow_.reserve(enough(values_.size()));
    row_start_.reserve(enough(row_start_.size()));
    labels_.reserve(enough(labels_.size()));
    options_.n_bytes = 0;
  }

  void copy(const SvmlightPart& part, std::size_t place) {
    const auto n = static_cast<std::size_t>(part.n_entries);
    std::transform(part.values(), part.values() + n, values_.data() + place,
                   [](double value) { return static_cast<Value>(value); });
    const std::int64_t shift = shift_;
    if (wide_) {
      std::transform(part.indices(), part.indices() + n, wide_columns_.data() + place,
                     [=](std::int64_t index) { return index - shift; });
    } else {
      std::transform(part.indices(), part.indices() + n, narrow_.data() + place,
                     [=](std::int64_t index) { return static_cast<std::int32_t>(index - shift); });
    }
  }

  void widen() {
    std::copy_n(narrow_.data(), narrow_.size(), wide_columns_.extend(narrow_.size()));
    narrow_ = Growing<std::int32_t>();
    wide_ = true;
  }

  // The first row decides whether the file has query ids.
  void look_for_qid(const char* p, const char* end) {
    for (; p < end; p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1) {
      while (is_space(*p)) ++p;
      if (*p == '\n' || *p == '#') continue;
      if (!std::string_view(p, static_cast<std::size_t>(end - p)).starts_with("qid:")) p = token_end(p);  // no label
      while (is_space(*p)) ++p;
      options_.has_qid = std::string_view(p, static_cast<std::size_t>(end - p)).starts_with("qid:");
      looked_for_qid_ = true;
      return;
    }
  }

  // Text per thread at a time: the result of a part, about twice as large, should fit into the cache. With several threads,
  // a part should also take longer than starting a thread.
  static constexpr std::ptrdiff_t part_alone = 1 << 17, part_of_many = 1 << 20;

  SvmlightOptions options_;
  std::vector<SvmlightPart> parts_;
  Growing<std::int64_t> row_start_, wide_columns_, qid_;
  Growing<std::int32_t> narrow_, label_count_;
  Growing<Value> values_;
  Growing<double> labels_;
  std::string label_text_;
  std::size_t n_rows_ = 0;
  std::int64_t n_lines_ = 0, n_bad_ = 0, largest_index_ = -1, zero_line_ = 0;
  std::int64_t shift_ = 1;  // most files count from 1
  LineError error_;
  bool wide_ = false, numeric_labels_ = true, whole_labels_ = true, looked_for_qid_ = false, stopped_ = false;
};

}  // namespace kernline
