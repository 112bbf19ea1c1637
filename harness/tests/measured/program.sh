#!/bin/sh
# A measured program for tests: prints records that obey schema v9, and misbehaves as the file `mode` beside it says.
# `mode` is "WORD METHOD [once]"; the mode applies to attempts of that method.
here=${0%/*}
if [ "$1" = --build-facts ]; then cat "$here/facts.json"; exit; fi
algorithm= method= ranks=1 dataset= k=null
while [ $# -gt 0 ]; do
    case $1 in
    --algorithm) algorithm=$2 ;; --method) method=$2 ;; --ranks) ranks=$2 ;; --dataset) dataset=$2 ;;
    --graph) dataset=${2##*/}; dataset=${dataset%.txt} ;; -k) k=$2 ;;
    esac
    shift
done
read -r profile commit dirty build < "$here/says"
mode=
if [ -f "$here/mode" ]; then
    read -r word target once < "$here/mode"
    if [ "$target" = "$method" ]; then mode=$word; fi
    if [ -n "$mode" ] && [ "$once" = once ]; then rm "$here/mode"; fi
fi
case $mode in
crash) echo "something broke" >&2; kill -SEGV $$ ;;
exit1) exit 1 ;;
hang) sleep 100 ;;
esac
d=$(($$ % 10))
kind=cpu name=M uuid=null driver=null host=node threads=1
case $mode in
otherkind) kind=cuda ;; othername) name=N ;; otheruuid) uuid='"GPU-1"' ;; otherdriver) driver='"12.8"' ;;
otherhost) host=other ;; otherthreads) threads=2 ;;
esac
hosts="\"$host\"" devices="{\"rank\":0,\"kind\":\"$kind\",\"name\":\"$name\",\"uuid\":$uuid,\"driver\":$driver,\"cores\":1}"
rank=1
while [ $rank -lt "$ranks" ]; do
    hosts="$hosts,\"$host\"" devices="$devices,{\"rank\":$rank,\"kind\":\"$kind\",\"name\":\"$name\",\"uuid\":$uuid,\"driver\":$driver,\"cores\":1}"
    rank=$((rank + 1))
done
hash=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
if [ "$mode" = otherhash ]; then hash=1${hash#0}; fi
if [ "$mode" = otherk ] && [ "$k" != null ]; then k=6; fi
if [ "$mode" = othercommit ]; then commit=1111111111111111111111111111111111111111; fi
if [ "$mode" = nowdirty ]; then dirty=true; fi
echo "BENCHMARK_METADATA {\"schema_version\":9,\"product_version\":\"0.1.0\",\"git_commit\":\"$commit\",\"git_dirty\":$dirty,\"source_sha256\":\"ab\",\"build_profile\":\"$build\",\"instrumentation_profile\":\"$profile\",\"algorithm\":\"$algorithm\",\"method\":\"$method\",\"parameters\":{\"k\":$k},\"protection\":{\"enabled\":false,\"a\":0.5,\"b\":0.5,\"t\":0.3,\"certify\":null,\"recovery\":null,\"snapshot_interval\":null,\"redundancy_budget\":null},\"dataset\":\"$dataset\",\"graph\":{\"vertices\":4,\"arcs\":4,\"duplicate_arcs\":0,\"self_loops\":0,\"directed\":true},\"ranks\":$ranks,\"threads\":$threads,\"transport\":\"local\",\"hostnames\":[$hosts],\"devices\":[$devices],\"trials\":1,\"warmup\":0}"
result="BENCHMARK_RESULT {\"trial\":0,\"algorithm\":\"$algorithm\",\"iterations\":2,\"converged\":true,\"result_hash\":\"$hash\",\"check_sums\":null,\"verified\":null,\"k\":$k}"
case $mode in
half) printf '%s' "${result%%verified*}"; exit 0 ;;
twice) echo "$result" ;;
chatty) echo "hello" ;;
esac
echo "$result"
# main loop, gpu, update, exchange, sync, communication, total, single set-up, multi set-up, initial, copy, gather, rest, whole
fields() {
    echo "\"${1}main_loop$2\":0.1${d}00,\"${1}gpu_compute$2\":0.0500,\"${1}graph_kernel$2\":0.0500,\"${1}graph_update$2\":0.0500,\"${1}score_and_mark$2\":0.0000,\"${1}tolerance_graph_update$2\":0.0000,\"${1}tolerance_gpu_bookkeeping$2\":0.0000,\"${1}d2h_summary$2\":0.0000,\"${1}cpu_validation$2\":0.0000,\"${1}checker_end_to_end$2\":0.0000,\"${1}cpu_check_drain$2\":0.0000,\"${1}nccl_exchange$2\":$3,\"${1}mpi_sync$2\":0.0000,\"${1}postcheck_total$2\":0.0000,\"${1}postcheck_mpi$2\":0.0000,\"${1}communication$2\":$3,\"${1}algorithm_total$2\":0.1${d}00,\"${1}single_gpu_setup$2\":$4,\"${1}distributed_setup$2\":$5,\"${1}initial_ghost_exchange$2\":0.0000,\"${1}final_result_copy$2\":0.0000,\"${1}final_result_gather$2\":0.0000,\"${1}e2e_unattributed$2\":0.1000,\"${1}algorithm_e2e$2\":0.3${d}00"
}
broken() { if [ "$mode" = lawless ]; then sed 's/"algorithm_e2e_ms":0.3/"algorithm_e2e_ms":0.4/'; else cat; fi; }
if [ "$ranks" = 1 ]; then
    echo "BENCHMARK_TIMING {\"trial\":0,$(fields '' _ms 0.0000 0.1000 0.0000 | broken)}"
