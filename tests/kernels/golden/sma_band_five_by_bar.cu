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
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const int* __restrict__ order, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real setting0, const real setting3, const real setting4, const real* __restrict__ family0, const int columns0, const real* __restrict__ family1, const int columns1) {
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
    real s10 = states[10 * all + lane];
    real s11 = states[11 * all + lane];
    const real lane0 = lanes[0 * all + lane];
    const real* f0 = family0 + (size_t)start * columns0 + index[0 * all + lane];
    const real* f1 = family1 + (size_t)start * columns1 + index[1 * all + lane];
    const real* record = rows + (size_t)start * 2;
#pragma unroll 1
    for (int t = start; t < stop; ++t, record += 2, f0 += columns0, f1 += columns1) {
        if (t + 1 < stop) { prefetch(f0 + 1 * (size_t)columns0); prefetch(f1 + 1 * (size_t)columns1); }
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real v0 = __ldg(f0);
        const real v1 = __ldg(f1);
        const real v2 = lane0;
        const real v3 = v1 + v2;
        const bool v4 = v0 > v3;
        const real v5 = 0x1.0000000000000p+0;
        const real v6 = v1 - v2;
        const bool v7 = v0 < v6;
        const real v8 = -0x1.0000000000000p+0;
        const real v9 = s0;
        const real v10 = (v7 ? v8 : v9);
        const real v11 = (v4 ? v5 : v10);
        const real v12 = setting0;
        const real v13 = s3;
        const real v14 = s2;
        const real v15 = r0.x;
        const real v16 = v14 * v15;
        const real v17 = s1;
        const real v18 = 0x0.0p+0;
        const bool v19 = v17 > v18;
        const real v20 = (v19 ? v9 : v18);
        const real v21 = r0.y;
        const real v22 = v20 * v21;
        const real v23 = v16 + v22;
        const real v24 = setting3;
        const real v25 = v23 * v24;
        const real v26 = v13 + v25;
        const bool v27 = v20 != v14;
        const real v28 = s4;
        const real v31 = setting4;
        const real v39 = s5;
        const real v42 = s7;
        const real v43 = 0x1.000010c6f7a0bp+0;
        const real v44 = v42 + v43;
        const real v52 = s6;
        const real v55 = s8;
        const real v59 = s9;
        const real v65 = s10;
        const real v73 = s11;
        real v34 = v28;
        real v75 = v73;
        if (v27) {
            const real v29 = v20 - v14;
            const real v30 = fabs(v29);
            const real v32 = v30 * v31;
            const real v33 = v28 + v32;
            v34 = (v27 ? v33 : v28);
            const bool v68 = v14 != v18;
            const real v69 = v14 * v20;
            const bool v70 = v69 <= v18;
            const bool v71 = v68 & v70;
            const bool v72 = v27 & v71;
            const real v74 = v73 + v5;
            v75 = (v72 ? v74 : v73);
        }
        const real v35 = v26 - v34;
        const real v36 = v12 + v35;
        const bool v37 = v36 < v17;
        const real v38 = (v37 ? v36 : v17);
        const bool v40 = v36 > v39;
        const real v41 = (v40 ? v36 : v39);
        const real v45 = v44 * v41;
        const bool v46 = v36 < v45;
        real v51 = v42;
        if (v46) {
            const real v47 = v36 / v41;
            const real v48 = v47 - v5;
            const bool v49 = v48 < v42;
            const bool v50 = v46 & v49;
            v51 = (v50 ? v48 : v42);
        }
        const real v53 = v36 - v52;
        const bool v54 = v53 != v18;
        real v58 = v55;
        real v62 = v59;
        real v67 = v65;
        if (v54) {
            const real v56 = v53 / v52;
            const real v57 = v55 + v56;
            v58 = (v54 ? v57 : v55);
            const real v60 = v56 * v56;
            const real v61 = v59 + v60;
            v62 = (v54 ? v61 : v59);
            const bool v63 = v56 < v18;
            const bool v64 = v54 & v63;
            const real v66 = v65 + v60;
            v67 = (v64 ? v66 : v65);
        }
        s0 = v11;
        s1 = v38;
        s2 = v20;
        s3 = v26;
        s4 = v34;
        s5 = v41;
        s6 = v36;
        s7 = v51;
        s8 = v58;
        s9 = v62;
        s10 = v67;
        s11 = v75;
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
    states[10 * all + lane] = canonical(s10);
    states[11 * all + lane] = canonical(s11);
}
