// An array that grows at its end and gives its memory away when it is complete. realloc grows large arrays by moving pages,
// not bytes; std::vector does not, and cannot give its memory away. Huge pages are not requested: where memory was fragmented,
// creating them took three times as long as reading the file (see also docs/decisions/2026-11-files.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace kernline {

template <class T>
class Growing {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Growing() = default;
  Growing(Growing&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Growing& operator=(Growing&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Growing() { std::free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Appends n uninitialised elements.
  T* extend(std::size_t n) {
    if (n > capacity_ - size_) grow(std::max(size_ + n, capacity_ + capacity_ / 2));
    T* const place = data_ + size_;
    size_ += n;
    return place;
  }
  void append(const T* from, std::size_t n) {
    if (n > 0) std::memcpy(extend(n), from, n * sizeof(T));
  }
  void push_back(T value) { *extend(1) = value; }

  // Releases the memory, to be freed by std::free, without spare capacity. Null if empty.
  T* release() {
    if (size_ > 0) reallocate(size_);
    size_ = capacity_ = 0;
    return std::exchange(data_, nullptr);
  }

  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }

 private:
  void grow(std::size_t capacity) {
    if (capacity < size_ || capacity > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    reallocate(capacity);
  }
  void reallocate(std::size_t capacity) {
    void* const moved = std::realloc(data_, capacity * sizeof(T));
    if (!moved) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace kernline
