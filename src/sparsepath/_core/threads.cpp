#include "threads.hpp"

#include "bindings.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace sparsepath {
namespace {

long process_id() {
#if defined(_WIN32)
    return 0;  // processes are never forked there
#else
    return static_cast<long>(getpid());
#endif
}

struct Job {
    const std::function<void(int64_t)>* body;
    int64_t pieces;
    std::atomic<int64_t> next{0};
    std::atomic<int> helpers{0};  // threads that may still touch this job
    std::mutex lock;
    std::condition_variable idle;
    std::exception_ptr error;

    void work() {
        for (int64_t piece; (piece = next.fetch_add(1)) < pieces;) {
            try {
                (*body)(piece);
            } catch (...) {
                std::lock_guard<std::mutex> guard(lock);
                if (!error) error = std::current_exception();
                next.store(pieces);
            }
        }
    }
};

// Threads wait for jobs; a job may be served by several of them. Never destroyed: at exit the system ends its threads.
class Pool {
public:
    void run(Job& job, int helpers) {
        {
            std::lock_guard<std::mutex> guard(lock_);
            while (static_cast<int>(threads_) < helpers) {
                std::thread([this] { serve(); }).detach();
                ++threads_;
            }
            job.helpers.store(helpers);
            for (int i = 0; i < helpers; ++i) queue_.push_back(&job);
        }
        wake_.notify_all();
        job.work();
        {   // calls that no thread has taken up are withdrawn: the caller has done their work
            std::lock_guard<std::mutex> guard(lock_);
            size_t kept = 0;
            for (Job* waiting : queue_) {
                if (waiting == &job) job.helpers.fetch_sub(1);
                else queue_[kept++] = waiting;
            }
            queue_.resize(kept);
        }
        std::unique_lock<std::mutex> guard(job.lock);
        job.idle.wait(guard, [&] { return job.helpers.load() == 0; });
    }

private:
    void serve() {
        for (;;) {
            Job* job;
            {
                std::unique_lock<std::mutex> guard(lock_);
                wake_.wait(guard, [this] { return !queue_.empty(); });
                job = queue_.front();
                queue_.erase(queue_.begin());
            }
            job->work();
            std::lock_guard<std::mutex> guard(job->lock);
            job->helpers.fetch_sub(1);
            job->idle.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable wake_;
    std::vector<Job*> queue_;
    int threads_ = 0;
};

// A forked child has the pool's memory but none of its threads, so it gets a pool of its own.
Pool& pool() {
    static std::mutex lock;
    static Pool* current = nullptr;
    static long owner = -1;
    std::lock_guard<std::mutex> guard(lock);
    if (owner != process_id()) {
        current = new Pool;
        owner = process_id();
    }
    return *current;
}

}  // namespace

void parallel_for(int64_t pieces, int n_threads, const std::function<void(int64_t)>& body) {
    if (pieces <= 1 || n_threads <= 1) {
        for (int64_t piece = 0; piece < pieces; ++piece) body(piece);
        return;
    }
    Job job;
    job.body = &body;
    job.pieces = pieces;
    const int64_t most = pieces < n_threads ? pieces : n_threads;
    pool().run(job, static_cast<int>(most) - 1);
    if (job.error) std::rethrow_exception(job.error);
}

void bind_threads(nanobind::module_& m) {
    m.def(
        "count_pieces",
        [](int64_t pieces, int n_threads) {
            std::atomic<int64_t> done{0};
            nanobind::gil_scoped_release release;
            parallel_for(pieces, n_threads, [&](int64_t) { done.fetch_add(1); });
            return done.load();
        },
        nanobind::arg("pieces"), nanobind::arg("n_threads"),
        "Do that many empty pieces of work on some threads and return how many were done.");
}

}  // namespace sparsepath
