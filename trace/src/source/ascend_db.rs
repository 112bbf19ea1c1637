//! This reader takes databases of Ascend's profilers (`ascend_pytorch_profiler*.db`, `msprof*.db`) and of our monitor, which have the same
//! tables. Times are in ns, and texts stand in a table of their own, by number.
//!
//! Computation: `COMPUTE_TASK_INFO` with the times of its `TASK`. Memory: tasks of type `MEMCPY_ASYNC`. Communication:
//! `COMMUNICATION_OP`. Source: Ascend, "Profile Data File Reference (DB)".

use super::database::Database;
use super::options::Options;
use crate::classify::ByName;
use crate::interval::Interval;
use crate::recording::{Class, DeviceEvent, Label, Recording, StepRange};
use rusqlite::Row;

/// Reads the tables that are there.
pub(super) fn read(database: &Database, options: &Options, recording: &mut Recording) -> rusqlite::Result<()> {
    let mut by_name = ByName::default();
    let text = |column: &str| -> String {
        if database.has("STRING_IDS") {
            format!("(SELECT value FROM STRING_IDS WHERE id = {column})")
        } else {
            "NULL".into()
        }
    };
    if database.has("TASK") {
        if database.has("COMPUTE_TASK_INFO") {
            let query = format!(
                "SELECT startNs, endNs, deviceId, streamId, connectionId, {} \
                 FROM COMPUTE_TASK_INFO AS info JOIN TASK ON TASK.globalTaskId = info.globalTaskId",
                text("info.name")
            );
            database.each(&query, |row| {
                let text = row.get::<_, Option<String>>(5)?.unwrap_or_else(|| "task without a name".into());
                let name = recording.names.name(&text);
                let class = by_name.class(name, &recording.names, &options.rules);
                take(row, class, &text, None, recording)
            })?;
        }
        if database.has("STRING_IDS") {
            let query = "SELECT startNs, endNs, deviceId, streamId, connectionId FROM TASK \
                         WHERE taskType IN (SELECT id FROM STRING_IDS WHERE value LIKE 'MEMCPY%')";
            database.each(query, |row| take(row, Class::Memory, "MEMCPY_ASYNC", None, recording))?;
        }
    }
    tell_what_is_missing(database, recording)?;
    if database.has("COMMUNICATION_OP") {
        communication(database, &text("opName"), &text("opType"), recording)?;
    }
    if options.wants_launches && database.has("CANN_API") {
        database.each("SELECT startNs, connectionId FROM CANN_API WHERE connectionId IS NOT NULL", |row| {
            recording.launches.push((row.get(1)?, row.get(0)?));
            Ok(())
        })?;
    }
    if database.has("STEP_TIME") {
        database.each("SELECT id, startNs, endNs FROM STEP_TIME WHERE startNs <= endNs", |row| {
            let range = Interval { start: row.get(1)?, end: row.get(2)? };
            recording.ranges.push(StepRange { step: row.get(0)?, range });
            Ok(())
        })?;
    }
    if database.has("RANK_DEVICE_MAP") {
        let mut ranks = Vec::new();
        database.each("SELECT DISTINCT rankId FROM RANK_DEVICE_MAP WHERE rankId >= 0", |row| {
            ranks.push(row.get(0)?);
            Ok(())
        })?;
        if let [rank] = ranks[..] {
            recording.rank = Some(rank);
        }
    }
    Ok(())
}

/// Says which tasks were left out because another table does not say enough of them.
fn tell_what_is_missing(database: &Database, recording: &mut Recording) -> rusqlite::Result<()> {
    let (has_tasks, has_info) = (database.has("TASK"), database.has("COMPUTE_TASK_INFO"));
    let mut say = |query: &str, what: &str| {
        database.each(query, |row| {
            let count: i64 = row.get(0)?;
            if count > 0 {
                recording.warnings.push(format!("{count} {what}"));
            }
            Ok(())
        })
    };
    match (has_tasks, has_info) {
        (true, true) => say(
            "SELECT COUNT(*) FROM COMPUTE_TASK_INFO \
             WHERE globalTaskId NOT IN (SELECT globalTaskId FROM TASK WHERE globalTaskId IS NOT NULL)",
            "rows of COMPUTE_TASK_INFO were left out: no row of TASK has their times",
        )?,
        (false, true) => say(
            "SELECT COUNT(*) FROM COMPUTE_TASK_INFO",
            "rows of COMPUTE_TASK_INFO were left out: the file has no table TASK with their times",
        )?,
        (true, false) => say(
            "SELECT COUNT(*) FROM TASK",
            "rows of TASK: the file has no table COMPUTE_TASK_INFO that tells which of them are computation, so none are",
        )?,
        (false, false) => {}
    }
    if has_tasks && !database.has("STRING_IDS") {
        say(
            "SELECT COUNT(*) FROM TASK",
            "rows of TASK: the file has no table STRING_IDS, so tasks have no names, and copies are not told from other tasks",
        )?;
    }
    Ok(())
}

/// Operations of communication. Older files do not say on which device: then it is the device of a task with the same connection,
/// or else the only one of the file.
fn communication(database: &Database, name: &str, kind: &str, recording: &mut Recording) -> rusqlite::Result<()> {
    let kind = if database.has_column("COMMUNICATION_OP", "opType")? { kind } else { "NULL" };
    let device = database.column("COMMUNICATION_OP", "deviceId")?;
    let connected = if database.has("TASK") {
        "(SELECT TASK.deviceId FROM TASK WHERE TASK.connectionId = op.connectionId)"
    } else {
        "NULL"
    };
    let only = if database.has("RANK_DEVICE_MAP") {
        "(SELECT MIN(deviceId) FROM RANK_DEVICE_MAP HAVING COUNT(DISTINCT deviceId) = 1)"
    } else {
        "NULL"
    };
    let query = format!(
        "SELECT startNs, endNs, COALESCE({device}, {connected}, {only}), 0, connectionId, {name}, {kind} FROM COMMUNICATION_OP AS op"
    );
    let mut without_device = 0_u64;
    database.each(&query, |row| {
        if row.get::<_, Option<i64>>(2)?.is_none() {
            without_device += 1;
            return Ok(());
        }
        let name = row.get::<_, Option<String>>(5)?.unwrap_or_else(|| "communication".into());
        let collective: Option<String> = row.get(6)?;
        take(row, Class::Communication, &name, collective.as_deref(), recording)
    })?;
    if without_device > 0 {
        recording.warnings.push(format!(
            "{without_device} operations of communication were left out: the file does not say on which device"
        ));
    }
    Ok(())
}

fn take(
    row: &Row<'_>,
    class: Class,
    name: &str,
    collective: Option<&str>,
    recording: &mut Recording,
) -> rusqlite::Result<()> {
    let id = Label::Number(row.get(2)?);
    let (Some(start), Some(end)) = (row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?) else {
        recording.device(&id).dropped_unreadable += 1;
        return Ok(());
    };
    let (name, stream) =
        (recording.names.name(name), recording.stream_number(row.get::<_, Option<i64>>(3)?.unwrap_or(0)));
    let mut event = DeviceEvent::new(class, name, stream, start, end);
    event.launch = row.get::<_, Option<i64>>(4)?.unwrap_or(event.launch);
    if let Some(collective) = collective {
        event.set_collective(recording.names.name(collective));
    }
    recording.add(&id, event);
    Ok(())
}
