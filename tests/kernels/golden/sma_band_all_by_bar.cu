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
    real s12 = states[12 * all + lane];
    real s13 = states[13 * all + lane];
    real s14 = states[14 * all + lane];
    real s15 = states[15 * all + lane];
    real s16 = states[16 * all + lane];
    real s17 = states[17 * all + lane];
    real s18 = states[18 * all + lane];
    real s19 = states[19 * all + lane];
    const real lane0 = lanes[0 * all + lane];
    const real* f0 = family0 + (size_t)start * columns0 + index[0 * all + lane];
    const real* f1 = family1 + (size_t)start * columns1 + index[1 * all + lane];
    const real* record = rows + (size_t)start * 4;
#pragma unroll 1
    for (int t = start; t < stop; ++t, record += 4, f0 += columns0, f1 += columns1) {
        if (t + 1 < stop) { prefetch(f0 + 1 * (size_t)columns0); prefetch(f1 + 1 * (size_t)columns1); }
        const real2 r0 = __ldg((const real2*)(record + 0));
        const real2 r1 = __ldg((const real2*)(record + 2));
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
        const real v44 = s8;
        const real v45 = 0x1.000010c6f7a0bp+0;
        const real v46 = v44 + v45;
        const real v54 = s6;
        const real v57 = s9;
        const real v61 = s10;
        const real v67 = s11;
        const bool v70 = v20 != v18;
        const real v71 = s12;
        const real v72 = v71 + v5;
        const real v73 = (v70 ? v72 : v71);
        const real v74 = s13;
        const real v77 = s14;
        const real v78 = r1.x;
        const real v88 = s15;
        const real v97 = s19;
        const real v101 = s16;
        const real v104 = s17;
        const real v109 = s18;
        real v34 = v28;
        real v76 = v74;
        real v82 = v77;
        real v90 = v88;
        real v103 = v101;
        real v106 = v104;
        real v111 = v109;
        real v112 = v97;
        if (v27) {
            const real v29 = v20 - v14;
            const real v30 = fabs(v29);
            const real v32 = v30 * v31;
            const real v33 = v28 + v32;
            v34 = (v27 ? v33 : v28);
            const real v75 = v74 + v30;
            v76 = (v27 ? v75 : v74);
            const real v79 = v30 * v78;
            const real v80 = v79 * v24;
            const real v81 = v77 + v80;
            v82 = (v27 ? v81 : v77);
            const bool v83 = v14 != v18;
            const real v84 = v14 * v20;
            const bool v85 = v84 <= v18;
            const bool v86 = v83 & v85;
            const bool v87 = v27 & v86;
            const real v89 = v88 + v5;
            v90 = (v87 ? v89 : v88);
            const real v91 = v16 * v24;
            const real v92 = v13 + v91;
            const real v93 = v92 - v28;
            const real v94 = fabs(v14);
            const real v95 = v94 * v31;
            const real v96 = v93 - v95;
            const real v98 = v96 - v97;
            const bool v99 = v98 > v18;
            const bool v100 = v87 & v99;
            const real v102 = v101 + v5;
            v103 = (v100 ? v102 : v101);
            const real v105 = v104 + v98;
            v106 = (v100 ? v105 : v104);
            const bool v107 = v98 < v18;
            const bool v108 = v87 & v107;
            const real v110 = v109 + v98;
            v111 = (v108 ? v110 : v109);
            v112 = (v87 ? v96 : v97);
        }
        const real v35 = v26 - v34;
        const real v36 = v12 + v35;
        const bool v37 = v36 < v17;
        const real v38 = (v37 ? v36 : v17);
        const bool v40 = v36 > v39;
        const real v41 = (v40 ? v36 : v39);
        const real v43 = v42 + v36;
        const real v47 = v46 * v41;
        const bool v48 = v36 < v47;
        real v53 = v44;
        if (v48) {
            const real v49 = v36 / v41;
            const real v50 = v49 - v5;
            const bool v51 = v50 < v44;
            const bool v52 = v48 & v51;
            v53 = (v52 ? v50 : v44);
        }
        const real v55 = v36 - v54;
        const bool v56 = v55 != v18;
        real v60 = v57;
        real v64 = v61;
        real v69 = v67;
        if (v56) {
            const real v58 = v55 / v54;
            const real v59 = v57 + v58;
            v60 = (v56 ? v59 : v57);
            const real v62 = v58 * v58;
            const real v63 = v61 + v62;
            v64 = (v56 ? v63 : v61);
            const bool v65 = v58 < v18;
            const bool v66 = v56 & v65;
            const real v68 = v67 + v62;
            v69 = (v66 ? v68 : v67);
        }
        s0 = v11;
        s1 = v38;
        s2 = v20;
        s3 = v26;
        s4 = v34;
        s5 = v41;
        s6 = v36;
        s7 = v43;
        s8 = v53;
        s9 = v60;
        s10 = v64;
        s11 = v69;
        s12 = v73;
        s13 = v76;
        s14 = v82;
        s15 = v90;
        s16 = v103;
        s17 = v106;
        s18 = v111;
        s19 = v112;
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
    states[12 * all + lane] = canonical(s12);
    states[13 * all + lane] = canonical(s13);
    states[14 * all + lane] = canonical(s14);
    states[15 * all + lane] = canonical(s15);
    states[16 * all + lane] = canonical(s16);
    states[17 * all + lane] = canonical(s17);
    states[18 * all + lane] = canonical(s18);
    states[19 * all + lane] = canonical(s19);
}
