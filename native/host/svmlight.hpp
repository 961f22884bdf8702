// Parses lines of svmlight text, `label [qid:number] index:value index:value ... # comment`, into rows. A part is what one thread
// reads at a time. An invalid line is reported, never guessed at.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/decimal.hpp"

namespace kernline {

enum class IndexBase : std::uint8_t { unknown, zero, one };

struct SvmlightOptions {
  IndexBase base = IndexBase::unknown;  // unknown: zero-based if an index 0 occurs
  std::int64_t n_features = -1;         // -1: from the data
  bool multilabel = false;
  bool has_qid = false;
  bool skips_bad_lines = false;
  std::int64_t n_bytes = 0;       // of the whole text, if known
  std::ptrdiff_t part_bytes = 0;  // text that a thread reads at a time; 0: as fits the cache
  double largest_value = std::numeric_limits<double>::max();
};

struct LineError {
  std::int64_t line = 0;    // from 1
  std::int64_t column = 0;  // from 1, in bytes
  std::string message;
};

inline constexpr std::array<bool, 256> ends_token = [] {
  std::array<bool, 256> ends{};
  for (const char c : {' ', '\t', '\r', '\v', '\f', '\n', '#'}) ends[static_cast<unsigned char>(c)] = true;
  return ends;
}();

inline bool is_end(char c) { return ends_token[static_cast<unsigned char>(c)]; }
inline bool is_space(char c) { return is_end(c) && c != '\n' && c != '#'; }

inline const char* token_end(const char* p) {
  while (!is_end(*p)) ++p;
  return p;
}

// Text for a message: short, and safe for any terminal.
inline std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 40)) {
    char escaped[5];
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escaped;
    }
  }
  return out + (text.size() > 40 ? "...'" : "'");
}

