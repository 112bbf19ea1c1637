//! A synthetic PyTorch trace of any size, with its figures known while it is made.
//!
//! Of 17 events 4 are of a device: computation on stream 7, communication on stream 20, copies on stream 21. The events of a class never
//! overlap each other, so their times are sums. Sizes and keys are those of files that PyTorch 2 writes.

use std::io::{self, Write};

/// What the trace holds, in ns.
#[derive(Default, Debug, PartialEq)]
pub(crate) struct Truth {
    pub(crate) events: u64,
    pub(crate) device_events: u64,
    pub(crate) kernel_ns: u64,
    pub(crate) comp_ns: u64,
    pub(crate) comm_ns: u64,
}

const KERNELS: [&str; 6] = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)",
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x16_execute_kernel__5x_cublas",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_nn_align8>(Params)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, unsigned int, float, 4, 4> >",
    "triton_poi_fused_add_native_layer_norm_3",
    "flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false>, true>(Flash_fwd_params)",
];

/// A time in ns as PyTorch writes it.
struct Us(u64);

impl std::fmt::Display for Us {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Writes a trace with so many device events.
///
/// # Errors
/// When `out` does not take it.
pub(crate) fn write(mut out: impl Write, device_events: u64, seed: u64) -> io::Result<Truth> {
    let mut random = SplitMix(seed);
    let mut truth = Truth::default();
    writeln!(
        out,
        "{{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 8}},\n  \
         \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1712169528000000000,\n  \"traceEvents\": ["
    )?;
    let base = 1_247_312_000_000_u64;
    let (mut host, mut free) = (base, [base + 20_000; 3]);
    let (mut first, mut last) = (u64::MAX, 0);
    let steps = 10;
    for number in 0..device_events {
        if number % device_events.div_ceil(steps) == 0 {
            let step = number / device_events.div_ceil(steps);
            let length = device_events.div_ceil(steps) * 12_000;
            writeln!(
                out,
                "  {{\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{step}\", \"pid\": 4242, \"tid\": 4242,\n    \
                 \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {}, \"Ev Idx\": {number}\n    }}\n  }},",
                Us(host),
                Us(length),
                number * 3
            )?;
            truth.events += 1;
        }
        writeln!(
            out,
            "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::linear\", \"pid\": 4242, \"tid\": 4242,\n    \
             \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {},\"Record function id\": 0, \"Input Dims\": [[32, 1024], [4096, 1024], [4096]], \
             \"Ev Idx\": {number}\n    }}\n  }},",
            Us(host),
            Us(9_000 + random.below(2_000)),
            number * 3
        )?;
        if number % 4 == 0 {
            writeln!(
                out,
                "  {{\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"torch/nn/modules/module.py(1553): _call_impl\", \
                 \"pid\": 4242, \"tid\": 4242,\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"Python parent id\": {number}, \
                 \"Python id\": {}, \"Ev Idx\": {number}\n    }}\n  }},",
                Us(host),
                Us(11_000),
                number + 1
            )?;
            truth.events += 1;
        }
        let launch = host + 3_000 + random.below(1_000);
        writeln!(
            out,
            "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 4242, \"tid\": 4242,\n    \
             \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {}, \"cbid\": 211, \"correlation\": {number}\n    }}\n  }},",
            Us(launch),
            Us(2_500 + random.below(800)),
            number * 3
        )?;
        let lane = match number % 25 {
            0 => 1,
            1 | 2 => 2,
            _ => 0,
        };
        let stream = [7, 20, 21][lane];
        let start = free[lane].max(launch + 2_000 + random.below(1_500));
        let length = [1_500, 60_000, 900][lane] + random.below([16_000, 120_000, 9_000][lane]);
        free[lane] = start + length + 1 + random.below(700);
        (first, last) = (first.min(start), last.max(start + length));
        match lane {
            0 => {
                truth.comp_ns += length;
                let name = KERNELS[random.below(KERNELS.len() as u64) as usize];
                writeln!(
                    out,
                    "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{name}\", \"pid\": 0, \"tid\": {stream},\n    \
                     \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {}, \"queued\": 0, \"device\": 0, \"context\": 1, \
                     \"stream\": {stream}, \"correlation\": {number},\n      \"registers per thread\": 32, \"shared memory\": 0, \
                     \"warps per SM\": 4.740741, \"grid\": [128, 1, 1], \
                     \"block\": [128, 1, 1], \"est. achieved occupancy %\": 7\n    }}\n  }},",
                    Us(start),
                    Us(length),
                    number * 3
                )?;
            }
            1 => {
                truth.comm_ns += length;
                writeln!(
                    out,
                    "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, \
                     ncclWork*)\", \"pid\": 0, \"tid\": {stream},\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"Collective name\": \
                     \"allreduce\", \"In msg nelems\": 25557032, \"dtype\": \"Float\", \"device\": 0, \"stream\": {stream}, \
                     \"correlation\": {number}\n    }}\n  }},",
                    Us(start),
                    Us(length)
                )?;
            }
            _ => writeln!(
                out,
                "  {{\n    \"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy HtoD (Pageable -> Device)\", \"pid\": 0, \
                 \"tid\": {stream},\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {}, \"device\": 0, \"context\": 1,\n      \
                 \"stream\": {stream}, \"correlation\": {number},\n      \"bytes\": 4096, \"memory bandwidth (GB/s)\": 3.43\n    }}\n  }},",
                Us(start),
                Us(length),
                number * 3
            )?,
        }
        writeln!(
            out,
            "  {{\n    \"ph\": \"f\", \"id\": {number}, \"pid\": 0, \"tid\": {stream}, \"ts\": {},\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \
             \"bp\": \"e\"\n  }},",
            Us(start)
        )?;
        truth.events += 4;
        host += 11_000 + random.below(2_000);
    }
    writeln!(
        out,
        "  {{\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": \"\", \"ts\": {}\n  }}\n  ],\n  \
         \"traceName\": \"synthetic\"\n}}",
        Us(last)
    )?;
    truth.events += 1;
    (truth.device_events, truth.kernel_ns) = (device_events, last.saturating_sub(first));
    out.flush()?;
    Ok(truth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_json_with_the_events_it_says_and_the_same_for_a_seed() {
        let (mut text, mut again) = (Vec::new(), Vec::new());
        let truth = write(&mut text, 100, 7).expect("written");
        assert_eq!(write(&mut again, 100, 7).expect("written"), truth);
        assert_eq!(text, again);
        let document: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let events = document["traceEvents"].as_array().expect("a list");
        assert_eq!(events.len() as u64, truth.events);
        let on_device = events.iter().filter(|event| event["args"]["stream"].is_u64()).count();
        assert_eq!(on_device as u64, truth.device_events);
    }
}
