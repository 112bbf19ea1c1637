//! `--device`, as typed.

use std::str::FromStr;

/// `--device` as typed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum DeviceChoice {
    /// The best there is.
    #[default]
    Auto,
    /// Threads of this machine.
    Cpu,
    /// GPUs: those listed, or as many as there are ranks.
    Cuda(Vec<usize>),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceChoice, String> {
        let wrong = || format!("`{text}` is no device; give auto, cpu, cuda, or cuda:0,1");
        match text {
            "auto" => return Ok(DeviceChoice::Auto),
            "cpu" => return Ok(DeviceChoice::Cpu),
            "cuda" => return Ok(DeviceChoice::Cuda(Vec::new())),
            _ => {}
        }
        let list = text.strip_prefix("cuda:").ok_or_else(wrong)?;
        let indices: Vec<usize> =
            list.split(',').map(|index| index.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
        match (1..indices.len()).find(|&place| indices[..place].contains(&indices[place])) {
            Some(place) => {
                Err(format!("`{text}` lists cuda:{} twice; ranks share a device without that", indices[place]))
            }
            None => Ok(DeviceChoice::Cuda(indices)),
        }
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceChoice::Auto => f.write_str("auto"),
            DeviceChoice::Cpu => f.write_str("cpu"),
            DeviceChoice::Cuda(list) if list.is_empty() => f.write_str("cuda"),
            DeviceChoice::Cuda(list) => {
                let list: Vec<_> = list.iter().map(ToString::to_string).collect();
                write!(f, "cuda:{}", list.join(","))
            }
        }
    }
}

impl DeviceChoice {
    /// Whether several GPUs are listed one by one, which says how many ranks there are.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self, DeviceChoice::Cuda(list) if list.len() > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_as_they_are_written() {
        for text in ["auto", "cpu", "cuda", "cuda:0", "cuda:3,1"] {
            assert_eq!(text.parse::<DeviceChoice>().expect(text).to_string(), text);
        }
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:0,", "cuda:-1", "cuda:0,0", "CUDA"] {
            assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
        }
    }
}
