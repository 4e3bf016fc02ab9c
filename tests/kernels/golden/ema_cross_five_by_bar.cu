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
    const real* f0 = family0 + (size_t)start * columns0 + index[0 * all + lane];
    const real* f1 = family1 + (size_t)start * columns1 + index[1 * all + lane];
    const real* record = rows + (size_t)start * 2;
#pragma unroll 1
    for (int t = start; t < stop; ++t, record += 2, f0 += columns0, f1 += columns1) {
        if (t + 1 < stop) { prefetch(f0 + 1 * (size_t)columns0); prefetch(f1 + 1 * (size_t)columns1); }
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real v0 = __ldg(f0);
        const real v1 = __ldg(f1);
        const bool v2 = v0 > v1;
        const real v3 = 0x1.0000000000000p+0;
        const real v4 = -0x1.0000000000000p+0;
        const real v5 = (v2 ? v3 : v4);
        const real v6 = setting0;
        const real v7 = s3;
        const real v8 = s2;
        const real v9 = r0.x;
        const real v10 = v8 * v9;
        const real v11 = s1;
        const real v12 = 0x0.0p+0;
        const bool v13 = v11 > v12;
        const real v14 = s0;
        const real v15 = (v13 ? v14 : v12);
        const real v16 = r0.y;
        const real v17 = v15 * v16;
        const real v18 = v10 + v17;
        const real v19 = setting3;
        const real v20 = v18 * v19;
        const real v21 = v7 + v20;
        const bool v22 = v15 != v8;
        const real v23 = s4;
        const real v26 = setting4;
        const real v34 = s5;
        const real v37 = s7;
        const real v38 = 0x1.000010c6f7a0bp+0;
        const real v39 = v37 + v38;
        const real v47 = s6;
        const real v50 = s8;
        const real v54 = s9;
        const real v60 = s10;
        const real v68 = s11;
        real v29 = v23;
        real v70 = v68;
        if (v22) {
            const real v24 = v15 - v8;
            const real v25 = fabs(v24);
            const real v27 = v25 * v26;
            const real v28 = v23 + v27;
            v29 = (v22 ? v28 : v23);
            const bool v63 = v8 != v12;
            const real v64 = v8 * v15;
            const bool v65 = v64 <= v12;
            const bool v66 = v63 & v65;
            const bool v67 = v22 & v66;
            const real v69 = v68 + v3;
            v70 = (v67 ? v69 : v68);
        }
        const real v30 = v21 - v29;
        const real v31 = v6 + v30;
        const bool v32 = v31 < v11;
        const real v33 = (v32 ? v31 : v11);
        const bool v35 = v31 > v34;
        const real v36 = (v35 ? v31 : v34);
        const real v40 = v39 * v36;
        const bool v41 = v31 < v40;
        real v46 = v37;
        if (v41) {
            const real v42 = v31 / v36;
            const real v43 = v42 - v3;
            const bool v44 = v43 < v37;
            const bool v45 = v41 & v44;
            v46 = (v45 ? v43 : v37);
        }
        const real v48 = v31 - v47;
        const bool v49 = v48 != v12;
        real v53 = v50;
        real v57 = v54;
        real v62 = v60;
        if (v49) {
            const real v51 = v48 / v47;
            const real v52 = v50 + v51;
            v53 = (v49 ? v52 : v50);
            const real v55 = v51 * v51;
            const real v56 = v54 + v55;
            v57 = (v49 ? v56 : v54);
            const bool v58 = v51 < v12;
            const bool v59 = v49 & v58;
            const real v61 = v60 + v55;
            v62 = (v59 ? v61 : v60);
        }
        s0 = v5;
        s1 = v33;
        s2 = v15;
        s3 = v21;
        s4 = v29;
        s5 = v36;
        s6 = v31;
        s7 = v46;
        s8 = v53;
        s9 = v57;
        s10 = v62;
        s11 = v70;
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
