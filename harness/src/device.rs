//! Which device `--device` means on this machine.

use crate::facts;
use crate::options::{DeviceChoice, Method};
use crate::people::say;
use crate::records;
use framework::algorithm::Registration;
use framework::base::error::{Error, Result};
use framework::base::id::Rank;
use framework::cuda::{DeviceInfo, Gpus, devices, dotted};
use framework::trial::Device;

/// What a run's operators run on.
pub(crate) struct Chosen {
    /// The GPUs, if any.
    gpus: Option<Gpus>,
    /// GPUs that were listed one by one.
    listed: usize,
    /// Why a GPU was passed over, and whether there is one that should work.
    passed_over: Option<(String, bool)>,
}

impl Chosen {
    /// From the option and the method, which must agree, and what the algorithm and the machine have.
    ///
    /// # Errors
    /// A usage error when they contradict each other or the algorithm has no kernels; an environment error when a GPU that was asked
    /// for is not there.
    pub(crate) fn of(choice: &DeviceChoice, method: Option<Method>, entry: &Registration) -> Result<Chosen> {
        let asked = match (choice, method.map(Method::is_gpu)) {
            (DeviceChoice::Cuda(_), Some(false)) | (DeviceChoice::Cpu, Some(true)) => {
                return Err(Error::usage(format!(
                    "--method {} and --device {choice} contradict each other: a gpu method runs on cuda, a cpu method on cpu; \
                     leave one out",
                    method.map_or("", Method::name)
                )));
            }
            (DeviceChoice::Auto, Some(true)) => &DeviceChoice::Cuda(Vec::new()),
            (DeviceChoice::Auto, Some(false)) => &DeviceChoice::Cpu,
            _ => choice,
        };
        let on_cpu = Chosen { gpus: None, listed: 0, passed_over: None };
        match asked {
            DeviceChoice::Cpu => Ok(on_cpu),
            DeviceChoice::Cuda(list) => {
                let kernels = entry.kernels.ok_or_else(|| {
                    Error::usage(format!(
                        "{} has no kernels, so it does not run on cuda; pass --device cpu",
                        entry.name
                    ))
                })?;
                let picked = pick(&devices()?, list)?;
                Ok(Chosen { gpus: Some(Gpus::new(picked, kernels)), listed: list.len(), passed_over: None })
            }
            DeviceChoice::Auto => {
                let passed_over = match (entry.kernels, devices()) {
                    (None, _) => format!("{} has no kernels", entry.name),
                    (Some(_), Err(error)) => {
                        let is_present = !facts::gpus().is_empty();
                        return Ok(Chosen { passed_over: Some((error.to_string(), is_present)), ..on_cpu });
                    }
                    (Some(kernels), Ok(all)) => {
                        let real: Vec<DeviceInfo> = all.into_iter().filter(|device| !device.is_simulated()).collect();
                        if !real.is_empty() {
                            return Ok(Chosen { gpus: Some(Gpus::new(real, kernels)), listed: 0, passed_over: None });
                        }
                        "there are only simulated devices, which are for tests".into()
                    }
                };
                Ok(Chosen { passed_over: Some((passed_over, false)), ..on_cpu })
            }
        }
    }

    /// How many ranks it means, if nothing else says.
    pub(crate) fn ranks(&self) -> usize {
        self.listed.max(1)
    }

    /// Refuses GPUs that no rank would use.
    ///
    /// # Errors
    /// A usage error that names both options.
    pub(crate) fn fit(&self, ranks: usize) -> Result<()> {
        if self.listed > ranks {
            return Err(Error::usage(format!(
                "--device lists {} GPUs, but {ranks} rank{} would use them; give --ranks {} or list fewer",
                self.listed,
                if ranks == 1 { "" } else { "s" },
                self.listed
            )));
        }
        Ok(())
    }

    /// For the framework.
    pub(crate) fn device(&self) -> Device<'_> {
        self.gpus.as_ref().map_or(Device::Cpu, |gpus| Device::Accelerators(gpus))
    }

    /// Whether operators run on GPUs.
    pub(crate) fn is_gpu(&self) -> bool {
        self.gpus.is_some()
    }

    /// The device of a rank, as records have it.
    pub(crate) fn record(&self, rank: Rank, threads: usize) -> records::Device {
        let Some(gpus) = &self.gpus else { return facts::cpu(rank, threads) };
        let info = gpus.device(rank);
        records::Device {
            rank: rank.0,
            kind: info.kind().into(),
            name: info.name.clone(),
            uuid: Some(info.uuid.clone()),
            driver: Some(dotted(info.driver)),
            cores: info.multiprocessors as usize,
        }
    }

    /// For people: what the ranks run on.
    pub(crate) fn label(&self, ranks: usize) -> String {
        let Some(gpus) = &self.gpus else { return "cpu".into() };
        let mut labels: Vec<String> = (0..ranks).map(|rank| gpus.device(Rank(rank as u32)).label()).collect();
        labels.sort();
        labels.dedup();
        labels.join(", ")
    }

    /// Says why `auto` took no GPU: on demand, and unasked where this machine has one that does not work.
    pub(crate) fn say_passed_over(&self, is_verbose: bool) {
        if let Some((reason, is_present)) = &self.passed_over
            && (is_verbose || *is_present)
        {
            say(&format!("device   cpu; cuda was passed over: {reason}"));
        }
    }

    /// Says what people should know of the last trials.
    pub(crate) fn say_notes(&self) {
        self.gpus.iter().flat_map(Gpus::take_notes).for_each(|note| say(&format!("note     {note}")));
    }
}

/// The listed devices, or all.
fn pick(all: &[DeviceInfo], list: &[usize]) -> Result<Vec<DeviceInfo>> {
    if list.is_empty() {
        return Ok(all.to_vec());
    }
    let there = || all.iter().map(|device| format!("cuda:{}", device.index)).collect::<Vec<_>>().join(", ");
    list.iter()
        .map(|&index| {
            all.iter().find(|device| device.index == index).cloned().ok_or_else(|| {
                Error::Environment(format!(
                    "there is no cuda:{index}; this machine has {} (harness list shows them)",
                    there()
                ))
            })
        })
        .collect()
}

/// The lines of `harness list`.
pub(crate) fn listed(found: &Result<Vec<DeviceInfo>>) -> String {
    let line = |device: &DeviceInfo| {
        let DeviceInfo { index, name, multiprocessors, capability, memory, driver, .. } = device;
        format!(
            "  cuda:{index:<5} {name}, {multiprocessors} multiprocessors, {}, compute capability {}.{}, driver for CUDA {}\n",
            framework::base::format::bytes(*memory),
            capability.0,
            capability.1,
            dotted(*driver)
        )
    };
    match found {
        Ok(devices) => devices.iter().map(line).collect(),
        Err(error) => format!("  cuda       not usable: {error}\n"),
    }
}
