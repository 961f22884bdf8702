// The svmlight reader for Python. Its arrays are handed over, not copied.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdlib>
#include <optional>
#include <tuple>

#include "bindings/bound_arrays.hpp"
#include "host/svmlight_reader.hpp"

namespace kernline {

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> handed_over(Growing<T> array) {
  const std::size_t n = array.size();
  if (n == 0) array.extend(1);  // an empty array still needs an address
  T* const data = array.release();
  return {data, {n}, nb::capsule(data, [](void* memory) noexcept { std::free(memory); })};
}

template <class Value>
void bind_svmlight(nb::module_& m, const char* name) {
  using namespace nb::literals;
  using Reader = SvmlightReader<Value>;
  nb::class_<Reader>(m, name)
      .def(
          "__init__",
          [](Reader* self, std::optional<bool> zero_based, std::int64_t n_features, bool multilabel,
             bool skips_bad_lines, std::int64_t n_bytes) {
            SvmlightOptions options;
            if (zero_based) options.base = *zero_based ? IndexBase::zero : IndexBase::one;
            options.n_features = n_features;
            options.multilabel = multilabel;
            options.skips_bad_lines = skips_bad_lines;
            options.n_bytes = n_bytes;
            new (self) Reader(options);
          },
          "zero_based"_a.none(), "n_features"_a, "multilabel"_a, "skips_bad_lines"_a, "n_bytes"_a)
      .def(
          "feed",
          [](Reader& self, Vector<std::uint8_t> text, std::int64_t n_bytes, bool last, int n_threads) {
            require(n_bytes >= 0 && static_cast<std::size_t>(n_bytes) + Reader::padding <= text.size(),
                    "svmlight: the text must be followed by padding");
            return self.feed(reinterpret_cast<char*>(text.data()), n_bytes, last, n_threads);
          },
          nb::arg("text").noconvert(), "n_bytes"_a, "last"_a, "n_threads"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("settle_base", &Reader::settle_base)
      .def("take_entries",
           [](Reader& self) {
             auto [row_start, narrow, wide, values] = self.take_entries();
             nb::object columns =
                 self.is_wide() ? nb::cast(handed_over(std::move(wide))) : nb::cast(handed_over(std::move(narrow)));
             return nb::make_tuple(handed_over(std::move(row_start)), columns, handed_over(std::move(values)));
           })
      .def("take_labels", [](Reader& self) { return handed_over(self.take_labels()); })
      .def("take_label_count", [](Reader& self) { return handed_over(self.take_label_count()); })
      .def("take_qid", [](Reader& self) { return handed_over(self.take_qid()); })
      .def_prop_ro("n_lines", &Reader::n_lines)
      .def_prop_ro("n_bad", &Reader::n_bad)
      .def_prop_ro(
          "error",
          [](const Reader& self) { return std::tuple(self.error().line, self.error().column, self.error().message); })
      .def_prop_ro("largest_index", &Reader::largest_index)
      .def_prop_ro("zero_line", &Reader::zero_line)
      .def_prop_ro("has_qid", &Reader::has_qid)
      .def_prop_ro("numeric_labels", &Reader::numeric_labels)
      .def_prop_ro("whole_labels", &Reader::whole_labels)
      .def_prop_ro("label_text",
                   [](const Reader& self) { return nb::bytes(self.label_text().data(), self.label_text().size()); })
      .def_prop_ro_static("padding", [](nb::handle) { return Reader::padding; });
}

}  // namespace kernline
