// A walkfold program; written by kernels.cuda_text, named by its digest.
typedef double real;
typedef double2 real2;

__device__ __forceinline__ real canonical(real x) { return x != x ? __longlong_as_double(0x7ff8000000000000LL) : x; }
__device__ __forceinline__ size_t afresh(size_t place) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(place));
#endif
    return place;
}

extern "C" __global__ void __launch_bounds__(128, 1)
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real setting3, const real setting4, const real setting5, const real setting6, const real* __restrict__ family0, const int columns0, const real* __restrict__ family1, const int columns1) {
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= count) return;
    const size_t all = count;
    real s0 = states[0 * all + lane];
    real s1 = states[1 * all + lane];
    real s2 = states[2 * all + lane];
    real s3 = states[3 * all + lane];
    int s4 = (int)states[4 * all + lane];
    int s5 = (int)states[5 * all + lane];
    int s6 = (int)states[6 * all + lane];
    real s7 = states[7 * all + lane];
    real s8 = states[8 * all + lane];
    real s9 = states[9 * all + lane];
    const unsigned f0 = index[0 * all + lane];
    const unsigned f1 = index[1 * all + lane];
#pragma unroll 1
    for (int t = start; t < stop; ++t) {
        const real* record = rows + (size_t)t * 4;
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real2 r1 = __ldg((const real2*)(record + 2));
        const real v0 = r0.x;
        const real v1 = __ldg(family0 + ((t - 1) * (unsigned)columns0 + f0));
        const bool v2 = v0 > v1;
        const real v3 = 0x1.0000000000000p+0;
        const real v4 = __ldg(family1 + ((t - 1) * (unsigned)columns1 + f1));
        const bool v5 = v0 < v4;
        const real v6 = -0x1.0000000000000p+0;
        const real v7 = s0;
        const real v8 = (v5 ? v6 : v7);
        const real v9 = (v2 ? v3 : v8);
        const int v10 = s4;
        const real v11 = 0x0.0p+0;
        const bool v12 = v10 > 0;
        const real v13 = (v12 ? v7 : v11);
        const real v14 = s2;
        const real v15 = s1;
        const real v16 = r0.y;
        const real v17 = v15 * v16;
        const real v18 = r1.x;
        const real v19 = v13 * v18;
        const real v20 = v17 + v19;
        const real v21 = setting3;
        const real v22 = v20 * v21;
        const real v23 = v14 + v22;
        const bool v24 = v13 != v15;
        const real v25 = s3;
        const real v28 = setting4;
        const real v32 = setting5;
        const int v42 = s5;
        const real v51 = s9;
        const real v54 = setting6;
        const int v59 = s6;
        const real v62 = s7;
        const real v67 = s8;
        real v31 = v25;
        int v44 = v42;
        int v61 = v59;
        real v64 = v62;
        real v69 = v67;
        real v70 = v51;
        if (v24) {
            const real v26 = v13 - v15;
            const real v27 = fabs(v26);
            const real v29 = v27 * v28;
            const real v30 = v25 + v29;
            v31 = (v24 ? v30 : v25);
            const bool v37 = v15 != v11;
            const real v38 = v15 * v13;
            const bool v39 = v38 <= v11;
            const bool v40 = v37 & v39;
            const bool v41 = v24 & v40;
            const int v43 = v42 + 1;
            v44 = (v41 ? v43 : v42);
            const real v45 = v17 * v21;
            const real v46 = v14 + v45;
            const real v47 = v46 - v25;
            const real v48 = fabs(v15);
            const real v49 = v48 * v28;
            const real v50 = v47 - v49;
            const real v52 = v50 - v51;
            const real v53 = fabs(v52);
            const bool v55 = v53 > v54;
            const real v56 = (v55 ? v52 : v11);
            const bool v57 = v56 > v11;
            const bool v58 = v41 & v57;
            const int v60 = v59 + 1;
            v61 = (v58 ? v60 : v59);
            const real v63 = v62 + v56;
            v64 = (v58 ? v63 : v62);
            const bool v65 = v56 < v11;
            const bool v66 = v41 & v65;
            const real v68 = v67 + v56;
            v69 = (v66 ? v68 : v67);
            v70 = (v41 ? v50 : v51);
        }
        const real v33 = v23 - v31;
        const real v34 = v32 + v33;
        const bool v35 = v34 <= v11;
        const int v36 = (v35 ? 0 : v10);
        s0 = v9;
        s1 = v13;
        s2 = v23;
        s3 = v31;
        s4 = v36;
        s5 = v44;
        s6 = v61;
        s7 = v64;
        s8 = v69;
        s9 = v70;
    }
    real* last = states + afresh(lane);
    last[0 * all] = canonical(s0);
    last[1 * all] = canonical(s1);
    last[2 * all] = canonical(s2);
    last[3 * all] = canonical(s3);
    last[4 * all] = (real)s4;
    last[5 * all] = (real)s5;
    last[6 * all] = (real)s6;
    last[7 * all] = canonical(s7);
    last[8 * all] = canonical(s8);
    last[9 * all] = canonical(s9);
}