else
    both= keep=$IFS IFS=,
    for field in $(fields '' _ms 0.0200 0.0000 0.1000); do
        name=${field%%_ms*} name=${name#\"} value=${field##*:}
        both="$both,\"rank_${name}_max_ms\":$value,\"rank_${name}_mean_ms\":$value"
    done
    IFS=$keep
    echo "BENCHMARK_TIMING {\"trial\":0$both}"
    rank=0
    while [ $rank -lt "$ranks" ]; do
        echo "BENCHMARK_RANK_TIMING {\"trial\":0,\"rank\":$rank,\"hostname\":\"node\",\"device\":\"cpu\",$(fields '' _ms 0.0200 0.0000 0.1000 | broken)}"
        rank=$((rank + 1))
    done
fi
if [ "$profile" = profiling ]; then
    rank=0
    while [ $rank -lt "$ranks" ]; do
        name=rank000$rank folder=$GRAPHALG_PROFILE_OUTPUT_DIR identity=$dataset,$algorithm,$method,profiling,$rank
        {
            echo dataset,algorithm,method,instrumentation_profile,rank,iteration,work_vertices,owned_vertices,active_vertices,launched_threads,tail_threads,inactive_valid_threads,reusable_idle_pct,critical_vertices,redundant_tasks_assigned
            echo "$identity,0,4,4,3,4,0,1,25.0000,0,0"
            echo "$identity,1,4,4,1,4,0,3,75.0000,0,0"
        } > "$folder/iteration_activity.$name.csv"
        {
            echo dataset,algorithm,method,instrumentation_profile,rank,iteration,stage,elapsed_ms
            echo "$identity,0,graph_update,0.03${d}000"
            echo "$identity,1,graph_update,0.01$((9 - d))999"
            if [ "$ranks" != 1 ]; then echo "$identity,1,nccl_exchange,0.020000"; fi
        } > "$folder/iteration_timings.$name.csv"
        rows=2
        if [ "$ranks" != 1 ]; then rows=3; fi
        dropped=0
        if [ "$mode" = dropped ]; then dropped=1; fi
        echo "{\"schema_version\":9,\"rank\":$rank,\"completed_iterations\":2,\"activity_rows\":2,\"timing_rows\":$rows,\"dropped_activity_records\":$dropped,\"dropped_timing_records\":0}" > "$folder/trace_summary.$name.json"
        echo '{"traceEvents":[]}' > "$folder/timeline.$name.json"
        rank=$((rank + 1))
    done
fi
