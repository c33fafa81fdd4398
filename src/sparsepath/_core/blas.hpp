// The BLAS and LAPACK that SciPy brings, by the function pointers that it exports for Cython.
//
// Matrices are in Fortran order, as in every BLAS. Call blas() once while holding the GIL before loops that release it.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsepath {

struct Blas {
    void (*gemm)(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
                 const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
                 const int* ldc);
    void (*gemv)(const char* trans, const int* m, const int* n, const double* alpha, const double* a, const int* lda,
                 const double* x, const int* incx, const double* beta, double* y, const int* incy);
    void (*syrk)(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha, const double* a,
                 const int* lda, const double* beta, double* c, const int* ldc);
    void (*trsm)(const char* side, const char* uplo, const char* transa, const char* diag, const int* m, const int* n,
                 const double* alpha, const double* a, const int* lda, double* b, const int* ldb);
    void (*trsv)(const char* uplo, const char* trans, const char* diag, const int* n, const double* a, const int* lda,
                 double* x, const int* incx);
    void (*potrf)(const char* uplo, const int* n, double* a, const int* lda, int* info);
};

inline void* exported(const char* module, const char* name) {
    nanobind::dict table =
        nanobind::cast<nanobind::dict>(nanobind::module_::import_(module).attr("__pyx_capi__"));
    nanobind::object capsule = table[name];
    return PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
}

inline const Blas& blas() {
    static const Blas table = [] {
        const char *b = "scipy.linalg.cython_blas", *l = "scipy.linalg.cython_lapack";
        Blas found;
        found.gemm = reinterpret_cast<decltype(found.gemm)>(exported(b, "dgemm"));
        found.gemv = reinterpret_cast<decltype(found.gemv)>(exported(b, "dgemv"));
        found.syrk = reinterpret_cast<decltype(found.syrk)>(exported(b, "dsyrk"));
        found.trsm = reinterpret_cast<decltype(found.trsm)>(exported(b, "dtrsm"));
        found.trsv = reinterpret_cast<decltype(found.trsv)>(exported(b, "dtrsv"));
        found.potrf = reinterpret_cast<decltype(found.potrf)>(exported(l, "dpotrf"));
        return found;
    }();
    return table;
}

}  // namespace sparsepath
