// Vectors of numbers whose memory is used again by later ones.
//
// A fit of a few milliseconds that takes fresh pages from the system and gives them back spends most of its time on
// that: 72 x 2000 over ten folds took 13 ms, of which 9 were page faults. So large blocks are kept, up to KEPT bytes.
// Numbers of a new vector are not set unless a value is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sparsepath {

class Recycler {
public:
    static constexpr size_t LARGE = 1 << 16, KEPT = 1 << 26, HUGE = 1 << 22, PAGE = 4096;
    static constexpr std::align_val_t ALIGNED{64};  // as the widest vectors and the lines of caches

    static Recycler& shared() {
        static Recycler* one = new Recycler;  // never destroyed: vectors may outlive other statics
        return *one;
    }

    void* take(size_t bytes) {
        if (bytes >= LARGE) {
            std::lock_guard<std::mutex> lock(mutex_);
            auto found = free_.lower_bound(bytes);
            if (found != free_.end() && found->first <= 2 * bytes) {
                void* block = found->second;
                kept_ -= found->first;
                sizes_[block] = found->first;
                free_.erase(found);
                return block;
            }
        }
        void* block = ::operator new(bytes, ALIGNED);
        if (bytes >= LARGE) {
#if defined(__linux__)
            if (bytes >= HUGE) {  // pages of 2 MiB take a tenth of the time of many small ones
                const uintptr_t low = (reinterpret_cast<uintptr_t>(block) + PAGE - 1) / PAGE * PAGE;
                madvise(reinterpret_cast<void*>(low), bytes - PAGE, MADV_HUGEPAGE);
            }
#endif
            std::lock_guard<std::mutex> lock(mutex_);
            sizes_[block] = bytes;
        }
        return block;
    }

    void give(void* block, size_t bytes) noexcept {
        if (bytes >= LARGE) {
            std::lock_guard<std::mutex> lock(mutex_);
            const auto found = sizes_.find(block);
            const size_t size = found->second;
            sizes_.erase(found);
            if (kept_ + size <= KEPT) {
                free_.emplace(size, block);
                kept_ += size;
                return;
            }
        }
        ::operator delete(block, ALIGNED);
    }

private:
    std::mutex mutex_;
    std::multimap<size_t, void*> free_;
    std::map<void*, size_t> sizes_;   // of the large blocks in use
    size_t kept_ = 0;
};

template <class T>
struct Recycled {
    using value_type = T;
    Recycled() = default;
    template <class U>
    Recycled(const Recycled<U>&) {}
    T* allocate(size_t n) { return static_cast<T*>(Recycler::shared().take(n * sizeof(T))); }
    void deallocate(T* p, size_t n) noexcept { Recycler::shared().give(p, n * sizeof(T)); }
    template <class U>
    void construct(U* p) noexcept {
        ::new (static_cast<void*>(p)) U;
    }
    template <class U, class... Args>
    void construct(U* p, Args&&... args) {
        ::new (static_cast<void*>(p)) U(std::forward<Args>(args)...);
    }
    template <class U>
    bool operator==(const Recycled<U>&) const { return true; }
    template <class U>
    bool operator!=(const Recycled<U>&) const { return false; }
};

using Numbers = std::vector<double, Recycled<double>>;

}  // namespace sparsepath
