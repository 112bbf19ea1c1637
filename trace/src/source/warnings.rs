//! This module says in sentences what a reader of the figures should know: what was left out, what was mended, and what looks wrong.

use crate::classify::is_of_known_family;
use crate::json::{Count, Repairs};
use crate::names::Name;
use crate::recording::{Class, Device, Recording};
use crate::time::Microseconds;
use std::collections::{BTreeMap, HashMap};

/// Says in words what was left out, mended, or looks wrong.
pub(super) fn warn(recording: &mut Recording) {
    let mut warnings = std::mem::take(&mut recording.warnings);
    let Repairs { invalid_utf8, control_characters, invalid_escapes, not_numbers, lost_events, cut_off } =
        recording.repairs;
    let mut mended = |count: Count, what: &str| {
        if count.count > 0 {
            warnings.push(format!("{} {what} (first at byte {})", count.count, count.first_at));
        }
    };
    mended(lost_events, "damaged places were left out with the events around them: figures are of what remains");
    mended(cut_off, "cut: the file ends early; figures are of what is there");
    mended(invalid_utf8, "byte sequences in names are no UTF-8 and were replaced");
    mended(control_characters, "control characters in names were kept");
    mended(invalid_escapes, "invalid escapes in names were kept or replaced");
    mended(not_numbers, "values such as NaN were taken for null");
    if recording.devices.iter().all(|device| device.events.is_empty()) {
        warnings.push(match recording.mtia_left_out {
            0 => "no device events: all times are 0; was the profiler asked for device activity?".into(),
            count => format!(
                "no device events that count by default: the file has {count} of category mtia_ccp_events (Meta's accelerators); \
                 --mtia counts them as computation"
            ),
        });
    } else if recording.mtia_left_out > 0 {
        warnings.push(format!(
            "{} events of category mtia_ccp_events were left out; --mtia counts them as computation",
            recording.mtia_left_out
        ));
    }
    for device in &recording.devices {
        let mut dropped = |count: u64, what: &str| {
            if count > 0 {
                warnings.push(format!("device {}: {count} events left out: {what}", device.id));
            }
        };
        dropped(device.dropped_negative, "they end before they begin");
        dropped(device.dropped_zero_stamp, "start and duration are 0, so their times were lost");
        dropped(device.dropped_unreadable, "start or duration is absent or no number");
        if let Some(warning) = covering(device, recording) {
            warnings.push(format!("device {}: {warning}", device.id));
        }
        let mut alike: BTreeMap<Name, u64> = BTreeMap::new();
        for event in device.events.iter().filter(|event| event.class == Class::Computation) {
            *alike.entry(event.name).or_default() += 1;
        }
        alike.retain(|name, _| is_of_known_family(recording.names.text(*name).as_bytes()));
        if let Some((name, _)) = alike.iter().max_by_key(|(_, count)| **count) {
            let count: u64 = alike.values().sum();
            warnings.push(format!(
                "device {}: {count} kernels named like collectives count as computation (such as `{}`); \
                 --communication-pattern auto counts them as communication, --communication-pattern RE those whose name matches",
                device.id,
                shortened(recording.names.text(*name), 60)
            ));
        }
    }
    recording.warnings = warnings;
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        text.chars().take(most - 1).chain(['\u{2026}']).collect()
    }
}

/// An event that covers several later ones of its own stream: its duration is hardly possible.
fn covering(device: &Device, recording: &Recording) -> Option<String> {
    /// One covered event can be a dependent launch that began early; this many cannot.
    const FEWEST: u64 = 2;
    let mut open: HashMap<u32, (usize, u64)> = HashMap::new();
    let (mut found, mut worst) = (0_u64, (0, 0_u64));
    for (place, event) in device.events.iter().enumerate() {
        let (outer, covered) = open.entry(event.stream).or_insert((place, 0));
        if *outer == place {
            continue;
        }
        if event.end_ns < device.events[*outer].end_ns && event.end_ns > event.start_ns {
            *covered += 1;
            found += u64::from(*covered == FEWEST);
            if *covered > worst.1 {
                worst = (*outer, *covered);
            }
        } else if event.end_ns >= device.events[*outer].end_ns {
            (*outer, *covered) = (place, 0);
        }
    }
    (found > 0).then(|| {
        let event = &device.events[worst.0];
        format!(
            "{found} events cover several later events of their own stream; `{}` on stream {} lasts {} us and covers {}: \
             durations like that are hardly possible, and the figures take them as they are",
            shortened(recording.names.text(event.name), 60),
            recording.stream(event.stream),
            Microseconds(event.interval().length()),
            worst.1
        )
    })
}
