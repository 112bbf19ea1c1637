//! This reader makes a recording of activities in memory, as a monitor or a recorder has them.

use super::warnings::warn;
use crate::activity::{Activity, Kind};
use crate::classify::{ByName, Rules};
use crate::names::Names;
use crate::recording::{Class, DeviceEvent, Label, Recording};

impl Recording {
    /// The work of devices among activities: the same figures as from a file that holds them. Kernels are communication if `rules` say so
    /// of their name; calls that share a correlation with work are its launches. `names` is the table of the activities.
    pub fn of_activities(activities: &[Activity], names: &Names, rules: &Rules) -> Recording {
        let mut recording = Recording::default();
        recording.names = names.clone();
        let mut by_name = ByName::default();
        for activity in activities {
            let class = match activity.kind {
                Kind::Kernel => by_name.class(activity.name, names, rules),
                Kind::Communication => Class::Communication,
                Kind::MemCpy | Kind::MemSet => Class::Memory,
                Kind::Api(_) => {
                    let correlation = activity.correlation.map(|correlation| i64::from(correlation.get()));
                    recording.launches.extend(correlation.map(|correlation| (correlation, activity.start_ns)));
                    continue;
                }
                Kind::Memory | Kind::Marker => continue,
            };
            let Some(device) = activity.device else { continue };
            let stream = recording.stream_number(activity.stream.map_or(0, |stream| i64::from(stream.get())));
            let mut event = DeviceEvent::new(class, activity.name, stream, activity.start_ns, activity.end_ns);
            event.launch = activity.correlation.map_or(event.launch, |correlation| i64::from(correlation.get()));
            recording.add(&Label::Number(device.get().into()), event);
        }
        let ranks: Vec<_> = activities.iter().filter_map(|activity| activity.rank).collect();
        recording.rank =
            ranks.first().filter(|first| ranks.iter().all(|rank| rank == *first)).map(|rank| rank.get().into());
        recording.finish();
        warn(&mut recording);
        recording
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::ApiClass;
    use crate::analysis::Figures;
    use crate::names::Index;

    #[test]
    fn activities_have_the_figures_that_their_trace_would_have() {
        let mut names = Names::default();
        let mut activity = |kind, name: &str, start_ns, end_ns, device: Option<u32>| Activity {
            kind,
            name: names.name(name),
            start_ns,
            end_ns,
            rank: Index::new(2),
            device: device.and_then(Index::new),
            stream: Index::new(1),
            correlation: Index::new(5),
            pid: 0,
            tid: 0,
            detail: None,
        };
        let all = [
            activity(Kind::Kernel, "MatMul", 0, 40, Some(3)),
            activity(Kind::Kernel, "Conv2D", 45, 80, Some(3)),
            activity(Kind::Communication, "AllReduce", 10, 50, Some(3)),
            activity(Kind::Kernel, "ncclSend", 55, 70, Some(3)),
            activity(Kind::MemCpy, "copy", 90, 95, Some(3)),
            activity(Kind::Kernel, "host", 0, 1000, None),
            activity(Kind::Marker, "range", 0, 1000, Some(3)),
            activity(Kind::Api(ApiClass::Runtime), "launch", 84, 86, None),
        ];
        let recording = Recording::of_activities(&all, &names, &Rules::default());
        let [device] = &recording.devices[..] else { panic!("one device") };
        let of = Figures::of(&device.events);
        assert_eq!((recording.rank, device.id.clone()), (Some(2), Label::Number(3)));
        assert_eq!((of.breakdown.compute_ns, of.breakdown.non_compute_ns, of.breakdown.idle_ns), (75, 10, 10));
        assert_eq!((of.overlap.comm_ns, of.overlap.overlap_ns), (55, 50));
        assert_eq!(device.events.last().and_then(DeviceEvent::launch_ns), Some(84));
    }
}