// Whether text is printable UTF-8, as a label must be: binary data is refused.
inline bool is_text(std::string_view text) {
  for (std::size_t k = 0; k < text.size();) {
    const auto c = static_cast<unsigned char>(text[k++]);
    if (c < 0x20 || c == 0x7f) return false;
    if (c < 0x80) continue;
    const int n_more = c >= 0xc2 && c <= 0xdf ? 1 : c >= 0xe0 && c <= 0xef ? 2 : c >= 0xf0 && c <= 0xf4 ? 3 : 0;
    if (n_more == 0 || text.size() - k < static_cast<std::size_t>(n_more)) return false;
    const auto next = static_cast<unsigned char>(text[k]);
    // No overlong forms, no surrogates, nothing above U+10FFFF.
    if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) || (c == 0xf0 && next < 0x90) ||
        (c == 0xf4 && next > 0x8f))
      return false;
    for (int m = 0; m < n_more; ++m) {
      if ((static_cast<unsigned char>(text[k++]) & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

// An integer without point or exponent. From 2^53 on, doubles are further apart than integers, and two labels could become one.
inline bool is_digits(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return std::all_of(text.begin(), text.end(), is_digit);
}

class SvmlightPart {
 public:
  static constexpr std::size_t longest_label = 255;

  // Whole lines: end[-1] is a line end, and eight bytes after it are readable.
  void parse(const char* begin, const char* end, const SvmlightOptions& options) {
    clear(static_cast<std::size_t>(end - begin));
    for (const char* p = begin; p < end;) {
      const char* const line = p;
      while (is_space(*p)) ++p;
      if (*p != '\n' && *p != '#' && !read_line(line, p, options)) {
        if (!options.skips_bad_lines) return;
      }
      p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
      ++n_lines;
    }
  }

  // Rows one after another. Indices are as in the text.
  const double* values() const { return values_.get(); }
  const std::int64_t* indices() const { return indices_.get(); }
  std::int64_t n_entries = 0;
  std::vector<std::int64_t> row_end;
  std::vector<std::int64_t> qid;
  std::vector<double> labels;             // valid while all are numbers
  std::vector<std::int32_t> label_count;  // of each row, when multilabel
  std::string label_text;                 // every label, each followed by a line end
  bool numeric_labels = true, whole_labels = true;
  std::int64_t largest_index = -1;
  std::int64_t zero_line = 0;  // the first line with an index 0; 0 if none
  std::int64_t n_lines = 0, n_bad = 0;
  LineError error;  // the first, if n_bad > 0

 private:
  void clear(std::size_t n_bytes) {
    const std::size_t most = n_bytes / 4 + 1;  // an entry is two numbers, a colon and a separator
    if (most > capacity_) {
      capacity_ = 0;
      values_ = std::make_unique_for_overwrite<double[]>(most);
      indices_ = std::make_unique_for_overwrite<std::int64_t[]>(most);
      capacity_ = most;
    }
    n_entries = n_lines = n_bad = zero_line = 0;
    largest_index = -1;
    numeric_labels = whole_labels = true;
    row_end.clear();
    qid.clear();
    labels.clear();
    label_count.clear();
    label_text.clear();
  }

  // Reads the row at p, completely or not at all.
  bool read_line(const char* line, const char*& p, const SvmlightOptions& options) {
    const std::size_t n_labels = labels.size(), n_text = label_text.size();
    const bool numeric = numeric_labels, whole = whole_labels;
    const std::int64_t first_entry = n_entries;
    std::int64_t query = 0;
    message_.clear();
    if (read_labels(p, options) && read_qid(p, query, options) && read_entries(p, options)) {
      row_end.push_back(n_entries);
      if (options.has_qid) qid.push_back(query);
      if (options.multilabel) label_count.push_back(static_cast<std::int32_t>(labels.size() - n_labels));
      return true;
    }
    if (n_bad++ == 0) error = {n_lines + 1, p - line + 1, message_};
    labels.resize(n_labels);
    label_text.resize(n_text);
    numeric_labels = numeric;
    whole_labels = whole;
    n_entries = first_entry;
    return false;
  }

  bool fail(std::string message) {
    message_ = std::move(message);
    return false;
  }

  bool read_labels(const char*& p, const SvmlightOptions& options) {
    const std::string_view token(p, static_cast<std::size_t>(token_end(p) - p));
    if (token.find(':') != std::string_view::npos) {
      return options.multilabel || fail("expected a label, found " + shown(token));  // a row may have no labels
    }
    if (!options.multilabel) {
      if (token.find(',') != std::string_view::npos)
        return fail("expected one label, found " + shown(token) + "; pass multilabel=True for several");
      if (!add_label(token)) return false;
    } else {
      for (std::size_t begin = 0; begin <= token.size();) {
        const std::size_t end = std::min(token.find(',', begin), token.size());
        if (!add_label(token.substr(begin, end - begin))) return false;
        begin = end + 1;
      }
    }
    p += token.size();
    return true;
  }

  bool add_label(std::string_view text) {
    if (text.empty()) return fail("expected a label between commas, found none");
    double value = 0.0;
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): a delimiter follows the text in the line
    const char* const end = read_number(text.data(), value);
    const bool numeric =
        end == text.data() + text.size() && std::isfinite(value) && !(std::abs(value) >= 0x1p53 && is_digits(text));
    if (!numeric && text.size() > longest_label)
      return fail("expected a label of at most 255 bytes, found " + shown(text));
    if (!numeric && !is_text(text)) return fail("expected a label, found binary data: " + shown(text));
    labels.push_back(value);
    label_text.append(text);
    label_text += '\n';
    numeric_labels &= numeric;
    whole_labels &=
        numeric && std::abs(value) < 0x1p53 && value == static_cast<double>(static_cast<std::int64_t>(value));
    return true;
  }

  bool read_qid(const char*& p, std::int64_t& query, const SvmlightOptions& options) {
    while (is_space(*p)) ++p;
    const std::string_view token(p, static_cast<std::size_t>(token_end(p) - p));
    const bool found = token.starts_with("qid:");
    if (found != options.has_qid) {
      return fail(found ? "found " + shown(token) + ", though the first line has no qid"
                        : "expected qid:number as in the first line, found " + shown(token));
    }
    if (!found) return true;
    const char* const end = token.data() + token.size();
    const auto [stop, code] = std::from_chars(token.data() + 4, end, query);
    if (code != std::errc{} || stop != end) return fail("expected qid:number, found " + shown(token));
    p = end;
    return true;
  }

  bool read_entries(const char*& at, const SvmlightOptions& options) {
    const std::int64_t first_entry = n_entries;
    std::int64_t n = n_entries, previous = -1;
    double* const values = values_.get();
    std::int64_t* const indices = indices_.get();
    const char* p = at;
    while (is_space(*p)) ++p;
    const char* const first = p;
    for (;;) {
      while (is_space(*p)) ++p;
      if (*p == '\n' || *p == '#') break;
      std::int64_t index = 0;
      double value = 0.0;
      at = p;
      const char* end = read_whole(p, index);
      if (!end || *end != ':') return bad_entry(p, previous, options);
      end = read_number(end + 1, value);
      if (!end || !is_end(*end) || index <= previous || std::abs(value) > options.largest_value)
        return bad_entry(p, previous, options);
      values[n] = value;
      indices[n] = index;
      ++n;
      previous = index;
      p = end;
    }
    // Indices increase, so checking the first and the last suffices.
    if (n > first_entry) {
      if (indices[first_entry] == 0 && options.base == IndexBase::one) {
        at = first;
        return fail("index 0 in a file that is read as one-based; pass zero_based=True");
      }
      const std::int64_t limit = options.n_features - (options.base == IndexBase::zero ? 1 : 0);
      if (options.n_features >= 0 && previous > limit) {
        return fail("index " + std::to_string(previous) + " where n_features=" + std::to_string(options.n_features) +
                    " allows up to " + std::to_string(limit));
      }
      if (previous == std::numeric_limits<std::int64_t>::max())
        return fail("index " + std::to_string(previous) + " is too large");
      if (indices[first_entry] == 0 && zero_line == 0) zero_line = n_lines + 1;
      largest_index = std::max(largest_index, previous);
    }
    n_entries = n;
    at = p;
    return true;
  }

  // Describes the error in the entry at p.
  bool bad_entry(const char* p, std::int64_t previous, const SvmlightOptions& options) {
    const std::string_view token(p, static_cast<std::size_t>(token_end(p) - p));
    const std::size_t colon = token.find(':');
    std::int64_t index = 0;
    double value = 0.0;
    const char* const index_end = read_whole(p, index);
    const bool is_whole = colon > 0 && colon != std::string_view::npos && std::all_of(p, p + colon, is_digit);
    if (!is_whole || colon + 1 == token.size()) return fail("expected index:value, found " + shown(token));
    if (!index_end)
      return fail("index " + std::string(token.substr(0, std::min<std::size_t>(colon, 40))) + " is too large");
    const char* const end = read_number(p + colon + 1, value);
    std::string text(token.substr(colon + 1, 10));
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (text.starts_with('+') || text.starts_with('-')) text.erase(0, 1);
    const bool is_number = end == token.data() + token.size();
    if ((is_number && std::isinf(value)) || text == "nan" || text == "inf" || text == "infinity") {
      return fail("value " + shown(token.substr(colon + 1)) + " is not a finite number");
    }
    if (!is_number) return fail("expected index:value, found " + shown(token));
    if (std::abs(value) > options.largest_value)
      return fail("value " + shown(token.substr(colon + 1)) + " is too large for float32");
    return fail("index " + std::to_string(index) + " after " + std::to_string(previous) + ": indices must increase");
  }

  std::unique_ptr<double[]> values_;
  std::unique_ptr<std::int64_t[]> indices_;
  std::size_t capacity_ = 0;
  std::string message_;
};

}  // namespace kernline
