//! This reader takes kernels, copies and fills of all devices of a host from the SQLite export of Nsight Systems, whose times are in ns.
//! Tables that would be empty are absent from exports.

use super::database::Database;
use super::options::Options;
use crate::classify::ByName;
use crate::recording::{Class, DeviceEvent, Label, Recording};
use rusqlite::Row;

/// Reads the tables that are there.
pub(super) fn read(database: &Database, options: &Options, recording: &mut Recording) -> rusqlite::Result<()> {
    let mut by_name = ByName::default();
    if database.has("CUPTI_ACTIVITY_KIND_KERNEL") {
        let (value, strings) = if database.has("StringIds") {
            ("value", "LEFT JOIN StringIds ON id = demangledName")
        } else {
            recording
                .warnings
                .push("kernels have no names in the file (no table StringIds); they count as computation".into());
            ("NULL", "")
        };
        let query = format!(
            "SELECT start, \"end\", deviceId, streamId, correlationId, globalPid, {value} \
             FROM CUPTI_ACTIVITY_KIND_KERNEL {strings}"
        );
        database.each(&query, |row| {
            let text = row.get_ref(6)?.as_str_or_null()?.unwrap_or("kernel without a name");
            let name = recording.names.name(text);
            let class = by_name.class(name, &recording.names, &options.rules);
            take(row, class, text, recording)
        })?;
    }
    for (table, name) in [("CUPTI_ACTIVITY_KIND_MEMCPY", "memory copy"), ("CUPTI_ACTIVITY_KIND_MEMSET", "memory fill")]
    {
        if database.has(table) {
            let query = format!("SELECT start, \"end\", deviceId, streamId, correlationId, globalPid FROM {table}");
            database.each(&query, |row| take(row, Class::Memory, name, recording))?;
        }
    }
    const GRAPHS: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    if database.has(GRAPHS) {
        let mut graphs = 0_u64;
        let query = format!("SELECT start, \"end\", deviceId, streamId, correlationId, globalPid FROM {GRAPHS}");
        database.each(&query, |row| {
            graphs += 1;
            take(row, Class::Computation, "CUDA graph", recording)
        })?;
        if graphs > 0 {
            recording.warnings.push(format!(
                "{graphs} CUDA graphs were traced as a whole and count as computation; record with --cuda-graph-trace=node to \
                 see what is in them"
            ));
        }
    }
    if options.wants_launches && database.has("CUPTI_ACTIVITY_KIND_RUNTIME") {
        let query =
            "SELECT start, correlationId, globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId IS NOT NULL";
        database.each(query, |row| {
            let process = row.get::<_, Option<i64>>(2)?;
            recording.launches.push((shared(row.get(1)?, process), row.get(0)?));
            Ok(())
        })?;
    }
    Ok(())
}

fn take(row: &Row<'_>, class: Class, name: &str, recording: &mut Recording) -> rusqlite::Result<()> {
    let id = Label::Number(row.get(2)?);
    let (Some(start), Some(end)) = (row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?) else {
        recording.device(&id).dropped_unreadable += 1;
        return Ok(());
    };
    let (name, stream) = (recording.names.name(name), recording.stream_number(row.get::<_, i64>(3)?));
    let mut event = DeviceEvent::new(class, name, stream, start, end);
    if let Some(correlation) = row.get::<_, Option<i64>>(4)? {
        event.launch = shared(correlation, row.get(5)?);
    }
    recording.add(&id, event);
    Ok(())
}

/// Correlations count within a process; its number stands above the low 24 bits (those of a thread) of a global one.
fn shared(correlation: i64, global: Option<i64>) -> i64 {
    let process = global.unwrap_or(0) >> 24;
    process << 32 ^ correlation
}
