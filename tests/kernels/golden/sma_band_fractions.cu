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
run(const real* __restrict__ rows, const unsigned char* __restrict__ event, const int* __restrict__ index, const real* __restrict__ lanes, real* __restrict__ states, real* __restrict__ outputs, const int start, const int stop, const int count, const real setting1, const real setting5, const real* __restrict__ family0, const int columns0, const real* __restrict__ family1, const int columns1) {
    const int lane = blockIdx.x * blockDim.x + threadIdx.x;
    if (lane >= count) return;
    const size_t all = count;
    int s0 = (int)states[0 * all + lane];
    int s1 = (int)states[1 * all + lane];
    int s2 = (int)states[2 * all + lane];
    real s3 = states[3 * all + lane];
    real s4 = states[4 * all + lane];
    int s5 = (int)states[5 * all + lane];
    real s6 = states[6 * all + lane];
    real s7 = states[7 * all + lane];
    real s8 = states[8 * all + lane];
    real s9 = states[9 * all + lane];
    real s10 = states[10 * all + lane];
    real s11 = states[11 * all + lane];
    int s12 = (int)states[12 * all + lane];
    const real lane0 = lanes[0 * all + lane];
    const unsigned f0 = index[0 * all + lane];
    const unsigned f1 = index[1 * all + lane];
#pragma unroll 1
    for (int t = start; t < stop; ++t) {
        const real* record = rows + (size_t)t * 4;
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real2 r1 = __ldg((const real2*)(record + 2));
        const real v0 = __ldg(family0 + (t * (unsigned)columns0 + f0));
        const real v1 = __ldg(family1 + (t * (unsigned)columns1 + f1));
        const real v2 = lane0;
        const real v3 = v1 + v2;
        const bool v4 = v0 > v3;
        const real v5 = 0x1.0000000000000p+0;
        const real v6 = v1 - v2;
        const bool v7 = v0 < v6;
        const real v8 = -0x1.0000000000000p+0;
        const int v9 = s0;
        const int v10 = (v7 ? -1 : v9);
        const int v11 = (v4 ? 1 : v10);
        const int v12 = s1;
        const int v13 = s5;
        const real v14 = 0x0.0p+0;
        const bool v15 = v13 > 0;
        const int v16 = s2;
        const bool v18 = r0.x != 0;
        const real v19 = setting1;
        const real v20 = s4;
        const real v21 = s3;
        const real v22 = r0.y;
        const real v23 = v21 * v22;
        const real v29 = r1.x;
        real v33 = v14;
        if (v15) {
            const bool v17 = v12 != v16;
            const real v24 = v20 + v23;
            const real v25 = v24 - v14;
            const real v26 = v19 + v25;
            const real v27 = ((v26 > v14 || v26 != v26) ? v26 : v14);
            const real v28 = (real)v12 * v27;
            const real v30 = v28 / v29;
            const real v31 = (v18 ? v30 : v14);
            const real v32 = (v17 ? v31 : v21);
            v33 = (v15 ? v32 : v14);
        }
        const real v34 = r1.y;
        const real v35 = v33 * v34;
        const real v36 = v23 + v35;
        const real v37 = v20 + v36;
        const real v38 = v37 - v14;
        const real v39 = v19 + v38;
        const bool v40 = v39 <= v14;
        const int v41 = (v40 ? 0 : v13);
        const real v42 = s6;
        const bool v43 = v39 > v42;
        const real v44 = (v43 ? v39 : v42);
        const real v45 = s8;
        const real v46 = 0x1.000010c6f7a0bp+0;
        const real v47 = v45 + v46;
        const real v48 = v47 * v44;
        const bool v49 = v39 < v48;
        real v54 = v45;
        if (v49) {
            const real v50 = v39 / v44;
            const real v51 = v50 - v5;
            const bool v52 = v51 < v45;
            const bool v53 = v49 & v52;
            v54 = (v53 ? v51 : v45);
        }
        const real v55 = s7;
        const real v56 = v39 - v55;
        const real v57 = fabs(v56);
        const real v58 = setting5;
        const bool v59 = v57 > v58;
        const real v60 = s9;
        const real v64 = s10;
        const real v70 = s11;
        real v63 = v60;
        real v67 = v64;
        real v72 = v70;
        if (v59) {
            const real v61 = v56 / v55;
            const real v62 = v60 + v61;
            v63 = (v59 ? v62 : v60);
            const real v65 = v61 * v61;
            const real v66 = v64 + v65;
            v67 = (v59 ? v66 : v64);
            const bool v68 = v61 < v14;
            const bool v69 = v59 & v68;
            const real v71 = v70 + v65;
            v72 = (v69 ? v71 : v70);
        }
        const bool v73 = v33 != v21;
        const bool v74 = v21 != v14;
        const real v75 = v21 * v33;
        const bool v76 = v75 <= v14;
        const bool v77 = v74 & v76;
        const bool v78 = v73 & v77;
        const int v79 = s12;
        const int v80 = v79 + 1;
        const int v81 = (v78 ? v80 : v79);
        s0 = v11;
        s1 = v9;
        s2 = v12;
        s3 = v33;
        s4 = v37;
        s5 = v41;
        s6 = v44;
        s7 = v39;
        s8 = v54;
        s9 = v63;
        s10 = v67;
        s11 = v72;
        s12 = v81;
    }
    real* last = states + afresh(lane);
    last[0 * all] = (real)s0;
    last[1 * all] = (real)s1;
    last[2 * all] = (real)s2;
    last[3 * all] = canonical(s3);
    last[4 * all] = canonical(s4);
    last[5 * all] = (real)s5;
    last[6 * all] = canonical(s6);
    last[7 * all] = canonical(s7);
    last[8 * all] = canonical(s8);
    last[9 * all] = canonical(s9);
    last[10 * all] = canonical(s10);
    last[11 * all] = canonical(s11);
    last[12 * all] = (real)s12;
}
