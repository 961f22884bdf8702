// Memory for a row. Not std::vector, whose functions all builds of the loops would share: code compiled for AVX2 could be
// linked into the baseline.
#pragma once

#include <cstdint>
#include <new>

namespace kernline::KERNLINE_TARGET {

template <class T>
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::operator delete(data_); }

  // Room for at least n; the previous contents are lost.
  T* room(std::int64_t n) {
    if (n > size_) {
      ::operator delete(data_);
      data_ = nullptr;
      size_ = 0;
      data_ = static_cast<T*>(::operator new(static_cast<std::size_t>(n) * sizeof(T)));
      size_ = n;
    }
    return data_;
  }

 private:
  T* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace kernline::KERNLINE_TARGET
