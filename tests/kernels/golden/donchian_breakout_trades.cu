// A walkfold program; written by kernels.cuda_text, named by its digest.
typedef double real;
typedef double2 real2;

__device__ __forceinline__ real canonical(real x) { return x != x ? __longlong_as_double(0x7ff8000000000000LL) : x; }
__device__ __forceinline__ void prefetch(const real* address) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L1 [%0];" :: "l"(address));
#endif
}

extern "C" __global__ void __launch_bounds__(128, 1)
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const int* __restrict__ order, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real setting1, const real setting4, const real setting5, const real* __restrict__ family0, const int columns0, const real* __restrict__ family1, const int columns1) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= count) return;
    const int lane = order[thread];
    const size_t all = count;
    real s0 = states[0 * all + lane];
    real s1 = states[1 * all + lane];
    real s2 = states[2 * all + lane];
    real s3 = states[3 * all + lane];
    real s4 = states[4 * all + lane];
    real s5 = states[5 * all + lane];
    real s6 = states[6 * all + lane];
    real s7 = states[7 * all + lane];
    real s8 = states[8 * all + lane];
    real s9 = states[9 * all + lane];
    const real* f0 = family0 + (size_t)start * columns0 + index[0 * all + lane];
    const real* f1 = family1 + (size_t)start * columns1 + index[1 * all + lane];
    const real* record = rows + (size_t)start * 4;
#pragma unroll 1
    for (int t = start; t < stop; ++t, record += 4, f0 += columns0, f1 += columns1) {
        if (t + 1 < stop) { prefetch(f0 + 1 * (size_t)columns0); prefetch(f1 + 1 * (size_t)columns1); }
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real2 r1 = __ldg((const real2*)(record + 2));
        const real v0 = r0.x;
        const real v1 = __ldg(f0 - 1 * (size_t)columns0);
        const bool v2 = v0 > v1;
        const real v3 = 0x1.0000000000000p+0;
        const real v4 = __ldg(f1 - 1 * (size_t)columns1);
        const bool v5 = v0 < v4;
        const real v6 = -0x1.0000000000000p+0;
        const real v7 = s0;
        const real v8 = (v5 ? v6 : v7);
        const real v9 = (v2 ? v3 : v8);
        const real v10 = setting1;
        const real v11 = s3;
        const real v12 = s2;
        const real v13 = r0.y;
        const real v14 = v12 * v13;
        const real v15 = s1;
        const real v16 = 0x0.0p+0;
        const bool v17 = v15 > v16;
        const real v18 = (v17 ? v7 : v16);
        const real v19 = r1.x;
        const real v20 = v18 * v19;
        const real v21 = v14 + v20;
        const real v22 = setting4;
        const real v23 = v21 * v22;
        const real v24 = v11 + v23;
        const bool v25 = v18 != v12;
        const real v26 = s4;
        const real v29 = setting5;
        const real v42 = s5;
        const real v51 = s9;
        const real v55 = s6;
        const real v58 = s7;
        const real v63 = s8;
        real v32 = v26;
        real v44 = v42;
        real v57 = v55;
        real v60 = v58;
        real v65 = v63;
        real v66 = v51;
        if (v25) {
            const real v27 = v18 - v12;
            const real v28 = fabs(v27);
            const real v30 = v28 * v29;
            const real v31 = v26 + v30;
            v32 = (v25 ? v31 : v26);
            const bool v37 = v12 != v16;
            const real v38 = v12 * v18;
            const bool v39 = v38 <= v16;
            const bool v40 = v37 & v39;
            const bool v41 = v25 & v40;
            const real v43 = v42 + v3;
            v44 = (v41 ? v43 : v42);
            const real v45 = v14 * v22;
            const real v46 = v11 + v45;
            const real v47 = v46 - v26;
            const real v48 = fabs(v12);
            const real v49 = v48 * v29;
            const real v50 = v47 - v49;
            const real v52 = v50 - v51;
            const bool v53 = v52 > v16;
            const bool v54 = v41 & v53;
            const real v56 = v55 + v3;
            v57 = (v54 ? v56 : v55);
            const real v59 = v58 + v52;
            v60 = (v54 ? v59 : v58);
            const bool v61 = v52 < v16;
            const bool v62 = v41 & v61;
            const real v64 = v63 + v52;
            v65 = (v62 ? v64 : v63);
            v66 = (v41 ? v50 : v51);
        }
        const real v33 = v24 - v32;
        const real v34 = v10 + v33;
        const bool v35 = v34 < v15;
        const real v36 = (v35 ? v34 : v15);
        s0 = v9;
        s1 = v36;
        s2 = v18;
        s3 = v24;
        s4 = v32;
        s5 = v44;
        s6 = v57;
        s7 = v60;
        s8 = v65;
        s9 = v66;
    }
    states[0 * all + lane] = canonical(s0);
    states[1 * all + lane] = canonical(s1);
    states[2 * all + lane] = canonical(s2);
    states[3 * all + lane] = canonical(s3);
    states[4 * all + lane] = canonical(s4);
    states[5 * all + lane] = canonical(s5);
    states[6 * all + lane] = canonical(s6);
    states[7 * all + lane] = canonical(s7);
    states[8 * all + lane] = canonical(s8);
    states[9 * all + lane] = canonical(s9);
}
