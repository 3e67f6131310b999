//! What the settings of the sandbox can hold: networks and sizes.

use ralph_core::sandbox::Network;
use serde_json::Value;

use super::types::{Kind, SettingType, list, setting_types};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentNetwork(pub Network);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateNetwork(pub Network);

setting_types! {
    AgentNetwork: Kind::Network(&["open", "none"]), |text| Self::of(text), |it| show(&it.0);
    GateNetwork: Kind::Network(&["open", "none", "loopback"]), |text| network(text).map(Self), |it| show(&it.0);
    Size: Kind::Size, |text| Self::of(text), |it| it.text();
}

impl AgentNetwork {
    fn of(text: &str) -> Option<Self> {
        network(text).filter(|network| *network != Network::Loopback).map(Self)
    }
}

fn network(text: &str) -> Option<Network> {
    match text.trim() {
        "open" => Some(Network::Open),
        "none" => Some(Network::None),
        "loopback" => Some(Network::Loopback),
        text => {
            let hosts = list(text);
            (!hosts.is_empty() && hosts.iter().all(|host| is_host(host))).then_some(Network::Hosts(hosts))
        }
    }
}

/// A host's name, with `*.` before it for all below it and `:443` after it for one port. A single word is a typo of
/// another choice rather than a host, but for the machine itself.
fn is_host(text: &str) -> bool {
    let (name, port) = text.rsplit_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
    let name = name.strip_prefix("*.").unwrap_or(name);
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
        && name.split('.').all(is_part)
        && (name.contains('.') || name == "localhost")
}

fn show(network: &Network) -> Value {
    match network {
        Network::Hosts(hosts) => hosts.as_slice().into(),
        other => other.shown().into(),
    }
}

/// A number of bytes, as people write it: `512M`, `4G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

const UNITS: [(char, u64); 4] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)];

impl Size {
    fn of(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_uppercase();
        let text = text.strip_suffix("IB").or_else(|| text.strip_suffix('B')).unwrap_or(&text);
        let unit = UNITS.iter().find(|(unit, _)| text.ends_with(*unit));
        let number = unit.map_or(text, |(unit, _)| text.trim_end_matches(*unit)).trim();
        let bytes = number.parse::<u64>().ok()?.checked_mul(unit.map_or(1, |(_, bytes)| *bytes))?;
        (bytes > 0).then_some(Self(bytes))
    }

    fn text(&self) -> String {
        let unit = UNITS.iter().find(|(_, bytes)| self.0.is_multiple_of(*bytes));
        let text = unit.map(|(unit, bytes)| format!("{}{unit}", self.0 / bytes));
        text.unwrap_or_else(|| self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_sizes_are_read_as_people_write_them() {
        for (text, expected) in [
            ("open", Some(Network::Open)),
            ("loopback", Some(Network::Loopback)),
            (
                "a.example.com, *.b.example.com:443",
                Some(Network::Hosts(vec!["a.example.com".into(), "*.b.example.com:443".into()])),
            ),
            ("opne", None),
            ("https://a.example.com", None),
            ("a..b", None),
            ("", None),
        ] {
            assert_eq!(GateNetwork::parse(text).map(|it| it.0), expected, "{text}");
        }
        assert_eq!(AgentNetwork::parse("loopback"), None);
        for (text, bytes, shown) in [
            ("4G", 4 << 30, "4G"),
            ("512 MB", 512 << 20, "512M"),
            ("1025", 1025, "1025"),
            ("2GiB", 2 << 30, "2G"),
        ] {
            let size = Size::parse(text).unwrap();
            assert_eq!((size.0, size.show()), (bytes, Value::from(shown)), "{text}");
        }
        assert_eq!((Size::parse("0"), Size::parse("many"), Size::parse("-1G")), (None, None, None));
    }
}
